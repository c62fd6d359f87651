package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/onreplica"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/together"
	"midstream/internal/mysql/schema"
)

// Rehearsal chooses how far a rehearsal goes.
type Rehearsal struct {
	// Lock has the lock of the cut-over taken, the changes applied under it, and the lock
	// given back.
	Lock bool
	// Keep leaves the shadow and the state table on the server, as the same run would go on
	// with them.
	Keep bool
}

// Rehearsed is what a rehearsal reports in addition to a run's report, or in numbers.
type Rehearsed struct {
	CaptureDelay time.Duration // the most that capture was behind
	LockWaited   time.Duration // of the request that was granted
	// Blockers counts the sessions that were seen to block the lock.
	Blockers int
	// Blocked is roughly the time during which any session blocked the lock.
	Blocked time.Duration
	// ShadowBytes is the size of rows and indexes, as the server estimates it.
	ShadowBytes int64
	Shadow      string                // the table that was kept; "" if it was dropped
	Replication onreplica.Replication // of a rehearsal on a replica
}

var errPurpose = errors.New("the plan is for something else")

// Rehearse is Run without the swap. While the application works, it makes the shadow, fills it,
// compares it, and drops it again. It may be called once, in place of Run. It changes nothing of
// the source, and cannot reach a RENAME. If the plan has chosen a method of the server's own, it
// does nothing. The error is a *Failure.
//
// Rehearse resumes an earlier rehearsal as Run resumes a run. It does not touch what an earlier run
// left (failure.ErrStopped).
func (m *Migration) Rehearse(ctx context.Context, how Rehearsal) (Result, error) {
	r := newRun(m)
	err := r.claimed(ctx, func(ctx context.Context) error {
		defer r.progress()()
		if !r.plan.Purpose.Rehearses() {
			return fmt.Errorf("%w: it is for a run, and not for a rehearsal", errPurpose)
		}
		if err := (earlier{r}).onlyRehearsals(ctx); err != nil {
			return err
		}
		if r.plan.Choice.Method != plan.MethodShadow {
			r.note("nothing was done: " + r.plan.Choice.Rehearsal())
			return nil
		}
		if err := r.unlogged(ctx); err != nil {
			return err
		}
		return r.filled(ctx, func(w *work, ctx context.Context) error { return w.rehearse(ctx, how) })
	})
	return r.result(), r.conclude(ctx, err)
}

// onlyRehearsals fails with failure.ErrStopped if what an earlier run has left is not a rehearsal's: a
// rehearsal neither goes on with it nor removes it.
func (r earlier) onlyRehearsals(ctx context.Context) error {
	_, stopped, err := r.listTables(ctx)
	if err != nil || !stopped {
		return err
	}
	c := r.leftovers
	saved, err := c.Saved(ctx)
	if err == nil {
		err = notARuns(saved)
	}
	r.debts.former = err != nil
	return err
}

// notARuns fails with failure.ErrStopped if saved belongs to a run that alters the table.
func notARuns(saved *checkpoint.Saved) error {
	if saved.Start != nil && plan.Purpose(saved.Start.Purpose).Swaps() {
		return failure.ErrStopped
	}
	return nil
}

// unlogged fails with onreplica.ErrLogged if a rehearsal on a replica would write to the replica's binlog.
func (r *run) unlogged(ctx context.Context) error {
	if r.plan.Purpose != plan.RehearsingOnReplica {
		return nil
	}
	return onreplica.Unlogged(ctx, r.pool.DB())
}

// rehearse is the last stage of a rehearsal, in the place of the cut-over. The shadows of a group are there until all are filled, as
// they are before its swap, and are kept together or not at all.
func (w *work) rehearse(ctx context.Context, how Rehearsal) error {
	var err error
	if how.Lock {
		var swap event.SwapDone
		swap, err = w.attempts(ctx, cutover.Rehearse, lockTurn{w})
		w.account.update(func() { w.account.swap = swap })
	} else if err = w.cfg.Together.All(ctx, together.Filled); err == nil {
		err = w.catchUp(ctx)
	}
	if err == nil {
		err = w.weighShadow(ctx)
	}
	if err == nil && how.Keep {
		err = w.checkpoint(ctx)
	}
	if err == nil {
		err = w.cfg.Together.Pass(ctx, together.Rehearsed)
	}
	if err == nil && how.Keep {
		w.debts.keep = true
		w.account.update(func() { w.account.rehearsed.Shadow = w.shadow.Name.Dotted() })
	}
	return err
}

// weighShadow reads how large the shadow is.
func (w *work) weighShadow(ctx context.Context) error {
	table, err := schema.LoadOwn(ctx, w.pool.DB(), w.shadow.Name)
	if err != nil {
		return err
	}
	w.account.update(func() { w.account.rehearsed.ShadowBytes = table.DataBytes + table.IndexBytes })
	return nil
}
