package ptosc

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// Speaker tells of a run in that program's words: what is done on standard output, progress, pauses
// and errors on standard error. It is used by one goroutine at a time.
type Speaker struct {
	asked       *Asked
	speech      *speech.Speech
	out, errors io.Writer
	plan        *plan.Plan
	phase       event.Phase
	began       time.Time // of the row copy
	reported    time.Time
	part        float64 // at the last report
	stop        func()
	stopped     bool // since a replica's replication was
	// following means that the change was made, and the old table is kept up to date.
	following bool
}

// NewSpeaker returns one for what was asked. stop ends the run.
func NewSpeaker(asked *Asked, out, errors io.Writer, stop func()) *Speaker {
	if asked.said.on("quiet", false) {
		out = io.Discard
	}
	return &Speaker{asked: asked, speech: asked.newSpeech(), out: out, errors: errors, stop: stop}
}

// Speech is how Midstream's own words are said here.
func (s *Speaker) Speech() *speech.Speech { return s.speech }

func (s *Speaker) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", escape.Args(args...)...)
}

// at says something with the time before it.
func (s *Speaker) at(format string, args ...any) {
	s.say("%s "+format, append([]any{time.Now().Format("2006-01-02T15:04:05")}, args...)...)
}

func (s *Speaker) warn(format string, args ...any) {
	fmt.Fprintln(s.errors, s.speech.Of(fmt.Sprintf(format, escape.Args(args...)...)))
}

// Note tells what somebody should know.
func (s *Speaker) Note(text string) {
	if !s.asked.said.on("quiet", false) {
		s.warn("# %s", text)
	}
}

// Met is called when the server is reached.
func (s *Speaker) Met() {
	if s.asked.history.job > 0 {
		s.say("Job %d started", s.asked.history.job)
	}
}

// Planned tells what is about to be done.
func (s *Speaker) Planned(p *plan.Plan, former string) {
	if s.plan != nil { // an attempt after another
		s.plan = p
		return
	}
	s.plan = p
	s.tellReplicas(p)
	table := p.Source.Name.Quoted()
	if s.asked.said.last("alter-foreign-keys-method") == "none" {
		s.say("Not updating foreign keys because --alter-foreign-keys-method=none.")
	}
	for _, r := range p.Risks {
		s.Note(r.What + suffix(": ", r.Why))
	}
	switch s.asked.Mode {
	case DryRun:
		s.say("Starting a dry run.  %s will not be altered.  Specify --execute instead of --dry-run to alter the table.", table)
	case Execute:
		s.say("Altering %s...", table)
	case Looking:
		return
	}
	s.say("Method: %s%s", p.Choice.Method, s.speech.Of(suffix(": ", p.Choice.Why)))
	if former != "" {
		s.say("Resuming an earlier run: %s", former)
	}
	if s.asked.said.on("print", false) {
		s.say("%s", listed(statements(p, s.asked)))
	}
	if s.asked.Mode == DryRun {
		s.say(
			"Not copying rows because this is a dry run.\nNot swapping tables because this is a dry run.\nNot dropping old table because this is a dry run.",
		)
	}
}

func (s *Speaker) tellReplicas(p *plan.Plan) {
	r := s.asked.Replicas
	switch {
	case s.asked.Mode != Execute:
	case r.None && r.Only == nil:
		s.say("Ignoring all replicas because --recursion-method=none was specified")
	case r.Only != nil:
		s.say("Will check replica lag on:\n%s", listed(r.Only))
	case len(p.Server.Followers) > 0:
		looked := slices.DeleteFunc(slices.Clone(p.Server.Followers), func(address string) bool { return slices.Contains(r.Skip, address) })
		s.say("Found %d replicas:\n%s\nWill check replica lag on:\n%s", len(p.Server.Followers), listed(p.Server.Followers), listed(looked))
	default:
		s.say("No replicas found.  See --recursion-method if the host has replicas.\n" +
			"Not checking replica lag because no replicas were found and --check-replica-lag was not specified.")
	}
}

