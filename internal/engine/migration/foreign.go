package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/foreign"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/usertrigger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrUnsettled says that foreign keys are there once too often, which refuse rows that they should not, or that
// triggers do their work under other names.
var ErrUnsettled = errors.New("foreign keys or triggers are not in their last form")

// mendPatience is how long foreign keys and triggers are mended for, tellEvery how long by a run
// before it tells that it tries on.
const (
	mendPatience = time.Minute
	tellEvery    = 10 * time.Second
)

// mender brings foreign keys and triggers into their form outside of the lock of a swap: where that was lost, or
// an earlier run was killed under it. Each statement waits for no longer than an attempt of the cut-over.
type mender struct {
	pool     *dbconn.Pool
	set      foreign.Set
	triggers usertrigger.Set
	wait     time.Duration
	patience time.Duration
}

// withdraw takes back what was declared for a swap that has not happened.
func (m mender) withdraw(ctx context.Context) (mended bool, err error) {
	mended, err = m.mend(ctx, m.set.Withdraw, m.set.Shadow)
	if err != nil {
		return mended, err
	}
	also, err := m.mendTriggers(
		ctx, func(first, _ []schema.Trigger) []usertrigger.Statement { return m.triggers.Withdraw(first) },
		m.triggers.Shadow,
	)
	return mended || also, err
}

// settle does what is left to do after a swap.
func (m mender) settle(ctx context.Context) (mended bool, err error) {
	mended, err = m.mend(ctx, m.set.Settle, m.set.Source, m.set.Old)
	if err != nil {
		return mended, err
	}
	also, err := m.mendTriggers(ctx, m.triggers.Settle, m.triggers.Source, m.triggers.Old)
	return mended || also, err
}

