package migration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// onEachByTriggers runs a test on every version, with runs that capture changes by triggers. (With
// the flag -capture=trigger all tests do so.)
func onEachByTriggers(t *testing.T, test func(b *bench)) {
	onEach(t, func(b *bench) {
		b.capture = plan.CaptureTrigger
		test(b)
	})
}

// TestLedgerByTriggers: under all that the ledger does, no change is lost, and nothing is left of
// the triggers.
func TestLedgerByTriggers(t *testing.T) {
	onEachByTriggers(t, func(b *bench) {
		mix := ledger.DefaultMix()
		mix[ledger.OpXA] = 3
		l := b.ledger(ledger.Orders(), 10_000, ledger.Options{Rate: 300, Mix: mix, Session: []string{"SET SESSION sql_log_bin = 0"}})
		b.cfg.RowCopy.MaxRows = 500
		b.settings.Lock.Work = 2 * time.Second // allow for a busy machine
		b.start(l)
		result := b.mustMigrate(alter)
		b.mustMatchLedger(l)
		if result.Captured == 0 || result.BinlogRead != 0 {
			b.Errorf("%d changes were captured, and %d bytes of binlog read", result.Captured, result.BinlogRead)
		}
	})
}

// TestL5_KilledByTriggers: kill -9 while triggers capture changes, and the same command again. The
// application continues to write in between, and no write is lost.
func TestL5_KilledByTriggers(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachByTriggers(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 6000, ledger.Options{Rate: 300})
		b.start(l)
		for n, phase := range []event.Phase{event.PhaseCopy, event.PhaseVerify, event.PhaseCutover, event.PhaseCleanup} {
			clauses := "ADD COLUMN added" + string(rune('a'+n)) + " INT"
			c := b.child(clauses, phaseLine(phase), (*child).kill, "--chunk-time=20ms", "--checkpoint=50ms")
			if code, last := c.wait(); code != -1 {
				b.Fatalf("in phase %s: exit code %d: %s", phase, code, last)
			}
			want := "as recorded by its triggers"
			if phase == event.PhaseCleanup {
				want = "stopped after its swap"
			}
			again := b.child(clauses, "", nil, "--drop-old")
			again.mustEnd()
			if !again.heard(want) {
				b.Errorf("killed in phase %s the next run did not print %q", phase, want)
			}
		}
		b.mustMatchLedger(l)
	})
}

// killedCreating kills a run between its triggers.
func (b *bench) killedCreating() {
	b.killedAt("AFTER UPDATE", clauses)
}

// TestL8_CleanupByTriggers: cleanup removes what a killed run has left, and the application can
// write before, during and after it.
func TestL8_CleanupByTriggers(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachByTriggers(t, func(b *bench) {
		b.numbered(9999)
		for _, leave := range []func(){b.killedCreating, b.killedInCopy, func() {
			b.killedInCopy()
			b.exec("DROP TABLE " + b.schema + ".t_capture") // by hand: now each write fails
		}} {
			leave()
			pool, err := b.open(b.ctx())
			if err != nil {
				b.Fatal(err)
			}
			err = leftovers.ErrClaimed
			// The server has yet to notice the kill.
			for began := time.Now(); errors.Is(err, leftovers.ErrClaimed) && time.Since(began) < 10*time.Second; {
				_, err = leftovers.Cleanup(
					b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, false,
					func([]leftovers.Table) bool { return true }, func(string) {},
				)
			}
			if err != nil {
				b.Error(err)
			}
			pool.Close()
			b.exec("UPDATE " + b.schema + ".t SET v = v + 1")
		}
	})
}

// TestL8_TriggersGoFromTheFormerTable: sessions that use the new table right after the swap don't
// block the removal of the triggers.
func TestL8_TriggersGoFromTheFormerTable(t *testing.T) {
	onEachByTriggers(t, func(b *bench) {
		b.numbered(1000)
		holder := b.conn()
		began := time.Now()
		b.mustMigrate(clauses, onPhase(event.PhaseCleanup, func() {
			for _, statement := range []string{"BEGIN", "SELECT COUNT(*) FROM " + b.schema + ".t"} {
				if _, err := holder.ExecContext(b.ctx(), statement); err != nil {
					b.Error(err)
				}
			}
			began = time.Now()
		}))
		if took := time.Since(began); took > 10*time.Second {
			b.Errorf("it took %s to remove them", took)
		}
		if _, err := holder.ExecContext(b.ctx(), "COMMIT"); err != nil {
			b.Error(err)
		}
		b.hasTables("digits,t,t_old")
	})
}

