package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/units"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Idle is what the histories of this machine know of tables on which no run is active.
type Idle struct {
	// Left are runs that were killed or have stopped, and Done the last runs of other tables.
	Left []history.Unfinished
	Done []history.Entry
	now  time.Time
}

// IdleIn reads the histories of a folder. table is "" for all, and so is server. active reports whether a run is active on a table.
func IdleIn(folder, table, server string, active func(server, table string) bool) Idle {
	i := Idle{now: time.Now()}
	wanted := func(e history.Entry) bool {
		return (table == "" || e.Of(table)) && (server == "" || server == e.Run.Server) && !active(e.Run.Server, e.Run.Table)
	}
	done := history.Done(folder)
	for _, u := range history.LeftBehind(folder) {
		if wanted(u.Entry) && (table != "" || !overForLong(u, done, i.now)) {
			i.Left = append(i.Left, u)
		}
	}
	for _, e := range done {
		same := func(u history.Unfinished) bool { return u.Run.Table == e.Run.Table && u.Run.Server == e.Run.Server }
		if wanted(e) && leftUndo(&e, i.now) != "" && !slices.ContainsFunc(i.Left, same) {
			i.Done = append(i.Done, e)
		}
	}
	return i
}

// forLong is how long an undo that was killed or has stopped is listed after its time: its server may be gone.
const forLong = 7 * 24 * time.Hour

// overForLong reports whether an undo was last seen long ago, and its time is over for as long. done are the last runs of all tables.
func overForLong(u history.Unfinished, done []history.Entry, now time.Time) bool {
	last := u.Seen
	for _, e := range done {
		of := e.Run.Table == u.Run.Table && e.Run.Server == u.Run.Server
		if of && e.Result.Undo != nil && e.Result.Undo.Until.After(last) {
			last = e.Result.Undo.Until
		}
	}
	return (u.Run.Undoes || u.Run.Follows) && now.Sub(last) > forLong
}

// Nothing reports whether nothing is known.
func (i Idle) Nothing() bool { return len(i.Left)+len(i.Done) == 0 }

// Lines has a line for each table.
func (i Idle) Lines() string {
	var b strings.Builder
	for _, u := range i.Left {
		fmt.Fprintf(&b, "%s: %s; %s\n", schema.NameOf(u.Run.Table), ended(u), nextFor(u))
	}
	shown := i.Done
	if len(shown) > mostDone {
		shown = shown[:mostDone-1]
	}
	for _, e := range shown {
		table, how := schema.NameOf(e.Run.Table), ""
		if e.Result.Undo.State == string(leftovers.UndoRevoked) {
			how = " with --cold"
		}
		fmt.Fprintf(&b, "%s on %s: %s%s possible until %s; %s shows more\n", table, escape.Line(e.Run.Server),
			undoOrRedo(&e), how, units.Minute(e.Result.Undo.Until), e.Run.Reach.In("midstream status  "+table.Argument()))
	}
	if more := i.Done[len(shown):]; len(more) > 0 {
		var names []string
		for _, e := range more {
			names = append(names, schema.NameOf(e.Run.Table).String())
		}
		fmt.Fprintf(&b, "%d more tables have a change that can be undone or redone: %s; %s shows one\n", len(more),
			humanize.OneLine(strings.Join(names, ", "), 60), more[0].Run.Reach.In("midstream status  TABLE"))
	}
	return b.String()
}

// mostDone is the number of lines about undos that can be made.
const mostDone = 4

// NoRuns says that no run is active.
const NoRuns = "No run is active on this machine."

// OfAll writes the states of runs, and what is known of other tables. table is the only one; "" for all.
func OfAll(runs []*socket.Client, idle Idle, table string) string {
	text := ""
	for _, run := range runs {
		text += OfStatus(run.Found)
	}
	switch {
	case table == "" && len(runs) == 0:
		return NoRuns + "\n" + idle.Lines()
	case table == "":
		return text + idle.Lines()
	case len(runs) == 0:
		return idle.of()
	}
	return text
}

// of is about one table.
func (i Idle) of() string {
	if len(i.Left) > 0 {
		u := i.Left[0]
		table := schema.NameOf(u.Run.Table)
		text := fmt.Sprintf("No run on %s is active on this machine, and %s.\nNext: %s.\n", table, ended(u), nextFor(u))
		if u.Run.Undoes {
			text += u.Run.Reach.In("To check that on the server: midstream undo  --list " + table.Argument() + "\n")
		}
		return text
	}
	last := &i.Done[0]
	table := schema.NameOf(last.Run.Table)
	cold := ""
	if last.Result.Undo.State == string(leftovers.UndoRevoked) {
		cold = "--cold "
	}
	return fmt.Sprintf("No run on %s is active on this machine, and %s.\n", table, leftUndo(last, i.now)) + last.Run.Reach.In(fmt.Sprintf(
		"To check that on the server: midstream undo  --list %s. To %s: midstream undo  %s%[1]s\n", table.Argument(), undoOrRedo(last), cold))
}

// Records are those of all tables.
func (i Idle) Records() []record.Idle {
	records := []record.Idle{}
	for _, u := range i.Left {
		r := record.Idle{Run: u.Run, Result: u.Result, State: "stopped", Phase: string(u.Phase), Seen: u.Seen, Resume: u.Resume()}
		if u.Killed {
			r.State = "killed"
		}
		records = append(records, r)
	}
	for _, e := range i.Done {
		records = append(records, record.Idle{Run: e.Run, Result: e.Result, State: "done"})
	}
	return records
}

// ended says how a run has ended that left its work.
func ended(u history.Unfinished) string {
	what := "the last run on it"
	switch {
	case u.Run.Follows:
		what = "the process that followed it for an undo"
	case u.Redo:
		what = "its redo"
	case u.Run.Undoes:
		what = "its undo"
	case u.Run.Rehearsal != "":
		what = "its " + escape.Line(u.Run.Rehearsal)
	}
	how := "has stopped"
	if u.Killed {
		how = fmt.Sprintf("was killed (process %d)", u.Run.Process)
	}
	text := fmt.Sprintf("%s on %s %s", what, escape.Line(u.Run.Server), how)
	if u.Phase != "" {
		text += fmt.Sprintf(" in step %q", humanize.Step(u.Phase))
	}
	return text + " after " + u.Seen.UTC().Format("2006-01-02 15:04:05 UTC") + ", as this machine has last seen it"
}

// nextFor is what to do about such a run.
func nextFor(u history.Unfinished) string {
	table := schema.NameOf(u.Run.Table).Argument()
	switch {
	case u.Run.Follows:
		return u.Run.Reach.In(againOrGivenUp(u.Resume(), u.Instead(), table))
	case u.Run.Undoes:
		return u.Run.Reach.In(againOrGivenUp(u.Resume(), "", table))
	}
	return u.Run.Reach.In(fmt.Sprintf("the same command resumes it (%s); midstream cleanup  %s removes its work", humanize.OneLine(u.Run.Alter, 60), table))
}

// againOrGivenUp is what to do about an undo that was stopped. instead takes the change back now; "" if the undo did not follow
// its table.
func againOrGivenUp(resume, instead, table string) string {
	does := "resumes it"
	if instead != "" {
		does = fmt.Sprintf("follows the table again; %s takes the change back now%s", instead, record.AfterHidden(instead))
	}
	return fmt.Sprintf("%s %s%s; midstream cleanup  %s gives this attempt up", resume, does, record.AfterHidden(resume), table)
}
