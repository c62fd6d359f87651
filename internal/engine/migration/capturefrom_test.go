package migration_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// captureFrom makes the bench's runs read changes from a replica.
func (b *bench) captureFrom(replica *bench) {
	b.cfg.CaptureFrom = &intake.CaptureFrom{Name: replica.address, DB: replica.db, Binlog: replica.binlogServer()}
}

// delay makes a replica apply what it receives this many seconds later.
func (b *bench) delay(seconds int) {
	b.Helper()
	word := "CHANGE REPLICATION SOURCE TO SOURCE_DELAY"
	if !isNew(b.version) {
		word = "CHANGE MASTER TO MASTER_DELAY"
	}
	b.exec("STOP "+b.word("REPLICA")+" SQL_THREAD", fmt.Sprintf("%s = %d", word, seconds), "START "+b.word("REPLICA")+" SQL_THREAD")
}

// TestL3_CaptureFromAReplica: a run reads changes from a replica with four workers that falls
// behind, stops and catches up, while a ledger writes on the source.
func TestL3_CaptureFromAReplica(t *testing.T) {
	mysqltest.Seldom(t)
	onReplicas(t, func(primary, replica *bench) {
		primary.refusedCapture(replica)
		l := primary.ledger(ledger.Orders(), 4_000, ledger.Options{Writers: 3, Rate: 100, Seed: 7})
		replica.catchUpWith(primary)
		primary.start(l)
		primary.captureFrom(replica)
		primary.settings.Throttle.CaptureDelay = 400 * time.Millisecond
		primary.cfg.RowCopy.MaxRows, primary.settings.RowCopy.Workers = 200, 1
		primary.cfg.NoVerify = true // the run ignores it
		defer primary.alteredJustBefore(replica)()
		mended := make(chan struct{})
		spoil := onPhase(event.PhaseCopy, func() {
			replica.delay(1)
			go func() {
				defer close(mended)
				time.Sleep(1500 * time.Millisecond)
				replica.exec("STOP " + replica.word("REPLICA") + " SQL_THREAD")
				time.Sleep(1500 * time.Millisecond)
				replica.delay(0)
			}()
		})
		result := primary.mustMigrate("ADD COLUMN added INT, ADD INDEX (added)", spoil)
		<-mended
		primary.mustMatchLedger(l)
		told := primary.gatesTold()
		for _, want := range []string{"reads from replica " + replica.address, "replication of " + replica.address + " is stopped"} {
			if !strings.Contains(told, want) {
				primary.Errorf("missing %q in:\n%s", want, told)
			}
		}
		if result.Verified == 0 || result.Captured == 0 || result.Applied == 0 {
			primary.Errorf("result %+v", result)
		}
		primary.Logf(
			"%d changes, %d applied, swapped in attempt %d, held %s", result.Captured, result.Applied,
			result.Attempts, result.LockHeld,
		)
		primary.hasTables("digits,t,t_old")
		replica.catchUpWith(primary)
		replica.noErrant(primary)
		primary.delayedIsNotBehind(replica)
		if !isNew(primary.version) {
			return // the rest depends on no version
		}
		replica.catchUpWith(primary)
		primary.capturedElsewhere(replica)
		primary.readOnlyIsNoticed()
		replica.catchUpWith(primary)
		primary.crashedReplica(replica)
	})
}

// alteredJustBefore alters the table while the replica can't apply that, until it continues a
// moment later. A run that begins in between must not treat the ALTER as made during its own time
// (law L1).
func (b *bench) alteredJustBefore(replica *bench) (wait func()) {
	b.Helper()
	holder := replica.conn()
	hold := func(statement string) {
		if _, err := holder.ExecContext(b.ctx(), statement); err != nil {
			b.Error(err)
		}
	}
	hold("LOCK TABLES " + b.schema + ".digits READ")
	b.exec("INSERT INTO "+b.schema+".digits VALUES (77)", "ALTER TABLE "+b.schema+".t COMMENT 'just before'")
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(1500 * time.Millisecond)
		hold("UNLOCK TABLES")
	}()
	return func() { <-done }
}

