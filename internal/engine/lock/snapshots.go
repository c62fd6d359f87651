package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// snapshotsQuery lists transactions that may have a read view from before a moment. It leaves out
// READ COMMITTED transactions, because each of their statements takes a new view. It also leaves
// out a statement that is its own transaction: it holds a metadata lock on all tables that it
// reads. Times are in picoseconds.
const snapshotsQuery = `
SELECT t.processlist_id, COALESCE(t.processlist_user, ''), COALESCE(t.processlist_host, ''),
       COALESCE(t.processlist_command, ''), x.timer_wait DIV 1000000,
       COALESCE(t.processlist_info, s.sql_text, ''), t.name, COALESCE(a.attr_value, '')
FROM performance_schema.events_transactions_current x
JOIN performance_schema.threads t ON t.thread_id = x.thread_id
LEFT JOIN performance_schema.events_statements_current s
       ON s.thread_id = x.thread_id AND s.nesting_event_level = 0
LEFT JOIN performance_schema.session_connect_attrs a
       ON a.processlist_id = t.processlist_id AND a.attr_name = 'program_name'
WHERE x.state = 'ACTIVE' AND x.autocommit = 'NO' AND COALESCE(x.xa_state, '') <> 'PREPARED'
  AND x.isolation_level IN ('REPEATABLE READ', 'SERIALIZABLE')
  AND t.processlist_id IS NOT NULL AND t.processlist_id <> CONNECTION_ID()
  AND TIMESTAMPDIFF(MICROSECOND, %s, UTC_TIMESTAMP(6)) <= x.timer_wait DIV 1000000`

// heldQuery lists the same where performance_schema doesn't record transactions, as it does not by
// default on MySQL 5.7 and MariaDB. InnoDB counts a transaction's age in seconds, by the clock of
// the machine.
const heldQuery = heldSessions + `COALESCE(p.info, s.sql_text, ''), COALESCE(t.name, ''), COALESCE(a.attr_value, '')` + heldBy + `
LEFT JOIN performance_schema.threads t ON t.processlist_id = p.id
LEFT JOIN performance_schema.events_statements_current s
       ON s.thread_id = t.thread_id AND s.nesting_event_level = 0
LEFT JOIN performance_schema.session_connect_attrs a
       ON a.processlist_id = p.id AND a.attr_name = 'program_name'` + heldSince

// unshownQuery is heldQuery while performance_schema is off: then an account may have no grant on it.
const unshownQuery = heldSessions + `COALESCE(p.info, ''), '', ''` + heldBy + heldSince

// The parts that both have.
const (
	heldSessions = `
SELECT p.id, COALESCE(p.user, ''), COALESCE(p.host, ''), COALESCE(p.command, ''), x.age * 1000000, `
	heldBy = `
FROM (SELECT trx_mysql_thread_id AS id, 1 + TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) AS age
        FROM information_schema.innodb_trx
       WHERE trx_isolation_level IN ('REPEATABLE READ', 'SERIALIZABLE') AND trx_autocommit_non_locking = 0) AS x
JOIN information_schema.processlist p ON p.id = x.id`
	heldSince = `
WHERE p.id <> CONNECTION_ID() AND TIMESTAMPDIFF(MICROSECOND, %s, UTC_TIMESTAMP(6)) <= x.age * 1000000`
)

// recordedQuery asks whether transactions are recorded.
const recordedQuery = `
SELECT (SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE name = 'transaction' AND enabled = 'YES')
   AND (SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE name = 'events_transactions_current' AND enabled = 'YES')`

// unfitFor is how long a statement may run if its text does not fit utf8mb3. Until it ends,
// InnoDB's transactions can't be listed.
const unfitFor = 5 * time.Second

// snapshots asks the server.
func (w *Watcher) snapshots(ctx context.Context, before string) ([]event.Blocker, error) {
	var shown, recorded bool
	if err := w.DB.QueryRowContext(ctx, "SELECT @@GLOBAL.performance_schema").Scan(&shown); err != nil {
		return nil, err
	}
	if !shown {
		return w.listHeld(ctx, fmt.Sprintf(unshownQuery, schema.Literal(before)))
	}
	err := w.DB.QueryRowContext(ctx, recordedQuery).Scan(&recorded)
	if err != nil && !dbconn.Denied(err) && !dbconn.NoSuchTable(err) {
		return nil, err
	}
	if recorded {
		return listSnapshots(ctx, w.DB, fmt.Sprintf(snapshotsQuery, schema.Literal(before)))
	}
	return w.listHeld(ctx, fmt.Sprintf(heldQuery, schema.Literal(before)))
}

// staleFor is how long the server repeats an old list of InnoDB's transactions after each time that
// any session asked, and a little more
// (https://dev.mysql.com/doc/refman/8.4/en/innodb-information-schema-internal-data.html).
const staleFor = 110 * time.Millisecond

// Runs on one server ask in turn: each waits for a random time that grows up to restMost while
// another one asks too often. After staleMost the server has shown nothing new.
const (
	restMost  = 1500 * time.Millisecond
	staleMost = time.Minute
)

