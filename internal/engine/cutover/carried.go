package cutover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// What an attempt does about foreign keys and triggers, under its lock.

// related fails with ErrRelated where the triggers or foreign keys are not the plan's any more. Nobody changes
// them while the source is locked.
func (h *underLock) related(ctx context.Context) error {
	if err := h.sameTriggers(ctx); err != nil || !h.tables.RenameUnderLock {
		return err // there nobody refers to the source, and older servers open all tables to tell; its own are in its definition
	}
	now, err := schema.ForeignKeys(ctx, h.pool.DB(), h.tables.Source)
	if err != nil {
		return fmt.Errorf("read the foreign keys of %s: %w", h.tables.Source, err)
	}
	if len(now) != len(h.tables.Related) {
		return fmt.Errorf("%s: %w", h.tables.Source, ErrRelated)
	}
	for _, fk := range now {
		if !contains(h.tables.Related, fk) {
			return fmt.Errorf("%s: foreign key %s of %s: %w", h.tables.Source, fk.Constraint, fk.Child, ErrRelated)
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

// sameTriggers fails with ErrRelated where the source's triggers are not the plan's any more.
func (h *underLock) sameTriggers(ctx context.Context) error {
	now, err := schema.Triggers(ctx, h.pool.DB(), h.tables.Source)
	if err == nil && !carry.SameTriggers(now, h.tables.Carried.Triggers) {
		err = fmt.Errorf("triggers of %s: %w", h.tables.Source, ErrRelated)
	}
	return err
}

// declare has every constraint once more, with the shadow, and a stand-in for every trigger.
func (a *swapAttempt) declare(bounded context.Context) error {
	for _, statement := range a.tables.Carried.Declare() {
		if err := a.whole(bounded, a.holder, statement); err != nil {
			return err
		}
	}
	return nil
}

// timely gives something its time after the RENAME, or after one that came to nothing: what is left
// of the budget, and its least in any case.
func (a *swapAttempt) timely(ctx context.Context, do func(bounded context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), a.leastSettled()), ErrOverrun)
	defer cancel()
	return do(bounded)
}

// atWork bounds what is no wait for a lock: a statement at work, and what is read to know which
// ones are to be carried out. It comes to its end unless the server is gone: to end it sooner would
// help nobody, and leave constraints to the application that refuse good rows.
const atWork = 10 * time.Second

// left returns what is left to do of a step that is about foreign keys.
func (a *swapAttempt) left(ctx context.Context, step carry.Step) (carry.Work, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, atWork, ErrOverrun)
	defer cancel()
	return step(ctx, a.pool.DB())
}

// errBackup is why a statement was withdrawn that waited for a backup, as every other one would. Its state is that of
// performance_schema.threads and SHOW PROCESSLIST.
var errBackup = errors.New("a backup holds up every change of a table")

const waitingForBackup = "Waiting for backup lock"

// whole carries out a statement that changes a table which the session has locked. When bounded
// ends it is withdrawn if it waits for a lock, and comes to its end if it is at work: where KILL
// QUERY meets the server as it opens the table again, the table is locked no more (error 1100), and
// what was declared could not be taken back before the application comes.
func (a *swapAttempt) whole(bounded context.Context, session *dbconn.Session, statement carry.Statement) error {
	if bounded.Err() != nil {
		return context.Cause(bounded)
	}
	ctx, withdraw := context.WithCancelCause(context.WithoutCancel(bounded))
	defer withdraw(nil)
	stop := context.AfterFunc(bounded, func() {
		looking, cancel := context.WithTimeout(ctx, atWork)
		defer cancel()
		cause := context.Cause(bounded)
		for ; looking.Err() == nil; time.Sleep(time.Millisecond) {
			state, err := a.state(looking, session)
			if err == nil && strings.HasPrefix(state, "Waiting for ") && strings.HasSuffix(state, " lock") {
				if state == waitingForBackup {
					cause = fmt.Errorf("%w: %w", errBackup, cause)
				}
				break
			}
		}
		withdraw(cause)
	})
	defer stop()
	return carry.Run(ctx, session, statement)
}

