package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
)

// pollEvery is how often a session is looked at that may wait for a lock, at most.
const pollEvery = 20 * time.Millisecond

// ErrWork means that a statement had its lock, and has worked for longer than it may. The run
// withdrew it, and it has left nothing.
var ErrWork = errors.New("it worked for longer than its limit")

// Guarded runs a statement that may take long and that waits for metadata locks at its beginning
// and at its end, such as the server's own index builds. The budget bounds each wait: after a
// longer wait the statement is withdrawn, with everything that it has done. work bounds its work,
// if it is not 0 (ErrWork).
func Guarded(
	ctx context.Context,
	pool *dbconn.Pool,
	session *dbconn.Session,
	statement string,
	budget, work time.Duration,
) (Outcome, error) {
	bounded, withdraw := context.WithCancelCause(ctx)
	defer withdraw(nil)
	watched := make(chan struct{})
	over := make(chan struct{})
	w := waiter{pool: pool, id: session.ID(), budget: budget, work: work}
	started := time.Now()
	go func() {
		defer close(watched)
		if err := w.watch(bounded, over); err != nil {
			withdraw(err)
		}
	}()
	_, err := session.Exec(bounded, statement)
	took := time.Since(started)
	close(over)
	<-watched
	return outcome(Outcome{Waited: w.waited, Took: took}, err)
}

// Bounded is Guarded for any statement. If a statement is not known to work for long, Bounded first
// tries to get its locks at once, on servers that can do that.
func Bounded(
	ctx context.Context,
	pool *dbconn.Pool,
	session *dbconn.Session,
	statement string,
	budget, work time.Duration,
	long bool,
) (Outcome, error) {
	if !long {
		if o, granted, err := atOnce(ctx, session, statement, budget); granted || err != nil {
			return o, err
		}
	}
	return Guarded(ctx, pool, session, statement, budget, work)
}

// waiter measures how long a session waits for metadata locks, and how long it works. The server
// shows only whether it waits now. A wait is measured from the first sample that shows it, so the
// real wait may be longer by one pollEvery. A wait between two samples is not seen. The statement's
// own lock_wait_timeout bounds such waits.
type waiter struct {
	pool         *dbconn.Pool
	id           uint64
	budget, work time.Duration

	started time.Time     // of the statement
	earlier time.Duration // all waits before the present one
	// since is when the present wait was first seen; zero means that the session works.
	since time.Time
	// waited is the sum of all waits that were seen.
	waited time.Duration
}

// blindFor is how long the server may fail to show whether the session waits.
const blindFor = 10 * time.Second

// watch returns errBudget when the session has waited for longer than the budget. It returns
// ErrWork when the session has worked for too long, and nil when the statement is over.
func (w *waiter) watch(ctx context.Context, over <-chan struct{}) error {
	ticker := time.NewTicker(min(pollEvery, w.budget/5))
	defer ticker.Stop()
	w.started = time.Now()
	lastSeen := w.started
	for {
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		asked := time.Now()
		waits, err := w.waits(ctx)
		if err != nil {
			if ctx.Err() == nil && time.Since(lastSeen) >= blindFor {
				return err
			}
			continue
		}
		lastSeen = time.Now()
		if err := w.saw(waits, asked); err != nil {
			return err
		}
	}
}

// saw takes what a look showed that was asked for at a time.
func (w *waiter) saw(waits bool, asked time.Time) error {
	var present time.Duration
	switch {
	case !waits:
		w.earlier, w.since = w.waited, time.Time{}
	case w.since.IsZero():
		w.since = asked
	default:
		present = time.Since(w.since)
	}
	w.waited = w.earlier + present
	switch {
	case present >= w.budget:
		return errBudget
	case w.work > 0 && time.Since(w.started)-w.waited > w.work:
		return ErrWork
	}
	return nil
}

// waits reports whether the session waits for a metadata lock now.
func (w *waiter) waits(ctx context.Context) (waits bool, err error) {
	state, err := w.pool.StateOf(ctx, w.id)
	if err != nil {
		return false, fmt.Errorf("check whether connection %d waits for a lock: %w", w.id, err)
	}
	return strings.HasPrefix(state, "Waiting for ") && strings.HasSuffix(state, " lock"), nil
}
