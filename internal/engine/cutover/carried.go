package cutover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// What an attempt does about foreign keys and triggers, under its lock.

// declare adds each constraint a second time, with the shadow, and a stand-in for each trigger.
func (a *swapAttempt) declare(bounded context.Context, p *part) error {
	for _, statement := range p.Tables.Carried.Declare() {
		if err := a.finishAtWork(bounded, a.holder, statement); err != nil {
			return err
		}
	}
	return nil
}

// inRestOfBudget runs do within what is left of the budget, and at least within leastSettled. It is for
// work after the RENAME, or after a RENAME that failed.
func (a *swapAttempt) inRestOfBudget(ctx context.Context, p *part, do func(bounded context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), p.leastSettled()), ErrOverrun)
	defer cancel()
	return do(bounded)
}

// atWork bounds everything that does not wait for a lock: a statement at work, and the queries that
// find out which statements to run. They finish unless the server is gone. To stop one sooner would
// help no session, and would leave constraints that make the server refuse good rows.
const atWork = 10 * time.Second

// statementsLeft returns the statements about foreign keys that are still to run.
func (p *part) statementsLeft(ctx context.Context, find carry.FindWork) (carry.Work, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, atWork, ErrOverrun)
	defer cancel()
	return find(ctx, p.Pool.DB())
}

// errBackup is why a statement was withdrawn that waited for a backup, as every other one would. Its state is that of
// performance_schema.threads and SHOW PROCESSLIST.
var errBackup = errors.New("a backup holds up every change of a table")

const waitingForBackup = "Waiting for backup lock"

// finishAtWork runs a statement that changes a table that the session has locked. When bounded ends, finishAtWork
// withdraws the statement if it waits for a lock, and lets it finish if it is at work. If KILL
// QUERY hits the server while it opens the table again, the lock on the table is lost (error 1100).
// Then what was declared could not be withdrawn before the application comes.
func (a *swapAttempt) finishAtWork(bounded context.Context, session *dbconn.Session, statement carry.Statement) error {
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

// state returns what the session does. The query is bounded, because a dead connection may never
// answer.
func (a *swapAttempt) state(ctx context.Context, session *dbconn.Session) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return a.one().Pool.StateOf(ctx, session.ID())
}

// undeclare removes what declare has added, as long as the lock is still held. Whoever cleans up
// after the attempt looks for leftovers again.
func (a *swapAttempt) undeclare(ctx context.Context, p *part) {
	if heldUp := a.undeclareKeys(ctx, p); heldUp {
		return
	}
	_ = a.inRestOfBudget(ctx, p, func(bounded context.Context) error {
		triggers, err := p.Tables.Carried.UndeclareTriggers(bounded, p.Pool.DB())
		if err != nil {
			return err
		}
		return carry.Run(bounded, a.holder, triggers.Statements...)
	})
}

// undeclareKeys gives each statement its own time, and runs all of them even if one fails. A
// constraint with the shadow that stays makes the server refuse good rows as soon as the lock is
// released. But the statements that a backup holds up share one such time.
func (a *swapAttempt) undeclareKeys(ctx context.Context, p *part) (heldUp bool) {
	keys, err := p.statementsLeft(ctx, p.Tables.Carried.UndeclareKeys)
	if err != nil {
		return false
	}
	for _, statement := range keys.Statements {
		err := a.inRestOfBudget(ctx, p, func(bounded context.Context) error { return a.finishAtWork(bounded, a.holder, statement) })
		// The server may give up the wait as early as we do. All tables of the statement are
		// locked, so it waits for nothing else.
		if errors.Is(err, errBackup) || dbconn.OutWaited(err) {
			return true
		}
	}
	return false
}

// leastSettled is the time that foreign keys and triggers get after the RENAME, or after a RENAME
// that failed, however much of the budget is used up. Unfinished work on triggers hurts no session.
// But a leftover foreign key makes the server refuse the application's rows until it is dropped. To
// let the application wait is better than that.
func (p *part) leastSettled() time.Duration {
	if p.Tables.Carried.HasKeys() {
		return plan.LeastForKeys
	}
	return plan.LeastForTriggers
}

// settle gives the constraints and the triggers their last form. It is bounded because a session
// with LOCK INSTANCE FOR BACKUP may keep DDL waiting. As in undeclare, each statement about foreign
// keys has its own time.
func (a *swapAttempt) settle(ctx context.Context, p *part) error {
	if p.Tables.Carried.Empty() {
		return nil
	}
	var session *dbconn.Session
	err := a.inRestOfBudget(ctx, p, func(bounded context.Context) (err error) {
		session, err = a.finisher(bounded)
		return err
	})
	if err != nil {
		return err
	}
	keys, err := p.statementsLeft(ctx, p.Tables.Carried.SettleKeys)
	if err != nil {
		return err
	}
	names := keys.Statements
	for ; len(names) > 0 && names[0].Refusing; names = names[1:] {
		err := a.inRestOfBudget(ctx, p, func(bounded context.Context) error { return a.finishAtWork(bounded, session, names[0]) })
		if err != nil {
			return err
		}
	}
	return a.settleNames(ctx, p, session, names)
}

// settleNames does the work that can also be done later: until then constraints have other names,
// and stand-ins do the work of triggers. All statements share one time, because queries must not
// wait for each statement of a slow server. The rest is done after the lock, one by one.
func (a *swapAttempt) settleNames(ctx context.Context, p *part, session *dbconn.Session, names []carry.Statement) error {
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), plan.LeastForTriggers), ErrOverrun)
	defer cancel()
	for _, statement := range names {
		if err := a.finishAtWork(bounded, session, statement); err != nil {
			return err
		}
	}
	triggers, err := p.Tables.Carried.SettleTriggers(bounded, p.Pool.DB())
	if err != nil {
		return err
	}
	for _, statement := range triggers.Statements {
		if err := a.finishAtWork(bounded, session, statement); err != nil {
			return err
		}
	}
	return nil
}
