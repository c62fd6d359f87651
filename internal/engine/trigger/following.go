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
	if ended { // and no session has written since
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

// Freeze stops the reader, and withdraws its statement. Unfreeze ends that.
func (l *Log) Freeze() {
	l.pulse.Freeze()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.withdraw != nil {
		l.withdraw(errFrozen)
	}
}

// Ready stops the reader until Unfreeze, before the run asks for the lock of the source. Otherwise
// a statement that the reader has just sent would wait for that lock under it. (KILL QUERY does not
// reach a statement that has not begun.)
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

// Last reads the log to its end through the session that has the lock of the source, and also the
// log's. Then every committed change of the source is in the backlog. REQUIRES: Ready.
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

// Prepared counts, through the session that has the lock, the rows in the log that are not
// committed. No session writes, so these rows belong to prepared XA transactions. REQUIRES: Last,
// and that the session has no open transaction that must be kept.
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
	// The level is that of the next transaction only.
	for _, statement := range []string{"COMMIT", "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", query, "COMMIT"} {
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
