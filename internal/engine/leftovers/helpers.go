package leftovers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/native"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrHelpers means that the new table still has invisible columns of the run.
var ErrHelpers = errors.New("the new table still has invisible columns of the run")

// DropHelpers is the second act of a run that kept columns of the dropped key until its swap: the server drops them in an instant, under
// the bounded lock. It returns their names; nil if the table has none.
//
// REQUIRES: the source is claimed, and is the run's new table.
func DropHelpers(
	ctx context.Context, pool *dbconn.Pool, source schema.Name, start *checkpoint.Start, terms func() lock.Terms, emit event.Listener,
) (names []string, err error) {
	if len(start.Shadow.Helpers()) == 0 {
		return nil, nil
	}
	now, err := schema.Load(ctx, pool.DB(), source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHelpers, err)
	}
	if names = now.Helpers(); len(names) == 0 {
		return nil, nil
	}
	change := native.Change{Table: now, Statement: schema.DropHelpers(source, names), ZeroDates: now.HasZeroDates()}
	if _, err = native.Run(ctx, pool, change, terms, nil, emit); err != nil {
		err = fmt.Errorf("%w (%s): %w", ErrHelpers, strings.Join(names, ", "), err)
	}
	return names, err
}

// hasHelpers reports whether the source has invisible columns of the run that began so.
func hasHelpers(ctx context.Context, c *Cleaner, start *checkpoint.Start) (bool, error) {
	if start == nil || start.Shadow == nil || len(start.Shadow.Helpers()) == 0 {
		return false, nil
	}
	now, err := schema.Load(ctx, c.pool.DB(), c.source)
	if errors.Is(err, schema.ErrNotFound) {
		return false, nil
	}
	return err == nil && len(now.Helpers()) > 0, err
}

// dropHelpers does the second act of an earlier run that has swapped.
func dropHelpers(ctx context.Context, c *Cleaner, start *checkpoint.Start, wait time.Duration, note func(string)) error {
	watcher := lock.Watcher{DB: c.pool.DB(), Tables: []schema.Name{c.source}}
	sees, err := watcher.Recorded(ctx)
	if err != nil {
		return err
	}
	terms := func() lock.Terms {
		return lock.Terms{SeesNobody: !sees, Wait: wait, Backoff: lock.DefaultBackoff, GiveUp: fixPatience}
	}
	names, err := DropHelpers(ctx, c.pool, c.source, start, terms, func(event.Event) {})
	if err == nil && len(names) > 0 {
		note("dropped " + strings.Join(names, ", ") + ", which an earlier run left in the new table")
	}
	return err
}

// LeftHelpers returns what is left, and what to do, if the second act has not come to its end.
func LeftHelpers(source, old, state schema.Name, helpers []string) (left, next string) {
	return fmt.Sprintf("%s has its new schema, and still has the invisible %s, which the run has added; %s and %s are left.",
			source, strings.Join(helpers, ", "), old, state),
		fmt.Sprintf("Run the same command again, or midstream cleanup  %s: both drop that.", source.Argument())
}
