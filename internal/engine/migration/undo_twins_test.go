package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
)

// TestU4_DuplicatesAreSetApartAtOnce: the change has dropped a unique key and altered the key, and the application has written
// duplicates among many other changes. The undo does not look for each of them by halves of the list: that takes thousands of statements.
func TestU4_DuplicatesAreSetApartAtOnce(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		var rows []string
		for i := range 300 {
			rows = append(rows, fmt.Sprintf("('k%d', %[1]d, %[1]d)", i))
		}
		b.exec("CREATE TABLE "+table+" (k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci PRIMARY KEY, u INT, d INT, UNIQUE KEY uq (u))",
			"INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
		b.cfg.Undo = time.Hour
		b.mustMigrate("DROP COLUMN d, DROP INDEX uq, MODIFY k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL")
		var twins []string
		for _, n := range []string{"250", "251", "260", "270", "280", "290"} {
			twins = append(twins, "('new"+n+"', "+n+")")
		}
		b.exec("UPDATE "+table+" SET u = u + 1000 WHERE u < 200", "INSERT INTO "+table+" VALUES "+strings.Join(twins, ", "))
		var syncs atomic.Int64
		b.wire(fault.Rule{Seen: func(_ int, command []byte) {
			if text := string(command); strings.Contains(text, "INTO `"+b.schema+"`.`t_old`") {
				syncs.Add(1)
			}
		}})
		if _, err := b.undo(b.ctx(), planning.Undo{}); !errors.Is(err, park.ErrUnfit) {
			b.Fatal(err)
		}
		if n := syncs.Load(); n > 1500 { // 440; by halves, 4,500
			b.Errorf("%d statements write to the old table", n)
		}
		b.mustUndo(planning.Undo{Park: true})
		if n := b.value("SELECT GROUP_CONCAT(k ORDER BY k) FROM " + table + "_parked"); n != "new250,new251,new260,new270,new280,new290" {
			b.Errorf("%s are parked", n)
		}
		b.exec("DROP TABLE "+table+"_undo", "DROP TABLE "+table+"_parked")
	})
}
