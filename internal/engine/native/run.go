package native

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Change is a statement that the server should run.
type Change struct {
	// Table is the table's definition when the change was planned.
	Table *schema.Table
	// Statement changes it, by the algorithm and the lock that it names.
	Statement string
	// Long means that the statement works for a while between its two requests for the lock: it
	// builds an index, or the table.
	Long bool
	// ZeroDates lets it have zero dates.
	ZeroDates bool
	// Work bounds the statement's work; 0 for no bound. It is for a statement that keeps all other
	// sessions from writing.
	Work time.Duration
}

// Result is what a Run did.
type Result struct {
	Attempts int
	// Waited is the time that the last attempt waited for the lock.
	Waited time.Duration
	// Took is the complete time of the last attempt.
	Took time.Duration
}

// These are the errors of a Run, in addition to the server's.
var (
	// ErrChanged means that the table differs from the table that the change was planned for.
	// Nothing was done.
	ErrChanged = errors.New("the table was altered since the change was planned")
	// ErrUnknown means that the connection was lost, and that the server could not be asked about
	// the statement's outcome. It also means that the table has changed after a request was
	// withdrawn.
	ErrUnknown = errors.New("the outcome of the statement is not known")
)

// Run lets the server make the change, under the bounded lock: no session waits behind it for
// longer than the budget. A withdrawn statement has left nothing, and Run tries it again. terms and
// turn are as in lock.Asker.
func Run(ctx context.Context, pool *dbconn.Pool, c Change, terms func() lock.Terms, turn lock.Turn, emit event.Listener) (Result, error) {
	asker := lock.Asker{
		Pool: pool, Lookout: &lock.Watcher{DB: pool.DB(), Tables: append(c.Table.Related(), c.Table.Name)},
		Terms: terms, Turn: turn, Emit: emit,
	}
	first := true
	attempts, last, err := asker.Run(ctx, func(ctx context.Context, budget time.Duration) (lock.Outcome, error) {
		outcome, err := c.attempt(ctx, pool, budget, first)
		first = false
		return outcome, err
	})
	result := Result{Attempts: attempts, Waited: last.Waited, Took: last.Took}
	if err != nil {
		return result, fmt.Errorf("change %s: %w", c.Table.Name, err)
	}
	return result, nil
}

// attempt has the statement carried out once.
func (c Change) attempt(ctx context.Context, pool *dbconn.Pool, budget time.Duration, first bool) (lock.Outcome, error) {
	err := pool.EndLost(ctx) // a withdrawn, lost request
	same := false
	if err == nil {
		same, err = c.same(ctx, pool)
	}
	if err == nil && !same {
		err = ErrChanged
		// Or a request that was withdrawn too late.
		if !first {
			err = ErrUnknown
		}
	}
	if err != nil {
		return lock.Outcome{}, err
	}
	setup := pool.AsTheServer(c.ZeroDates)
	if c.Long {
		setup = append(pool.BuildSetup(ctx, dbconn.BuildThreads), setup...)
	}
	session, err := pool.Session(ctx, setup...)
	if err != nil {
		return lock.Outcome{}, err
	}
	defer session.Close()
	outcome, err := lock.Bounded(ctx, pool, session, c.Statement, budget, c.Work, c.Long)
	if err == nil || dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) {
		return outcome, err
	}
	// The answer may be lost, and the statement be done.
	done, failed := c.done(context.WithoutCancel(ctx), pool)
	switch {
	case failed != nil:
		return outcome, errors.Join(ErrUnknown, err, failed)
	case done:
		outcome.Granted = true
		return outcome, nil
	case dbconn.ConnectionLost(err) && ctx.Err() == nil:
		return outcome, nil // nothing has happened: try again
	}
	return outcome, err
}

// patience is how long the server is asked what has become of a statement.
const patience = 30 * time.Second

// done reports whether the statement was carried out, if its answer was lost. It waits until its
// session has ended: after that, the statement has run or never will.
func (c Change) done(ctx context.Context, pool *dbconn.Pool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := pool.EndLost(ctx)
		if err == nil {
			same, err := c.same(ctx, pool)
			if err == nil {
				return !same, nil
			}
		}
		select {
		case <-ctx.Done():
			return false, err
		case <-time.After(time.Second):
		}
	}
}

// same reports whether the table is unchanged.
func (c Change) same(ctx context.Context, pool *dbconn.Pool) (bool, error) {
	now, err := schema.Load(ctx, pool.DB(), c.Table.Name)
	if err != nil {
		return false, err
	}
	was, _ := schema.SplitAutoIncrement(c.Table.Create)
	is, _ := schema.SplitAutoIncrement(now.Create)
	return schema.SameDefinition(was, is), nil
}
