package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/planning"
)

// TestAnUndoCountsEachChangedRowOnce: rows change again and again while a lazy undo compares and waits, one of them does not fit, and
// one was deleted. The undo counts each row once that it has synced, and compares the rows that exist.
func TestAnUndoCountsEachChangedRowOnce(t *testing.T) {
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		b.cfg.Undo = time.Hour
		b.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, d DECIMAL(10,4), s SMALLINT)",
			"INSERT INTO "+table+" VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4)")
		b.mustMigrate("MODIFY d DECIMAL(10,2), MODIFY s INT") // rounds, so that not all rows are compared
		b.exec("UPDATE "+table+" SET s = 100000 WHERE id = 1", "UPDATE "+table+" SET d = 9 WHERE id = 2", "DELETE FROM "+table+" WHERE id = 3",
			"INSERT INTO "+table+" VALUES (5, 5, 5)")
		var compared event.Verified
		last := int64(-1)
		result := b.mustUndo(planning.Undo{Park: true}, func(e event.Event) {
			switch e := e.(type) {
			case event.Verified:
				compared = e
				b.exec("UPDATE " + table + " SET s = s + 1 WHERE id IN (1, 2)")
			case event.Progress:
				if e.Changed != nil {
					last = *e.Changed
				}
			}
		})
		if result.Changed == nil {
			b.Fatal("the changed rows were not counted")
		}
		if *result.Changed != 3 || last > 3 {
			b.Errorf("%d changed rows were counted, %d while at work", *result.Changed, last)
		}
		if result.Applied < 6 {
			b.Errorf("only %d syncs: the test repeats none", result.Applied)
		}
		if compared.Rows != 2 || result.Verified != 2 {
			b.Errorf("%d rows were compared, %d in all", compared.Rows, result.Verified)
		}
		if got := b.value("SELECT GROUP_CONCAT(id ORDER BY id) FROM " + table); got != "2,4,5" {
			b.Errorf("the rows are %s", got)
		}
		b.exec("DROP TABLE " + table + "_undo, " + table + "_parked")
	})
}
