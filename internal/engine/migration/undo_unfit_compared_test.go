package migration_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
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

// TestU4_AnUnfitRowComesBeforeEachComparison: each comparison of many rows meets one that has become unfit just before. The undo compares
// fewer at a time, and comes to its end.
func TestU4_AnUnfitRowComesBeforeEachComparison(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		var rows []string
		for i := range 512 {
			rows = append(rows, fmt.Sprintf("(%d, 'v', 1, 1)", i))
		}
		b.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY, v CHAR(9) NOT NULL, c SMALLINT NOT NULL, d INT)", "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
		b.cfg.Undo = time.Hour
		b.mustMigrate("DROP COLUMN d, MODIFY c INT NOT NULL, MODIFY v VARCHAR(20) NOT NULL")
		application, seen := b.conn(), 0
		var one sync.Mutex
		b.wire(fault.Rule{Seen: func(_ int, command []byte) {
			if text := string(command); strings.Contains(text, "INSERT INTO ") && strings.Contains(text, "midstream_verify") {
				one.Lock()
				defer one.Unlock()
				seen++ // any row, and each time another one; once the tables are swapped, the server refuses the value
				_, _ = application.ExecContext(b.ctx(), fmt.Sprintf("UPDATE %s SET c = 100000 WHERE id = %d", table, seen*149%512))
			}
		}})
		b.mustUndo(planning.Undo{Park: true})
		if n := b.value("SELECT (SELECT COUNT(*) FROM " + table + ") + (SELECT COUNT(*) FROM " + table + "_parked)"); n != "512" || seen < 3 {
			b.Errorf("%s rows are there or parked, after %d comparisons", n, seen)
		}
		b.exec("DROP TABLE "+table+"_undo", "DROP TABLE "+table+"_parked", "DROP TABLE IF EXISTS "+table+"_parked_values")
	})
}
