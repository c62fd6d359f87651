package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestL9_ADeadlockBesideUnfitRows: the old table refuses rows, and another transaction is in the way just as the undo makes
// room for the rows around them. The undo tries that again, parks these rows, and comes to its end.
func TestL9_ADeadlockBesideUnfitRows(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for name, change := range map[string]string{
		"value": "MODIFY v BIGINT NOT NULL", "kept values": "DROP COLUMN u, MODIFY v BIGINT NOT NULL",
		"another key": "MODIFY v BIGINT NOT NULL, MODIFY id BIGINT NOT NULL",
	} {
		t.Run(name, func(t *testing.T) {
			onTwo(t, func(b *bench) {
				for _, cold := range []bool{false, true} {
					for _, number := range []uint16{1205, 1213} {
						b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
						b.address = b.server.Address
						b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
						b.numbered(2000)
						b.cfg.Undo = time.Hour
						b.mustMigrate(change)
						b.exec("UPDATE "+b.schema+".t SET v = v + 1 WHERE id % 7 = 0", "UPDATE "+b.schema+".t SET v = 5000000000 WHERE id IN (7, 8, 30)")
						b.settings.RowCopy.Workers = 1 // so that the next deletion is that of the rows around the first one
						old := "`" + b.schema + "`.`t_old`"
						wire := b.wire(fault.Rule{After: "INSERT INTO " + old, At: "DELETE " + old, Error: number})
						b.mustUndo(planning.Undo{Cold: cold, Park: true})
						if !bent(wire) {
							b.Errorf("cold %t, error %d: no such command came", cold, number)
						}
						const sum = "SELECT CONCAT_WS(' ', COUNT(*), SUM(id), SUM(v)) FROM "
						if n := b.value("SELECT COUNT(*) FROM " + b.schema + ".t_parked"); n != "3" {
							b.Errorf("cold %t, error %d: %s rows are parked", cold, number, n)
						}
						if got, want := b.value(sum+b.schema+".t"), b.value(sum+b.schema+".t_undone WHERE v < 5000000000"); got != want {
							b.Errorf("cold %t, error %d: the rows are %s, want %s", cold, number, got, want)
						}
						b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_parked, " + b.schema + ".t_parked_values")
					}
				}
			})
		})
	}
}
