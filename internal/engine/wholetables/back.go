package wholetables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/compare"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// prepareBack does what precedes an undo. It writes nothing that matters if the undo is refused after it.
func (c *Change) prepareBack(ctx context.Context) error {
	if c.plan.Back.Kind == ddl.KindTruncate {
		return c.prepareMerge(ctx)
	}
	if c.plan.Back.Kind != ddl.KindDrop {
		return nil
	}
	if err := c.findOrphans(ctx, c.plan.Back.Aside); err != nil || len(c.plan.Back.Was.ForeignKeys) == 0 {
		return err
	}
	return c.keepIndexes(ctx)
}

// prepareMerge makes ready to take rows over, or gives back the rows of an earlier undo that was killed.
func (c *Change) prepareMerge(ctx context.Context) error {
	m, err := c.merger(ctx)
	switch {
	case c.plan.Back.Merge:
		c.merge = m
		return err
	case errors.Is(err, compare.ErrIncomparable):
		return nil // nothing was taken over
	case err != nil:
		return err
	}
	return m.giveBack(ctx)
}

// spareIndex is the name that an index has for a moment.
const spareIndex = "midstream_index"

// keepIndexes makes the indexes of the foreign keys the user's own. The server may have made such an index itself;
// then it would replace it, and build it again, when a constraint on its columns is added.
func (c *Change) keepIndexes(ctx context.Context) error {
	b := c.plan.Back
	now, err := schema.Load(ctx, c.pool.DB(), b.Aside)
	if err != nil {
		return err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(now.Keys, func(k schema.Key) bool { return k.Name == name })
	}
	for _, fk := range b.Was.ForeignKeys {
		for _, index := range fk.Indexes {
			if has(index) {
				if err := c.alterAside(ctx, fmt.Sprintf("RENAME INDEX %s TO %s", schema.Quote(index), schema.Quote(spareIndex))); err != nil {
					return err
				}
			} else if !has(spareIndex) {
				continue
			}
			if err := c.alterAside(ctx, fmt.Sprintf("RENAME INDEX %s TO %s", schema.Quote(spareIndex), schema.Quote(index))); err != nil {
				return err
			}
		}
	}
	return nil
}

// alterAside changes the entry of the table that was put aside in the server's dictionary. No session should use it.
func (c *Change) alterAside(ctx context.Context, clauses string) error {
	return c.alterOther(ctx, c.plan.Back.Aside, clauses)
}

// alterOther changes the entry of a table that no session should use in the server's dictionary. If a session uses it nevertheless, it
// is named, and may be killed, as one that blocks a swap.
func (c *Change) alterOther(ctx context.Context, table schema.Name, clauses string) error {
	statement := fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE", table.Quoted(), clauses)
	ctx, cancel := context.WithTimeout(ctx, bookPatience)
	defer cancel()
	watcher := &lock.Watcher{DB: c.pool.DB(), Tables: []schema.Name{table}}
	emit := func(e event.Event) {
		if _, is := e.(event.LockAttempt); !is { // it is none for the swap
			c.emit(e)
		}
	}
	asker := lock.Asker{Pool: c.pool, Lookout: watcher, Emit: emit, For: "alter " + table.String(), Terms: func() lock.Terms {
		t := c.control.Terms(c.plan.Server)
		t.GiveUp = bookPatience * 9 / 10 // before ctx ends
		return t
	}}
	return leftovers.RetryBriefly(ctx, func() error {
		_, _, err := asker.Run(ctx, func(ctx context.Context, budget time.Duration) (lock.Outcome, error) {
			session, err := c.pool.Session(ctx, c.pool.Defining()...)
			if err != nil {
				return lock.Outcome{}, err
			}
			defer session.Close()
			return lock.Request(ctx, session, statement, budget)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", statement, watcher.NameHolders(ctx, err))
		}
		return nil
	})
}
