package leftovers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/foreign"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/usertrigger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrUnsettled says that foreign keys are there once too often, which refuse rows that they should not, or that
// triggers do their work under other names.
var ErrUnsettled = errors.New("foreign keys or triggers are not in their last form")

// fixPatience is how long Cleanup and Finish try to fix foreign keys and triggers.
const fixPatience = time.Minute

// Fixer brings foreign keys and triggers into their form outside of the lock of a swap: where that was lost, or
// an earlier run was killed under it. Each statement waits for no longer than an attempt of the cut-over.
type Fixer struct {
	Pool     *dbconn.Pool
	Set      foreign.Set
	Triggers usertrigger.Set
	Wait     time.Duration
	Patience time.Duration
}

// Withdraw takes back what was declared for a swap that has not happened.
func (f Fixer) Withdraw(ctx context.Context) (fixed bool, err error) {
	fixed, err = f.fixForeign(ctx, f.Set.Withdraw, f.Set.Shadow)
	if err != nil {
		return fixed, err
	}
	also, err := f.fixTriggers(
		ctx, func(first, _ []schema.Trigger) []usertrigger.Statement { return f.Triggers.Withdraw(first) },
		f.Triggers.Shadow,
	)
	return fixed || also, err
}

// Settle does what is left to do after a swap.
func (f Fixer) Settle(ctx context.Context) (fixed bool, err error) {
	fixed, err = f.fixForeign(ctx, f.Set.Settle, f.Set.Source, f.Set.Old)
	if err != nil {
		return fixed, err
	}
	also, err := f.fixTriggers(ctx, f.Triggers.Settle, f.Triggers.Source, f.Triggers.Old)
	return fixed || also, err
}

// fixForeign carries statements out until none is left, by what there is each time.
func (f Fixer) fixForeign(ctx context.Context, left func([]schema.ForeignKey) []string, tables ...schema.Name) (fixed bool, err error) {
	if f.Set.Empty() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.Patience)
	defer cancel()
	err = RetryBriefly(ctx, func() error {
		if err := f.Pool.EndLost(ctx); err != nil && !errors.Is(err, dbconn.ErrUnseen) {
			return err
		}
		found, err := f.Set.Found(ctx, f.Pool.DB(), tables...)
		if err != nil {
			return err
		}
		statements := left(found)
		if len(statements) == 0 {
			return nil
		}
		fixed = true
		session, err := f.Pool.Session(ctx, append(f.Pool.Defining(), foreign.NoChecks)...)
		if err != nil {
			return err
		}
		defer session.Close()
		for _, statement := range statements {
			requested, err := lock.Request(ctx, session, statement, f.Wait)
			if err == nil && !requested.Granted {
				err = cutover.ErrNotGranted
			}
			if err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnsettled, err)
	}
	return fixed, err
}

// FixCarried looks at the foreign keys and triggers that an earlier run may have left unfinished, and puts them right:
// as they were, or, if it has swapped, as they shall be.
//
// REQUIRES: the source is claimed.
// gone says that the shadow is not needed any more: constraints that have stood on it from the beginning go too.
func (c *Cleaner) FixCarried(ctx context.Context, wait time.Duration, note func(string), gone bool) error {
	there, err := c.List(ctx)
	if err != nil || !c.HasState(there) {
		return err
	}
	saved, err := c.Saved(ctx)
	if errors.Is(err, checkpoint.ErrUnreadable) ||
		err == nil && (saved.Start == nil || len(saved.Start.Foreign)+len(saved.Start.Dropped)+len(saved.Start.Triggers) == 0) {
		return nil
	}
	if err == nil {
		err = c.CheckElsewhere(ctx, saved)
	}
	if err == nil { // its statements may be on their way
		err = c.EndRun(ctx, saved.Run, cutover.Budget{Wait: wait}, note)
	}
	if err == nil {
		there, err = c.List(ctx)
	}
	if err != nil {
		return err
	}
	f := Fixer{Pool: c.pool, Set: c.Foreign(saved.Start, there), Triggers: c.Triggers(saved.Start), Wait: wait, Patience: fixPatience}
	if gone {
		f.Set.Acting = nil
	}
	do, what := f.Withdraw, "second foreign keys, or stand-ins of triggers, that an earlier run had declared for its swap are taken back"
	if _, swapped, err := c.HasSwapped(ctx, saved, there); err != nil {
		return err
	} else if swapped {
		do, what = f.Settle, "foreign keys or triggers that an earlier run left unfinished after its swap have their last form now"
	}
	fixed, err := do(ctx)
	if fixed && err == nil {
		note(what)
	}
	return err
}

// Foreign are the constraints of a run that began so.
func (c *Cleaner) Foreign(start *checkpoint.Start, there Listing) foreign.Set {
	old := c.source.Sibling(start.Old)
	comment := there[old].comment
	if _, marked := schema.MarkedOld(comment, c.source); !marked {
		comment = schema.MarkOld(c.source, comment)
	}
	return foreign.Set{
		Source:     c.source,
		Shadow:     start.Shadow.Name,
		Old:        old,
		Keys:       start.Foreign,
		Dropped:    start.Dropped,
		Acting:     start.Acting,
		Keyed:      start.Keyed,
		OldComment: comment,
	}
}

// settleAtOnce bounds the time that statements about triggers hold a lock of their tables: what is
// left then is done under the next one.
const settleAtOnce = 250 * time.Millisecond

// fixTriggers brings triggers into their form outside of the lock of a swap, under locks of its own: left
// says what is to be done by what there is on the first table, and on the second.
func (f Fixer) fixTriggers(
	ctx context.Context,
	left func(first, second []schema.Trigger) []usertrigger.Statement,
	tables ...schema.Name,
) (fixed bool, err error) {
	if len(f.Triggers.Triggers) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.Patience)
	defer cancel()
	err = RetryBriefly(ctx, func() error {
		if err := f.Pool.EndLost(ctx); err != nil && !errors.Is(err, dbconn.ErrUnseen) {
			return err
		}
		found := make([][]schema.Trigger, 2)
		var there []schema.Name
		for i, table := range tables {
			var err error
			if found[i], err = schema.Triggers(ctx, f.Pool.DB(), table); err != nil {
				return err
			}
			if i == 0 || len(found[i]) > 0 {
				there = append(there, table)
			}
		}
		statements := left(found[0], found[1])
		if len(statements) == 0 {
			return nil
		}
		fixed = true
		return f.underLock(ctx, statements, there)
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnsettled, err)
	}
	return fixed, err
}

// underLock carries statements out while nobody uses the tables.
func (f Fixer) underLock(ctx context.Context, statements []usertrigger.Statement, tables []schema.Name) error {
	session, err := f.Pool.Session(ctx, fmt.Sprintf("SET SESSION wait_timeout = %d", 2+int(settleAtOnce/time.Second)))
	if err != nil {
		return err
	}
	defer session.Close()
	requested, err := lock.Request(ctx, session, schema.LockTables(tables...), f.Wait)
	if err == nil && !requested.Granted {
		err = cutover.ErrNotGranted
	}
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, settleAtOnce, cutover.ErrNotGranted)
	defer cancel()
	return cutover.Carry(bounded, session, statements)
}

// Triggers are those of a run that began so.
func (c *Cleaner) Triggers(start *checkpoint.Start) usertrigger.Set {
	return usertrigger.Set{Source: c.source, Shadow: start.Shadow.Name, Old: c.source.Sibling(start.Old), Triggers: start.Triggers}
}
