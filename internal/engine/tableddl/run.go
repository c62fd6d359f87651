package tableddl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Change is what the server must do.
type Change struct {
	Table schema.Name // the first table of the statement
	// Statement runs under the bounded lock. Names in it without a database are in Table's
	// database.
	Statement string
	// Setup are settings of its session.
	Setup []string
	// Watched are the tables that it locks.
	Watched []schema.Name

	// Long means that the server may work for longer than a query may wait, once it has the lock:
	// it creates or drops files.
	Long bool

	// These show whether the change was made: the tables that have other names afterwards, the
	// names that are free, and whether Table is new, or another table that is empty.
	Moves            []ddl.TableRename
	Gone             []schema.Name
	Created, Emptied bool

	// Twin is the name of an empty copy of Table that is made just before the statement, which
	// gives it another name; it may be zero.
	Twin schema.Name
}

// Result is what a Run did.
type Result struct {
	Attempts int
	Took     time.Duration // of the last attempt, with its wait
}

// The errors of a Run, in addition to the server's.
var (
	// ErrChanged means that another session has renamed, created or dropped one of the tables.
	// Nothing was done.
	ErrChanged = errors.New("another session renamed, created or dropped one of the tables")
	// ErrUnknown means that the connection was lost, and that the tables don't show whether the
	// statement was executed, or could not be read.
	ErrUnknown = errors.New("the outcome of the statement is not known")
	// ErrTwinLeft means that the empty copy could not be removed. It holds no rows.
	ErrTwinLeft = errors.New("the empty copy could not be removed")
)

// Run makes the server carry out the change, under the bounded lock: no session waits behind it for
// longer than the budget. On an error nothing has happened, except for ErrUnknown and ErrTwinLeft.
// terms and turn are as in lock.Asker.
func Run(
	ctx context.Context,
	pool *dbconn.Pool,
	c Change,
	terms func() lock.Terms,
	turn lock.Turn,
	emit event.Listener,
) (result Result, err error) {
	r := runner{Change: c, pool: pool}
	if r.began, err = look(ctx, pool.DB(), c.names()); err != nil {
		return result, err
	}
	asker := lock.Asker{Pool: pool, Lookout: &lock.Watcher{DB: pool.DB(), Tables: c.Watched}, Terms: terms, Turn: turn, Emit: emit}
	attempts, last, err := asker.Run(ctx, r.attempt)
	return Result{Attempts: attempts, Took: last.Took}, err
}

// names are all names whose tables the statement may move, create or remove.
func (c Change) names() []schema.Name {
	names := append([]schema.Name{c.Table}, c.Gone...)
	for _, m := range c.Moves {
		names = append(names, m.From, m.To)
	}
	slices.SortFunc(names, func(a, b schema.Name) int {
		if a.Quoted() < b.Quoted() {
			return -1
		}
		return 1
	})
	return slices.Compact(names)
}

// runner is one Run.
type runner struct {
	Change
	pool  *dbconn.Pool
	began sights // before the first request
	// before is what exists before the last request, with the twin; nil before the first.
	before sights
}

// session opens a session in which names without a database are in the table's database.
func (r *runner) session(ctx context.Context) (*dbconn.Session, error) {
	setup := append(r.pool.AsTheServer(r.Twin != (schema.Name{})), "USE "+schema.Quote(r.Table.Schema))
	return r.pool.Session(ctx, append(setup, r.Setup...)...)
}

// attempt makes one attempt at the statement.
func (r *runner) attempt(ctx context.Context, budget time.Duration) (asked lock.Outcome, err error) {
	if err := r.pool.EndLost(ctx); err != nil { // a request that lost its connection
		return asked, err
	}
	now, err := look(ctx, r.pool.DB(), r.names())
	if err != nil {
		return asked, err
	}
	if !now.asPlanned(r.began) {
		if r.before != nil {
			if done, known := r.outcome(r.before, now); done && known {
				return lock.Outcome{Granted: true}, nil
			}
		}
		return asked, ErrChanged
	}
	session, err := r.session(ctx)
	if err != nil {
		return asked, err
	}
	defer session.Close()
	if r.Twin != (schema.Name{}) {
		if now, err = r.makeTwin(ctx, session); dbconn.Contended(err) && !errors.Is(err, ErrTwinLeft) {
			return asked, nil
		} else if err != nil {
			return asked, fmt.Errorf("make %s: %w", r.Twin, err)
		}
		defer func() {
			if !asked.Granted && !errors.Is(err, ErrUnknown) {
				err = errors.Join(err, r.dropTwin())
			}
		}()
	}
	r.before = now
	asked, err = r.request(ctx, session, budget)
	if err != nil && (dbconn.Number(err) == 0 || dbconn.ConnectionLost(err)) {
		// The answer may be lost although the statement is done.
		asked.Granted, err = r.found(context.WithoutCancel(ctx), err)
	}
	return asked, err
}

// request withdraws the statement if it waits for too long, but not while it works: a statement
// that has its lock may finish.
func (r *runner) request(ctx context.Context, session *dbconn.Session, budget time.Duration) (lock.Outcome, error) {
	return lock.Bounded(ctx, r.pool, session, r.Statement, budget, 0, r.Long)
}

// patience is how long the run asks the server what became of a statement.
const patience = 30 * time.Second

// found finds out what became of a statement whose answer was lost. Once its session has ended, the
// statement was either executed, or never will be.
func (r *runner) found(ctx context.Context, lost error) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := r.pool.EndLost(ctx)
		if err == nil {
			var after sights
			if after, err = look(ctx, r.pool.DB(), r.names()); err == nil {
				done, known := r.outcome(r.before, after)
				switch {
				case !known:
					return false, errors.Join(ErrUnknown, lost)
				case done:
					return true, nil
				}
				return false, lost
			}
		}
		select {
		case <-ctx.Done():
			return false, errors.Join(ErrUnknown, lost, err)
		case <-time.After(time.Second):
		}
	}
}

// makeTwin creates the empty copy just before the statement that needs it, and returns the sights
// after that. The copy has no mark, because it is about to be the table. A transaction that began
// earlier fails with 1412 when it reads the copy, as after the server's own TRUNCATE.
func (r *runner) makeTwin(ctx context.Context, session *dbconn.Session) (sights, error) {
	if _, err := session.Exec(ctx, fmt.Sprintf("CREATE TABLE %s LIKE %s", r.Twin.Quoted(), r.Table.Quoted())); err != nil {
		if dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) {
			return nil, errors.Join(err, r.twinLeft())
		}
		return nil, err
	}
	seen, err := look(ctx, r.pool.DB(), r.names())
	if err != nil {
		return nil, errors.Join(err, r.dropTwin())
	}
	return seen, nil
}

// twinLeft fails with ErrTwinLeft if a copy exists whose CREATE had no answer: another session may
// have created it.
func (r *runner) twinLeft() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := r.pool.EndLost(ctx)
	if err == nil {
		var seen sights
		if seen, err = look(ctx, r.pool.DB(), []schema.Name{r.Twin}); err == nil && !seen[r.Twin].there {
			return nil
		}
	}
	return errors.Join(ErrTwinLeft, err)
}

// dropTwin removes the empty copy of a statement that was not carried out.
func (r *runner) dropTwin() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := r.pool.EndLost(ctx)
		if err == nil {
			var session *dbconn.Session
			if session, err = r.session(ctx); err == nil {
				_, err = session.Exec(ctx, "DROP TABLE IF EXISTS "+r.Twin.Quoted())
				session.Close()
			}
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ErrTwinLeft, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
