package migration

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/cutover"
	"midstream/internal/dbconn"
	"midstream/internal/lock"
	"midstream/internal/schema"
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

// mark gives the table, whose comment is given, the mark by which Cleanup knows it. Somebody
// may use it already, and is not made to wait longer than for an attempt of the cut-over.
func (o oldTable) mark(ctx context.Context, comment string, wait time.Duration, note func(string)) {
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	statement := fmt.Sprintf("ALTER TABLE %s COMMENT = %s, ALGORITHM=INPLACE", o.name.Quoted(),
		schema.Literal(schema.MarkOld(o.source, comment)))
	err := retryBriefly(ctx, func() error {
		session, err := o.pool.Session(ctx)
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
	if err != nil {
		note(fmt.Sprintf("%s could not be marked as the former table (%v): midstream cleanup --old will leave it alone", o.name, err))
	}
}