// crashedReplica: the replica from which changes are read crashes, and may have lost a part of its
// binlog. The run resumes by itself, and compares every row.
func (b *bench) crashedReplica(replica *bench) {
	b.Helper()
	b.exec("DROP TABLE " + b.schema + ".t, " + b.schema + ".t_old, " + b.schema + ".digits")
	b.numbered(9999)
	replica.catchUpWith(b)
	stop := b.writer(b.db)
	defer stop()
	c := b.child(
		clauses,
		phaseLine(event.PhaseCutover),
		func(*child) { stop() },
		append([]string{"--capture-from=" + replica.address, "--reconnect=1m"}, slowly...)...)
	c.await(phaseLine(event.PhaseCopy))
	time.Sleep(200 * time.Millisecond)
	if err := replica.server.Sandbox.Restart(b.ctx()); err != nil {
		b.Fatal(err)
	}
	c.mustEnd()
	if !c.heard("from which changes were read, was started again") {
		c.log("note")
		b.Error("it does not report that the replica was started again")
	}
	b.equal()
}

// refusedCapture checks what is refused before anything is written.
func (b *bench) refusedCapture(replica *bench) {
	b.Helper()
	b.numbered(10)
	replica.catchUpWith(b)
	refused := func(want string) {
		b.Helper()
		_, err := b.migrate(b.ctx(), clauses)
		if !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), want) {
			b.Errorf("the error is %v, want %q", err, want)
		}
	}
	b.captureFrom(b)
	refused("the source itself")
	b.captureFrom(replica)
	order := "SET GLOBAL " + replica.setting("replica_preserve_commit_order")
	stop, start := "STOP "+replica.word("REPLICA")+" SQL_THREAD", "START "+replica.word("REPLICA")+" SQL_THREAD"
	replica.exec(stop, order+" = OFF", start)
	refused("not in the source's order")
	replica.exec(stop, order+" = ON", start)
	replica.exec(stop, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_TABLE = ("+b.schema+".t_midstream)", start)
	refused("filters leave out " + b.schema + ".t_midstream")
	replica.exec(stop, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_TABLE = ()", start)
	replica.delay(1)
	refused("SOURCE_DELAY")
	replica.delay(0)
	replica.exec(stop)
	refused("its replication is stopped")
	replica.exec(start)
	replica.silently("ALTER TABLE " + b.schema + ".t MODIFY v BIGINT NOT NULL")
	refused("other columns than the source")
	replica.silently("ALTER TABLE " + b.schema + ".t MODIFY v INT NOT NULL")
	b.hasTables("digits,t")
	replica.exec("SET GLOBAL read_only = OFF")
	if _, err := replica.migrate(
		b.ctx(),
		clauses,
	); !errors.Is(err, plan.ErrRefused) ||
		!strings.Contains(err.Error(), "--source-replicates") {
		b.Errorf("with the replica as the source the error is %v", err)
	}
	replica.exec("SET GLOBAL read_only = ON")
	replica.hasTables("digits,t")
	b.exec("DROP TABLE " + b.schema + ".t")
	b.cfg, b.settings = migration.Config{}, operator.Settings{}
}

// silently runs statements that are not logged.
func (b *bench) silently(statements ...string) {
	b.Helper()
	conn := b.conn()
	defer conn.Close()
	for _, s := range append([]string{"SET sql_log_bin = 0"}, statements...) {
		if _, err := conn.ExecContext(b.ctx(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
}

// capturedElsewhere stops a run that reads from a replica, because the replica no longer keeps the
// order. It resumes the run on the source's own binlog: with GTIDs, and not without.
func (b *bench) capturedElsewhere(replica *bench) {
	b.Helper()
	b.exec("DROP TABLE " + b.schema + ".t, " + b.schema + ".t_old, " + b.schema + ".digits")
	b.numbered(3000)
	replica.catchUpWith(b)
	stopWriter := b.writer(b.db)
	defer stopWriter()
	order := "SET GLOBAL " + replica.setting("replica_preserve_commit_order")
	stop, start := "STOP "+replica.word("REPLICA")+" SQL_THREAD", "START "+replica.word("REPLICA")+" SQL_THREAD"
	b.cfg, b.settings = migration.Config{Checkpoint: 50 * time.Millisecond}, operator.Settings{}
	b.cfg.RowCopy.MaxRows, b.settings.RowCopy.Workers = 20, 1
	b.captureFrom(replica)
	_, err := b.migrate(b.ctx(), clauses, onPhase(event.PhaseCopy, func() {
		time.Sleep(300 * time.Millisecond)
		replica.exec(stop, order+" = OFF", start)
	}))
	replica.exec(stop, order+" = ON", start)
	var failed *failure.Failure
	if !errors.Is(err, intake.ErrCaptureUnfit) || !errors.As(err, &failed) || !failed.Kept {
		b.Fatalf("the error is %v", err)
	}
	b.hasTables("digits,t,t_midstream,t_shadow")
	b.cfg, b.settings = migration.Config{}, operator.Settings{}
	state := b.value("SELECT state FROM " + b.schema + ".t_midstream WHERE id = 2")
	b.exec("UPDATE " + b.schema + ".t_midstream SET state = JSON_SET(state, '$.GTIDs', '') WHERE id = 2")
	if _, err := b.migrate(
		b.ctx(),
		clauses,
	); !errors.Is(err, intake.ErrOtherCapture) ||
		!strings.Contains(err.Error(), replica.address) {
		b.Fatalf("the error is %v", err)
	}
	b.hasTables("digits,t,t_midstream,t_shadow")
	if _, err := b.db.ExecContext(b.ctx(), "UPDATE "+b.schema+".t_midstream SET state = ? WHERE id = 2", state); err != nil {
		b.Fatal(err)
	}
	if result := b.mustMigrate(clauses, onPhase(event.PhaseCutover, stopWriter)); !result.Resumed {
		b.Error("it did not resume")
	}
	b.equal()
	b.hasTables("digits,t,t_old")
	replica.catchUpWith(b)
	c := b.child("ADD COLUMN again INT", "", nil, "--capture-from="+replica.address)
	c.mustEnd()
	if !c.heard(`"capture_from":"` + replica.address) {
		b.Error("the plan does not show where changes are read")
	}
}

// readOnlyIsNoticed: a server that becomes read-only ends the run, even if its account may still
// write. The run resumes when the server accepts writes again.
func (b *bench) readOnlyIsNoticed() {
	b.Helper()
	b.exec("DROP TABLE " + b.schema + ".t, " + b.schema + ".t_old, " + b.schema + ".digits")
	b.numbered(3000)
	b.cfg, b.settings = migration.Config{}, operator.Settings{}
	b.cfg.RowCopy.MaxRows, b.settings.RowCopy.Workers = 20, 1
	var since time.Time
	_, err := b.migrate(b.ctx(), clauses, onPhase(event.PhaseCopy, func() {
		b.exec("SET GLOBAL read_only = ON")
		since = time.Now()
	}))
	var failed *failure.Failure
	if !errors.Is(err, checkpoint.ErrReadOnly) || !errors.As(err, &failed) || !failed.Kept || !failed.Lost {
		b.Errorf("the error is %v", err)
	}
	if took := time.Since(since); took > time.Second+slack {
		b.Errorf("it ended %s after the server was made read-only", took)
	}
	b.exec("SET GLOBAL read_only = OFF")
	b.cfg, b.settings = migration.Config{}, operator.Settings{}
	if result := b.mustMigrate(clauses); !result.Resumed {
		b.Error("it did not resume")
	}
	b.equal()
}

// delayedIsNotBehind: a replica with four workers and an intended delay of three seconds does not
// count as behind, and delays nothing.
func (b *bench) delayedIsNotBehind(replica *bench) {
	b.Helper()
	b.exec("DROP TABLE " + b.schema + ".t, " + b.schema + ".t_old, " + b.schema + ".digits")
	b.numbered(9999)
	replica.catchUpWith(b)
	replica.delay(3)
	defer replica.delay(0)
	stop := b.writer(b.db)
	defer stop()
	b.cfg, b.settings = migration.Config{}, operator.Settings{
		Throttle: operator.Throttle{ReplicaLag: 2 * time.Second, Replicas: []operator.Follower{{Name: "the replica", DB: replica.db}}},
	}
	b.told = newTold()
	longer := onPhase(event.PhaseCopy, func() { time.Sleep(4 * time.Second) }) // longer than the delay
	b.mustMigrate(clauses, longer, onPhase(event.PhaseCutover, stop))
	if told := b.gatesTold(); strings.Contains(told, "the replica") {
		b.Errorf("it was held:\n%s", told)
	}
	if got := replica.value(
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't_old'",
	); got != "0" {
		b.Error("the replica is not delayed")
	}
	b.equal()
}

// TestL3_SemiSyncAckWithheld: a change that waits for a replica's acknowledgement (semi-sync
// AFTER_SYNC) is in the binlog, and in the binlog of another replica, for as long as that takes. It
// can't be seen until then. It is synced when it can be seen.
func TestL3_SemiSyncAckWithheld(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	settings := func(id string) map[string]string {
		return map[string]string{"server_id": id, "gtid_mode": "ON", "enforce_gtid_consistency": "ON"}
	}
	semi := settings("11")
	semi["plugin_load_add"], semi["loose_rpl_semi_sync_source_timeout"] = "semisync_source.so", "600000"
	servers := mysqltest.OwnAll(t, "9.7", sandbox.Options{Settings: semi}, sandbox.Options{Settings: settings("12")})
	first, second := servers[0], servers[1]
	for _, through := range []bool{false, true} {
		t.Run(fmt.Sprintf("replica=%t", through), func(t *testing.T) {
			b := on(t, "9.7", first)
			replica := &bench{
				T:       t,
				version: "9.7",
				server:  second,
				address: second.Address,
				db:      second.Open(t, ""),
				schema:  b.schema,
				told:    newTold(),
			}
			b.numbered(2000)
			if through {
				replica.replicate(first)
				replica.catchUpWith(b)
				b.captureFrom(replica)
			}
			b.ackWithheld()
		})
	}
}

func (b *bench) ackWithheld() {
	b.Helper()
	b.settings.When.Gone = filepath.Join(b.TempDir(), "hold")
	if err := os.WriteFile(b.settings.When.Gone, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	stop := b.writer(b.db)
	defer stop()
	r := b.background(b.ctx(), clauses)
	b.awaited("hold", entered(event.PhaseHold))
	b.exec("SET GLOBAL rpl_semi_sync_source_enabled = ON")
	written := make(chan error, 1)
	go func() {
		_, err := b.db.Exec("UPDATE " + b.schema + ".t SET v = -1000 WHERE id BETWEEN 500 AND 520")
		written <- err
	}()
	time.Sleep(time.Second)
	if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t WHERE v < 0"); got != "0" {
		b.Errorf("%s changes are seen before they are acknowledged", got)
	}
	select {
	case err := <-written:
		b.Errorf("the change did not wait: %v", err)
	default:
	}
	b.exec("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
	if err := <-written; err != nil {
		b.Error(err)
	}
	stop()
	if err := os.Remove(b.settings.When.Gone); err != nil {
		b.Fatal(err)
	}
	r.wait(b)
	b.equal()
	b.hasTables("digits,t,t_old")
}
