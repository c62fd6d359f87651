package migration_test

import (
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/mysqltest"
)

// widerKeys are types of keys that the ALTER makes wider, so that a value is written differently,
// with two values of each type.
var widerKeys = []struct{ name, from, to, stays, goes string }{
	{"integer to decimal", "BIGINT", "DECIMAL(30,2)", "8", "-9"},
	{"unsigned to decimal", "INT UNSIGNED", "DECIMAL(30,2)", "8", "4294967295"},
	{"decimal", "DECIMAL(5,0)", "DECIMAL(20,4)", "8", "-99999"},
	{"date to datetime", "DATE", "DATETIME(3)", "'2020-01-01'", "'1999-12-31'"},
	{"datetime", "DATETIME", "DATETIME(6)", "'2020-01-01 01:00:00'", "'1999-12-31'"},
	{"timestamp", "TIMESTAMP", "TIMESTAMP(3)", "'2020-01-01 01:00:00'", "'2038-01-01'"},
	{"time", "TIME", "TIME(6)", "'00:00:00'", "'-838:59:59'"},
	{"year to integer", "YEAR", "INT", "2020", "0"},
	{"bit", "BIT(3)", "BIT(64)", "1", "7"},
	{"enum", "ENUM('a','b')", "ENUM('a','b','c')", "'a'", "'b'"},
	{"set", "SET('a','b')", "SET('a','b','c')", "'a'", "'a,b'"},
	{"binary", "BINARY(4)", "VARBINARY(9)", "'a'", "X'FF00'"},
	{"string", "CHAR(4) CHARACTER SET latin1", "VARCHAR(9) CHARACTER SET latin1", "'a'", "'ß'"},
}

// TestL11_RowsOfWiderKeysGoDuringTheComparison: a row that the new table has and the source no
// longer has is found by its key in the source, however the new table writes the key.
func TestL11_RowsOfWiderKeysGoDuringTheComparison(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, k := range widerKeys {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			onTwo(t, func(b *bench) {
				f := b.feeder()
				f.exec(
					"CREATE TABLE t (id "+k.from+" NOT NULL, v INT, PRIMARY KEY (id))",
					"INSERT INTO t VALUES ("+k.stays+", 1), ("+k.goes+", 2)",
				)
				b.mustMigrate("MODIFY id "+k.to+" NOT NULL", onPhase(event.PhaseVerify, func() { f.exec("DELETE FROM t WHERE v = 2") }))
				if got := b.value("SELECT CONCAT(COUNT(*), MAX(v)) FROM " + b.schema + ".t"); got != "11" {
					b.Errorf("count and value are %s", got)
				}
			})
		})
	}
}

// TestL11_ZeroDateInTheKey: a row whose key is the date 0000-00-00 is found, although IS NULL is
// true for it.
func TestL11_ZeroDateInTheKey(t *testing.T) {
	sideBySide(t)
	for _, kind := range []string{"DATE", "DATETIME", "DATETIME(3)", "TIMESTAMP"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onTwo(t, func(b *bench) {
				f := b.feeder()
				f.exec("CREATE TABLE t (id "+kind+" NOT NULL DEFAULT '2020-01-01', v INT, u INT, PRIMARY KEY (id), UNIQUE KEY u (u))",
					"INSERT INTO t VALUES ('0000-00-00', 1, 1), ('2020-01-01', 2, 2)")
				b.mustMigrate(
					"ADD COLUMN z INT",
					onPhase(event.PhaseCatchUp, func() { f.exec("UPDATE t SET u = 3 WHERE v = 1", "UPDATE t SET u = 1 WHERE v = 2") }),
				)
				if got := b.value("SELECT GROUP_CONCAT(u ORDER BY v) FROM " + b.schema + ".t"); got != "3,1" {
					b.Errorf("the values are %s", got)
				}
			})
		})
	}
}
