package migration_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// typeCase is a table of odd values and a change of it. The server's own ALTER of a copy gives the
// expected result.
type typeCase struct {
	name string
	only string // the only version with the type
	// utc means that rows are written in UTC, whatever the server's zone.
	utc     bool
	columns string
	rows    []string
	alter   string
}

var typeCases = []typeCase{
	{
		name:    "integers at both ends",
		columns: "id BIGINT UNSIGNED PRIMARY KEY, a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d INT UNSIGNED, e BIGINT, f BIT(1), g BIT(64), h YEAR",
		rows: []string{"0, -128, 0, -8388608, 0, -9223372036854775808, b'0', 0, 1901",
			"18446744073709551615, 127, 65535, 8388607, 4294967295, 9223372036854775807, b'1', 18446744073709551615, 2155",
			"9223372036854775808, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0"},
		alter: "ADD COLUMN z INT",
	},
	{
		name:    "numbers converted",
		columns: "id INT PRIMARY KEY, a TINYINT UNSIGNED, b DECIMAL(65,30), c FLOAT, d DOUBLE, e DECIMAL(10,2)",
		rows: []string{"-1, 255, 12345678901234567890123456789012345.123456789012345678901234567890, 1.1, -1e300, -0.05",
			"1, 0, -0.000000000000000000000000000001, -3.40282e38, 5e-324, 99999999.99", "2, NULL, NULL, 0.1, -0.0, 0"},
		alter: "MODIFY a BIGINT, MODIFY c DOUBLE, MODIFY d VARCHAR(40), MODIFY e DECIMAL(20,4)",
	},
	{
		name:    "numbers written as text",
		columns: "id INT PRIMARY KEY, a FLOAT, b DOUBLE(12,2), c FLOAT(7,2), d DOUBLE, e FLOAT, f DECIMAL(10,2), g FLOAT",
		rows: []string{
			"1, 0.1, 127, 12345.67, 0.1, 1234567, 1.50, 10.066",
			"2, -1.1754944e-38, 0.1, 1, 1e100, 1e20, -0.05, 99.999", "3, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
		},
		alter: "MODIFY a VARCHAR(30), MODIFY b CHAR(20), MODIFY c VARBINARY(30), MODIFY d TEXT, MODIFY e TINYBLOB, MODIFY f VARCHAR(9), MODIFY g FLOAT(7,2)",
	},
	{
		name:    "times",
		columns: "id INT PRIMARY KEY, a DATE, b DATETIME, c DATETIME(6), d TIMESTAMP(3) NULL, e TIME, f TIME(6)",
		rows: []string{
			"1, '0000-00-00', '0000-00-00 00:00:00', '1000-01-01 00:00:00.000001', '1970-01-01 00:00:01.001', '-838:59:59', '-00:00:00.000001'",
			"2, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07.999', '838:59:59', '25:00:00.5'",
			"3, NULL, NULL, '2024-02-29 12:00:00.012', '2020-10-25 01:30:00', NULL, NULL",
		},
		alter: "MODIFY b DATETIME(3), MODIFY e TIME(2), ADD COLUMN z TIMESTAMP NULL",
	},
	{
		name:    "timestamp to datetime and back",
		columns: "id INT PRIMARY KEY, a TIMESTAMP NULL, b DATETIME",
		rows: []string{
			"1, '2020-06-01 12:00:00', '2020-06-01 12:00:00'", "2, '2020-01-01 00:00:00', '1999-12-31 23:59:59'",
			"3, NULL, NULL",
		},
		alter: "MODIFY a DATETIME, MODIFY b TIMESTAMP NULL",
	},
	{
		name:    "enums and sets",
		columns: "id INT PRIMARY KEY, a ENUM('x','y,z','it''s'), b SET('p','q','r','s','t','u','v','w','é'), c ENUM('1','2','3'), d ENUM('b','a')",
		rows:    []string{"1, 'x', 'p,é', '3', 'b'", "2, 'y,z', '', '1', 'a'", "3, 'it''s', 'q,w', '2', NULL"},
		alter:   "MODIFY a VARCHAR(20), MODIFY b SET('é','w','v','u','t','s','r','q','p','o'), MODIFY c INT, MODIFY d ENUM('a','b')",
	},
	{
		name: "strings to utf8mb4",
		columns: "id INT PRIMARY KEY, a VARCHAR(40) CHARACTER SET latin1, b VARCHAR(40) CHARACTER SET gbk, c CHAR(10) CHARACTER SET utf16, " +
			"d TEXT CHARACTER SET cp1251, e VARCHAR(40) CHARACTER SET sjis, f VARCHAR(20) CHARACTER SET koi8r, g TEXT CHARACTER SET big5",
		rows:  []string{"1, 'ÄÖÜß€', '中文', 'añ', 'Привет', 'テスト', 'Привет', '中文'", "2, '', ' lead and trail  ', 'x', NULL, '', ' ', ''"},
		alter: "CONVERT TO CHARACTER SET utf8mb4",
	},
	{
		name:    "binary and blobs",
		columns: "id INT PRIMARY KEY, a BINARY(8), b VARBINARY(20), c BLOB, d LONGTEXT, e BINARY(4)",
		rows:    []string{"1, X'0100000000000000', X'00', X'', REPEAT('é', 1000), X'FF000000'", "2, X'', X'FFFE00', X'00FF00', '', NULL"},
		alter:   "MODIFY a VARBINARY(8), MODIFY e BLOB, MODIFY b BLOB",
	},
	{
		name:    "json and spatial",
		columns: "id INT PRIMARY KEY, a JSON, b GEOMETRY NOT NULL, c POINT",
		rows: []string{
			`1, '{"b": 1.0, "a": [1, null, "x", {"é": 18446744073709551615}], "a": 2}', ST_GeomFromText('POINT(1 2)', 4326), NULL`,
			`2, CAST(CAST('2020-01-01' AS DATE) AS JSON), ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))'), ST_GeomFromText('POINT(3 4)')`,
			`3, 'null', ST_GeomFromText('LINESTRING(0 0,1 1)'), NULL`,
		},
		alter: "ADD COLUMN z INT FIRST, ADD SPATIAL INDEX (b)",
	},
	{
		name:    "generated columns",
		columns: "id INT PRIMARY KEY, a INT, b INT AS (a * 2) VIRTUAL, c INT AS (a + 1) STORED, d VARCHAR(20) AS (CONCAT('x', a)) STORED",
		rows:    []string{"1, 5, DEFAULT, DEFAULT, DEFAULT", "2, NULL, DEFAULT, DEFAULT, DEFAULT"},
		alter:   "MODIFY c INT, ADD COLUMN z INT AS (a * 3) STORED, ADD INDEX (b)",
	},
	{
		name: "vector and invisible", only: "9.7",
		columns: "id INT PRIMARY KEY, a VECTOR(3), b INT INVISIBLE, c INT, INDEX c (c) INVISIBLE",
		rows:    []string{"1, STRING_TO_VECTOR('[1,2,3]'), 3", "2, NULL, 4"},
		alter:   "ADD COLUMN z INT",
	},
	{
		name:    "renames, swaps, drop and add of one name",
		columns: "id INT PRIMARY KEY, a INT, b VARCHAR(10), c INT, D INT, e INT DEFAULT 7",
		rows:    []string{"1, 10, 'b1', 30, 40, 50", "2, 11, 'b2', 31, NULL, 51"},
		alter:   "CHANGE a bb INT, CHANGE c a INT, MODIFY d BIGINT, DROP COLUMN e, ADD COLUMN e INT DEFAULT 9, ADD COLUMN f INT NOT NULL",
	},
	{
		name:    "key column changed: int to varchar",
		columns: "id INT PRIMARY KEY, a INT",
		rows:    []string{"-5, 1", "0, 2", "10, 3", "9, 4"},
		alter:   "MODIFY id VARCHAR(20)",
	},
	{
		name:    "key column changed: collation",
		columns: "id VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci PRIMARY KEY, a INT",
		rows:    []string{"'ä', 1", "'Zebra', 2", "'alpha', 3", "'ß', 4"},
		alter:   "MODIFY id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
	},
	{
		name:    "key column changed: enum members",
		columns: "id ENUM('a','b','c'), n INT, a INT, PRIMARY KEY (id, n)",
		rows:    []string{"'a', 1, 1", "'b', 1, 2", "'c', 1, 3", "'c', 2, 4"},
		alter:   "MODIFY id ENUM('c','b','a','z')",
	},
	{
		name:    "primary key replaced",
		columns: "id INT PRIMARY KEY, a INT NOT NULL, UNIQUE KEY a (a)",
		rows:    []string{"1, 10", "2, 9", "3, 8"},
		alter:   "DROP PRIMARY KEY, ADD PRIMARY KEY (a, id), ADD INDEX (id)",
	},
	{
		name:    "partitions, checks, comments, row format",
		columns: "id INT, a INT, b INT, PRIMARY KEY (id, a)",
		rows:    []string{"1, 10, 1", "2, 2000, 2", "3, 3, NULL"},
		alter:   "PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE)",
	},
	{
		name:    "auto increment, table options",
		columns: "id INT AUTO_INCREMENT PRIMARY KEY, a INT",
		rows:    []string{"5, 1", "900, 2"},
		alter:   "COMMENT 'it''s mine', ROW_FORMAT=DYNAMIC, DEFAULT CHARACTER SET latin1, ADD CHECK (a > 0)",
	},
}

