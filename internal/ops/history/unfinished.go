package history

import (
	"os"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// Unfinished is a run of this machine that has left its work on a server, as far as this machine knows.
type Unfinished struct {
	Entry
	// Killed means that its process is gone without a result. Otherwise it has stopped, and kept its work.
	Killed bool
	// Phase is the last one, and Seen when it last told of something.
	Phase event.Phase
	Seen  time.Time
	// Redo means that it was the undo of an undo.
	Redo bool
}

// Resume is the command that begins an undo again; "" for other runs.
func (u Unfinished) Resume() string {
	if !u.Run.Undoes {
		return ""
	}
	return u.Run.Reach.In(record.UndoAgain(u.Run.Flags, u.table()))
}

// Instead is the command that takes the change back now if the undo followed its table; "" for others.
func (u Unfinished) Instead() string {
	if !u.Run.Follows {
		return ""
	}
	return u.Run.Reach.In(record.InsteadOf(u.Run.Flags, u.table()))
}

func (u Unfinished) table() schema.Name { return schema.NameOf(u.Run.Table) }

// LeftBehind returns the runs of this machine that were killed or have stopped, the newest first: at most one for each table of
// each server. A later run on the table that has begun its work, or a cleanup, has settled what was left.
func LeftBehind(folder string) (left []Unfinished) {
	entries, err := List(folder)
	if err != nil {
		return nil
	}
	here, _ := os.Hostname()
	seen := map[subject]bool{}
	for _, e := range entries {
		if seen[e.subject()] || e.Result != nil && e.Result.Outcome != "done" && e.Result.Phase == "" {
			continue // a later one is known, or it has begun nothing
		}
		seen[e.subject()] = true
		u := Unfinished{Entry: e, Killed: e.Result == nil && e.Run.Host == here && Gone(e.Run.Process)}
		if !u.Killed && (e.Result == nil || e.Result.Outcome != "stopped") || e.settledSince(folder) {
			continue
		}
		if story, err := Read(e.Path); err == nil {
			u.tell(story)
		}
		left = append(left, u)
	}
	return left
}

// tell adds what the run has told.
func (u *Unfinished) tell(story *Story) {
	u.Seen, _ = time.Parse(record.RFC3339, u.Run.At)
	u.Redo = story.Plan != nil && story.Plan.Undoes != nil && story.Plan.Undoes.Redo
	for _, e := range story.Events {
		if entered, is := e.(event.PhaseEntered); is {
			u.Phase = entered.Phase
		}
		if at := timeOf(e); at.After(u.Seen) {
			u.Seen = at
		}
	}
}

// timeOf is the time of an event that comes often, or begins a phase; zero for others.
func timeOf(e event.Event) time.Time {
	if entered, is := e.(event.PhaseEntered); is {
		return entered.At
	}
	_, at := comesOften(e)
	return at
}

// subject is what a run changes.
type subject struct{ server, table string }

func (e Entry) subject() subject { return subject{e.Run.Server, e.Run.Table} }
