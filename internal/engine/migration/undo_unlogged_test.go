package migration_test

import (
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/planning"
)

// TestU4_UnloggedWriteIsFound: a session has written to the new table with sql_log_bin=0. A lazy undo compares all rows, so
// it ends before the swap. A held one does not begin to follow.
func TestU4_UnloggedWriteIsFound(t *testing.T) {
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
			if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, migration.ErrMismatch) {
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
