package dbconn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"midstream/internal/mysql/schema"
)

// Session is one connection of its own. It is not safe for concurrent use.
type Session struct {
	pool *Pool
	conn *sql.Conn
	id   uint64
	lost bool
}

// Session takes a connection out of the pool and runs the setup statements on it.
func (p *Pool) Session(ctx context.Context, setup ...string) (*Session, error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	s := &Session{pool: p, conn: conn}
	if database := p.Database(); database != "" {
		setup = append([]string{"USE " + schema.Quote(database)}, setup...)
	}
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id); err != nil {
		s.Close()
		return nil, fmt.Errorf("open session: %w", err)
	}
	for _, statement := range setup {
		if _, err := s.Exec(ctx, statement); err != nil {
			s.Close()
			return nil, fmt.Errorf("open session: %s: %w", statement, err)
		}
	}
	return s, nil
}

// Exec runs one statement by a session of its own, as Session.Exec does. Statements on tables use
// it and not DB, because a session has the default database, and replicas filter statements by it.
func (p *Pool) Exec(ctx context.Context, statement string) error {
	session, err := p.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.Exec(ctx, statement)
	return err
}

// These settings of a session have other names on MariaDB.
const (
	// NoRangeLimit has the optimizer look up as many keys by ranges as a statement names.
	NoRangeLimit = "SET SESSION /*!50709 range_optimizer_max_mem_size *//*M! optimizer_max_sel_arg_weight */ = 0"
	// NoTimeLimit lets a statement take as long as it takes.
	NoTimeLimit = "SET SESSION /*!50708 max_execution_time *//*M! max_statement_time */ = 0"
)

// ID is the server's number of this connection.
func (s *Session) ID() uint64 { return s.id }

// Lost reports whether the answer to a statement has not come. Then the outcome of the statement is
// not known, and the server may or may not still have the session.
func (s *Session) Lost() bool { return s.lost }

// Close ends the connection: the server rolls back and releases what it held.
func (s *Session) Close() error {
	// A session carries state (locks, variables); it never goes back to the pool.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	return s.conn.Close()
}

// hardStop is the time that a withdrawn statement gets before the socket is closed, and killAgain the
// time until the next KILL QUERY.
const (
	hardStop  = 5 * time.Second
	killAgain = 50 * time.Millisecond
)

// Exec runs a statement. If ctx ends first, KILL QUERY withdraws the statement on the server, and
// the error is the cause of ctx. A statement that was done before the KILL reached it counts as
// done.
func (s *Session) Exec(ctx context.Context, query string) (sql.Result, error) {
	var result sql.Result
	err := s.bounded(ctx, func(ctx context.Context) (err error) {
		result, err = s.conn.ExecContext(ctx, query)
		return err
	})
	return result, err
}

// Rows runs a query and hands each row to scan. It is bounded as Exec is.
func (s *Session) Rows(ctx context.Context, query string, scan func(*sql.Rows) error) error {
	return s.bounded(ctx, func(ctx context.Context) error {
		rows, err := s.conn.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// bounded runs one statement, and withdraws it when ctx ends. The bound on each lock request rests
// on it.
//
// The protocol, in the order of time:
//
//  1. The statement gets a context of its own, and ctx does not end that one. If the driver saw ctx
//     end, it would close the socket. The server would continue the statement and keep its place in
//     the queue.
//  2. If ctx ends first, a second goroutine sends KILL QUERY over the pool's own connection for that,
//     again and again until the statement has ended. A server forgets a KILL that overtakes its
//     statement: a lost packet is sent again after 200 ms, and the two use two connections.
//  3. If the server cannot be reached, or the statement does not end within hardStop, abandon closes
//     the socket. Then the session is lost: the outcome of the statement is not known.
//  4. After run, abandon informs the second goroutine that the statement has ended. If that goroutine
//     has not begun, stop keeps it from beginning, and the result counts.
//  5. Otherwise bounded waits until the last KILL has been answered: it must not hit the next statement.
//     MySQL 8.0.12 may still hand it to the next statement: that is an empty one.
//  6. A statement that was done before the KILL came counts as done. Any other ends with the cause of
//     ctx.
func (s *Session) bounded(ctx context.Context, run func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	statement, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		defer time.AfterFunc(hardStop, abandon).Stop()
		for statement.Err() == nil {
			if s.pool.kill(s.id) != nil {
				abandon()
			}
			select {
			case <-statement.Done():
			case <-time.After(killAgain):
			}
		}
	})
	err := run(statement)
	if err != nil && Number(err) == 0 || ConnectionLost(err) {
		s.lost = true
		s.pool.lose(s.id)
	}
	abandon()
	if stop() {
		return err
	}
	<-killed
	if err == nil || Interrupted(err) {
		_, _ = s.conn.ExecContext(context.Background(), "DO 1")
	}
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}
