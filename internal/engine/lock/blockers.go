package lock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Watcher finds the sessions that hold metadata locks on the given tables.
type Watcher struct {
	DB     *sql.DB
	Tables []schema.Name

	read time.Time // when InnoDB's transactions were last read
	// wait grows up to a time in which more than staleFor passes between two reads.
	wait time.Duration
}

// holder is one metadata lock; a lock that is held again is another one.
type holder struct{ thread, event, instance uint64 }

// holdersQuery lists the locks on the tables that satisfy a condition, global read locks and backup
// locks. It lists granted locks and locks that sessions wait for. It recognizes our own locks by
// the connection's program name.
//
// NB: information_schema.innodb_trx is of no use here. It holds running statements in utf8mb3, and
// a statement with an emoji in it fails the query with error 3854. The locks of the last line are
// MariaDB's. MariaDB takes both kinds by BACKUP STAGE and by FLUSH TABLES WITH READ LOCK.
const holdersQuery = `
SELECT l.owner_thread_id, COALESCE(l.owner_event_id, 0), l.object_instance_begin,
       t.processlist_id, COALESCE(t.processlist_user, ''), COALESCE(t.processlist_host, ''),
       COALESCE(t.processlist_command, ''), COALESCE(t.processlist_time, 0),
       COALESCE(t.processlist_info, s.sql_text, ''),
       COALESCE(x.timer_wait, 0) DIV 1000000,
       l.object_type, COALESCE(l.object_schema, ''), COALESCE(l.object_name, ''), l.lock_type,
       t.name, COALESCE(a.attr_value, '')
FROM performance_schema.metadata_locks l
JOIN performance_schema.threads t ON t.thread_id = l.owner_thread_id
LEFT JOIN performance_schema.events_statements_current s
       ON s.thread_id = l.owner_thread_id AND s.nesting_event_level = 0
LEFT JOIN performance_schema.events_transactions_current x
       ON x.thread_id = l.owner_thread_id AND x.state = 'ACTIVE'
LEFT JOIN performance_schema.session_connect_attrs a
       ON a.processlist_id = t.processlist_id AND a.attr_name = 'program_name'
WHERE l.lock_status = '%s' AND t.processlist_id IS NOT NULL
  AND ((%s) AND %s OR l.object_type IN ('GLOBAL', 'BACKUP LOCK') AND l.lock_type = 'SHARED'
    OR l.object_type = 'BACKUP' AND l.lock_type IN ('BACKUP_WAIT_DDL', 'BACKUP_BLOCK_DDL', 'BACKUP_WAIT_COMMIT', 'BACKUP_FTWRL1', 'BACKUP_FTWRL2'))`

// These conditions select locks on the tables: any lock, and locks that exclude all other readers.
const (
	anyLock  = "TRUE"
	noLock   = "FALSE" // only locks on all tables
	unshared = "l.lock_type IN ('SHARED_NO_READ_WRITE', 'EXCLUSIVE')"
)

// The states of a lock.
const (
	granted = "GRANTED"
	pending = "PENDING"
)

// held returns the sessions of other programs that hold a lock now, by the lock.
func (w *Watcher) held(ctx context.Context, condition string) (map[holder]event.Blocker, error) {
	all, err := w.locks(ctx, granted, condition)
	maps.DeleteFunc(all, func(_ holder, b event.Blocker) bool { return b.Role == event.RoleMidstream })
	return all, err
}

// locks returns the sessions that have a lock in that state now, by the lock.
func (w *Watcher) locks(ctx context.Context, state, condition string) (map[holder]event.Blocker, error) {
	var tables []string
	for _, t := range w.Tables {
		tables = append(tables, fmt.Sprintf("l.object_type = 'TABLE' AND l.object_schema = %s AND l.object_name = %s",
			schema.Literal(t.Schema), schema.Literal(t.Table)))
	}
	rows, err := w.DB.QueryContext(ctx, fmt.Sprintf(holdersQuery, state, strings.Join(tables, " OR "), condition))
	if err != nil {
		return nil, fmt.Errorf("look for blockers: %w", err)
	}
	defer rows.Close()
	held := map[holder]event.Blocker{}
	for rows.Next() {
		var h holder
		var b event.Blocker
		var seconds, micros int64
		var kind, thread string
		b.Changed = -1
		var object schema.Name
		err := rows.Scan(&h.thread, &h.event, &h.instance, &b.ConnectionID, &b.User, &b.Host, &b.Command,
			&seconds, &b.Statement, &micros, &kind, &object.Schema, &object.Table, &b.Lock, &thread, &b.Program)
		if err != nil {
			return nil, fmt.Errorf("look for blockers: %w", err)
		}
		b.Since = h.event
		b.Age = max(time.Duration(seconds)*time.Second, time.Duration(micros)*time.Microsecond)
		switch kind {
		case "TABLE":
			b.Table, b.Why = object.Dotted(), "holds a metadata lock"
		case "GLOBAL":
			b.Why = "holds a global read lock"
		case "BACKUP":
			b.Why = "holds a global read lock, or that of BACKUP STAGE"
		default:
			b.Why = "holds the lock of LOCK INSTANCE FOR BACKUP"
		}
		if state == pending {
			b.Why = "waits for " + strings.TrimPrefix(b.Why, "holds ")
		}
		b.Role = roleOf(b, thread, kind)
		held[h] = b
	}
	return held, rows.Err()
}

