package rowsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
)

// keptTypes are types of kept columns, with values as an old table may have them. on says which
// servers have the type: by the beginning of their versions, or all.
var keptTypes = []struct {
	on     string
	column string
	values []string
	shown  string // an expression besides HEX
}{
	{"", "TINYINT NOT NULL", []string{"-128", "127"}, ""},
	{"", "BIGINT UNSIGNED NOT NULL", []string{"0", "18446744073709551615"}, ""},
	{"", "INT ZEROFILL", []string{"7", "NULL"}, ""},
	{"", "DECIMAL(65,30) NOT NULL", []string{"-12345678901234567890123456789012345.123456789012345678901234567890", "0"}, "%s"},
	{"", "FLOAT NOT NULL", []string{"0.1", "-3.4e38"}, "%s + 0e0"},
	{"", "DOUBLE(10,2) NOT NULL", []string{"0.1", "-12345678.99"}, "%s + 0e0"},
	{"", "DOUBLE NOT NULL", []string{"0.1e-300", "1.7976931348623157e308"}, "%s + 0e0"},
	{"", "BIT(1) NOT NULL", []string{"b'0'", "b'1'"}, "%s + 0"},
	{"", "BIT(64) NOT NULL", []string{"x'ffffffffffffffff'", "x'8000000000000001'"}, "%s + 0"},
	{"", "CHAR(10) CHARACTER SET latin1 NOT NULL", []string{"'ä'", "''"}, ""},
	{"", "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", []string{"'a  '", "_utf8mb4 x'f09f9880'"}, ""},
	{"", "VARCHAR(20) CHARACTER SET ucs2 NOT NULL", []string{"'ab '", "''"}, ""},
	{"", "BINARY(5) NOT NULL", []string{"x'6100'", "x'0000000000'"}, ""},
	{"", "VARBINARY(300) NOT NULL", []string{"x'00ff00'", "''"}, ""},
	{"", "TINYTEXT", []string{"'t'", "NULL"}, ""},
	{"", "LONGTEXT NOT NULL", []string{"REPEAT('lang ', 20000)", "''"}, ""},
	{"", "MEDIUMBLOB NOT NULL", []string{"REPEAT(x'00ff5c27', 30000)", "''"}, ""},
	{"", "ENUM('a','','b') NOT NULL", []string{"'b'", "''"}, "%s + 0"},
	{"", "ENUM('x','y') NOT NULL", []string{"0", "'y'"}, "%s + 0"}, // 0: a value that was no member
	{"", "SET('','x') NOT NULL", []string{"1", "3"}, "%s + 0"},
	{"", "SET('a','b','c') NOT NULL", []string{"5", "0"}, "%s + 0"},
	{"", "DATE NOT NULL", []string{"'0000-00-00'", "'2020-02-30'"}, ""},
	{"", "DATETIME(6) NOT NULL", []string{"'0000-00-00 00:00:00'", "'2020-11-00 23:59:59.999999'"}, ""},
	{"", "TIMESTAMP NOT NULL DEFAULT '2001-01-01 00:00:00'", []string{"0", "'2020-10-25 00:30:00'"}, "UNIX_TIMESTAMP(%s)"},
	{"", "TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)", []string{"'2020-10-25 01:30:00.123456'", "NULL"}, "UNIX_TIMESTAMP(%s)"},
	{"", "DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP", []string{"'1999-12-31 23:59:59'", "'2020-01-01'"}, ""},
	{"", "TIME(3) NOT NULL", []string{"'-838:59:59'", "'00:00:00.001'"}, ""},
	{"", "YEAR NOT NULL", []string{"0", "2155"}, ""},
	{"", "JSON NOT NULL", []string{`'{"b": 1.0, "a": [null, "x\\u00e4"], "d": 18446744073709551615}'`, "'[]'"}, "CAST(%s AS CHAR)"},
	{"", "GEOMETRY NOT NULL", []string{"ST_GeomFromText('POLYGON((0 0,0 5,5 5,5 0,0 0))')", "ST_GeomFromText('POINT(1 2)')"}, ""},
	{"8. 9.", "POINT NOT NULL SRID 4326", []string{"ST_GeomFromText('POINT(1 2)', 4326)", "ST_GeomFromText('POINT(-89 179)', 4326)"}, ""},
	{"9.", "INT NOT NULL DEFAULT (FLOOR(RAND() * 1000000))", []string{"1", "2"}, ""},
	{"9.", "INT INVISIBLE NOT NULL", []string{"1", "2"}, ""},
	{"9.", "VECTOR(3) NOT NULL", []string{"STRING_TO_VECTOR('[1,2.5,-3]')", "STRING_TO_VECTOR('[0,0,0]')"}, ""},
	{"maria", "INT INVISIBLE NOT NULL DEFAULT 4", []string{"1", "2"}, ""},
	{"maria", "UUID NOT NULL", []string{"'123e4567-e89b-12d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'"}, ""},
	{"maria", "INET6 NOT NULL", []string{"'::'", "'2001:db8::ff00:42:8329'"}, ""},
	{"maria", "TEXT COMPRESSED NOT NULL", []string{"REPEAT('z', 5000)", "'z'"}, ""},
	{"maria", "INT NOT NULL DEFAULT (FLOOR(RAND() * 1000000))", []string{"1", "2"}, ""},
}

