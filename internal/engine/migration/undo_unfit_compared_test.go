package migration_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/planning"
)

// TestU4_UnfitRowsComeWhileChangedRowsAreCompared: an undo that compares only the changed rows comes to rows that have become unfit
// before their syncs do. It parks them.
func TestU4_UnfitRowsComeWhileChangedRowsAreCompared(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		b.exec("CREATE TABLE " + table + " (k BINARY(4) PRIMARY KEY, c INT NOT NULL, d INT, n INT)")
		for i := range 300 {
			b.exec("INSERT INTO " + table + " VALUES (RIGHT(CONCAT('000', " + strconv.Itoa(i) + "), 4), 1, 1, " + strconv.Itoa(i) + ")")
		}
		b.cfg.Undo = time.Hour
		b.mustMigrate("DROP COLUMN d, MODIFY k VARBINARY(8) NOT NULL, MODIFY c INT NULL")
		b.exec("UPDATE " + table + " SET c = 2")
		var writing sync.WaitGroup
		application := b.conn()
		b.mustUndo(planning.Undo{Park: true}, onPhase(event.PhaseVerify, func() {
			writing.Go(func() {
				for i := range 150 { // after the swap, the server refuses them
					_, _ = application.ExecContext(b.ctx(), "UPDATE "+table+" SET c = NULL WHERE n = "+strconv.Itoa(i))
					rest(5 * time.Millisecond)
				}
			})
		}))
		writing.Wait()
		kept, parked := b.value("SELECT COUNT(*) FROM "+table+" WHERE c = 2 AND d = 1"), b.value("SELECT COUNT(*) FROM "+table+"_parked WHERE c IS NULL")
		if total := b.value("SELECT " + kept + " + " + parked); total != "300" {
			b.Errorf("%s rows are there and %s are parked", kept, parked)
		}
		b.exec("DROP TABLE "+table+"_undo", "DROP TABLE "+table+"_parked", "DROP TABLE "+table+"_parked_values")
	})
}
