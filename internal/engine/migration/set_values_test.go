package migration_test

import (
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
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
