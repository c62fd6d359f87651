package leftovers

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Finished is an earlier run that had swapped when it was stopped, and that Finish has brought
// to its end.
type Finished struct {
	Alter string // the clauses
	Undid bool   // it was an undo
	Old   string // the old table; "" if it was dropped
	// Together are the tables that were swapped in the same step; nil for none.
	Together []string
}

// Ending defines how Finish completes a run that has swapped.
type Ending struct {
	// Lock bounds each wait for a lock. Its parts default to 250 ms.
	Lock    cutover.Budget
	DropOld bool // drops the old table
}

// Finish looks for an earlier run on the source that was stopped between its swap and its end, and
// completes it: it marks the old table, or drops it, and drops the state table. It returns nil if
// there is no such run, or another run is at work. If the error is ErrSwapped, the swap is known
// and a part of the rest may be done. On other errors nothing was written; with cutover.ErrUnknown
// it isn't known whether there was a swap.
//
// The swap is one statement. It has happened if the run had come to the cut-over and three things
// hold (law L7): the shadow is gone, the table has the shadow's columns, and the table with the
// name for the old table has the source's. It has also happened if the run had begun to clean up.
func Finish(ctx context.Context, pool *dbconn.Pool, source schema.Name, how Ending, note func(string)) (*Finished, error) {
	lost, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	held, err := ClaimTable(lost, pool, source, fail)
	if errors.Is(err, ErrClaimed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer held.Release()
	f := finisher{Cleaner: Cleaner{pool: pool, source: source}, how: how, note: note}
	f.how.Lock = how.Lock.WithDefaults()
	saved, former, err := f.swapped(lost)
	if err != nil {
		return nil, fmt.Errorf("check whether an earlier run on %s has swapped: %w", source, err)
	}
	if saved == nil {
		if err := f.unfinished(lost); err != nil {
			return nil, err
		}
		return nativeRecord{&f.Cleaner}.finish(lost)
	}
	finished, err := f.finish(lost, saved, former)
	if err != nil {
		return nil, fmt.Errorf("%w of %s, and finishing its work failed: %w", ErrSwapped, source, err)
	}
	return finished, nil
}

// unfinished puts right what a run that has not swapped may have left of foreign keys and triggers,
// before a plan is made of them.
func (f *finisher) unfinished(ctx context.Context) error {
	if err := f.FixCarried(ctx, f.how.Lock.Wait, f.note, false); err != nil {
		return fmt.Errorf("fix the foreign keys and triggers that an earlier run on %s has left: %w", f.source, err)
	}
	return nil
}

type finisher struct {
	Cleaner
	how  Ending
	note func(string)
}

// finish does what the run that saved this had left to do.
func (f *finisher) finish(ctx context.Context, saved *checkpoint.Saved, former *candidate) (*Finished, error) {
	start := saved.Start
	finished := &Finished{Alter: start.Alter, Undid: start.Purpose == string(plan.Undoing), Together: start.Together}
	err := f.FixCarried(ctx, f.how.Lock.Wait, f.note, false)
	if err != nil {
		return nil, err
	}
	undo := start.Undo
	if former != nil {
		values := schema.ParkedValues{Now: undo.ValuesTable(), Next: saved.Checkpoint.Values}
		old := Old{Pool: f.pool, Source: f.source, Name: former.Name, Rest: start.Filter != "", Needed: undo != nil,
			Into: start.Into, Values: values}
		if f.how.DropOld && undo == nil && !old.Rest {
			err = old.Drop(ctx)
		} else {
			was, marked := schema.MarkedOld(former.comment, f.source)
			if !marked {
				was = former.comment
			}
			// The statement on its foreign keys gives it a mark without the values of rows that were parked under the lock.
			if !marked || !old.Rest && schema.ValuesOfOld(former.comment, f.source) != values {
				old.Keep(ctx, was, start.Kept, f.how.Lock.Wait, f.note)
			}
			finished.Old = old.Name.Dotted()
			if undo != nil {
				err = f.KeepUndo(ctx, *undo, old.Name.Table)
			} else {
				err = f.DropUndo(ctx)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return finished, f.sweep(ctx)
}

// sweep removes what is left apart from the old table. First the log of triggers, then
// sentinels of runs that were killed before that one and had another name for the source. The state
// table is last, because it records the others.
func (f *finisher) sweep(ctx context.Context) error {
	var found []Table
	err := RetryBriefly(ctx, func() (err error) {
		found, err = f.Find(ctx, false)
		return err
	})
	for _, l := range found {
		if err == nil && f.GoesWithARun(l) {
			err = RetryBriefly(ctx, func() error { return f.Drop(ctx, l) })
		}
	}
	return err
}

// swapped returns what a run saved that has swapped, or nil, and the old table, if it is
// there.
func (f *finisher) swapped(ctx context.Context) (saved *checkpoint.Saved, former *candidate, err error) {
	there, err := f.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	_, shadowThere := there[f.Names().Shadow]
	if !f.HasState(there) || shadowThere {
		return nil, nil, nil
	}
	if saved, former, err = f.ended(ctx); err != nil && !errors.Is(err, ErrElsewhere) && !errors.Is(err, checkpoint.ErrNewer) {
		err = fmt.Errorf("%w: %w", cutover.ErrUnknown, err)
	}
	return saved, former, err
}

// ended is swapped for a state table without a shadow.
func (f *finisher) ended(ctx context.Context) (saved *checkpoint.Saved, former *candidate, err error) {
	saved, err = f.SavedHere(ctx)
	if err == nil && saved.Start != nil {
		err = f.EndRun(ctx, saved.Run, f.how.Lock, f.note) // its swap may be on its way
	}
	if errors.Is(err, checkpoint.ErrUnreadable) || err == nil && saved.Start == nil {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	there, err := f.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	former, is, err := f.HasSwapped(ctx, saved, there)
	if !is || err != nil {
		return nil, nil, err
	}
	return saved, former, nil
}

// HasSwapped reports whether the run that saved this has swapped, among these tables. It returns
// the old table, if that exists.
//
// REQUIRES: the sessions of that run had ended when the tables were listed.
func (c *Cleaner) HasSwapped(
	ctx context.Context,
	saved *checkpoint.Saved,
	there Listing,
) (former *candidate, is bool, err error) {
	phase := event.Phase(saved.Checkpoint.Phase)
	_, shadowThere := there[c.Names().Shadow]
	if saved.Start == nil || !plan.Purpose(saved.Start.Purpose).Swaps() || shadowThere {
		return nil, false, nil
	}
	old, oldThere := there[c.source.Sibling(saved.Start.Old)]
	_, marked := schema.MarkedOld(old.comment, c.source)
	if !oldThere && saved.Start.Kept != "" { // one statement sets name and mark
		old = there[c.source.Sibling(saved.Start.Kept)]
		_, marked = schema.MarkedOld(old.comment, c.source)
		oldThere = marked
	}
	if oldThere && !marked {
		// A table that is younger than the state table belongs to another user.
		if oldThere, err = c.noOlder(ctx, c.Names().State, old.Name); err != nil {
			return nil, false, err
		}
	}
	if phase != event.PhaseCleanup && (phase != event.PhaseCutover || !oldThere) {
		return nil, false, nil
	}
	if oldThere {
		was, err := schema.Load(ctx, c.pool.DB(), old.Name)
		if err != nil || schema.MarkedFor(old.comment, c.source) || !was.SameColumns(&schema.Table{Columns: saved.Start.Columns}) {
			// Another user's table, or a sentinel that keeps the name for the swap.
			return nil, false, err
		}
		former = &old
	}
	made := c.source
	if saved.Start.Into != (schema.Name{}) {
		made = saved.Start.Into
	}
	now, err := schema.Load(ctx, c.pool.DB(), made)
	if errors.Is(err, schema.ErrNotFound) || err == nil && !now.WithoutHelpers().SameColumns(saved.Start.Shadow.WithoutHelpers()) {
		return nil, false, nil
	}
	return former, err == nil, err
}

// ErrSwapped means that an earlier run has swapped the tables: nothing needs to be copied, and
// Finish completes that run.
var ErrSwapped = errors.New("an earlier run has swapped the tables")