// Blockers returns the sessions that hold a lock on one of the tables for longer than the given
// time. A lock that comes and goes with the application's short transactions is no reason not to
// ask. If there are any locks at all, Blockers waits for that time.
func (w *Watcher) Blockers(ctx context.Context, longer time.Duration) ([]event.Blocker, error) {
	first, err := w.held(ctx, anyLock)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(longer):
	}
	second, err := w.held(ctx, anyLock)
	if err != nil {
		return nil, err
	}
	for h := range second {
		if _, still := first[h]; !still {
			delete(second, h)
		}
	}
	return w.sized(ctx, sessions(second))
}

// sized adds to each session how many rows its transaction has changed.
func (w *Watcher) sized(ctx context.Context, blockers []event.Blocker) ([]event.Blocker, error) {
	if len(blockers) == 0 {
		return nil, nil
	}
	rows, err := changed(ctx, w.DB)
	w.read = time.Now()
	if err != nil || rows == nil {
		return blockers, err
	}
	for i := range blockers {
		blockers[i].Changed = rows[blockers[i].ConnectionID]
	}
	return blockers, nil
}

// Recorded reports whether the server records metadata locks at all.
func (w *Watcher) Recorded(ctx context.Context) (recorded bool, err error) {
	err = w.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM performance_schema.setup_instruments"+
		" WHERE name = 'wait/lock/metadata/sql/mdl' AND enabled = 'YES'").Scan(&recorded)
	if err != nil {
		return false, fmt.Errorf("check whether metadata locks are recorded: %w", err)
	}
	return recorded, nil
}

// All returns the sessions that hold a lock of the tables, and the sessions that wait for one, also
// Midstream's, the oldest first. A session that does both is among the waiting ones.
func (w *Watcher) All(ctx context.Context) (holding, waiting []event.Blocker, err error) {
	held, err := w.locks(ctx, granted, anyLock)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := w.locks(ctx, pending, anyLock)
	if err != nil {
		return nil, nil, err
	}
	if holding, err = w.sized(ctx, sessions(held)); err != nil {
		return nil, nil, err
	}
	if waiting, err = w.sized(ctx, sessions(wanted)); err != nil {
		return nil, nil, err
	}
	holding = slices.DeleteFunc(holding, func(b event.Blocker) bool { // also holds a weaker lock
		return slices.ContainsFunc(waiting, func(w event.Blocker) bool { return w.ConnectionID == b.ConnectionID })
	})
	older := func(a, b event.Blocker) int { return cmp.Compare(b.Age, a.Age) }
	slices.SortStableFunc(holding, older)
	slices.SortStableFunc(waiting, older)
	return holding, waiting, nil
}

// Forbidding returns the sessions that now keep all others from reading one of the tables, or from
// creating any table.
func (w *Watcher) Forbidding(ctx context.Context) ([]event.Blocker, error) {
	held, err := w.held(ctx, unshared)
	return sessions(held), err
}

// Name adds blockers to the error of a statement that waited for a lock in vain: the sessions that
// keep all others from reading one of the tables, or from creating any. It returns other errors
// unchanged.
func (w *Watcher) Name(ctx context.Context, err error) error {
	if !dbconn.Contended(err) {
		return err
	}
	found, failed := w.Forbidding(ctx)
	if failed != nil {
		return err
	}
	return named(err, found)
}

// NameHolders adds the sessions that hold any lock on one of the tables to ErrTooLong and ErrGivenUp. It returns other errors
// unchanged.
func (w *Watcher) NameHolders(ctx context.Context, err error) error {
	if !errors.Is(err, ErrTooLong) && !errors.Is(err, ErrGivenUp) {
		return err
	}
	found, failed := w.Blockers(ctx, 0)
	if failed != nil {
		return err
	}
	return named(err, found)
}

// named adds sessions to the error of a statement that they have blocked.
func named(err error, found []event.Blocker) error {
	if len(found) == 0 {
		return err
	}
	var names []string
	for _, b := range found {
		name := b.Who() + ", which " + b.Why
		if b.Table != "" {
			name += " on " + b.Table
		}
		names = append(names, name)
	}
	return fmt.Errorf("%w; blocked by %s", err, strings.Join(names, "; "))
}

// strengths are the kinds of locks of a table, the strongest last.
var strengths = []string{
	"SHARED_HIGH_PRIO",
	"SHARED_READ",
	"SHARED_WRITE_LOW_PRIO",
	"SHARED_WRITE",
	"SHARED_UPGRADABLE",
	"SHARED_READ_ONLY",
	"SHARED_NO_WRITE",
	"SHARED_NO_READ_WRITE",
	"EXCLUSIVE",
}

// sessions returns the holders by their connection, each once, with the strongest of its locks.
func sessions(held map[holder]event.Blocker) []event.Blocker {
	strongest, roles := map[uint64]event.Blocker{}, map[uint64]event.Role{}
	for _, b := range held {
		if b.Role != "" { // of whichever of its locks
			roles[b.ConnectionID] = b.Role
		}
		other, seen := strongest[b.ConnectionID]
		if !seen || slices.Index(strengths, b.Lock) > slices.Index(strengths, other.Lock) {
			strongest[b.ConnectionID] = b
		}
	}
	for id, b := range strongest {
		b.Role = roles[id]
		strongest[id] = b
	}
	return slices.SortedFunc(maps.Values(strongest), func(a, b event.Blocker) int { return cmp.Compare(a.ConnectionID, b.ConnectionID) })
}
