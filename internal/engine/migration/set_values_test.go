package migration_test

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// TestL11_ExpressionsHaveTheValuesOfTheServersUpdate: in a time zone with summer time, expressions over all kinds of columns give the
// values that the server's own UPDATE gives.
func TestL11_ExpressionsHaveTheValuesOfTheServersUpdate(t *testing.T) {
	inZone(t, "Midstream/Summer", func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, name VARCHAR(60), code CHAR(10), lat VARCHAR(20) CHARACTER SET latin1, u INT UNSIGNED, f FLOAT, "+
			"n DECIMAL(20,6), ts TIMESTAMP NULL, dt DATETIME NULL, d DATE, tm TIME, e ENUM('x','y',''), bits BIT(5), raw VARBINARY(20), y YEAR)",
			"INSERT INTO "+b.schema+".t VALUES (1, 'Ärger ß', 'ab  ', 'ö', 4294967295, 0.1, 1.2345678, FROM_UNIXTIME(1603585800), '2020-10-25 02:30:00', '2020-03-29', '10:11:12', 'x', b'101', X'00ff', 2020),"+
				" (2, '  blanks  ', '', '', 0, -1e20, -0.5, FROM_UNIXTIME(1603589400), '2020-07-01 12:00:00', '2000-02-29', '-01:00:00', 'y', b'0', '', 1999),"+
				" (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")
		b.set = plan.Settings{}
		var adds, sets, columns []string
		for i, c := range [][2]string{
			{"VARCHAR(60)", "LOWER(name)"}, {"VARCHAR(60)", "TRIM(name)"}, {"VARCHAR(10)", "CONCAT(code, '|')"}, {"VARCHAR(30)", "CONCAT(lat, '-', id)"},
			{"VARCHAR(20) CHARACTER SET latin1", "LEFT(name, 5)"}, {"BIGINT", "u"}, {"BIGINT", "(u)"}, {"BIGINT", "u * 2 + 1"}, {"VARCHAR(30)", "CONCAT(f)"}, {"DOUBLE", "f / 3"}, {"DECIMAL(10,2)", "n"},
			{"INT", "n"}, {"DECIMAL(30,10)", "n / 7"}, {"DATE", "DATE(ts)"}, {"VARCHAR(30)", "ts"}, {"DATETIME", "ts"}, {"TIMESTAMP NULL", "ts"}, {"INT", "HOUR(ts)"},
			{"DATETIME", "d"}, {"DATE", "dt + INTERVAL 1 DAY"}, {"DATETIME", "dt - INTERVAL 1 SECOND"}, {"DATETIME", "tm"}, {"INT", "TIME_TO_SEC(tm)"},
			{"ENUM('x','y','z')", "IF(e = 'x', 'z', 'y')"}, {"INT", "e + 0"}, {"VARCHAR(5)", "e"}, {"INT", "bits"}, {"VARBINARY(20)", "REVERSE(raw)"}, {"VARCHAR(50)", "HEX(raw)"},
			{"INT", "y"}, {"CHAR(8)", "name LIKE 'Ä%'"}, {"INT", "name = 'ÄRGER SS'"}, {"TINYINT", "name IS NULL"}, {"VARCHAR(64)", "SHA2(name, 256)"}, {"INT", "7"}, {"VARCHAR(9)", "'it''s \\\\'"},
			{"INT", "CASE WHEN id % 2 = 0 THEN NULL ELSE id END"}, {"TEXT", "REPEAT(name, 3)"}, {"INT", "LENGTH(CONCAT(name, lat))"},
		} {
			name := "c" + string(rune('a'+i/26)) + string(rune('a'+i%26))
			b.set[name] = c[1]
			adds, sets, columns = append(adds, "ADD COLUMN "+name+" "+c[0]), append(sets, name+" = "+c[1]), append(columns, "IFNULL(HEX("+name+"),'NULL')")
		}
		if _, err := b.migrate(b.ctx(), strings.Join(adds, ", "), event.Discard); err != nil {
			b.Fatal(err)
		}
		b.sameAsServer("t_old", strings.Join(columns, ", "), "ALTER TABLE %[1]s "+strings.Join(adds, ", "),
			"UPDATE %[1]s SET "+strings.ReplaceAll(strings.Join(sets, ", "), "%", "%%"))
	})
}

// TestL11_AnExpressionHasTheErrorsOfAnUpdate: MariaDB's INSERT .. SELECT makes 0 of a text that is no number, without an error, and its
// UPDATE refuses it. The run refuses it too: a row of the table, and one that comes later.
func TestL11_AnExpressionHasTheErrorsOfAnUpdate(t *testing.T) {
	onThese(t, inTurn(t, []string{"mariadb-11.8", "mariadb-10.11", "9.7"}), func(b *bench) {
		for _, expr := range []string{"c + 0", "c = 5", "IF(c, 1, 2)", "n DIV c"} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, c VARCHAR(9) NOT NULL, n INT)",
				"INSERT INTO "+b.schema+".t VALUES (1, '7', 7), (2, '1.5', 7)")
			insert := func() { b.exec("INSERT INTO " + b.schema + ".t VALUES (3, ' x', 7)") }
			b.set = plan.Settings{"fresh": expr, "n": expr}
			if _, err := b.db.ExecContext(b.ctx(), "INSERT INTO "+b.schema+".t VALUES (4, ' x', 7)"); err != nil {
				b.Fatal(err)
			}
			if _, err := b.db.ExecContext(b.ctx(), "UPDATE "+b.schema+".t SET n = "+expr); !dbconn.ValueRefused(err) {
				b.Errorf("%s: the server's own UPDATE: %v", expr, err)
			}
			if _, err := b.migrate(b.ctx(), "ADD COLUMN fresh INT NULL"); !errors.Is(err, failure.ErrUnfit) {
				b.Errorf("%s: with a text that is no number: %v", expr, err)
			}
			b.exec("DELETE FROM " + b.schema + ".t WHERE id = 4")
			if _, err := b.migrate(b.ctx(), "ADD COLUMN fresh INT NULL", onPhase(event.PhaseVerify, insert)); !dbconn.ValueRefused(err) {
				b.Errorf("%s: with such a text in a late row: %v", expr, err)
			}
		}
	})
}

// TestL11_AnExpressionReplacesVectors: MySQL compares no vectors, so the values that change are counted in another way.
func TestL11_AnExpressionReplacesVectors(t *testing.T) {
	onThese(t, []string{"9.7"}, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v VECTOR(3), w VECTOR(3))",
			"INSERT INTO "+b.schema+".t VALUES (1, STRING_TO_VECTOR('[1,2,3]'), NULL), (2, NULL, STRING_TO_VECTOR('[4,5,6]'))")
		b.set = plan.Settings{"v": "id + 5", "w": "NULL"}
		if _, err := b.migrate(b.ctx(), "MODIFY v BIGINT"); err != nil {
			b.Fatal(err)
		}
		if got := b.value("SELECT GROUP_CONCAT(v, IFNULL(HEX(w), '-') ORDER BY id) FROM " + b.schema + ".t"); got != "6-,7-" {
			b.Errorf("the rows have the values: %s", got)
		}
	})
}