// mend carries statements out until none is left, by what there is each time.
func (m mender) mend(ctx context.Context, left func([]schema.ForeignKey) []string, tables ...schema.Name) (mended bool, err error) {
	if m.set.Empty() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.patience)
	defer cancel()
	err = retryBriefly(ctx, func() error {
		if err := m.pool.EndLost(ctx); err != nil && !errors.Is(err, dbconn.ErrUnseen) {
			return err
		}
		found, err := m.set.Found(ctx, m.pool.DB(), tables...)
		if err != nil {
			return err
		}
		statements := left(found)
		if len(statements) == 0 {
			return nil
		}
		mended = true
		session, err := m.pool.Session(ctx, append(m.pool.Defining(), foreign.NoChecks)...)
		if err != nil {
			return err
		}
		defer session.Close()
		for _, statement := range statements {
			requested, err := lock.Request(ctx, session, statement, m.wait)
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
	return mended, err
}

// withdraw takes back what a failed attempt has declared, if its lock was lost before it could.
func (r *run) withdraw(ctx context.Context, set foreign.Set, triggers usertrigger.Set) error {
	mended, err := r.tryOn(ctx, mender{set: set, triggers: triggers}, mender.withdraw)
	if mended && err == nil {
		r.note("the attempt's second foreign keys, and its stand-ins of triggers, are taken back")
	}
	return err
}

// tryOn mends for as long as somebody holds that up, a backup perhaps for hours: if the run ended,
// nobody would put right what has the application refused good rows.
func (r *run) tryOn(ctx context.Context, m mender, mend func(mender, context.Context) (bool, error)) (mended bool, err error) {
	m.pool, m.patience = r.pool, tellEvery
	for {
		m.wait = r.live().Lock.Wait
		now, err := mend(m, ctx)
		mended = mended || now
		if err == nil || ctx.Err() != nil || !errors.Is(err, cutover.ErrNotGranted) && !errors.Is(err, context.DeadlineExceeded) {
			return mended, err
		}
		r.note(fmt.Sprintf("%v; tried on. Until then good rows may be refused (error 1452), and deletions of their parents (1451)", err))
	}
}

// foreign are the run's constraints that go over.
func (r *run) foreign() foreign.Set {
	source := r.plan.Source
	return foreign.Set{
		Source:     source.Name,
		Shadow:     r.shadow.Name,
		Old:        r.old(),
		Keys:       r.plan.Foreign,
		Dropped:    r.plan.Dropped,
		Acting:     r.plan.Acting,
		Keyed:      r.plan.Keyed(),
		OldComment: schema.MarkOld(source.Name, source.Comment),
	}
}

// settleCarried does what the swap has left to do of foreign keys and triggers.
func (r *run) settleCarried(ctx context.Context) error {
	if r.unsettled == nil {
		return nil
	}
	r.note(
		fmt.Sprintf(
			"foreign keys or triggers did not get their last form under the lock (%v): they get it now, one after the other",
			r.unsettled,
		),
	)
	_, err := r.tryOn(ctx, mender{set: r.foreign(), triggers: r.triggers()}, mender.settle)
	return err
}

// leftUnsettled says what foreign keys and triggers that are not in their last form do, and what to do.
func (r *run) leftUnsettled() (left, next string) {
	source := r.plan.Source.Name
	state, beside := "is untouched", r.shadowName()
	if r.made.swapped {
		state, beside = "has its new schema", r.old()
	}
	if len(r.plan.Foreign) == 0 {
		return fmt.Sprintf(
				"%s %s. Each of its triggers fires once for each row, but some may do so under names that begin with midstream_.",
				source,
				state,
			),
			fmt.Sprintf(
				SameCommand+", or midstream cleanup %s: both put that right first.", source.Argument(),
			)
	}
	return fmt.Sprintf(
			"%s %s. It and its children are held to all of their foreign keys; where some stand on %s as well, good rows may be refused "+
				"(error 1452), and deletions of their parents (1451).",
			source,
			state,
			beside,
		),
		fmt.Sprintf(
			SameCommand+" at once, or midstream cleanup %s: both put that right first.", source.Argument(),
		)
}

// mend looks at the foreign keys and triggers that an earlier run may have left unfinished, and puts them right:
// as they were, or, if it has swapped, as they shall be.
//
// REQUIRES: the source is claimed.
// gone says that the shadow is not needed any more: constraints that have stood on it from the beginning go too.
func (c *cleaner) mend(ctx context.Context, wait time.Duration, note func(string), gone bool) error {
	there, err := c.tables(ctx)
	if err != nil || !c.hasState(there) {
		return err
	}
	saved, err := c.saved(ctx)
	if errors.Is(err, checkpoint.ErrUnreadable) ||
		err == nil && (saved.Start == nil || len(saved.Start.Foreign)+len(saved.Start.Dropped)+len(saved.Start.Triggers) == 0) {
		return nil
	}
	if err == nil {
		err = c.elsewhere(ctx, saved)
	}
	if err == nil { // its statements may be on their way
		err = c.endRun(ctx, saved.Run, cutover.Budget{Wait: wait}, note)
	}
	if err == nil {
		there, err = c.tables(ctx)
	}
	if err != nil {
		return err
	}
	m := mender{pool: c.pool, set: c.foreign(saved.Start, there), triggers: c.triggers(saved.Start), wait: wait, patience: mendPatience}
	if gone {
		m.set.Acting = nil
	}
	do, what := m.withdraw, "second foreign keys, or stand-ins of triggers, that an earlier run had declared for its swap are taken back"
	if _, swapped, err := c.hasSwapped(ctx, saved, there); err != nil {
		return err
	} else if swapped {
		do, what = m.settle, "foreign keys or triggers that an earlier run left unfinished after its swap have their last form now"
	}
	mended, err := do(ctx)
	if mended && err == nil {
		note(what)
	}
	return err
}

// foreign are the constraints of a run that began so.
func (c *cleaner) foreign(start *checkpoint.Start, there map[schema.Name]candidate) foreign.Set {
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

// readyForForeign looks whether the shadow can have the constraints, makes their indexes its own, and has those
// act on it that the binlog does not tell of.
func (r *run) readyForForeign(ctx context.Context) error {
	if len(r.plan.Foreign) == 0 { // none stays
		return nil
	}
	if err := r.plan.CheckForeign(r.shadow.Table); err != nil {
		return err
	}
	for _, fk := range r.plan.Foreign {
		if fk.Child == r.plan.Source.Name && r.plan.Purpose == plan.Altering {
			if err := r.shadow.OwnIndex(ctx, r.pool, fk.Columns); err != nil {
				return err
			}
		}
	}
	for _, statement := range r.foreign().Stand() {
		if err := r.stand(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// stand carries a statement out that locks the parents, under the bounded lock.
func (r *run) stand(ctx context.Context, statement string) error {
	session, err := r.pool.Session(ctx, append(r.pool.Defining(), foreign.NoChecks)...)
	if err != nil {
		return err
	}
	defer session.Close()
	asker := lock.Asker{
		Pool:    r.pool,
		Watcher: &lock.Watcher{DB: r.pool.DB(), Tables: r.plan.Others()},
		Emit:    r.emit,
		Terms: func() lock.Terms {
			live := r.live()
			return lock.Terms{
				SeesNobody: !r.plan.Server.MetadataLocks,
				Wait:       live.Lock.Wait,
				Backoff:    live.Backoff,
				Longest:    live.MaxBackoff,
				GiveUp:     live.GiveUp,
				Kills:      live.Kills,
			}
		},
	}
	_, _, err = asker.Run(ctx, func(ctx context.Context, budget time.Duration) (lock.Outcome, error) {
		return lock.Request(ctx, session, statement, budget)
	})
	return err
}
