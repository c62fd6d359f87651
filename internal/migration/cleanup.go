package migration

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/checkpoint"
	"midstream/internal/dbconn"
	"midstream/internal/event"
	"midstream/internal/lock"
	"midstream/internal/plan"
	"midstream/internal/schema"
)

// Leftover is a table that former runs on a source left on the server.
type Leftover struct {
	Name  schema.Name
	Why   string // how it is known to be ours, or what it is
	Rows  int64  // the server's estimate
	Bytes int64
	Old   bool // a former source
}

// ErrInUse says that a table which was to be dropped is not idle. Nothing was dropped.
var ErrInUse = errors.New("the table is in use")

// Cleanup removes what former runs on a source left: tables that carry our mark for it,
// and a shadow that a marked state table speaks of (its own mark goes shortly before the
// swap). With old it also removes the former source that a swap left, if the source is
// there and nobody uses the former one. The source itself is never touched.
//
// It holds the advisory lock of the source, so no run is at work (ErrClaimed). agree is
// asked before anything is dropped. Cleanup returns what it found, dropped or not; on
// an error some of it may be gone.
func Cleanup(ctx context.Context, pool *dbconn.Pool, source schema.Name, old bool, agree func([]Leftover) bool) ([]Leftover, error) {
	held, err := claim(ctx, pool, source)
	if err != nil {
		return nil, err
	}
	defer held.release()
	c := cleaner{pool: pool, source: source}
	found, err := c.find(ctx, old)
	if err != nil {
		return nil, fmt.Errorf("look for leftovers of %s: %w", source, err)
	}
	if len(found) == 0 || !agree(found) {
		return found, nil
	}
	for _, l := range found {
		err := retryBriefly(ctx, func() error { return c.drop(ctx, l) })
		if err != nil {
			return found, fmt.Errorf("drop %s: %w", l.Name, err)
		}
	}
	return found, nil
}

// cleaner finds and drops the leftovers of one source.
type cleaner struct {
	pool   *dbconn.Pool
	source schema.Name
}

// find lists what may be dropped, the state table last: it is what tells the others.
func (c *cleaner) find(ctx context.Context, old bool) ([]Leftover, error) {
	rows, err := c.pool.DB().QueryContext(ctx, `
		SELECT table_name, IFNULL(table_comment, ''), IFNULL(table_rows, 0), IFNULL(data_length, 0) + IFNULL(index_length, 0)
		  FROM information_schema.tables
		 WHERE table_schema = ? AND table_type = 'BASE TABLE' ORDER BY table_name`, c.source.Schema)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, oldNames := plan.NamesOf(c.source), plan.OldNames(c.source)
	var found, state, oldTable, bare []Leftover // bare: has a shadow's name, but no mark
	sourceThere := false
	for rows.Next() {
		var l Leftover
		var comment string
		if err := rows.Scan(&l.Name.Table, &comment, &l.Rows, &l.Bytes); err != nil {
			return nil, err
		}
		l.Name.Schema = c.source.Schema
		marked := schema.MarkedFor(comment, c.source)
		switch {
		case strings.EqualFold(l.Name.Table, c.source.Table):
			sourceThere = sourceThere || l.Name.Table == c.source.Table
		case marked && l.Name == names.State:
			l.Why = "marked: " + comment
			state = append(state, l)
		case marked:
			l.Why = "marked: " + comment
			found = append(found, l)
		case l.Name == names.Shadow:
			bare = append(bare, l)
		case slices.Contains(oldNames, l.Name):
			l.Why, l.Old = "the table before the swap", true
			oldTable = append(oldTable, l)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(bare) > 0 && len(state) > 0 && c.tellsOfShadow(ctx, names.State) {
		bare[0].Why = "the state table tells of it"
		found = append(found, bare[0])
	}
	if old && sourceThere {
		for _, l := range oldTable {
			if err := c.idle(ctx, l.Name); err != nil {
				return nil, err
			}
		}
		found = append(found, oldTable...)
	}
	return append(found, state...), nil
}

// tellsOfShadow says that the run of a state table had created its shadow: a run saves
// checkpoints only after that.
func (c *cleaner) tellsOfShadow(ctx context.Context, state schema.Name) bool {
	var text sql.NullString
	err := c.pool.DB().QueryRowContext(ctx, "SELECT MAX(state) FROM "+state.Quoted()).Scan(&text)
	var saved checkpoint.Checkpoint
	return err == nil && json.Unmarshal([]byte(text.String), &saved) == nil && saved.Phase != ""
}

// idleFor is how long nothing may touch an old table before it is taken to be idle.
const idleFor = time.Second

// idle fails with ErrInUse if somebody reads, writes or locks the table.
func (c *cleaner) idle(ctx context.Context, table schema.Name) error {
	before, err := c.accesses(ctx, table)
	if err != nil {
		return err
	}
	watcher := lock.Watcher{DB: c.pool.DB(), Tables: []schema.Name{table}}
	sessions, err := watcher.Blockers(ctx, idleFor)
	if err != nil {
		return err
	}
	if len(sessions) > 0 {
		return fmt.Errorf("%s: %w: %s", table, ErrInUse, who(sessions[0]))
	}
	if err := sleep(ctx, idleFor); err != nil {
		return err
	}
	after, err := c.accesses(ctx, table)
	if err == nil && after != before {
		err = fmt.Errorf("%s: %w: it was read or written to within the last second", table, ErrInUse)
	}
	return err
}

func who(b event.Blocker) string {
	return fmt.Sprintf("connection %d of %s@%s holds a lock on it", b.ConnectionID, b.User, b.Host)
}

// accesses counts what was read and written in a table since the server began, as far
// as it counts; else it stays 0.
func (c *cleaner) accesses(ctx context.Context, table schema.Name) (n uint64, err error) {
	err = c.pool.DB().QueryRowContext(ctx, `
		SELECT IFNULL(SUM(count_star), 0) FROM performance_schema.table_io_waits_summary_by_table
		 WHERE object_schema = ? AND object_name = ?`, table.Schema, table.Table).Scan(&n)
	return n, err
}

// drop drops one table through a session, whose wait for the table's lock is short.
func (c *cleaner) drop(ctx context.Context, l Leftover) error {
	session, err := c.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.Exec(ctx, "DROP TABLE IF EXISTS "+l.Name.Quoted())
	return err
}