// way is how the rows of a case come into the shadow.
type way string

// The ways. Each must give the same as the server's own ALTER.
const (
	byCopy       way = "copied"
	byEarlier    way = "changed before the copy"
	byLater      way = "changed after the copy"
	feedMode         = "NO_AUTO_VALUE_ON_ZERO" // odd values may be stored
	alteringMode     = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO"
)

var ways = []way{byCopy, byEarlier, byLater}

// TestSameAsNative: a run gives what the server's own ALTER makes of the same table, for rows that
// came by the copy, and by a change before it and after it.
func TestSameAsNative(t *testing.T) {
	sideBySide(t)
	sameAsNative(t, typeCases)
}

// sameAsNative tries every case on one of the versions, in turn, in each way.
func sameAsNative(t *testing.T, cases []typeCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sideBySide(t)
			list := modern()
			if c.only != "" {
				list = slices.DeleteFunc(list, func(v string) bool { return v != c.only })
			}
			for _, version := range inTurn(t, list) {
				for _, w := range ways {
					t.Run(version+"/"+string(w), func(t *testing.T) {
						t.Parallel()
						setup(t, version).sameAsNative(c, w)
					})
				}
			}
		})
	}
}

// feeder is the session that writes a case's rows.
type feeder struct {
	*bench
	*sql.Conn
}