// state is what the session does. A look has its time, for a connection may be gone on which no
// answer comes any more.
func (a *swapAttempt) state(ctx context.Context, session *dbconn.Session) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return a.pool.StateOf(ctx, session.ID())
}

// withdraw takes back what declare has done, as far as the lock is held still; it is looked for again
// by whoever looks after the attempt.
func (a *swapAttempt) withdraw(ctx context.Context) {
	if heldUp := a.withdrawKeys(ctx); heldUp {
		return
	}
	_ = a.timely(ctx, func(bounded context.Context) error {
		triggers, err := a.tables.Carried.WithdrawTriggers(bounded, a.pool.DB())
		if err != nil {
			return err
		}
		return carry.Run(bounded, a.holder, triggers.Statements...)
	})
}

// withdrawKeys gives each statement its time, and leaves none out because another one has failed: a
// constraint with the shadow that stays has good rows refused as soon as the lock is given back.
// But what is heldUp by a backup has that time once.
func (a *swapAttempt) withdrawKeys(ctx context.Context) (heldUp bool) {
	keys, err := a.left(ctx, a.tables.Carried.WithdrawKeys)
	if err != nil {
		return false
	}
	for _, statement := range keys.Statements {
		err := a.timely(ctx, func(bounded context.Context) error { return a.whole(bounded, a.holder, statement) })
		// The server may give the wait up as early as we do; all tables of the statement are
		// locked, so that it waits for nothing else.
		if errors.Is(err, errBackup) || dbconn.OutWaited(err) {
			return true
		}
	}
	return false
}

// leastSettled is the time that foreign keys and triggers get after the RENAME, or after one that
// came to nothing, however much of the budget is used up. What is left undone of triggers hurts
// nobody. A foreign key too many has the application refused good rows until it is put right: it
// waits rather than that.
func (a *swapAttempt) leastSettled() time.Duration {
	if a.tables.Carried.HasKeys() {
		return time.Second
	}
	return leastNamed
}

// leastNamed is the same for all that hurts nobody.
const leastNamed = 250 * time.Millisecond

// settle gives the constraints and the triggers their last form. It is bounded for the sake of who keeps DDL
// waiting, by LOCK INSTANCE FOR BACKUP. As in withdraw each statement about foreign keys has its time.
func (a *swapAttempt) settle(ctx context.Context) error {
	if a.tables.Carried.Empty() {
		return nil
	}
	var session *dbconn.Session
	err := a.timely(ctx, func(bounded context.Context) (err error) {
		session, err = a.finisher(bounded)
		return err
	})
	if err != nil {
		return err
	}
	keys, err := a.left(ctx, a.tables.Carried.SettleKeys)
	if err != nil {
		return err
	}
	names := keys.Statements
	for ; len(names) > 0 && names[0].Refusing; names = names[1:] {
		if err := a.timely(ctx, func(bounded context.Context) error { return a.whole(bounded, session, names[0]) }); err != nil {
			return err
		}
	}
	return a.settleNames(ctx, session, names)
}

// settleNames does what can be done later too: until then constraints have other names, and
// stand-ins do what triggers would. It has one time for all of it, so that queries don't wait for
// each statement of a slow server. What is left is done after the lock, one by one.
func (a *swapAttempt) settleNames(ctx context.Context, session *dbconn.Session, names []carry.Statement) error {
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), leastNamed), ErrOverrun)
	defer cancel()
	for _, statement := range names {
		if err := a.whole(bounded, session, statement); err != nil {
			return err
		}
	}
	triggers, err := a.tables.Carried.SettleTriggers(bounded, a.pool.DB())
	if err != nil {
		return err
	}
	for _, statement := range triggers.Statements {
		if err := a.whole(bounded, session, statement); err != nil {
			return err
		}
	}
	return nil
}
