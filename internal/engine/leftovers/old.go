package leftovers

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Old is the old table after the swap.
type Old struct {
	Pool   *dbconn.Pool
	Source schema.Name
	Name   schema.Name
	// Truncated means that a TRUNCATE, or its undo, has put the table aside.
	Truncated bool
	// Rest means that the table has rows which the new one lacks (--keep). It gets the mark of MarkRest if an undo needs it (Needed).
	// Otherwise it is the user's again, and gets none.
	Rest, Needed bool
	// Into is the new table, if it has another name than the source.
	Into schema.Name
	// Values are the tables with values of parked rows.
	Values schema.ParkedValues
}

// Drop drops the table.
func (o Old) Drop(ctx context.Context) error {
	c := New(o.Pool, o.Source, "")
	if err := RetryBriefly(ctx, func() error { return c.Drop(ctx, Table{Name: o.Name}) }); err != nil {
		return fmt.Errorf("drop old table %s: %w", o.Name, err)
	}
	return nil
}

// markPatience is how long the mark of the old table is tried for.
const markPatience = 5 * time.Second

// Keep gives the table, which has the given comment, the mark that Cleanup recognizes. It also
// gives it the name kept, if that is not "". Another session may use the table already; no session
// waits longer than for an attempt of the cut-over.
func (o *Old) Keep(ctx context.Context, comment, kept string, wait time.Duration, note func(string)) {
	if name := o.Source.Sibling(kept); kept != "" && name != o.Name {
		err := o.alter(ctx, o.mark(name, comment)+", RENAME TO "+name.Quoted(), wait)
		if err != nil { // the answer may have been lost
			if there, failed := schema.Load(ctx, o.Pool.DB(), name); failed == nil {
				if _, marked := schema.MarkedOld(there.Comment, o.Source); marked || o.unmarked() && dbconn.ConnectionLost(err) {
					err = nil
				}
			}
		}
		if err == nil {
			o.Name = name
			return
		}
		note(fmt.Sprintf("%s could not be renamed to %s: %v", o.Name, name, err))
	}
	if o.unmarked() { // it has its comment, or the mark that the statement on its foreign keys has given it
		return
	}
	if err := o.alter(ctx, o.mark(o.Name, comment), wait); err != nil {
		note(fmt.Sprintf("cannot mark %s as the old table: %v; midstream cleanup --old will not drop it", o.Name, err))
	}
}

func (o *Old) unmarked() bool { return o.Rest && !o.Needed }

// mark is the clause for the comment that the table gets, with the name that it will have.
func (o *Old) mark(name schema.Name, comment string) string {
	switch {
	case o.unmarked():
	case o.Truncated:
		comment = schema.MarkTruncated(o.Source, comment)
	default:
		comment = plan.MarkOld(o.Source, name, o.Values, comment, o.Rest)
		if o.Into != (schema.Name{}) {
			comment = schema.MarkInto(comment, o.Into)
		}
	}
	return "COMMENT = " + schema.Literal(comment)
}

// alter changes the table's entry in the server's dictionary.
func (o *Old) alter(ctx context.Context, clauses string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	statement := fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE", o.Name.Quoted(), clauses)
	return RetryBriefly(ctx, func() error {
		session, err := o.Pool.Session(ctx, o.Pool.Defining()...)
		if err != nil {
			return err
		}
		defer session.Close()
		requested, err := lock.Request(ctx, session, statement, wait)
		if err == nil && !requested.Granted {
			err = cutover.ErrNotGranted
		}
		return err
	})
}
