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
	select {
	case l.kick <- struct{}{}:
	default:
	}
	return l.pulse.Wait(ctx, 0, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.passed >= ticket
	})
}

// Delay is how far the reader is behind the server.
func (l *Log) Delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.caughtUp)
}

// Beats writes heartbeats until the context ends or one can't be written.
func (l *Log) Beats(ctx context.Context) error {
	return l.pulse.Run(ctx, l.cfg.Beat, l.Beat)
}

// Beat writes one heartbeat. REQUIRES: one caller at a time.
func (l *Log) Beat(ctx context.Context) error {
	n := l.pulse.Next()
	if err := l.deps.Beat(ctx, n); err != nil {
		return err
	}
	l.pulse.Back(n)
	return nil
}

// Received waits for a heartbeat that was begun after the call: the run is still the one at work
// (law L6). What the log holds is read by Last.
func (l *Log) Received(ctx context.Context) error {
	beat := l.pulse.Ask()
	return l.pulse.Wait(ctx, 0, func() bool { return l.pulse.Last() >= beat })
}

// Freeze has the reader stand still, and withdraws what it is doing. Unfreeze ends it.
func (l *Log) Freeze() {
	l.pulse.Freeze()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.withdraw != nil {
		l.withdraw(errFrozen)
	}
}

// Ready has the reader stand still until Unfreeze, before the lock of the source is asked for. (A
// statement of its own that had just been sent would wait for that lock under it: KILL QUERY does
// not reach a statement that has not begun.)
func (l *Log) Ready() {
	l.Freeze()
	l.turn.Lock() // what it was doing has ended
	defer l.turn.Unlock()
}

// Unfreeze ends Freeze.
func (l *Log) Unfreeze() {
	l.mu.Lock()
	l.ended = false
	l.mu.Unlock()
	l.pulse.Unfreeze()
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
