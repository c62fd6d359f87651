package leftovers

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// AfterUndo is what is left of an undo that has failed before its swap.
type AfterUndo struct {
	// Kept is the table with values of dropped columns, which the next undo needs; none if there is no such table.
	Kept schema.Name
	// State says how the undo, or the redo, of the table is now: a part of a sentence.
	State string
	// Open means that it needs no --cold. Ended means that --cold can't take the change back either, as the tables are now.
	Open, Ended bool
}

// askedFor bounds the questions about an undo that has failed.
const askedFor = 5 * time.Second

// LookAfterUndo asks the server about the undo of a table that has failed, even if ctx has ended.
func LookAfterUndo(ctx context.Context, pool *dbconn.Pool, source schema.Name) AfterUndo {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askedFor)
	defer cancel()
	unknown := AfterUndo{State: fmt.Sprintf("midstream undo  --list %s shows whether the undo is still open", source.Argument())}
	all, err := Undoables(ctx, pool, &source)
	if err != nil || len(all) != 1 {
		return unknown
	}
	there, err := New(pool, source, plan.Undoing).List(ctx)
	if err != nil {
		return unknown
	}
	after := AfterUndo{State: all[0].after(), Open: all[0].State == UndoOpen}
	after.Ended = all[0].State == UndoEnded && !all[0].Late && !all[0].Barred
	if kept := plan.KeptOf(source); schema.MarkedFor(there[kept].comment, source) {
		after.Kept = kept
	}
	return after
}

// after says how an undo is after one that has failed.
func (u *Undoable) after() string {
	what, why := "the undo", escape.Line(u.Why)
	if u.Record.Back {
		what = "the redo"
	}
	switch {
	case u.State == UndoOpen:
		return what + " is still open"
	case u.State == UndoRevoked:
		return fmt.Sprintf("%s is possible by all rows only (--cold), because %s", what, why)
	case u.Late:
		return what + " is still possible, although its time is over"
	case u.Barred:
		return fmt.Sprintf("%s is refused until this is changed: %s", what, why)
	case u.State == UndoRunning:
		return "another run works on " + what
	case u.State == UndoEnded:
		return fmt.Sprintf("%s has ended, because %s", what, why)
	}
	return fmt.Sprintf("%s was stopped; midstream undo  --list %s prints the command that resumes it", what, u.Table.Argument())
}
