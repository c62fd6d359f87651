package dbconn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"midstream/internal/schema"
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

// EndLost ends the sessions whose connection broke; see End.
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

// End ends a session of this program's on the server, and returns when it is gone there.
// What it was to do then has happened, or never will: a statement whose connection broke
// may be running still, or be on its way, while another connection looks for its effect.
func (p *Pool) End(ctx context.Context, id uint64) error {
	// By its mark: after a restart of the server the number may be another program's.
	return p.end(ctx, fmt.Sprintf("processlist_id = %d AND processlist_id IN (%s%s')", id, sessionsOf, p.program))
}

// EndAll ends the sessions of another pool, of which only the name is left, as End does; of
// this pool, by its own name, those whose connection broke.
// Where performance_schema is off none is found.
func (p *Pool) EndAll(ctx context.Context, name string) error {
	if name == p.name {
		return p.EndLost(ctx)
	}
	return p.end(ctx, "processlist_id IN (SELECT processlist_id FROM performance_schema.session_connect_attrs"+
		" WHERE attr_name = '"+nameAttribute+"' AND attr_value = "+schema.Literal(name)+")")
}

// end ends the sessions that meet a condition on performance_schema.threads.
func (p *Pool) end(ctx context.Context, condition string) error {
	for {
		ids, err := p.sessions(ctx, condition)
		if err != nil {
			return fmt.Errorf("look for sessions to end: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			if _, err := p.db.ExecContext(ctx, fmt.Sprintf("KILL %d", id)); err != nil && Number(err) != errNoSuchThread {
				return fmt.Errorf("end session %d: %w", id, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end session %d: %w", ids[0], context.Cause(ctx))
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
