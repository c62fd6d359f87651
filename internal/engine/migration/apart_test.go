package migration_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
)

// TestL2_AKeyThatMayBecomeAnotherEndsTheRun: a run takes only values of the key that stay apart. It
// names a row with another value, in the prescan and later. Such a key that has no row deletes none.
func TestL2_AKeyThatMayBecomeAnotherEndsTheRun(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, c := range []struct{ kind, alter, value, twin, shown string }{
			{"BIGINT", "MODIFY id DOUBLE", "9007199254740992", "9007199254740993", "9007199254740993"},
			{"VARBINARY(9)", "MODIFY id BINARY(9)", "'a'", "X'6100'", "a\x00"},
			{
				"VARCHAR(9) CHARACTER SET cp932 COLLATE cp932_bin", "MODIFY id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
				"X'81E0'", "X'8790'", "≒",
			},
			{"SET('','x','y')", "MODIFY v BIGINT", "2", "3", "x"},
			{"SET('','x','y')", "MODIFY id SET('','x','y','z')", "2", "3", "x"},
			{"SET('x','','y')", "MODIFY id VARCHAR(20)", "1", "3", "x,"},
			{"SET('','x','y')", "MODIFY id SET('y','x','')", "4", "5", "y"},
			{"SET('x','','y')", "ADD KEY (v)", "1", "2", ""},
		} {
			table := b.schema + ".t"
			fresh := func() {
				b.exec("DROP TABLE IF EXISTS "+table+", "+table+"_old", "CREATE TABLE "+table+" (id "+c.kind+" PRIMARY KEY, v INT)",
					"INSERT INTO "+table+" VALUES ("+c.value+", 1)")
			}
			insert, remove := "INSERT INTO "+table+" VALUES ("+c.twin+", 2)", "DELETE FROM "+table+" WHERE v = 2"
			fresh()
			_, err := b.migrate(b.ctx(), c.alter, onPhase(event.PhaseCatchUp, func() { b.exec(insert) }))
			if !errors.Is(err, rowsync.ErrMerges) || !strings.Contains(err.Error(), "row with key ("+c.shown+")") {
				b.Errorf("%s: %v", c.alter, err)
			}
			if _, err := b.migrate(b.ctx(), c.alter); !errors.Is(err, failure.ErrUnfit) { // both rows
				b.Errorf("%s: %v", c.alter, err)
			}
			b.exec("DELETE FROM " + table + " WHERE v = 1")
			if _, err := b.migrate(b.ctx(), c.alter); !errors.Is(err, failure.ErrUnfit) {
				b.Errorf("%s: %v", c.alter, err)
			}
			fresh()
			b.mustMigrate(c.alter, onPhase(event.PhaseCatchUp, func() {
				tx, err := b.db.BeginTx(b.ctx(), nil)
				for _, statement := range []string{insert, remove} {
					if err == nil {
						_, err = tx.ExecContext(b.ctx(), statement)
					}
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					b.Error(err)
				}
			}))
			if sums := b.value("SELECT CONCAT_WS(' ', COUNT(*), SUM(v)) FROM " + table); sums != "1 1" {
				b.Errorf("%s: rows and their sum: %s", c.alter, sums)
			}
		}
	})
}