// listed has a line for each text.
func listed(texts []string) escape.Ours {
	var lines []string
	for _, text := range texts {
		lines = append(lines, escape.Line(text))
	}
	return escape.Ours(strings.Join(lines, "\n"))
}

func suffix(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// statements are those that make, alter, swap and drop tables.
func statements(p *plan.Plan, a *Asked) []string {
	table, fresh, old := p.Source.Name.Quoted(), p.Names.Shadow.Quoted(), p.Names.Old.Quoted()
	if p.Choice.Method != plan.MethodShadow {
		return []string{"ALTER TABLE " + table + " " + p.Alter.Clauses}
	}
	list := []string{"CREATE TABLE " + fresh + " LIKE " + table, "ALTER TABLE " + fresh + " " + p.Alter.Clauses}
	if a.swaps {
		list = append(list, "RENAME TABLE "+table+" TO "+old+", "+fresh+" TO "+table)
	}
	if a.swaps && a.drops() {
		list = append(list, "DROP TABLE IF EXISTS "+old)
	}
	return list
}

// Show tells of an event.
func (s *Speaker) Show(e event.Event) {
	if s.following {
		s.showFollowing(e)
		return
	}
	switch e := e.(type) {
	case event.PhaseEntered:
		s.leave(e.Phase)
		s.enter(e.Phase)
		s.phase = e.Phase
	case event.Progress:
		s.progress(e)
	case event.Note:
		s.Note(e.Text)
	case event.Resumed:
		s.Note(e.Text)
	case event.Throttled:
		for _, g := range e.Gates {
			s.pause(g)
		}
	case event.Blocked:
		for _, b := range e.Blockers {
			s.warn("# Waiting for connection %d (%s@%s): %s", b.ConnectionID, b.User, b.Host, b.Why)
		}
	case event.Killed:
		s.warn("# Killed connection %d (%s@%s), which blocked the lock", e.Blocker.ConnectionID, e.Blocker.User, e.Blocker.Host)
	case event.Controlled:
		s.Note(fmt.Sprintf("%s, by %s: %s", e.Command, e.By, e.Text))
	case event.Finding:
		s.warn("%d rows: %s\n  list them: %s%s", e.Rows, e.What, e.Query, escape.Ours(suffix("\n  or: ", escape.Line(e.Fix))))
	case event.Mismatch:
		s.warn("Row %s: column %s should be %s, is %s", e.Key, e.Column, e.Expected, e.Found)
	case event.Verified:
		s.at("Compared %d rows: all equal.", e.Rows)
	case event.SwapDone:
		s.at("Swapped original and new tables OK.")
	}
}

// pause tells for what the run waits, and ends it where it shall not wait for that.
func (s *Speaker) pause(g event.Gate) {
	p := speech.PauseOf(g)
	if p.Still && s.asked.said.on("fail-on-stopped-replication", true) {
		s.stopped = true
		s.warn("Replica '%s' is stopped.", p.Replica)
		s.stop()
		return
	}
	switch {
	case s.asked.said.on("quiet", false):
	case p.Kind == "max-load" && len(p.Loads) > 0:
		var loads []string
		for _, l := range p.Loads {
			loads = append(loads, l.Variable+"="+l.Now)
		}
		s.warn("Pausing because %s.", strings.Join(loads, ", "))
	case p.Kind == "replica-lag" && p.Lag > 0:
		s.warn("Replica lag is %.1f seconds on %s.  Waiting.", p.Lag.Seconds(), p.Replica)
	case p.Still:
		s.warn("Replica '%s' is stopped.  Waiting.", p.Replica)
	case p.Kind == "file":
		s.say("Sleeping because %s exists", s.asked.said.last("pause-file"))
	default:
		s.warn("Pausing because %s.", p.Why)
	}
}

// leave tells that a phase is over.
func (s *Speaker) leave(next event.Phase) {
	fresh := s.plan.Names.Shadow
	switch {
	case s.phase == event.PhaseShadow && next != event.PhaseCleanup:
		s.say("Created new table %s.%s OK.\nAltering new table...\nAltered %s OK.", fresh.Schema, fresh.Table, fresh.Quoted())
	case s.phase == event.PhaseCopy && next != event.PhaseCleanup:
		s.at("Copied rows OK.")
	}
}

func (s *Speaker) enter(p event.Phase) {
	switch p {
	case event.PhaseNative:
		s.at("The server alters %s itself...", s.plan.Source.Name.Quoted())
	case event.PhaseShadow:
		s.say("Creating new table...")
	case event.PhasePrescan:
		s.at("Checking that every row fits the new table...")
	case event.PhaseCopy:
		s.began, s.reported, s.part = time.Now(), time.Now(), 0
		s.at("Copying approximately %d rows...", s.plan.Source.Rows)
	case event.PhaseIndex:
		s.at("Building secondary indexes of the new table...")
	case event.PhaseVerify:
		s.at("Comparing the tables...")
	case event.PhaseHold:
		s.at("Waiting until the table may be changed...")
	case event.PhaseCutover:
		s.at("Swapping tables...")
	}
}

// progress tells how far the row copy is, if that is due.
func (s *Speaker) progress(p event.Progress) {
	r := s.asked.report
	due := r.every > 0 && p.At.Sub(s.reported) >= r.every || r.every == 0 && p.Fraction-s.part >= r.part
	if p.Phase != event.PhaseCopy || !due || s.asked.said.on("quiet", false) {
		return
	}
	s.reported, s.part = p.At, p.Fraction
	remain := time.Duration(0)
	if p.Fraction > 0 {
		remain = time.Duration(float64(p.At.Sub(s.began)) * (1 - p.Fraction) / p.Fraction)
	}
	s.warn("Copying %s: %3d%% %s remain", s.plan.Source.Name.Quoted(), int(100*p.Fraction), clock(remain))
}

// clock is a time as that program writes it: minutes and seconds, with hours and days where there are any.
func clock(d time.Duration) string {
	n := int64(d / time.Second)
	switch {
	case n >= 86400:
		return fmt.Sprintf("%d+%02d:%02d:%02d", n/86400, n/3600%24, n/60%60, n%60)
	case n >= 3600:
		return fmt.Sprintf("%02d:%02d:%02d", n/3600, n/60%60, n%60)
	}
	return fmt.Sprintf("%02d:%02d", n/60, n%60)
}

// Done tells of the end of a run that came to it.
func (s *Speaker) Done(table schema.Name, r migration.Result) {
	if s.following {
		s.at("Swapped the tables back OK.  The table that was put aside is %s.", r.Old)
		return
	}
	switch {
	case !s.asked.swaps:
		s.say("Not dropping old table because --no-swap-tables was specified.")
		if r.Rehearsed.Shadow != "" {
			left := schema.NameOf(r.Rehearsed.Shadow).Quoted()
			s.say(
				"Not dropping the new table %s because --no-drop-new-table was specified.  To drop the new table, execute:\nDROP TABLE IF EXISTS %s;",
				left, left,
			)
		} else {
			s.at("Dropped new table OK.")
		}
	case r.Old != "" && s.asked.leavesOut:
		s.say("Not dropping old table because it has the rows that --where has left out.  It is %s.", r.Old)
	case r.Old != "":
		s.say("Not dropping old table because --no-drop-old-table was specified.  It is %s.", r.Old)
	case s.plan != nil && r.Method == plan.MethodShadow:
		s.at("Dropped old table %s OK.", s.plan.Names.Old.Quoted())
	}
	if s.asked.said.on("statistics", false) {
		s.statistics(r)
	}
}

func (s *Speaker) statistics(r migration.Result) {
	s.say("# %-15s %5s\n# %s =====", "Event", "Count", strings.Repeat("=", 15))
	for _, line := range []struct {
		event string
		count int64
	}{{"changes_applied", r.Applied}, {"changes_read", r.Captured}, {"lock_attempts", int64(r.Attempts)}, {"retries", r.Retries},
		{"rows_compared", r.Verified}, {"rows_copied", r.RowsCopied}} {
		s.say("# %-15s %5d", line.event, line.count)
	}
}
