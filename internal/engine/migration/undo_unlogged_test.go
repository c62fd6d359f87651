package migration_test

import (
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestU4_UnloggedWriteIsFound: a session has written to the new table with sql_log_bin=0. A lazy undo compares all rows, so
// it ends before the swap. A held one does not begin to follow.
func TestU4_UnloggedWriteIsFound(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		for i, write := range []string{
			"UPDATE t SET v = 555 WHERE id = 3", "INSERT INTO t (id, v, u) VALUES (7777, 1, 7777)", "DELETE FROM t WHERE id = 1",
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
			b.changed("ADD COLUMN added INT, MODIFY v BIGINT NOT NULL")
			b.feeder().exec("SET SESSION sql_log_bin = 0", write, "SET SESSION sql_log_bin = 1")
			rows := b.sums("t")
			b.settings.When.Hold = i == 1
			if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, failure.ErrMismatch) {
				b.Fatalf("%s: the error is %v", write, err)
			}
			b.settings.When.Hold = false
			b.mustNotHaveUndone(rows)
			b.mustUndo(planning.Undo{Cold: true})
			b.mustMatch("t", rows)
		}
	})
}

// TestU4_RoundedValuesComeBack: the change has rounded values, so they differ in the tables. A lazy undo does not compare
// them, and brings the former values back. It still compares the rows that have changed.
func TestU4_RoundedValuesComeBack(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, d DECIMAL(10,4) NOT NULL)",
			"INSERT INTO "+b.schema+".t VALUES (1, 1.2345), (2, 2.3456)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY d DECIMAL(10,2) NOT NULL")
		b.exec("UPDATE " + b.schema + ".t SET d = 9.87 WHERE id = 2")
		for _, want := range []string{"1.2345 9.8700", "1.23 9.87", "1.2345 9.8700"} {
			b.mustUndo(planning.Undo{})
			if got := b.value("SELECT GROUP_CONCAT(d ORDER BY id SEPARATOR ' ') FROM " + b.schema + ".t"); got != want {
				b.Errorf("values are %s, want %s", got, want)
			}
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}

// TestU4_RoundedValuesComeBackAfterAnUndoThatEnded: an undo was refused because of a row, or was killed. The next one still
// brings back the values that the change has rounded, as long as no session has changed their rows.
func TestU4_RoundedValuesComeBackAfterAnUndoThatEnded(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, how := range []string{"refused", "killed", "logged"} {
			if b.capture = ""; how == "logged" {
				b.capture = plan.CaptureTrigger
			}
			b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, d DECIMAL(10,4) NOT NULL, n TINYINT NOT NULL)",
				"INSERT INTO "+b.schema+".t VALUES (1, 1.2345, 1), (2, 2.3456, 1), (3, 3.4567, 1)")
			b.child("MODIFY d DECIMAL(10,2) NOT NULL, MODIFY n INT NOT NULL", "", nil, "--undo=1h").mustEnd()
			b.exec("UPDATE "+b.schema+".t SET d = 9.87 WHERE id = 2", "INSERT INTO "+b.schema+".t VALUES (4, 4.56, 1000)")
			if how != "killed" {
				if code, last := b.undoing().wait(); code != 17 {
					b.Fatalf("%s: exit code %d: %s", how, code, last)
				}
				b.exec("DELETE FROM " + b.schema + ".t WHERE id = 4")
			} else {
				b.exec("DELETE FROM " + b.schema + ".t WHERE id = 4")
				if code, last := b.killIf(fault.Rule{At: "LOCK TABLES"}, func() *child { return b.undoing() }); code != -1 {
					b.Fatalf("not killed: exit code %d: %s", code, last)
				}
			}
			b.undoing().mustEnd()
			if got := b.value("SELECT GROUP_CONCAT(d ORDER BY id SEPARATOR ' ') FROM " + b.schema + ".t"); got != "1.2345 9.8700 3.4567" {
				b.Errorf("%s: values are %s", how, got)
			}
			old := b.oldTable()
			b.undoing("--end").mustEnd()
			b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+"."+old)
		}
	})
}

// TestL6_AnUndoComparesAllThatHasChanged: an undo that compares only the changed rows begins with that when it has received
// them all. A long --lock-wait lets any delay of the capture pass for none.
func TestL6_AnUndoComparesAllThatHasChanged(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(3000)
		b.cfg.Undo, b.settings.Lock.Wait = time.Hour, 20*time.Second
		b.exec("ALTER TABLE " + b.schema + ".t ADD COLUMN d DECIMAL(10,4)")
		b.mustMigrate("MODIFY d DECIMAL(10,2)")
		b.exec("UPDATE " + b.schema + ".t SET d = id")
		var compared int64
		b.mustUndo(planning.Undo{}, func(e event.Event) {
			if v, is := e.(event.Verified); is {
				compared = v.Rows
			}
		})
		if compared < 3000 {
			b.Errorf("%d rows were compared, and 3,000 have changed", compared)
		}
		b.exec("DROP TABLE " + b.schema + ".t_undo")
	})
}
