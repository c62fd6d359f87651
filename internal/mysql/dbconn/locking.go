package dbconn

import (
	"context"
	"fmt"
	"time"
)

// meet learns what the server can do about locks.
func (p *Pool) meet(ctx context.Context) error {
	return p.killer.QueryRowContext(ctx, "SELECT @@GLOBAL.performance_schema, 0 /*M! + 1 */").Scan(&p.threads, &p.refuses)
}

// StateOf returns the state of a session now, from the server's processlist, such as "Waiting for
// table metadata lock"; "" if it does nothing, or is gone. Without performance_schema, StateOf
// reads it from SHOW PROCESSLIST. That takes a mutex of the server's while it lists all sessions.
func (p *Pool) StateOf(ctx context.Context, id uint64) (state string, err error) {
	if p.threads {
		err = p.db.QueryRowContext(ctx, fmt.Sprintf(
			"SELECT COALESCE(MAX(processlist_state), '') FROM performance_schema.threads WHERE processlist_id = %d", id)).Scan(&state)
		return state, err
	}
	_, err = p.anyProcess(ctx, func(s process) bool {
		if s.id == id {
			state = s.state
		}
		return s.id == id
	})
	return state, err
}

// MayRefuse reports whether the server can run a statement only if it has its metadata locks at
// once (ExecNoWait).
func (s *Session) MayRefuse() bool { return s.pool.refuses }

// ExecNoWait is Exec of a statement that gets its metadata locks at once, or fails with an error
// that is Contended. It never joins the queue, so no session waits behind it.
//
// REQUIRES: MayRefuse. (https://mariadb.com/kb/en/wait-and-nowait/; a lock_wait_timeout of 0 is
// NOWAIT, for every statement.)
func (s *Session) ExecNoWait(ctx context.Context, statement string) error {
	_, err := s.Exec(ctx, "SET STATEMENT lock_wait_timeout = 0 FOR "+statement)
	return err
}

// Limited returns a statement that the server itself withdraws after the given time, if it can
// (MariaDB). That also works if our KILL QUERY would not reach the statement. The error is
// Contended.
func Limited(statement string, longest time.Duration) string {
	return fmt.Sprintf("/*M! SET STATEMENT max_statement_time = %.3f FOR */ %s", longest.Seconds(), statement)
}
