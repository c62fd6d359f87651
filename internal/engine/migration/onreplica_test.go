package migration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/onreplica"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestL3_RehearsalOnAReplica: a ledger writes on the primary, and the replica's applier has several
// workers. The shadow is equal to the table, nothing is written to the replica's binlog, and
// replication continues.
func TestL3_RehearsalOnAReplica(t *testing.T) {
	mysqltest.Seldom(t)
	onReplicas(t, func(primary, replica *bench) {
		l := primary.ledger(ledger.Orders(), 20_000, ledger.Options{Writers: 4, Rate: 300, Seed: 11})
		replica.catchUpWith(primary)
		before := replica.definition()
		primary.start(l)
		settled := onPhase(event.PhaseLock, func() { // lets the test compare the shadow
			primary.mustMatchLedger(l)
			replica.catchUpWith(primary)
		})
		result, err := replica.rehearse(
			replica.ctx(), plan.RehearsingOnReplica, migration.Rehearsal{Lock: true, Keep: true},
			"ADD COLUMN added INT, ADD INDEX (added)", settled,
		)
		if err != nil {
			replica.Fatalf("%v; %s", err, replica.replication())
		}
		replica.hasTables("t,t_rehearsal,t_rehearsed")
		primary.hasTables("t")
		if source, shadow := replica.checksum("t"), replica.checksum("t_rehearsed"); source != shadow {
			replica.Errorf("rows and checksum are %s, of the shadow %s", source, shadow)
		}
		if after := replica.definition(); withoutCounter(after) != withoutCounter(before) {
			replica.Errorf("the table was\n%s\nand is\n%s", before, after)
		}
		seen := result.Rehearsed.Replication
		if result.Captured == 0 || result.Applied == 0 || result.LockHeld <= 0 || seen.Lag <= 0 || seen.Stall <= 0 || seen.Stopped {
			replica.Errorf("result %+v", result)
		}
		replica.Logf("%d changes, %d applied, %d retries; %+v", result.Captured, result.Applied, result.Retries, seen)
		replica.noErrant(primary)

		// A run on the primary brings its own tables here; those of the rehearsal don't block it.
		primary.mustMigrate(clauses)
		replica.catchUpWith(primary)
		pool, err := replica.open(replica.ctx())
		if err != nil {
			replica.Fatal(err)
		}
		defer pool.Close()
		found, err := leftovers.Cleanup(
			replica.ctx(), pool, schema.Name{Schema: replica.schema, Table: "t"}, false,
			func([]leftovers.Table) bool { return true }, func(string) {},
		)
		if err != nil || len(found) != 2 {
			replica.Errorf("cleanup found %+v, %v", found, err)
		}
		replica.hasTables("t,t_old")
		replica.noErrant(primary)
	})
}

func withoutCounter(create string) string {
	definition, _ := schema.SplitAutoIncrement(create)
	return definition
}

// checksum describes the rows of a table in the columns that t has.
func (b *bench) checksum(table string) string {
	b.Helper()
	columns := b.value(
		"SELECT GROUP_CONCAT('IFNULL(HEX(`', column_name, '`), \\'-\\')' ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = '" + b.schema + "' AND table_name = 't'",
	)
	return b.value("SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(CONCAT_WS('/', " + columns + ")))) FROM " + b.schema + "." + table)
}

// TestRehearsedLockStallsAReplica: the lock blocks the applier only for its budget, and the lag
// shows it.
func TestRehearsedLockStallsAReplica(t *testing.T) {
	onReplicas(t, func(primary, replica *bench) {
		primary.numbered(5000)
		replica.catchUpWith(primary)
		stop := primary.writer(primary.db)
		defer stop()
		replica.settings.Lock.Wait = 100 * time.Millisecond
		result, err := replica.rehearse(replica.ctx(), plan.RehearsingOnReplica, migration.Rehearsal{Lock: true}, clauses)
		if err != nil {
			replica.Fatalf("%v; %s", err, replica.replication())
		}
		if result.LockHeld > replica.settings.Lock.Wait+250*time.Millisecond+slack {
			replica.Errorf("the lock was held for %s", result.LockHeld)
		}
		stop()
		replica.hasTables("digits,t")
		replica.noErrant(primary)
	})
}

// TestRehearsalEndsWithReplication: if replication fails, the rehearsal ends at once and leaves
// nothing of ours on the replica.
func TestRehearsalEndsWithReplication(t *testing.T) {
	mysqltest.Seldom(t)
	onReplicas(t, func(primary, replica *bench) {
		primary.numbered(5000)
		replica.catchUpWith(primary)
		spoil := onPhase(event.PhaseCopy, func() {
			conn := replica.conn()
			for _, statement := range []string{"SET sql_log_bin = 0", "DELETE FROM " + replica.schema + ".t WHERE id = 4000"} {
				if _, err := conn.ExecContext(replica.ctx(), statement); err != nil {
					replica.Fatal(err)
				}
			}
			primary.exec("UPDATE " + primary.schema + ".t SET v = 1 WHERE id = 4000")
		})
		replica.cfg.RowCopy.MaxRows, replica.settings.RowCopy.Workers = 10, 1
		_, err := replica.rehearse(replica.ctx(), plan.RehearsingOnReplica, migration.Rehearsal{}, clauses, spoil)
		if !errors.Is(err, onreplica.ErrReplication) || !strings.Contains(err.Error(), "nothing is left") {
			replica.Errorf("the error is %v", err)
		}
		replica.hasTables("digits,t")
	})
}

