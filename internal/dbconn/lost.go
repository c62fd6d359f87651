package dbconn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
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
	query := "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_id = ? AND processlist_id IN (" + sessionsOf + p.program + "')"
	for {
		var there int
		if err := p.db.QueryRowContext(ctx, query, id).Scan(&there); err != nil {
			return fmt.Errorf("look for session %d: %w", id, err)
		}
		if there == 0 {
			return nil
		}
		if _, err := p.db.ExecContext(ctx, fmt.Sprintf("KILL %d", id)); err != nil && Number(err) != errNoSuchThread {
			return fmt.Errorf("end session %d: %w", id, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end session %d: %w", id, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
