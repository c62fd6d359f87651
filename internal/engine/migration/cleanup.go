package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// cleanUp removes what the run created, unless its debts say keep. After a swap it also settles the
// foreign keys and triggers, and marks or drops the old table. It does not end with the run's
// context.
func (r *run) cleanUp() error {
	if !r.debts.mayRemove() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var oldErr error
	if r.debts.done {
		r.enter(event.PhaseCleanup)
		if err := (carrier{r}).settleCarried(ctx, r.prepared.Load().unsettled); err != nil {
			return err
		}
		undo := r.prepared.Load().start.Undo
		drops := r.cfg.DropOld && undo == nil
		if drops {
			// The old table proves the swap to leftovers.Finish. Once it is gone, the state table does.
			oldErr = leftovers.RetryBriefly(ctx, func() error { return r.prepared.Load().checkpoint(ctx) })
		}
		old := leftovers.Old{
			Pool: r.pool, Source: r.plan.Source.Name, Name: r.old(), Rest: r.plan.Filter != "", Needed: undo != nil,
			Into:   r.plan.Into.Name,
			Values: schema.ParkedValues{Now: undo.ValuesTable(), Next: r.prepared.Load().lot.Values()},
		}
		if drops && oldErr == nil {
			oldErr = old.Drop(ctx)
		}
		if oldErr != nil {
			r.debts.leave(old.Name)
		}
		if !drops || oldErr != nil {
			old.Keep(ctx, r.plan.Source.Comment, r.debts.finalOldName, r.live().Lock.Wait, r.note)
			r.debts.oldName = old.Name.Table
		}
		if undo != nil {
			if err := r.leftovers.KeepUndo(ctx, *undo, old.Name.Table); err != nil {
				r.debts.leave(r.plan.Names.State)
				return fmt.Errorf("%w: %w", failure.ErrLeftovers, err)
			}
		} else if err := r.leftovers.DropUndo(ctx); err != nil { // of an earlier change, which this one ends
			r.debts.leave(plan.UndoOf(r.plan.Source.Name))
			oldErr = errors.Join(oldErr, err)
		}
	}
	if err := errors.Join(r.sweep(ctx), oldErr); err != nil {
		return fmt.Errorf("%w: %w", failure.ErrLeftovers, err)
	}
	return nil
}

// secondAct drops what the new table has kept of the dropped key, unless the run has failed. What is there until then proves the swap.
func secondAct(ctx context.Context, r *run, err error) error {
	if err != nil || len(r.plan.Key.Dropped) == 0 {
		return err
	}
	r.enter(event.PhaseCleanup)
	start, terms := r.prepared.Load().start, func() lock.Terms { return r.control.Terms(r.plan.Server) }
	_, err = leftovers.DropHelpers(ctx, r.pool, r.plan.Source.Name, &start, terms, r.emit)
	if err != nil {
		r.debts.keep, r.debts.helpers = true, start.Shadow.Helpers()
	}
	return err
}

// sweep removes the artefacts, by the rules of leftovers.Cleanup.
func (r *run) sweep(ctx context.Context) error {
	c := r.leftovers
	var found []leftovers.Table
	err := leftovers.RetryBriefly(ctx, func() (err error) {
		if err := r.pool.EndLost(ctx); dbconn.ConnectionLost(err) {
			return err // other errors don't block the check
		}
		if err := c.FixCarried(ctx, r.live().Lock.Wait, r.note, true); err != nil {
			return err
		}
		found, err = c.Find(ctx, false)
		return err
	})
	if err != nil {
		r.debts.left = []string{r.debts.shadowName.String(), r.plan.Names.State.String()}
		return err
	}
	var failed error
	for _, l := range found {
		if r.debts.spares(l.Name) || !c.GoesWithARun(l) {
			continue
		}
		if failed != nil && l.Name == r.plan.Names.State {
			r.debts.leave(l.Name) // it names what could not be dropped
			continue
		}
		if err := leftovers.RetryBriefly(ctx, func() error { return c.Drop(ctx, l) }); err != nil {
			r.debts.leave(l.Name)
			failed = errors.Join(failed, fmt.Errorf("drop %s: %w", l.Name, err))
		}
	}
	return failed
}