// TestPrescanOnAReplica: a finding ends a rehearsal, which leaves nothing there.
func TestPrescanOnAReplica(t *testing.T) {
	onReplicas(t, func(primary, replica *bench) {
		primary.numbered(10)
		replica.catchUpWith(primary)
		c := replica.child("MODIFY v TINYINT, ADD UNIQUE KEY (v)", "", nil, "--rehearse", "--on-replica", "--method=shadow")
		if code, last := c.wait(); code != 17 || !strings.Contains(last, "unique key v") {
			replica.Errorf("exit code %d: %s", code, last)
		}
		replica.hasTables("digits,t")
		replica.noErrant(primary)
	})
}

// TestL5_RehearsalOnAReplicaGoesOn: it resumes after kill -9. A run on the same server has nothing
// to do with it.
func TestL5_RehearsalOnAReplicaGoesOn(t *testing.T) {
	mysqltest.Seldom(t)
	onReplicas(t, func(primary, replica *bench) {
		primary.numbered(9999)
		replica.catchUpWith(primary)
		stop := primary.writer(primary.db)
		// The copy must read this row, so it does not end.
		holder, err := replica.db.BeginTx(replica.ctx(), nil)
		if err != nil {
			replica.Fatal(err)
		}
		if _, err := holder.Exec("SELECT * FROM " + replica.schema + ".t WHERE id = 9000 FOR UPDATE"); err != nil {
			replica.Fatal(err)
		}
		c := replica.child(clauses, "", nil, append([]string{"--on-replica"}, rehearsing...)...)
		c.await(phaseLine(event.PhaseCopy))
		time.Sleep(300 * time.Millisecond)
		c.kill()
		c.wait()
		if err := holder.Rollback(); err != nil {
			replica.Fatal(err)
		}
		replica.unclaimed()
		replica.hasTables("digits,t,t_rehearsal,t_rehearsed")
		c = replica.child(clauses, "", nil, "--on-replica", "--rehearse-lock", "--method=shadow")
		c.mustEnd()
		if !c.heard("resuming an earlier rehearsal on a replica") || c.heard("run starts again") ||
			!c.heard(`"rehearsal":"rehearsal on a replica"`) {
			c.log("note")
			replica.Error("it did not resume")
		}
		stop()
		replica.hasTables("digits,t")
		replica.noErrant(primary)
	})
}

// TestRehearsalOnAReplicaIsRefused: the plan refuses if other servers would notice the rehearsal,
// or if it can't see what it needs.
func TestRehearsalOnAReplicaIsRefused(t *testing.T) {
	mysqltest.Seldom(t)
	onReplicas(t, func(primary, replica *bench) {
		primary.numbered(10)
		replica.catchUpWith(primary)
		refused := func(purpose plan.Purpose, want string) {
			replica.Helper()
			_, err := replica.rehearse(replica.ctx(), purpose, migration.Rehearsal{}, clauses)
			if !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), want) {
				replica.Errorf("the error is %v, want %q", err, want)
			}
		}
		refused(plan.Rehearsing, "Use --on-replica")
		replica.exec("SET GLOBAL super_read_only = ON")
		refused(plan.RehearsingOnReplica, "super_read_only is ON")
		replica.exec("SET GLOBAL super_read_only = OFF", "STOP "+replica.word("REPLICA"))
		refused(plan.RehearsingOnReplica, "replication is stopped")
		replica.exec("START " + replica.word("REPLICA"))

		// The rehearsal does not use a connection that logs its writes, whatever the plan says.
		pool, err := replica.open(replica.ctx())
		if err != nil {
			replica.Fatal(err)
		}
		defer pool.Close()
		deadline, cancel := context.WithTimeout(replica.ctx(), 20*time.Second)
		defer cancel()
		p, err := replica.plan(pool, clauses, plan.Options{Purpose: plan.RehearsingOnReplica})
		for err != nil && deadline.Err() == nil { // replication is starting
			time.Sleep(100 * time.Millisecond)
			p, err = replica.plan(pool, clauses, plan.Options{Purpose: plan.RehearsingOnReplica})
		}
		if err != nil {
			replica.Fatal(err)
		}
		_, err = migration.New(
			pool, replica.binlogServer(), p, replica.cfg, replica.control(), event.Discard,
		).Rehearse(
			replica.ctx(), migration.Rehearsal{},
		)
		if !errors.Is(err, onreplica.ErrLogged) {
			replica.Errorf("the error is %v", err)
		}
		replica.hasTables("digits,t")
		replica.noErrant(primary)
	})
}
