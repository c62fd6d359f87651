package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/planning"
)

// TestU5_ValuesAreKeptNextToKeysThatDoNotFit: the undo has parked a row whose key the former type does not take. The redo keeps the
// values of the new column for the other rows: the table that it brings up to date still has that row.
func TestU5_ValuesAreKeptNextToKeysThatDoNotFit(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		for _, c := range []struct{ from, to, fits, long string }{
			{"INT UNSIGNED", "BIGINT", "3", "-2"},
			{"INT", "BIGINT UNSIGNED", "3", "18446744073709551615"},
			{"INT", "DECIMAL(20,0)", "3", "77777777777"},
			{"VARCHAR(3) CHARACTER SET ascii", "VARCHAR(9) CHARACTER SET ascii", "'abc'", "'abcdefg'"},
			{"VARBINARY(3)", "VARBINARY(9)", "'abc'", "'abcdefg'"},
			{"BIT(3)", "BIT(9)", "b'101'", "b'101010101'"},
			{"ENUM('a','b')", "ENUM('a','b','c')", "'b'", "'c'"},
			{"DECIMAL(5,2)", "DECIMAL(9,2)", "1.25", "77777.25"},
		} {
			for _, cold := range []bool{false, true} {
				b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "CREATE TABLE "+table+" (id "+c.from+" NOT NULL PRIMARY KEY, a INT)",
					"INSERT INTO "+table+" VALUES ("+c.fits+", 1)")
				b.cfg.Undo = time.Hour
				b.Cleanup(func() {
					b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t_parked",
						"DROP TABLE IF EXISTS "+b.schema+".t_parked2")
				})
				b.mustMigrate("MODIFY id " + c.to + " NOT NULL, ADD COLUMN more VARCHAR(9)")
				b.exec("UPDATE "+table+" SET more = 'kept'", "INSERT INTO "+table+" VALUES ("+c.long+", 2, 'long')")
				b.mustUndo(planning.Undo{Park: true})
				b.exec("UPDATE " + table + " SET a = 5")
				b.mustUndo(planning.Undo{Cold: cold})
				want := "5 kept"
				if !cold { // it looks at changed rows only, and leaves the parked one where it is
					want = "2 long,5 kept"
				}
				if got := b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', a, IFNULL(more, '-')) ORDER BY a) FROM " + table); got != want {
					b.Errorf("%s to %s, cold %t: the rows are %s", c.from, c.to, cold, got)
				}
			}
		}
	})
}

// TestU5_AParkedRowHasNoValuesOfAnotherRow: the key of a parked row does not fit the former type, which would cut it to the key of a
// row that was deleted. The parked row does not get that row's values of the dropped column.
func TestU5_AParkedRowHasNoValuesOfAnotherRow(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		for _, c := range []struct{ from, to, fits, long string }{
			{"CHAR(3) CHARACTER SET latin1", "VARCHAR(9) CHARACTER SET utf8mb4", "'abc'", "'abcdefg'"},
			{"VARCHAR(3) CHARACTER SET latin1", "VARCHAR(9) CHARACTER SET latin1", "'abc'", "'abcdefg'"},
			{"SMALLINT", "INT", "32767", "70000"},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+table+" (id "+c.from+" NOT NULL PRIMARY KEY, a INT, k VARCHAR(9))",
				"INSERT INTO "+table+" VALUES ("+c.fits+", 1, 'one'), (5, 2, 'two')")
			b.cfg.Undo = time.Hour
			b.Cleanup(func() {
				b.exec("DROP TABLE IF EXISTS "+b.schema+".t_undo", "DROP TABLE IF EXISTS "+b.schema+".t_parked",
					"DROP TABLE IF EXISTS "+b.schema+".t_parked_values")
			})
			b.mustMigrate("MODIFY id " + c.to + " NOT NULL, DROP COLUMN k")
			b.exec("DELETE FROM "+table+" WHERE id = "+c.fits, "INSERT INTO "+table+" (id, a) VALUES ("+c.long+", 3)")
			b.mustUndo(planning.Undo{Park: true})
			if n := b.value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't_parked_values'"); n != "0" {
				b.Errorf("%s to %s: t_parked_values has %s", c.from, c.to, b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, k)) FROM "+b.schema+".t_parked_values"))
			}
		}
	})
}
