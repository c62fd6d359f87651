package trigger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"midstream/internal/mysql/dbconn"
)

// Fence waits until everything that was committed before the call has been received. REQUIRES: Run is running.
func (l *Log) Fence(ctx context.Context) error {
	l.mu.Lock()
	l.wanted++
	ticket, ended := l.wanted, l.ended
	l.mu.Unlock()
	if ended { // and nobody has written since
		return nil
	}
	kick(l.kick)
	return l.await(ctx, func() bool { return l.passed >= ticket })
}

func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// await waits for a condition over what mu guards.
func (l *Log) await(ctx context.Context, is func() bool) error {
	for {
		l.mu.Lock()
		done, changed := is(), l.changed
		l.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// Delay is how far the reader is behind the server.
func (l *Log) Delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.caughtUp)
}

// Beats writes heartbeats until the context ends or one can't be written.
func (l *Log) Beats(ctx context.Context) error {
	ticker := time.NewTicker(l.cfg.Beat)
	defer ticker.Stop()
	for {
		if err := l.Beat(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		case <-l.kickBeat:
		}
	}
}

// Beat writes one heartbeat. REQUIRES: one caller at a time.
func (l *Log) Beat(ctx context.Context) error {
	l.mu.Lock()
	l.number++
	n := l.number
	l.mu.Unlock()
	if err := l.deps.Beat(ctx, n); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beaten = n
	l.signal()
	return nil
}

// Received waits for a heartbeat that was begun after the call: the run is still the one at work
// (law L6). What the log holds is read by Last.
func (l *Log) Received(ctx context.Context) error {
	l.mu.Lock()
	next := l.number + 1
	l.mu.Unlock()
	kick(l.kickBeat)
	return l.await(ctx, func() bool { return l.beaten >= next })
}

// waitNotHeld waits while the log is read by who has the lock.
func (l *Log) waitNotHeld(ctx context.Context) error {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-held:
		return nil
	}
}

// Hold has the reader stand still, and withdraws what it is doing. Release ends it.
func (l *Log) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(chan struct{})
	}
	if l.withdraw != nil {
		l.withdraw(errHeld)
	}
}

// Ready has the reader stand still until Release, before the lock of the source is asked for. (A
// statement of its own that had just been sent would wait for that lock under it: KILL QUERY does
// not reach a statement that has not begun.)
func (l *Log) Ready() {
	l.Hold()
	l.turn.Lock() // what it was doing has ended
	defer l.turn.Unlock()
}

// Release ends Hold.
func (l *Log) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = false
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

// Last reads the log to its end through the session that has the lock of the source, and with it
// that of the log: every change of the source that is committed is then in the backlog. REQUIRES:
// Ready.
func (l *Log) Last(ctx context.Context, session *dbconn.Session) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	for _, condition := range []func(uint64) string{l.tail, l.rest} {
		if err := l.receive(ctx, session, condition); err != nil {
			return fmt.Errorf("read the log of changes %s: %w", l.deps.Set.Log, err)
		}
	}
	l.revealAll()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	return nil
}

// Prepared counts, through the session that has the lock, the rows that stand in the log and are
// not committed: nobody writes, so that they are of XA transactions that are prepared. REQUIRES:
// Last, and that the session has no transaction open that is to be kept.
func (l *Log) Prepared(ctx context.Context, session *dbconn.Session) (n int, err error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	query := fmt.Sprintf(
		"SELECT id FROM %s FORCE INDEX (PRIMARY) WHERE id > %d OR %s", l.deps.Set.Log.Quoted(), l.last,
		l.read.others("id", l.last),
	)
	count := func(rows *sql.Rows) error {
		var id uint64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if !l.read.has(id) {
			n++
		}
		return nil
	}
	for _, statement := range []string{"COMMIT", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", query, "COMMIT", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
		if statement == query {
			err = session.Rows(ctx, query, count)
		} else {
			_, err = session.Exec(ctx, statement)
		}
		if err != nil {
			return 0, fmt.Errorf("look for prepared changes in %s: %w", l.deps.Set.Log, err)
		}
	}
	return n, nil
}
