package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/schema"
)

// lose remembers a connection that broke while it ran a statement.
func (p *Pool) lose(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost == nil {
		p.lost = map[uint64]struct{}{}
	}
	p.lost[id] = struct{}{}
}

// EndLost ends the sessions with a broken connection; see End.
func (p *Pool) EndLost(ctx context.Context) error {
	p.mu.Lock()
	ids := slices.Collect(maps.Keys(p.lost))
	p.mu.Unlock()
	for _, id := range ids {
		if err := p.End(ctx, id); err != nil {
			return err
		}
		p.mu.Lock()
		delete(p.lost, id)
		p.mu.Unlock()
	}
	return nil
}

// OwnSession is a condition on a connection of performance_schema.session_connect_attrs: it is one of
// this pool's.
func (p *Pool) OwnSession() string {
	return ofPool(p.name)
}

// ofPool is the same of any pool's.
func ofPool(name string) string {
	return "attr_name = '" + nameAttribute + "' AND attr_value = " + schema.Literal(name)
}

// ErrUnseen means that the sessions of another pool can't be found: the server shows no connection
// attributes.
var ErrUnseen = errors.New("cannot find sessions, because the server shows no connection attributes " +
	"(performance_schema, performance_schema_session_connect_attrs_size)")

// Marked reports whether the server shows the marks of this pool's connections.
func (p *Pool) Marked() bool { return p.marked }

// showsMarks looks for the mark of a connection of ours.
func (p *Pool) showsMarks(ctx context.Context) (bool, error) {
	var n int
	err := p.killer.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.session_connect_attrs"+
		" WHERE processlist_id = CONNECTION_ID() AND "+p.OwnSession()).Scan(&n)
	if Denied(err) || NoSuchTable(err) {
		return false, nil
	}
	return n == 1, err
}

// End ends a session of this program's on the server, and returns when it is gone there. Then its
// statement has happened, or never will. Without End, a statement on a broken connection may still
// run, or be on its way, while another connection looks for its effect. If the mark can't be seen,
// End waits until the session has ended by itself.
func (p *Pool) End(ctx context.Context, id uint64) error {
	if !p.marked {
		return p.await(ctx, func(s process) bool { return s.id == id })
	}
	// By its mark: after a restart of the server the number may be another program's.
	return p.end(ctx, fmt.Sprintf("processlist_id = %d AND processlist_id IN (%s%s')", id, sessionsOf, p.program))
}

// EndAll ends the sessions of another pool, known only by its name, as End does. With this pool's
// own name, it ends the sessions with a broken connection. It fails with ErrUnseen if none can be
// found.
func (p *Pool) EndAll(ctx context.Context, name string) error {
	if name == p.name {
		return p.EndLost(ctx)
	}
	if !p.marked {
		return ErrUnseen
	}
	return p.end(ctx, "processlist_id IN (SELECT processlist_id FROM performance_schema.session_connect_attrs"+
		" WHERE "+ofPool(name)+")")
}

// Kill ends another program's session. It is no error if there is none.
func (p *Pool) Kill(ctx context.Context, id uint64) (was bool, err error) {
	_, err = p.db.ExecContext(ctx, fmt.Sprintf("KILL %d", id))
	if Number(err) == errNoSuchThread {
		return false, nil
	}
	return err == nil, err
}

// AwaitStatements waits until no session runs a statement that has the text, as far as the account
// may see them.
func (p *Pool) AwaitStatements(ctx context.Context, text string) error {
	return p.await(ctx, func(s process) bool { return strings.Contains(s.statement, text) })
}

// await waits until no session is such.
func (p *Pool) await(ctx context.Context, such func(process) bool) error {
	for {
		there, err := p.anyProcess(ctx, such)
		if err != nil {
			return fmt.Errorf("look for sessions: %w", err)
		}
		if !there {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for a session to end: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// process is a session in the output of SHOW PROCESSLIST.
type process struct {
	id        uint64
	state     string
	statement string
}

// anyProcess reports whether there is such a session. It uses SHOW PROCESSLIST because
// performance_schema may be off, and information_schema.processlist fails for some statements.
func (p *Pool) anyProcess(ctx context.Context, such func(process) bool) (bool, error) {
	rows, err := p.db.QueryContext(ctx, "SHOW FULL PROCESSLIST")
	if err != nil {
		return false, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return false, err
	}
	// Id, User, Host, db, Command, Time, State, Info; some servers have more.
	const state, info = 6, 7
	var id uint64
	values := make([]sql.NullString, len(columns))
	into := []any{&id}
	for i := 1; i < len(values); i++ {
		into = append(into, &values[i])
	}
	there := false
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return false, err
		}
		there = there || such(process{id, values[state].String, values[info].String})
	}
	return there, rows.Err()
}

// end ends the sessions that meet a condition on performance_schema.threads.
func (p *Pool) end(ctx context.Context, condition string) error {
	for {
		ids, err := p.sessions(ctx, condition)
		if err != nil {
			return fmt.Errorf("look for sessions to kill: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			if _, err := p.db.ExecContext(ctx, fmt.Sprintf("KILL %d", id)); err != nil && Number(err) != errNoSuchThread {
				return fmt.Errorf("kill session %d: %w", id, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill session %d: %w", ids[0], context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *Pool) sessions(ctx context.Context, condition string) (ids []uint64, err error) {
	rows, err := p.db.QueryContext(ctx, "SELECT processlist_id FROM performance_schema.threads WHERE "+condition)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id uint64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