func (f feeder) exec(statements ...string) {
	f.Helper()
	for _, s := range statements {
		if _, err := f.ExecContext(f.ctx(), s); err != nil {
			f.Fatalf("%s: %v", s, err)
		}
	}
}

func (b *bench) feeder() feeder {
	f := feeder{b, b.conn()}
	f.exec("SET SESSION sql_mode = '"+feedMode+"'", "USE "+b.schema)
	return f
}

// sameAsNative runs one case in one way. The tables are t, the run's table, n, on which the
// server's own ALTER works, and keep, which has the rows.
func (b *bench) sameAsNative(c typeCase, w way) {
	f := b.feeder()
	f.exec("CREATE TABLE t (" + c.columns + ") CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
	if c.utc {
		f.exec("SET SESSION time_zone = '+00:00'")
	}
	for _, row := range c.rows {
		f.exec("INSERT INTO t VALUES (" + row + ")")
	}
	f.exec("SET SESSION time_zone = DEFAULT")
	f.exec("CREATE TABLE keep LIKE t", b.copyStatement("t", "keep"), "CREATE TABLE n LIKE t", b.copyStatement("t", "n"),
		"SET SESSION sql_mode = '"+alteringMode+"'", "ALTER TABLE n "+c.alter, "SET SESSION sql_mode = '"+feedMode+"'")
	b.cfg.RowCopy.MaxRows = 2 // bounds of chunks are odd values too
	result := b.mustMigrate(c.alter, f.comes(w))
	if (result.Captured == 0) != (w == byCopy) {
		b.Errorf("%d changes were captured", result.Captured)
	}
	b.sameRows(c)
	definition := func(table string) string {
		var name, text string
		if err := f.QueryRowContext(b.ctx(), "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
			b.Fatal(err)
		}
		return strings.NewReplacer("CREATE TABLE `"+table+"`", "CREATE TABLE", "`"+table+"_chk_", "`chk_").Replace(text)
	}
	if got, want := definition("t"), definition("n"); got != want {
		b.Errorf("the new table is\n%s\nthe server's own ALTER makes\n%s", got, want)
	}
}

// comes brings the rows in one way.
func (f feeder) comes(w way) event.Listener {
	bring := f.copyStatement("keep", "t")
	switch w {
	case byEarlier:
		f.exec("DELETE FROM t")
		return onPhase(event.PhaseCopy, func() { f.exec(bring) })
	case byLater:
		// Deletions must find the copied rows, and the new rows must be synced.
		return onPhase(event.PhaseCatchUp, func() {
			f.exec("DELETE FROM t")
			f.shadowHas("0")
			f.exec(bring)
			f.shadowHas(f.value("SELECT COUNT(*) FROM " + f.schema + ".keep"))
			f.exec("BEGIN", "DELETE FROM t", bring, "COMMIT") // over the same rows
		})
	}
	return func(event.Event) {}
}

// shadowHas waits until the shadow has that many rows.
func (b *bench) shadowHas(rows string) {
	b.Helper()
	got := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got = b.value("SELECT COUNT(*) FROM " + b.schema + ".t_shadow"); got == rows {
			return
		}
	}
	b.Errorf("the shadow has %s rows and not %s", got, rows)
}

