package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/shadow"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// tellEvery is how long a run tries to fix foreign keys and triggers before it reports that.
const tellEvery = 10 * time.Second

// carrier brings the foreign keys and triggers of a run over to the new table, or back.
type carrier struct{ *run }

// undeclare takes back what a failed attempt has declared, if its lock was lost before it could.
func (r carrier) undeclare(ctx context.Context, set carry.Set) error {
	fixed, err := r.tryOn(ctx, leftovers.Fixer{Set: set}, leftovers.Fixer.Undeclare)
	if fixed && err == nil {
		r.note("removed the attempt's second foreign keys, and its stand-ins of triggers")
	}
	return err
}

// tryOn keeps trying to fix them while another session blocks that. A backup may do so for hours.
// If the run ended, nothing would fix the constraints that make the server refuse the application's
// rows.
func (r carrier) tryOn(
	ctx context.Context,
	m leftovers.Fixer,
	fix func(leftovers.Fixer, context.Context) (bool, error),
) (fixed bool, err error) {
	m.Pool, m.Patience = r.pool, tellEvery
	for {
		m.Wait = r.live().Lock.Wait
		now, err := fix(m, ctx)
		fixed = fixed || now
		if err == nil || ctx.Err() != nil || !errors.Is(err, cutover.ErrNotGranted) && !errors.Is(err, context.DeadlineExceeded) {
			return fixed, err
		}
		r.note(fmt.Sprintf("%v; retrying. Until it succeeds, valid inserts may fail (error 1452), and deletions of parent rows (1451)", err))
	}
}

// carried are the run's foreign keys and triggers that go over.
func (r *run) carried() carry.Set {
	source := r.plan.Source
	return carry.Set{
		Source:     source.Name,
		Shadow:     r.debts.shadowName,
		Old:        r.old(),
		Keys:       plan.Carried(r.plan),
		Shadows:    r.cfg.Together.Shadows(),
		Dropped:    r.plan.Dropped,
		Acting:     r.plan.Acting,
		Keyed:      r.plan.Keyed(),
		OldComment: plan.MarkOld(source.Name, r.old(), schema.ParkedValues{Now: r.plan.Back.LeavesValues()}, source.Comment, r.plan.Filter != ""),
		Triggers:   source.Triggers,
	}
}

// settleCarried does what the swap has left to do of foreign keys and triggers.
func (r carrier) settleCarried(ctx context.Context, unsettled error) error {
	if unsettled == nil {
		return nil
	}
	r.note(fmt.Sprintf("foreign keys or triggers did not get their final form under the lock (%v): the run finishes them now, one after the other",
		unsettled))
	_, err := r.tryOn(ctx, leftovers.Fixer{Set: r.carried()}, leftovers.Fixer.Settle)
	return err
}

// leftUnsettled returns the effect of foreign keys and triggers without their last form, and what
// to do.
func (r carrier) leftUnsettled() (left, next string) {
	left, next = leftovers.LeftUnsettled(r.carried(), r.debts.done)
	return left, failure.SameCommand + next
}

// readyForForeign checks that the shadow can have the constraints, and makes their indexes its own.
// It also makes constraints act on the shadow if the binlog does not show their actions.
func (r carrier) readyForForeign(ctx context.Context, made *shadow.Shadow) error {
	if len(r.plan.Foreign) == 0 { // none stays
		return nil
	}
	if err := r.plan.CheckForeign(made.Table); err != nil {
		return err
	}
	for _, fk := range r.plan.Foreign {
		if fk.Child == r.plan.Source.Name && r.plan.Purpose.Swaps() {
			if err := made.OwnIndex(ctx, r.pool, fk.Columns); err != nil {
				return err
			}
		}
	}
	for _, statement := range r.carried().ActOnShadow() {
		if err := r.lockParents(ctx, statement.Text); err != nil {
			return fmt.Errorf("%s: %w", statement.What, err)
		}
	}
	return nil
}

// lockParents carries out a statement that locks the parents, under the bounded lock.
func (r carrier) lockParents(ctx context.Context, statement string) error {
	session, err := r.pool.Session(ctx, append(r.pool.Defining(), carry.NoChecks)...)
	if err != nil {
		return err
	}
	defer session.Close()
	asker := lock.Asker{
		Pool:    r.pool,
		Lookout: &lock.Watcher{DB: r.pool.DB(), Tables: r.plan.Others()},
		Emit:    r.emit,
		Terms: func() lock.Terms {
			t := r.control.Terms(r.plan.Server)
			t.Most = 0
			return t
		},
	}
	_, _, err = asker.Run(ctx, func(ctx context.Context, budget time.Duration) (lock.Outcome, error) {
		return lock.Request(ctx, session, statement, budget)
	})
	return err
}

// tryInside lets the server declare the foreign keys to tables that are swapped in the same step, and to the table itself, before a row
// is copied. It knows which types may be the two ends of one.
func (w *work) tryInside(ctx context.Context) error {
	keys := plan.Inside(w.plan)
	if w.result().Resumed || len(keys) == 0 {
		return nil
	}
	set := carry.Set{Source: w.plan.Source.Name, Shadow: w.shadow.Name, Keys: keys, Shadows: w.cfg.Together.Shadows()}
	if err := set.Try(ctx, w.pool); err != nil && !dbconn.NoIndexOfParent(err) { // it may be one of those that are left for later
		return refusedBy(err)
	}
	return w.shadow.DropOthers(ctx, w.pool)
}

// tryTriggers lets the server create the stand-ins of the triggers on the empty shadow, and drops
// them again. So the server's objections are known before a row is copied.
func (r carrier) tryTriggers(ctx context.Context, made schema.Name) error {
	if len(r.plan.Source.Triggers) == 0 || r.plan.Purpose == plan.RehearsingOnReplica {
		return nil
	}
	return refusedBy(carry.Set{Source: r.plan.Source.Name, Shadow: made, Triggers: r.plan.Source.Triggers}.Try(ctx, r.pool))
}

func refusedBy(err error) error {
	if errors.Is(err, carry.ErrRefused) {
		err = fmt.Errorf("%w: a trigger or foreign key can't be carried over to the new table: %w", plan.ErrRefused, err)
	}
	return err
}
