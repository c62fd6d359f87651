package cutover

import (
	"context"
	"database/sql"
	"fmt"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/carry"
	"midstream/internal/mysql/schema"
)

// The check that the source is still the plan's has connections of its own. The lock keeps every session
// from changing a definition, so it does not matter which session reads it. They read while the last changes are
// received and applied: on a far server each query is a round trip under the lock.

// counters are the AUTO_INCREMENT counters of the two tables, 0 if none must be carried over.
type counters struct{ source, shadow uint64 }

// openReaders takes connections of the pool. They read in UTC and without padded texts, because the
// plan has read definitions so: the holder computes values in the server's settings.
//
// One connection more is left open and free in the pool, for whoever else asks the server something under the
// lock (intake, and carry).
func (p *part) openReaders(ctx context.Context) (err error) {
	for i := range p.readers {
		if p.readers[i], err = p.Pool.DB().Conn(ctx); err != nil {
			return err
		}
		if err = p.readers[i].PingContext(ctx); err != nil { // it may have been idle for long
			return err
		}
	}
	return p.Pool.DB().PingContext(ctx)
}

// closeReaders gives the connections back that check has not used.
func (p *part) closeReaders() {
	for _, reader := range p.readers {
		if reader != nil {
			reader.Close()
		}
	}
}

// check begins to read whether the source is still the plan's. found waits for the result, and must be
// called. REQUIRES: the source is locked.
func (p *part) check(ctx context.Context) (found func() (counters, error)) {
	var read counters
	reading, ctx := errgroup.WithContext(ctx)
	with := func(reader *sql.Conn, do func(q schema.Querier) error) {
		reading.Go(func() error {
			defer reader.Close() // gives it back: others need connections, too
			return becauseOf(ctx, do(reader))
		})
	}
	with(p.readers[0], func(q schema.Querier) (err error) {
		read, err = p.checkDefinition(ctx, q)
		return err
	})
	with(p.readers[1], func(q schema.Querier) error { return p.checkRelated(ctx, q) })
	return func() (counters, error) {
		err := reading.Wait()
		return read, err
	}
}

// becauseOf adds why the context has ended to the error of a query that it has ended.
func becauseOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// checkDefinition fails with ErrSourceChanged if the source's definition differs from the plan's.
func (p *part) checkDefinition(ctx context.Context, q schema.Querier) (read counters, err error) {
	source, err := showCreate(ctx, q, p.Tables.Source)
	if err != nil {
		return read, err
	}
	definition, next := schema.SplitAutoIncrement(source)
	if !schema.SameDefinition(definition, p.Tables.Definition) {
		return read, fmt.Errorf("%s: %w", p.Tables.Source, ErrSourceChanged)
	}
	if !p.Tables.AutoIncrement || next == 0 {
		return read, nil
	}
	shadow, err := showCreate(ctx, q, p.Tables.Shadow)
	_, has := schema.SplitAutoIncrement(shadow)
	return counters{source: next, shadow: has}, err
}

func showCreate(ctx context.Context, q schema.Querier, table schema.Name) (text string, err error) {
	var name string
	if err := q.QueryRowContext(ctx, "SHOW CREATE TABLE "+table.Quoted()).Scan(&name, &text); err != nil {
		return "", fmt.Errorf("read the definition of %s: %w", table, err)
	}
	return text, nil
}

// checkRelated fails with ErrRelated if the triggers or foreign keys differ from the plan's.
func (p *part) checkRelated(ctx context.Context, q schema.Querier) error {
	if err := p.checkTriggers(ctx, q); err != nil || !p.Tables.RenameUnderLock {
		return err // there nobody refers to the source, and older servers open all tables to tell; its own are in its definition
	}
	now, err := schema.ForeignKeys(ctx, q, p.Tables.Source)
	if err != nil {
		return fmt.Errorf("read the foreign keys of %s: %w", p.Tables.Source, err)
	}
	if len(now) != len(p.Tables.Related) {
		return fmt.Errorf("%s: %w", p.Tables.Source, ErrRelated)
	}
	for _, fk := range now {
		if !contains(p.Tables.Related, fk) {
			return fmt.Errorf("%s: foreign key %s of %s: %w", p.Tables.Source, fk.Constraint, fk.Child, ErrRelated)
		}
	}
	return nil
}

func contains(all []schema.ForeignKey, fk schema.ForeignKey) bool {
	for _, other := range all {
		if fk.Equal(other) {
			return true
		}
	}
	return false
}

// checkTriggers fails with ErrRelated if the source's triggers differ from the plan's.
func (p *part) checkTriggers(ctx context.Context, q schema.Querier) error {
	now, err := schema.Triggers(ctx, q, p.Tables.Source)
	if err == nil && !carry.SameTriggers(now, p.Tables.Carried.Triggers) {
		err = fmt.Errorf("triggers of %s: %w", p.Tables.Source, ErrRelated)
	}
	return err
}