// copyStatement copies all columns that can be written, invisible ones too.
func (b *bench) copyStatement(from, to string) string {
	b.Helper()
	columns := b.value(
		"SELECT GROUP_CONCAT(CONCAT('`', REPLACE(column_name, '`', '``'), '`') ORDER BY ordinal_position) FROM information_schema.columns" +
			" WHERE table_schema = '" + b.schema + "' AND table_name = 't' AND extra NOT LIKE '%GENERATED%'",
	)
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", to, columns, columns, from)
}

// sameRows compares every column of tables t and n by its bytes.
func (b *bench) sameRows(c typeCase) {
	b.Helper()
	exprs := b.value(
		"SELECT GROUP_CONCAT(CASE WHEN data_type IN ('float', 'double') THEN CONCAT('HEX(CAST(`', column_name, '`+0e0 AS CHAR))')" +
			" WHEN data_type IN ('geometry', 'point') THEN CONCAT('HEX(ST_AsBinary(`', column_name, '`)), ST_SRID(`', column_name, '`)')" +
			" ELSE CONCAT('HEX(CAST(`', column_name, '` AS BINARY))') END ORDER BY ordinal_position SEPARATOR ', ')" +
			" FROM information_schema.columns WHERE table_schema = '" + b.schema + "' AND table_name = 'n'",
	)
	rows := func(table string) string {
		return b.value(
			fmt.Sprintf(
				"SELECT /*+ SET_VAR(group_concat_max_len = 100000000) */ GROUP_CONCAT(CONCAT_WS('/', %s) ORDER BY CONCAT_WS('/', %[1]s) SEPARATOR '\n') FROM %[2]s.%[3]s",
				nullSafe(exprs), b.schema, table,
			),
		)
	}
	if got, want := rows("t"), rows("n"); got != want || want == "" {
		b.Errorf("%s: rows are\n%.2000s\nthe server's own ALTER makes\n%.2000s", c.alter, got, want)
	}
}

// nullSafe makes NULL visible.
func nullSafe(exprs string) string {
	var out []string
	for _, e := range strings.Split(exprs, ", ") {
		out = append(out, "COALESCE("+e+", 'NULL')")
	}
	return strings.Join(out, ", ")
}
