package migration

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/lock"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// oldTable is the former source after the swap.
type oldTable struct {
	pool   *dbconn.Pool
	source schema.Name
	name   schema.Name
}

func (o oldTable) drop(ctx context.Context) error {
	c := cleaner{pool: o.pool, source: o.source}
	if err := retryBriefly(ctx, func() error { return c.drop(ctx, Leftover{Name: o.name}) }); err != nil {
		return fmt.Errorf("drop old table %s: %w", o.name, err)
	}
	return nil
}

// markPatience is how long the mark of the former source is tried for.
const markPatience = 5 * time.Second

// keep gives the table, whose comment is given, the mark by which Cleanup knows it, and the name
// that it shall keep, if that is not "". Somebody
// may use it already, and is not made to wait longer than for an attempt of the cut-over.
func (o *oldTable) keep(ctx context.Context, comment, kept string, wait time.Duration, note func(string)) {
	mark := "COMMENT = " + schema.Literal(schema.MarkOld(o.source, comment))
	if kept != "" {
		name := o.source.Sibling(kept)
		err := o.alter(ctx, mark+", RENAME TO "+name.Quoted(), wait)
		if err != nil { // the answer may have been lost
			if there, failed := schema.Load(ctx, o.pool.DB(), name); failed == nil {
				if _, marked := schema.MarkedOld(there.Comment, o.source); marked {
					err = nil
				}
			}
		}
		if err == nil {
			o.name = name
			return
		}
		note(fmt.Sprintf("%s could not be renamed to %s: %v", o.name, name, err))
	}
	if err := o.alter(ctx, mark, wait); err != nil {
		note(fmt.Sprintf("%s could not be marked as the former table (%v): midstream cleanup --old will leave it alone", o.name, err))
	}
}

// alter changes what the server's dictionary says of the table.
func (o *oldTable) alter(ctx context.Context, clauses string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	statement := fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE", o.name.Quoted(), clauses)
	return retryBriefly(ctx, func() error {
		session, err := o.pool.Session(ctx, o.pool.Defining()...)
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
