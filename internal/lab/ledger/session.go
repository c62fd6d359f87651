package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

// fate is what an error says about the statement that got it.
type fate uint8

const (
	fine          fate = iota
	undone             // the server says it did nothing, or undid all: try something else
	duplicate          // 1062: the statement did nothing
	unknown            // whether the server did it is not known
	unknownColumn      // 1054
	wrong              // an error that must not happen
)

// Numbers of server errors that the writer lives with.
const (
	errTooManyConnections = 1040
	errServerShutdown     = 1053
	errUnknownColumn      = 1054
	errDuplicate          = 1062
	errNoSuchTable        = 1146
	errLockWaitTimeout    = 1205
	errDeadlock           = 1213
	errQueryInterrupted   = 1317
	errTableDefChanged    = 1412 // a snapshot older than the swap (L10)
	errConnectionKilled   = 3169
	errLockNowait         = 3572
	errClientInteraction  = 4031
	errXADeadlock         = 1614
	errNoSuchThread       = 1094
)

// judge says what an error means. A withdrawn statement (1317) did nothing, unless it
// commits: then the answer may have come after the deed.
func (l *Ledger) judge(err error, commits bool) fate {
	if err == nil {
		return fine
	}
	switch l.opts.Number(err) {
	case 0, errServerShutdown, errConnectionKilled, errClientInteraction, errTooManyConnections:
		return unknown
	case errQueryInterrupted:
		if commits {
			return unknown
		}
		return undone
	case errDeadlock, errLockWaitTimeout, errLockNowait, errNoSuchTable, errTableDefChanged, errXADeadlock:
		return undone
	case errDuplicate:
		return duplicate
	case errUnknownColumn:
		return unknownColumn
	}
	return wrong
}

// session is one connection with the writer's settings. It is not safe for
// concurrent use.
type session struct {
	ledger *Ledger
	meter  *meter
	conn   *sql.Conn
	id     uint64    // the server's number of it
	booted time.Time // the server's start, to which the number belongs
	broken bool
}

// connect opens a session. isolation is a level's name in SET TRANSACTION.
func (l *Ledger) connect(ctx context.Context, m *meter, isolation string) (*session, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect a writer: %w", err)
	}
	s := &session{ledger: l, meter: m, conn: conn}
	setup := append([]string{
		"SET NAMES utf8mb4",
		"SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', autocommit = 1, " +
			"lock_wait_timeout = @@GLOBAL.lock_wait_timeout, " +
			"innodb_lock_wait_timeout = @@GLOBAL.innodb_lock_wait_timeout",
		"SET SESSION TRANSACTION ISOLATION LEVEL " + isolation,
	}, l.opts.Session...)
	for _, statement := range setup {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			s.close()
			return nil, fmt.Errorf("set up a writer's connection: %w", err)
		}
	}
	if err = conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id); err == nil {
		s.booted, err = booted(ctx, conn)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("set up a writer's connection: %w", err)
	}
	return s, nil
}

// booted is when the server was started, by our clock, to about a second.
func booted(ctx context.Context, conn *sql.Conn) (time.Time, error) {
	var name string
	var uptime int64
	err := conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &uptime)
	return time.Now().Add(-time.Duration(uptime) * time.Second), err
}

// close ends the connection; it never goes back to the pool with our settings.
func (s *session) close() {
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // tells the pool to drop it
	_ = s.conn.Close()
	s.broken = true
}

// exec runs one statement and measures it.
func (s *session) exec(ctx context.Context, kind, statement string) (int64, error) {
	start := s.meter.begin()
	result, err := s.conn.ExecContext(ctx, statement)
	s.meter.end(kind, start, statement, s.ledger.number(err), err)
	if err != nil {
		return 0, &statementError{statement: statement, err: err}
	}
	return result.RowsAffected()
}

// statementError is an error that a statement got.
type statementError struct {
	statement string
	err       error
}

func (e *statementError) Error() string { return abridged(e.statement) + ": " + e.err.Error() }
func (e *statementError) Unwrap() error { return e.err }

// bury kills a session whose last answer is unknown and waits until the server has
// nothing left of it, so that what is read afterwards is final. A server restarted
// since then has nothing of it, and may have given its number to somebody else.
//
// NB: information_schema.processlist would tell too, but MySQL 9.7 fails to read it
// (3854) while any session runs a statement with a 4-byte character.
func (l *Ledger) bury(ctx context.Context, dead *session) error {
	dead.close()
	return l.untilConnected(ctx, func() error {
		conn, err := l.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		since, err := booted(ctx, conn)
		if err != nil {
			return err
		}
		if since.Sub(dead.booted).Abs() > 2*time.Second {
			return nil
		}
		for {
			_, err := conn.ExecContext(ctx, fmt.Sprintf("KILL %d", dead.id))
			if l.number(err) == errNoSuchThread {
				return nil
			}
			if err != nil {
				return err
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
}

// untilConnected repeats f while it fails for lack of a connection.
func (l *Ledger) untilConnected(ctx context.Context, f func() error) error {
	give := time.Now().Add(l.opts.Reconnect)
	for {
		err := f()
		if err == nil || l.judge(err, true) != unknown || time.Now().After(give) || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// number returns the server's number of an error, 0 if there is none.
func (l *Ledger) number(err error) uint16 {
	if err == nil {
		return 0
	}
	return l.opts.Number(err)
}

// abridged is a statement short enough for a message.
func abridged(statement string) string {
	const most = 300
	if len(statement) <= most {
		return statement
	}
	return strings.ToValidUTF8(statement[:most], "") + "..."
}
