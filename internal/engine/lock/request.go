package lock

import (
	"context"
	"errors"
	"time"

	"midstream/internal/mysql/dbconn"
)

var errBudget = errors.New("lock budget used up")

// Outcome is what became of a request.
type Outcome struct {
	// Granted reports whether the lock was granted. Otherwise the statement was withdrawn, and has
	// left nothing.
	Granted bool
	// Undone is why the work under the lock failed; it has left nothing. If Undone is nil and
	// Granted is set, the work was done.
	Undone error
	// Waited is the wait for the lock, as far as it can be distinguished from the work.
	Waited time.Duration
	// Took is the time from the statement's beginning to its end.
	Took time.Duration
}

// Done reports whether no other request is needed.
func (o Outcome) Done() bool { return o.Granted && o.Undone == nil }

// Request runs a statement that waits for metadata locks, and withdraws it when it has taken as
// long as the budget. If the lock is not granted in that time, that is no error. If the server can
// refuse a lock that is not free at once, Request first tries that for as long as the budget. So
// mostly no session has to wait behind the request.
func Request(ctx context.Context, session *dbconn.Session, statement string, budget time.Duration) (Outcome, error) {
	if o, granted, err := atOnce(ctx, session, statement, budget); granted || err != nil {
		return o, err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, budget, errBudget)
	defer cancel()
	started := time.Now()
	_, err := session.Exec(bounded, dbconn.Limited(statement, budget))
	took := time.Since(started)
	return outcome(Outcome{Waited: took, Took: took}, err)
}

// refusedFor is how long a request rests that was refused.
const refusedFor = 5 * time.Millisecond

// atOnce tries to get the locks without a place in the queue, for as long as the budget, if the
// server can do that.
func atOnce(ctx context.Context, session *dbconn.Session, statement string, budget time.Duration) (o Outcome, granted bool, err error) {
	if !session.MayRefuse() {
		return o, false, nil
	}
	for began := time.Now(); time.Since(began) < budget; {
		started := time.Now()
		err := session.ExecNoWait(ctx, statement)
		switch {
		case err == nil:
			return Outcome{Granted: true, Took: time.Since(started)}, true, nil
		case !dbconn.Contended(err):
			return o, false, err
		}
		select {
		case <-ctx.Done():
			return o, false, context.Cause(ctx)
		case <-time.After(refusedFor):
		}
	}
	return o, false, nil
}

// outcome judges the end of a statement.
func outcome(o Outcome, err error) (Outcome, error) {
	switch {
	case err == nil:
		o.Granted = true
	case errors.Is(err, errBudget), dbconn.Contended(err):
		return o, nil
	}
	return o, err
}