// errStale means that other sessions ask for InnoDB's transactions so often that the server never
// updates the list.
var errStale = errors.New("other sessions read information_schema.innodb_trx so often that the server never refreshes it")

// listHeld lists InnoDB's transactions of now. An old list is of no use: it may lack an old
// transaction, and for ever show a transaction that has ended. (Five runs at once on 5.7.22 waited
// for a DROP DATABASE that was over.)
func (w *Watcher) listHeld(ctx context.Context, query string) (blockers []event.Blocker, err error) {
	for began := time.Now(); ; w.wait = min(4*w.wait, restMost) {
		w.wait = max(w.wait, staleFor/10)
		if err := w.rest(ctx, staleFor+rand.N(w.wait)); err != nil {
			return nil, err
		}
		blockers, fresh, err := w.askHeld(ctx, query)
		w.read = time.Now()
		switch {
		case dbconn.UnfitText(err) && time.Since(began) < unfitFor:
		case err != nil || fresh:
			w.wait -= w.wait / 4
			return blockers, err
		case time.Since(began) > staleMost:
			return nil, errStale
		}
	}
}

// rest waits until a time after the last look has passed.
func (w *Watcher) rest(ctx context.Context, least time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(w.read.Add(least))):
		return nil
	}
}

// askHeld lists InnoDB's transactions, and reports whether the list is new. It is new if it
// contains askHeld's own transaction, with a statement that no other call has.
func (w *Watcher) askHeld(ctx context.Context, query string) (blockers []event.Blocker, fresh bool, err error) {
	conn, err := w.DB.Conn(ctx)
	if err != nil {
		return nil, false, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return nil, false, err
	}
	mark := fmt.Sprintf("look %d", time.Now().UnixNano())
	err = conn.QueryRowContext(
		ctx,
		"SELECT COUNT(*) > 0 FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID() AND LOCATE('"+mark+"', trx_query)",
	).Scan(
		&fresh,
	)
	if err == nil && fresh {
		blockers, err = listSnapshots(ctx, conn, query)
	}
	if _, failed := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
		err = failed
	}
	return blockers, fresh, err
}

func listSnapshots(ctx context.Context, q schema.Querier, query string) (blockers []event.Blocker, err error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		b := event.Blocker{Snapshot: true, Changed: -1}
		var age int64
		var thread string
		if err := rows.Scan(&b.ConnectionID, &b.User, &b.Host, &b.Command, &age, &b.Statement, &thread, &b.Program); err != nil {
			return nil, err
		}
		b.Age = time.Duration(age) * time.Microsecond
		b.Role = roleOf(b, thread, "")
		b.Why = "its snapshot is older than the end of the row copy: after the swap it would read only a part of the table"
		blockers = append(blockers, b)
	}
	return blockers, rows.Err()
}

// Snapshots returns the sessions with a transaction that may read through a view from before the
// given moment. The moment is a UTC_TIMESTAMP() of the server (law L10).
func (w *Watcher) Snapshots(ctx context.Context, before string) ([]event.Blocker, error) {
	blockers, err := w.snapshots(ctx, before)
	if err != nil {
		return nil, fmt.Errorf("look for old snapshots: %w", err)
	}
	if len(blockers) == 0 {
		return nil, nil
	}
	backups, err := w.locks(ctx, granted, noLock)
	if err != nil && !dbconn.Denied(err) && !dbconn.NoSuchTable(err) {
		return nil, err
	}
	for _, backup := range backups {
		for i := range blockers {
			if blockers[i].ConnectionID == backup.ConnectionID {
				blockers[i].Role = backup.Role
			}
		}
	}
	return w.sized(ctx, blockers)
}

// SwapLookout finds what blocks a swap: old snapshots, and sessions that hold metadata locks. It is a Lookout.
type SwapLookout struct {
	Watcher *Watcher
	// Before is the time, as Snapshots takes it, before which snapshots are too old; "" if they are of no matter.
	Before string
	// Blind means that the server does not show metadata locks: the budget bounds what they do.
	Blind bool
	// Saw takes what was found at a time.
	Saw func([]event.Blocker, time.Time)
}

// Blockers is Lookout's.
func (l *SwapLookout) Blockers(ctx context.Context, longer time.Duration) ([]event.Blocker, error) {
	blockers, err := l.blockers(ctx, longer)
	if err == nil || dbconn.Contended(err) {
		l.Saw(blockers, time.Now())
	}
	return blockers, err
}

func (l *SwapLookout) blockers(ctx context.Context, longer time.Duration) ([]event.Blocker, error) {
	if l.Before != "" {
		old, err := l.Watcher.Snapshots(ctx, l.Before)
		if err != nil || len(old) > 0 {
			return old, err
		}
		l.Before = "" // such snapshots do not come back
	}
	if l.Blind {
		return nil, nil
	}
	return l.Watcher.Blockers(ctx, longer)
}
