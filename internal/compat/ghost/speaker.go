package ghost

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// Speaker tells of a run in that program's words: how it stands on standard output, what happens on
// standard error. It is safe for concurrent use.
type Speaker struct {
	asked   *Asked
	version string // Midstream's
	out     io.Writer
	log     log

	mu     sync.Mutex
	place  Place
	fresh  string // what the new table is called; "" before the server is reached
	tuned  tuned
	plan   *plan.Plan
	cfg    func() operator.Settings                               // what holds now
	now    func() (p event.Progress, gates []event.Gate, at bool) // how far the run is; false before it is at work, and after
	phase  event.Phase
	status status
	began  time.Time // of the row copy
	told   int64     // the second of the last status line
	native bool      // the server changes the table itself
	// hooking says that programs are still to be called before the swap.
	hooking bool
	hinted  time.Time
}

// tuned are what commands change while a run is at work, and is told: at first as the command line says.
type tuned struct {
	values   map[string]string // of flags that are no setting of midstream run's
	replicas []string          // host:port, without the one of --host
}

// NewSpeaker returns one for what was asked. version is Midstream's.
func NewSpeaker(asked *Asked, version string, out, errors io.Writer) *Speaker {
	return &Speaker{
		asked:   asked,
		version: version,
		out:     out,
		log:     log{out: errors, verbose: asked.verbose(), quiet: asked.quiet(), speech: asked.newSpeech()},
		cfg:     operator.CommandLineDefaults,
		told:    -1,
		now:     new(operator.Control).Standing,
		tuned: tuned{
			replicas: asked.replicas,
			values: map[string]string{"chunk-size": asked.said.text("chunk-size"), "dml-batch-size": asked.said.text("dml-batch-size"),
				"max-load": asked.said.text("max-load"), "critical-load": asked.said.text("critical-load")},
		},
		place: Place{Primary: asked.Server, Inspected: asked.Server},
	}
}

// Speech is how Midstream's own words are said here.
func (s *Speaker) Speech() *speech.Speech { return s.log.speech }

// Begin tells that it begins.
func (s *Speaker) Begin() {
	s.log.info("starting gh-ost %s (midstream %s)", Version, s.version)
	for _, note := range s.asked.Notes {
		s.Note(note)
	}
}

// Note tells what somebody should know.
func (s *Speaker) Note(text string) { s.log.warning("%s", text) }

// Found tells on which server the run is at work.
func (s *Speaker) Found(place Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = place
	s.log.speech.Connect = s.asked.at(place.Primary)
	s.log.info("Master found to be %s", place.Primary)
}

// Planned tells what is about to be done.
func (s *Speaker) Planned(p *plan.Plan, former string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.plan != nil
	s.plan = p
	if again {
		return
	}
	doing, _ := s.asked.verbs()
	s.log.info("%s", doing)
	for _, r := range p.Risks {
		text := r.What
		if r.Why != "" {
			text += ": " + r.Why
		}
		s.log.warning("%s", text)
	}
	s.log.info("Method: %s. %s", p.Choice.Method, p.Choice.Why)
	if p.Choice.Method == plan.MethodShadow {
		s.log.info("Chosen shared unique key is %s", p.Key.Name)
		s.log.info("Estimated number of rows via EXPLAIN: %d", p.Source.Rows)
	}
	if former != "" {
		s.log.info("Resuming from checkpoint") // from which, a note tells
	}
	if s.asked.Execute {
		s.hint()
	}
}

// hint prints what the run is. REQUIRES: mu is held.
func (s *Speaker) hint() {
	s.hinted = time.Now()
	fmt.Fprint(s.out, s.hintText())
}

func (s *Speaker) hintText() string { return s.asked.hint(s.place, s.tuned, s.shadow(), s.cfg()) }

// Reached is called when the server is whose table is changed.
func (s *Speaker) Reached(ctx context.Context, db schema.Querier) error {
	if s.asked.Tries() { // its table gets its name in the end
		return nil
	}
	version, err := facts.ReadVersion(ctx, db)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := s.asked.nameSafely(version); name != "" {
		s.log.warning("The old table will be %s, and not %s: --revert swaps with it, and this server swaps in the order of names",
			name, s.asked.sibling("_del"))
	}
	if s.asked.Reverts() { // the old table has its name
		return nil
	}
	s.fresh = plan.ShadowName(version, s.asked.Table, s.asked.shadow).Table
	return nil
}

// shadow is what the new table is called while it is built: all who ask are told the same. REQUIRES: mu is held.
func (s *Speaker) shadow() string { return cmp.Or(s.fresh, s.asked.shadow) }