// TestL5_UnseenByTriggers: a run notices changes that fire no trigger, while it works and between
// two runs.
func TestL5_UnseenByTriggers(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachByTriggers(t, func(b *bench) {
		b.numbered(9999)
		for _, table := range []string{"t_capture", "t"} {
			b.killedInCopy()
			b.anew("TRUNCATE TABLE "+b.schema+"."+table, "no trigger fires")
		}
		for _, statement := range []string{"TRUNCATE TABLE t_capture", "TRUNCATE TABLE t", "DROP TRIGGER t_capture_update"} {
			f := b.feeder()
			_, err := b.migrate(b.ctx(), clauses, onPhase(event.PhaseCatchUp, func() { f.exec(statement) }))
			b.failedBeforeTheSwap(err, intake.ErrSourceChanged)
		}
	})
}

// TestL8_AnotherTriggerHasTheName: the run leaves it alone, and ends before it copies a row.
func TestL8_AnotherTriggerHasTheName(t *testing.T) {
	sideBySide(t)
	onEachByTriggers(t, func(b *bench) {
		b.numbered(100)
		b.exec("CREATE TRIGGER " + b.schema + ".t_capture_delete AFTER INSERT ON " + b.schema + ".digits FOR EACH ROW SET @seen = 1")
		_, err := b.migrate(b.ctx(), clauses)
		b.failedBeforeTheSwap(err, trigger.ErrTaken)
		if n := b.value(
			"SELECT GROUP_CONCAT(trigger_name) FROM information_schema.triggers WHERE trigger_schema = '" + b.schema + "'",
		); n != "t_capture_delete" {
			b.Errorf("the triggers are %s, want only the trigger of another owner", n)
		}
	})
}

// TestL6_PreparedByTriggers: the swap waits for prepared XA transactions, whose rows are not yet in
// the log.
func TestL6_PreparedByTriggers(t *testing.T) {
	onEachByTriggers(t, func(b *bench) {
		b.numbered(3000)
		var kept func(string)
		r := b.background(b.ctx(), clauses, onPhase(event.PhaseVerify, func() {
			kept = b.prepareXA("kept", "UPDATE "+b.schema+".t SET v = 8 WHERE id <= 20")
		}))
		b.awaited("the comparison's end", func(e event.Event) bool { _, is := e.(event.Verified); return is })
		select {
		case <-r.done:
			b.Fatalf("the swap did not wait for a prepared transaction: %v", r.err)
		case <-time.After(time.Second):
		}
		kept("XA COMMIT")
		r.wait(b)
		b.equal()
		if got := b.value("SELECT SUM(v = 8) FROM " + b.schema + ".t"); got != "20" {
			b.Errorf("%s rows of the transaction arrived, want 20", got)
		}
	})
}

// TestL5_LostConnectionByTriggers: the connection is lost, and with it the answer of a deletion
// from the log. The run reads again what is left in the log.
func TestL5_LostConnectionByTriggers(t *testing.T) {
	sideBySide(t)
	onEachByTriggers(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 10_000, ledger.Options{})
		b.cfg.RowCopy.MaxRows = 500
		b.start(l)
		w := b.wire(fault.Rule{At: "AS gone STRAIGHT_JOIN", Deaf: true})
		b.mustMigrate(alter)
		if !bent(w) {
			b.Error("no answer was lost")
		}
		b.mustMatchLedger(l)
	})
}

// TestReplicasByTriggers: replicas get the triggers and the log, and continue, whatever sessions
// write: as rows, without a binlog, or as statements, for which a replica fires the triggers
// itself.
func TestReplicasByTriggers(t *testing.T) {
	mysqltest.Seldom(t)
	onReplicas(t, func(primary, replica *bench) {
		primary.capture = plan.CaptureTrigger
		primary.numbered(9999)
		replica.catchUpWith(primary)
		primary.cfg.RowCopy.MaxRows, primary.settings.RowCopy.Workers = 500, 1
		writing, stop := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(writing)
			f := primary.feeder()
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprint(n % 9999)
				f.exec(
					"UPDATE t SET v = v + 1 WHERE id = "+id, "SET SESSION sql_log_bin = 0",
					"UPDATE t SET u = u WHERE id = "+id, "SET SESSION sql_log_bin = 1",
					"SET SESSION binlog_format = 'STATEMENT'", "UPDATE t SET v = v + 1 WHERE id = "+id,
					"SET SESSION binlog_format = 'ROW'",
				)
			}
		}()
		primary.mustMigrate(clauses, onPhase(event.PhaseVerify, func() { close(stop); <-writing }))
		primary.equal()
		replica.catchUpWith(primary)
		if here, there := primary.sums("t"), replica.sums("t"); here != there {
			primary.Errorf("rows and checksum are %s, on the replica %s", here, there)
		}
		if n := replica.value(
			"SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = '" + primary.schema + "'",
		); n != "0" {
			primary.Errorf("%s triggers are left on the replica", n)
		}
	})
}