// summerTime returns a zone in which an hour of October occurs twice, as in Berlin in 2020.
func summerTime(t *testing.T, server *mysqltest.Instance) (zone string) {
	t.Helper()
	zone = "Kept/Summer"
	db := server.Open(t, "mysql")
	db.SetMaxOpenConns(1)
	u := &undo{T: t, db: db}
	if u.rows("SELECT COUNT(*) FROM time_zone_name WHERE name = '" + zone + "'")[0] == "0" {
		u.exec("INSERT INTO time_zone (use_leap_seconds) VALUES ('N')", "SET @zone = LAST_INSERT_ID()",
			"INSERT INTO time_zone_name (name, time_zone_id) VALUES ('"+zone+"', @zone)",
			"INSERT INTO time_zone_transition_type (time_zone_id, transition_type_id, `offset`, is_dst, abbreviation)"+
				" VALUES (@zone, 0, 3600, 0, 'CET'), (@zone, 1, 7200, 1, 'CEST')",
			"INSERT INTO time_zone_transition (time_zone_id, transition_time, transition_type_id)"+
				" VALUES (@zone, 1585443600, 1), (@zone, 1603587600, 0)")
	}
	return zone
}

// TestU5_EveryTypeIsKeptBitForBit: values of every type come back unchanged, on each path, whatever
// the sql_mode and the time zone of the sync are.
func TestU5_EveryTypeIsKeptBitForBit(t *testing.T) {
	onAll(t, func(t *testing.T, server *mysqltest.Instance) {
		kind := server.Release
		if strings.Contains(kind, "MariaDB") {
			kind = "maria"
		}
		columns, shown := "id INT NOT NULL PRIMARY KEY, v INT", []string{"id"}
		var rows [2]string
		for i, k := range keptTypes {
			if k.on != "" && !slices.ContainsFunc(strings.Fields(k.on), func(on string) bool { return strings.HasPrefix(kind, on) }) {
				continue
			}
			name := fmt.Sprintf("c%d", i)
			columns += ", " + name + " " + k.column
			shown = append(shown, "HEX("+name+")")
			if k.shown != "" {
				shown = append(shown, fmt.Sprintf(k.shown, name))
			}
			for n := range rows {
				rows[n] += ", " + name + " = " + k.values[n]
			}
		}
		query := "SELECT " + strings.Join(shown, ", ") + " FROM t_old ORDER BY id"
		for _, path := range paths {
			t.Run(path.name, func(t *testing.T) {
				u := newUndo(t, server, "id INT NOT NULL PRIMARY KEY, v INT", columns, func(u *undo) {
					u.spec.Values.Modes = []string{"NO_ZERO_DATE", "NO_ZERO_IN_DATE"}
					u.spec.Values.Zone = summerTime(t, server)
					if path.change != nil {
						path.change(u)
					}
				}, "INSERT INTO t VALUES (1, 1), (2, 2)",
					"SET SESSION sql_mode = 'ALLOW_INVALID_DATES', timestamp = 1700000000", "INSERT INTO t_old SET id = 1, v = 1"+rows[0], "INSERT INTO t_old SET id = 2, v = 2"+rows[1])
				before := u.rows(query)
				moves := u.carry()
				check := func(what string, want []string) {
					t.Helper()
					if path.chunk {
						u.syncAll()
					} else {
						u.sync("1", "2", "7", "8")
					}
					if got := u.rows(query); !slices.Equal(got, want) {
						for i := range want {
							for j, value := range strings.Split(want[i], "|") {
								if i >= len(got) {
									t.Fatalf("%s: rows are missing", what)
								}
								if now := strings.Split(got[i], "|")[j]; now != value {
									t.Errorf("%s: %s is %.80s, was %.80s", what, shown[j], now, value)
								}
							}
						}
					}
				}
				u.exec("UPDATE t SET v = v + 10")
				check("updated", before)
				u.exec("DELETE FROM t")
				check("deleted", nil)
				u.exec("INSERT INTO t VALUES (1, 5), (2, 6)")
				check("inserted again", before)
				u.exec("UPDATE t SET id = id + 6")
				moves.add(u, 1, "1", "7", "2", "8")
				var moved []string
				for i, row := range before {
					_, rest, _ := strings.Cut(row, "|")
					moved = append(moved, fmt.Sprintf("%d|%s", i+7, rest))
				}
				check("moved", moved)
				u.exec("UPDATE t SET v = v + 10")
				check("updated again", moved)
			})
		}
	})
}