// Show tells of an event.
func (s *Speaker) Show(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case event.PhaseEntered:
		s.leave(e.Phase)
		s.phase = e.Phase
		if e.Phase == event.PhaseCheck { // another attempt has gates of its own
			s.status.gates = nil
		}
		s.enter(e.Phase)
	case event.Progress:
		s.progress(e)
	case event.Note:
		if s.phase == event.PhaseHold || s.phase == event.PhaseVerify { // for what it waits, and what it compares
			s.log.info("%s", e.Text)
		} else {
			s.log.warning("%s", e.Text)
		}
	case event.Resumed:
		s.log.warning("%s", e.Text)
	case event.Throttled:
		s.status.gates = e.Gates
	case event.Blocked:
		for _, b := range e.Blockers {
			s.log.warning("Waiting for %s: %s", b.Who(), b.Why)
		}
	case event.Killed:
		s.log.warning("Killed %s, which blocked the lock", e.Blocker.Who())
	case event.Controlled:
		s.log.warning("%s, by %s: %s", e.Command, e.By, e.Text)
	case event.Finding:
		s.log.line("ERROR", "%d rows: %s. List them: %s", e.Rows, e.What, e.Query)
		if e.Fix != "" {
			s.log.line("ERROR", "  or: %s", e.Fix)
		}
	case event.Mismatch:
		s.log.line("ERROR", "row %s: column %s should be %s, is %s", e.Key, e.Column, e.Expected, e.Found)
	case event.Verified:
		s.log.info("Compared %d rows: all equal", e.Rows)
	case event.SwapDone:
		s.log.info("Tables are swapped. The lock was held for %s", e.LockHeld.Round(time.Millisecond))
	}
}

// leave tells that a phase is over.
func (s *Speaker) leave(next event.Phase) {
	switch {
	case next == event.PhaseCleanup:
	case s.phase == event.PhaseShadow:
		s.log.info("Ghost table created\nGhost table altered")
	case s.phase == event.PhaseCopy:
		s.status.copying = time.Since(s.began)
		s.log.info("Row copy complete")
	}
}

// enter tells that a phase begins.
func (s *Speaker) enter(p event.Phase) {
	switch p {
	case event.PhaseNative:
		s.native = true
		s.log.info("The server changes %s itself", s.asked.Table.Quoted())
	case event.PhaseShadow:
		s.native = false
		s.log.info("Creating ghost table %s", s.asked.Table.Sibling(s.shadow()).Quoted())
	case event.PhasePrescan:
		s.log.info("Checking that every row fits the ghost table")
	case event.PhaseCopy:
		s.began = time.Now()
		s.log.info("Copying rows")
	case event.PhaseIndex:
		s.log.info("Building secondary indexes of the ghost table")
	case event.PhaseVerify:
		s.log.info("Comparing the tables")
	case event.PhaseHold:
		s.log.info("Postponing cut-over")
	case event.PhaseCutover:
		s.log.info("Cutting over")
	}
}

// hintEvery is the time between two hints.
const hintEvery = 10 * time.Minute

// progress tells how far the run is, if that is due.
func (s *Speaker) progress(p event.Progress) {
	s.status.progress = p
	s.tick(p.At)
	second := int64(s.status.total / time.Second)
	if second == s.told || !s.status.due() || p.Phase == event.PhaseDone {
		return
	}
	s.told = second
	if time.Since(s.hinted) >= hintEvery {
		s.hint()
	}
	s.tell()
}

// tick has time pass. REQUIRES: mu is held.
func (s *Speaker) tick(now time.Time) {
	s.status.postponed = s.phase == event.PhaseHold && !s.hooking
	s.status.total = now.Sub(s.asked.Began)
	if s.phase == event.PhaseCopy {
		s.status.copying = now.Sub(s.began)
	}
}

// tell prints the status line. REQUIRES: mu is held.
func (s *Speaker) tell() {
	line := s.status.line()
	fmt.Fprintln(s.out, line)
	s.log.info("%s", line)
}

// Done tells of the end of a run that came to it.
func (s *Speaker) Done(_ schema.Name, r migration.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == plan.MethodShadow {
		s.tick(time.Now())
		s.status.progress.Fraction, s.status.postponed, s.status.gates = 1, false, nil
		s.hint()
		s.tell()
	}
	if text := s.keptText(r.Undo); text != "" {
		fmt.Fprint(s.out, s.log.speech.Of(text))
	} else if r.Old != "" {
		s.log.info("While not required, the following command is implied: drop table %s", r.Old)
	}
	_, done := s.asked.verbs()
	s.log.info("%s", done)
}

// Dropping tells of the drop of a table before the run: of what somebody should know alone.
type Dropping struct{ *Speaker }

// Show tells of an event.
func (d Dropping) Show(e event.Event) {
	switch e.(type) {
	case event.Blocked, event.Killed, event.Note:
		d.Speaker.Show(e)
	}
}
