// Package onreplica watches the replication of a server with a rehearsal at work, and gives way to
// it.
package onreplica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"midstream/internal/mysql/dbconn"
)

// A rehearsal on a replica writes nothing to the replica's binlog. With GTIDs, it would write
// transactions that no other server has, and a later failover to the replica would bring them
// there, or fail. So its heartbeats are no fence. Two rules take their place:
//
//   - A sync reads a row FOR SHARE. It waits for a transaction that is in the binlog already and
//     not yet visible, because that transaction has its row locks until then. So every received key
//     may be synced.
//   - Everything is received once the reader has reached the end of the binlog that the server
//     reported.

// Replication waits for a row that a sync has locked until the sync commits. At the same time the
// sync may wait for replication: for a transaction whose commit must wait for an earlier
// transaction, and that one waits for the sync. The server sees no deadlock. So GiveWay withdraws
// the sync's statement, which is then tried again. Without GiveWay, a run of 40 s on 20,000 rows
// with four workers had about thirty waits of a second each (9.7.4, 8.0.12).

// Variables are the session variables of a pool for a rehearsal on a replica. The short wait for
// locks, in seconds, is for waits that GiveWay can't see.
var Variables = map[string]string{"sql_log_bin": "0", "innodb_lock_wait_timeout": "1"}

// ErrReplication means that the replication of the replica has failed during a rehearsal on it. An
// operator must fix it there, whatever the cause.
var ErrReplication = errors.New("the replication of this server has failed")

// ErrLogged means that a rehearsal's writes on a replica would get into the replica's binlog. Nothing was written.
var ErrLogged = errors.New("a rehearsal must not write to the replica's binlog, and sql_log_bin is ON for this account's sessions")

// Unlogged fails with ErrLogged if the writes of a connection get into the binlog.
func Unlogged(ctx context.Context, db *sql.DB) error {
	var logged bool
	if err := db.QueryRowContext(ctx, "SELECT @@SESSION.sql_log_bin").Scan(&logged); err != nil {
		return fmt.Errorf("read sql_log_bin: %w", err)
	}
	if logged {
		return ErrLogged
	}
	return nil
}

// Replication is how a replica's replication did while a rehearsal was at work on it.
type Replication struct {
	Before time.Duration // its delay at the start
	// Lag is its maximum delay, by the clocks of the two servers.
	Lag time.Duration
	// Stall is the longest time that a transaction was seen to be applied, or to wait for a lock.
	Stall time.Duration
	// Stopped means that replication stopped, because an operator has stopped it.
	Stopped bool
}

// Watch checks the replication of a replica. Its zero value has seen nothing.
type Watch struct {
	mu   sync.Mutex
	seen Replication
	told bool // the stop was reported
}

// replicationEvery is the time between two checks.
const replicationEvery = 50 * time.Millisecond

// Run measures how far the replica is behind until the context ends. It fails with ErrReplication.
func (p *Watch) Run(ctx context.Context, db *sql.DB, note func(string)) error {
	ticker := time.NewTicker(replicationEvery)
	defer ticker.Stop()
	for first := true; ; first = false {
		if err := p.look(ctx, db, first, note); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look checks once. A transaction that is being applied has a time of commit on the primary, and a
// time when it began here.
func (p *Watch) look(ctx context.Context, db *sql.DB, first bool, note func(string)) error {
	var off, lag, stall int64
	var failed string
	err := db.QueryRowContext(ctx, `
		SELECT COALESCE(SUM(service_state = 'OFF'), 0), COALESCE(MAX(IF(service_state = 'OFF', last_error_message, '')), ''),
		       COALESCE(MAX(IF(applying_transaction <> '', TIMESTAMPDIFF(MICROSECOND,
			applying_transaction_original_commit_timestamp, NOW(6)), 0)), 0),
		       COALESCE(MAX(IF(applying_transaction <> '', TIMESTAMPDIFF(MICROSECOND,
			applying_transaction_start_apply_timestamp, NOW(6)), 0)), 0)
		  FROM performance_schema.replication_applier_status_by_worker`).Scan(&off, &failed, &lag, &stall)
	if err != nil {
		return fmt.Errorf("read the replication lag: %w", err)
	}
	if off > 0 && failed != "" {
		return fmt.Errorf("%w: %s", ErrReplication, failed)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if off > 0 && !p.told {
		p.told, p.seen.Stopped = true, true
		note("the replication of this server was stopped: no changes arrive until it is started again")
	}
	s := &p.seen
	s.Lag, s.Stall = max(s.Lag, time.Duration(lag)*time.Microsecond), max(s.Stall, time.Duration(stall)*time.Microsecond)
	if first {
		s.Before = s.Lag
	}
	return nil
}

// GiveWay withdraws each statement of ours that waits for a row's lock while another session waits
// for one of ours, if the check before saw the same.
func GiveWay(ctx context.Context, pool *dbconn.Pool) error {
	ticker := time.NewTicker(replicationEvery)
	defer ticker.Stop()
	var before map[string]bool
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		between, err := between(ctx, pool)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("find what blocks replication: %w", err)
		}
		now := map[string]bool{}
		for lock, session := range between {
			if now[lock] = true; before[lock] {
				_ = pool.Withdraw(session) // otherwise its lock wait ends itself
			}
		}
		before = now
	}
}

// between returns our sessions that wait for a lock of others while others wait for one of theirs,
// by the lock.
func between(ctx context.Context, pool *dbconn.Pool) (map[string]uint64, error) {
	rows, err := pool.DB().QueryContext(ctx, `
		SELECT DISTINCT w.requesting_engine_lock_id, t.processlist_id
		  FROM performance_schema.data_lock_waits w
		  JOIN performance_schema.data_lock_waits behind ON behind.blocking_thread_id = w.requesting_thread_id
		  JOIN performance_schema.threads t ON t.thread_id = w.requesting_thread_id
		 WHERE t.processlist_id IN (SELECT processlist_id FROM performance_schema.session_connect_attrs WHERE `+pool.OwnSession()+`)`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sessions := map[string]uint64{}
	for rows.Next() {
		var lock string
		var session uint64
		if err := rows.Scan(&lock, &session); err != nil {
			return nil, err
		}
		sessions[lock] = session
	}
	return sessions, rows.Err()
}

// Seen returns the observations.
func (p *Watch) Seen() Replication {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}
