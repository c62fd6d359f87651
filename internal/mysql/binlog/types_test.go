package binlog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/key"
)

// keyCases are key columns with values at the ends of their ranges. Values are SQL expressions.
var keyCases = []struct {
	name, definition string
	values           []string
}{
	{"inet4", "INET4", []string{"'0.0.0.0'", "'10.0.0.0'", "'10.0.0.1'", "'255.255.255.255'"}},
	{"inet6", "INET6", []string{"'::'", "'::1'", "'::ffff:1.2.3.4'", "'2001:db8::'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'"}},
	{"uuid", "UUID", []string{
		"'00000000-0000-0000-0000-000000000000'", "'01901640-0000-7000-8000-000000000000'", "'1ec9414c-232a-6b00-b3c8-9e6bdeced846'",
		"'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'00000000-9dad-11d1-80b4-c0c04fd43000'", "'f47ac10b-58cc-4372-a567-0e02b2c3d479'",
	}},
	{"tinyint", "TINYINT", []string{"-128", "-1", "0", "1", "127"}},
	{"tinyint unsigned", "TINYINT UNSIGNED", []string{"0", "127", "128", "255"}},
	{"boolean", "BOOL", []string{"0", "1"}},
	{"smallint", "SMALLINT", []string{"-32768", "-1", "0", "32767"}},
	{"smallint unsigned", "SMALLINT UNSIGNED", []string{"0", "32768", "65535"}},
	{"mediumint", "MEDIUMINT", []string{"-8388608", "-1", "0", "8388607"}},
	{"mediumint unsigned", "MEDIUMINT UNSIGNED ZEROFILL", []string{"0", "8388608", "16777215"}},
	{"int", "INT", []string{"-2147483648", "-1", "0", "2147483647"}},
	{"int unsigned", "INT UNSIGNED", []string{"0", "2147483648", "4294967295"}},
	{"bigint", "BIGINT", []string{"-9223372036854775808", "-1", "0", "9007199254740993", "9223372036854775807"}},
	{"bigint unsigned", "BIGINT UNSIGNED", []string{"0", "9223372036854775807", "9223372036854775808", "18446744073709551615"}},
	{"decimal", "DECIMAL(10,2)", []string{"-99999999.99", "-1.05", "-0.01", "0", "0.01", "1.05", "99999999.99"}},
	{"decimal integer", "DECIMAL(20,0)", []string{"-99999999999999999999", "-1", "0", "99999999999999999999"}},
	{
		"decimal fraction", "DECIMAL(30,30)",
		[]string{"-0.999999999999999999999999999999", "-0.000000000000000000000000000001", "0", "0.000000001000000000000000000001"},
	},
	{"decimal longest", "DECIMAL(65,30)", []string{
		"-99999999999999999999999999999999999.999999999999999999999999999999",
		"-1.000000000000000000000000000001", "0.000000000000000000000000000001", "100000000", "1000000000.000000001",
		"99999999999999999999999999999999999.999999999999999999999999999999"}},
	{"float", "FLOAT", []string{"-3.4028234e38", "-0.1", "0", "1e-40", "0.1", "16777217", "123456.789", "3.4028234e38"}},
	{
		"double", "DOUBLE",
		[]string{"-1.7976931348623157e308", "-0.1", "0", "2.2250738585072014e-308", "0.1", "1e23", "1.7976931348623157e308"},
	},
	{"bit(1)", "BIT(1)", []string{"b'0'", "b'1'"}},
	{"bit(9)", "BIT(9)", []string{"b'0'", "b'1'", "b'100000001'"}},
	{"bit(20)", "BIT(20)", []string{"b'0'", "b'10000000000000000001'", "b'11111111111111111111'"}},
	{"bit(64)", "BIT(64)", []string{"0", "1", "0x7FFFFFFFFFFFFFFF", "0x8000000000000000", "0xFFFFFFFFFFFFFFFF"}},
	{
		"date", "DATE",
		[]string{"'0000-00-00'", "'2024-00-00'", "'2024-02-00'", "'0001-01-01'", "'1969-12-31'", "'2024-02-29'", "'9999-12-31'"},
	},
	{"year", "YEAR", []string{"0", "1901", "2000", "2155"}},
	{"enum", "ENUM('b','a','','c,d')", []string{"0", "'b'", "'a'", "3", "'c,d'"}},
	{"enum of many", "ENUM(" + members(300) + ")", []string{"'m1'", "'m255'", "'m256'", "'m300'"}},
	{"set", "SET('x','y','z')", []string{"''", "'x'", "'y'", "'x,z'", "'x,y,z'"}},
	{"set of 53", "SET(" + members(53) + ")", []string{"''", "'m1'", "'m53'", "'m1,m53'", "9007199254740991"}},
	{"char latin1", "CHAR(10) CHARACTER SET latin1", []string{"''", "'a'", "'a b'", "'b '", "0xE4F6FC", "'0123456789'"}},
	{"char utf8mb4", "CHAR(100) CHARACTER SET utf8mb4", []string{"''", "'a'", "'äöü'", "'𝔘𝔫𝔦'", "REPEAT('𝔘', 100)"}},
	{"char of 255 utf8mb4", "CHAR(255) CHARACTER SET utf8mb4", []string{"'a'", "REPEAT('𝔘', 255)"}},
	{"char utf16", "CHAR(10) CHARACTER SET utf16", []string{"''", "'a'", "'Ж '", "'𝔘'"}},
	{"varchar latin1", "VARCHAR(255) CHARACTER SET latin1", []string{"''", "'a'", "0x00", "0xE4", "'it''s \\\\'", "REPEAT('z', 255)"}},
	{
		"varchar utf8mb4", "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
		[]string{"''", "'a'", "'A'", "'b '", "'ä'", "'\\0'", "'𝔘'"},
	},
	{
		"varchar utf8mb4 ci", "VARCHAR(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
		[]string{"''", "'a'", "'b '", "'straße'", "REPEAT('y', 700)"},
	},
	{"varchar utf8", "VARCHAR(20) CHARACTER SET utf8", []string{"'a'", "'€'"}},
	{"varchar gbk", "VARCHAR(20) CHARACTER SET gbk", []string{"'a'", "0xB0A1", "0x815C", "0xD5E2"}},
	{"varchar big5", "VARCHAR(20) CHARACTER SET big5", []string{"'a'", "0xA55C"}},
	{"varchar sjis", "VARCHAR(20) CHARACTER SET sjis", []string{"'a'", "0x835C"}},
	{"varchar gb18030", "VARCHAR(20) CHARACTER SET gb18030", []string{"'a'", "0x8130843B"}},
	{"varchar ucs2", "VARCHAR(20) CHARACTER SET ucs2", []string{"''", "'a'", "'€'"}},
	{"varchar utf16", "VARCHAR(20) CHARACTER SET utf16", []string{"''", "'a'", "'𝔘'"}},
	{"varchar utf16le", "VARCHAR(20) CHARACTER SET utf16le", []string{"''", "'a'", "'𝔘'"}},
	{"varchar utf32", "VARCHAR(20) CHARACTER SET utf32", []string{"''", "'a'", "'𝔘'"}},
	{"varchar binary charset", "VARCHAR(20) CHARACTER SET binary", []string{"''", "0x00", "0x0001", "0xFF"}},
	{"char binary charset", "CHAR(4) CHARACTER SET binary", []string{"''", "0x00FF", "0x61", "0x610000FF"}},
	{"binary", "BINARY(4)", []string{"''", "0x0100", "0x00000001", "0x0000FF00", "'a   '", "0xFFFFFFFF"}},
	{"binary of 255", "BINARY(255)", []string{"''", "0x01", "REPEAT(0xFF, 255)"}},
	{"binary of 16", "BINARY(16)", []string{"0x00112233445566778899AABBCCDDEE00", "UNHEX(REPLACE(UUID(),'-',''))"}},
	{"varbinary", "VARBINARY(300)", []string{"''", "0x00", "0x0000", "0x0001", "0x00FF", "0x61", "0x6100", "REPEAT(0x00, 300)"}},
}

func init() {
	add := func(name, definition string, values ...string) {
		keyCases = append(keyCases, struct {
			name, definition string
			values           []string
		}{name, definition, slices.Compact(values)})
	}
	for digits := range 7 {
		fraction := ""
		if digits > 0 {
			fraction = "." + "123456"[:digits]
		}
		nines, ulp := "", "" // the largest and the smallest fraction
		if digits > 0 {
			nines = "." + strings.Repeat("9", digits)
			ulp = "." + strings.Repeat("0", digits-1) + "1"
		}
		add(
			fmt.Sprintf("datetime(%d)", digits), fmt.Sprintf("DATETIME(%d)", digits), "'0000-00-00 00:00:00'",
			"'2024-00-00 01:02:03"+fraction+"'", "'0001-01-01 00:00:00'", "'1969-12-31 23:59:59"+nines+"'",
			"'2024-02-29 12:34:56"+fraction+"'", "'2024-02-29 12:34:56"+ulp+"'", "'9999-12-31 23:59:59"+nines+"'",
		)
		add(fmt.Sprintf("timestamp(%d)", digits), fmt.Sprintf("TIMESTAMP(%d)", digits),
			"'0000-00-00 00:00:00'", "'1970-01-01 00:00:01"+fraction+"'", "'2024-03-31 02:30:00"+ulp+"'",
			"'2024-10-27 02:30:00'", "'2038-01-19 03:14:07"+nines+"'")
		times := []string{"'-838:59:59'", "'-838:59:58" + nines + "'", "'-24:00:00'", "'-01:02:03" + fraction + "'",
			"'-00:00:01" + ulp + "'", "'00:00:00'", "'00:00:01" + ulp + "'", "'12:34:56" + fraction + "'",
			"'25:00:00" + nines + "'", "'838:59:59'"}
		if digits > 0 {
			times = append(times, "'-00:00:00"+ulp+"'", "'-00:00:00"+nines+"'", "'00:00:00"+ulp+"'")
		}
		add(fmt.Sprintf("time(%d)", digits), fmt.Sprintf("TIME(%d)", digits), times...)
	}
}

func members(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("'m%d'", i+1)
	}
	return strings.Join(list, ",")
}

// skipped are columns of all types for the reader to skip, with a value for each.
var skipped = []struct{ definition, value string }{
	{"TINYINT", "-1"},
	{"SMALLINT UNSIGNED", "65535"},
	{"MEDIUMINT", "-5"},
	{"INT", "7"},
	{"BIGINT UNSIGNED", "18446744073709551615"},
	{"FLOAT", "1.5"},
	{"DOUBLE", "2.5"},
	{"DECIMAL(65,30)", "-12345678901234567890.0123456789"},
	{"DECIMAL(10,0)", "4"},
	{"DECIMAL(9,9)", "0.123456789"},
	{"BIT(1)", "b'1'"},
	{"BIT(8)", "b'11111111'"},
	{"BIT(33)", "b'1'"},
	{"DATE", "'2024-01-02'"},
	{"YEAR", "2024"},
	{"TIME", "'-01:00:00'"},
	{"TIME(1)", "'01:00:00.5'"},
	{"TIME(4)", "'01:00:00.5'"},
	{"TIME(6)", "'01:00:00.5'"},
	{"DATETIME", "'2024-01-02 03:04:05'"},
	{"DATETIME(3)", "'2024-01-02 03:04:05.678'"},
	{"TIMESTAMP(2) NULL", "'2024-01-02 03:04:05.67'"},
	{"TIMESTAMP(6) NULL", "'2024-01-02 03:04:05.678'"},
	{"CHAR(3) CHARACTER SET latin1", "'abc'"},
	{"CHAR(64) CHARACTER SET utf8mb4", "'äöü'"},
	{"CHAR(255) CHARACTER SET utf8mb4", "REPEAT('ü', 200)"},
	{"BINARY(20)", "0x0102"},
	{"VARCHAR(255) CHARACTER SET latin1", "'abc'"},
	{"VARCHAR(256) CHARACTER SET latin1", "'abc'"},
	{"VARCHAR(700) CHARACTER SET utf8mb4", "REPEAT('ü', 700)"},
	{"VARBINARY(10)", "0x00"},
	{"TINYBLOB", "0x0102"},
	{"BLOB", "REPEAT('b', 300)"},
	{"MEDIUMTEXT", "REPEAT('m', 70000)"},
	{"LONGTEXT", "'long'"},
	{"ENUM('a','b')", "'b'"},
	{"ENUM(" + members(300) + ")", "'m300'"},
	{"SET('a','b')", "'a,b'"},
	{"SET(" + members(64) + ")", "'m1,m64'"},
	{"JSON", `'{"a": [1, 2, {"b": "c"}], "d": null}'`},
	{"JSON", `'[]'`},
	{"GEOMETRY", "ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)')"},
	{"POINT", "ST_GeomFromText('POINT(1 2)')"},
	{"VECTOR(3)", "TO_VECTOR('[1,2,3]')"},
}

// filler is a list of columns of all types that the server knows, values for them, and
// assignments that set a third of them to NULL.
func (b *bundle) filler() (columns, values, nulls string) {
	for i, s := range skipped {
		if !b.try("CREATE TEMPORARY TABLE probe (c " + s.definition + ")") {
			b.t.Logf("no %s here", s.definition)
			continue
		}
		b.exec("DROP TEMPORARY TABLE probe")
		columns += fmt.Sprintf(", f%d %s", i, s.definition)
		values += ", " + s.value
		if i%3 == 0 {
			nulls += fmt.Sprintf(", f%d = NULL", i)
		}
	}
	return columns, values, nulls
}

// sessionVariants are the session settings that change how rows are logged.
var sessionVariants = []struct{ name, set string }{
	{"full", "SET binlog_row_image=FULL"},
	{"minimal", "SET binlog_row_image=MINIMAL"},
	{"noblob", "SET binlog_row_image=NOBLOB"},
	{"partial", "SET binlog_row_image=MINIMAL, binlog_row_value_options=PARTIAL_JSON"},
	{"compressed", "SET binlog_row_image=FULL, binlog_row_value_options='', binlog_transaction_compression=ON"},
	{"annotated", "SET binlog_rows_query_log_events=ON"},
}

// TestKeysOfAllTypes: the key from the binlog equals the key from a query, and its literals find
// the row by the index.
func TestKeysOfAllTypes(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		filler, fillerValues, _ := b.filler()
		b.exec("SET SESSION sql_mode='ALLOW_INVALID_DATES'")
		for i, c := range keyCases {
			name := fmt.Sprintf("k%d", i)
			// The key is in the middle: a wrong length before it would shift it, and a wrong length
			// after it would shift the next row.
			if !b.try("CREATE TEMPORARY TABLE probe (k " + c.definition + ")") {
				t.Logf("no %s here", c.definition)
				continue
			}
			b.exec("DROP TEMPORARY TABLE probe")
			b.exec("CREATE TABLE " + name + " (before_it INT" + strings.ReplaceAll(filler, " f", " b") +
				", k " + c.definition + " NOT NULL" + filler + ", PRIMARY KEY (k)) ROW_FORMAT=DYNAMIC")
			codec, watch := b.codec(name)
			groups := b.record([]Watch{watch}, func() {
				for n, v := range c.values {
					if n%2 == 0 {
						b.exec("INSERT INTO " + name + " VALUES (1" + fillerValues + ", " + v + fillerValues + ")")
					} else {
						b.exec("INSERT INTO " + name + " (k) VALUES (" + v + ")")
					}
				}
			})
			want := b.keysByQuery(name, codec)
			if len(want) != len(c.values) {
				t.Errorf("%s: %d rows of %d values", c.name, len(want), len(c.values))
			}
			compareKeys(t, c.name+" insert", codec, want, tuples(groups))
			for k := range want {
				b.findsByIndex(c.name, name, codec, k)
			}
			b.ordered(c.name, name, codec)
			b.exec("DROP TABLE " + name)
		}
	})
}

// TestUpdatesOfAllTypes: whatever a session logs of a row, the reader finds its key.
func TestUpdatesOfAllTypes(t *testing.T) {
	onServers(t, func(t *testing.T, b *bundle) {
		filler, values, nulls := b.filler()
		for _, v := range sessionVariants {
			if !b.try(v.set) {
				continue
			}
			b.exec("CREATE TABLE t (a INT NOT NULL, j JSON, b VARCHAR(20) NOT NULL" + filler +
				", c DATETIME(3) NOT NULL, v INT, PRIMARY KEY (b, a, c))")
			codec, watch := b.codec("t")
			var want []map[key.Key]bool
			groups := b.record([]Watch{watch}, func() {
				step := func(query string, expect map[key.Key]bool) {
					before := b.keysByQuery("t", codec)
					b.exec(query)
					touched := map[key.Key]bool{}
					if expect == nil { // all rows, with their keys before and after
						expect = before
						for k := range b.keysByQuery("t", codec) {
							touched[k] = true
						}
					}
					for k := range expect {
						touched[k] = true
					}
					want = append(want, touched)
				}
				for i := range 10 {
					b.exec(fmt.Sprintf(`INSERT INTO t VALUES (%d, '{"x": "%s", "y": [1,2,3]}', 'k%d' %s, '2024-01-01 00:00:00.%03d', %d)`,
						i, strings.Repeat("x", 500), i, values, i, i))
				}
				for k := range b.keysByQuery("t", codec) {
					want = append(want, map[key.Key]bool{k: true})
				}
				want = []map[key.Key]bool{merge(want)}
				step("UPDATE t SET v = v + 1", nil)
				step("UPDATE t SET j = JSON_SET(j, '$.y[1]', 7)", nil)
				step("UPDATE t SET j = JSON_REMOVE(j, '$.x')", nil)
				step("UPDATE t SET v = 0"+nulls, nil)
				step("UPDATE t SET a = a + 100", nil)
				step("UPDATE t SET c = c + INTERVAL 1 DAY, j = NULL, b = CONCAT(b, ' ')", nil)
				step("DELETE FROM t WHERE a < 105", b.keysWhere("t", codec, "a < 105"))
				step("DELETE FROM t", nil)
			})
			got := []map[key.Key]bool{}
			inserts := map[key.Key]bool{}
			for _, g := range groups {
				touched := map[key.Key]bool{}
				for _, tuple := range tuples([]group{g}) {
					touched[mustKey(t, codec, tuple)] = true
				}
				if g.rows[0].Kind == Insert {
					for k := range touched {
						inserts[k] = true
					}
					continue
				}
				got = append(got, touched)
			}
			got = append([]map[key.Key]bool{inserts}, got...)
			if len(got) != len(want) {
				t.Fatalf("%s: %d groups, want %d", v.name, len(got), len(want))
			}
			for i := range want {
				if fmt.Sprint(formatAll(codec, got[i])) != fmt.Sprint(formatAll(codec, want[i])) {
					t.Errorf("%s, step %d: got %v, want %v", v.name, i, formatAll(codec, got[i]), formatAll(codec, want[i]))
				}
			}
			b.exec("DROP TABLE t")
		}
	})
}

// ordered checks that the codec has the order of the index, and that a literal divides the table at
// the key's place in that order.
func (b *bundle) ordered(name, table string, codec *key.Codec) {
	b.t.Helper()
	inOrder := b.keyList(table, codec, "1 ORDER BY k")
	for i, k := range inOrder {
		if i > 0 {
			if order, known := codec.Compare(inOrder[i-1], k); known && order >= 0 {
				b.t.Errorf("%s: %s sorts before %s", name, codec.Format(inOrder[i-1]), codec.Format(k))
			}
		}
		behind := b.keyList(table, codec, "k > "+codec.Literals(k)[0]+" ORDER BY k")
		if !slices.Equal(behind, inOrder[i+1:]) {
			b.t.Errorf("%s: %d of %d rows are behind %s", name, len(behind), len(inOrder)-i-1, codec.Format(k))
		}
	}
}

func merge(sets []map[key.Key]bool) map[key.Key]bool {
	all := map[key.Key]bool{}
	for _, s := range sets {
		for k := range s {
			all[k] = true
		}
	}
	return all
}

func formatAll(codec *key.Codec, keys map[key.Key]bool) map[string]bool {
	texts := map[string]bool{}
	for k := range keys {
		texts[codec.Format(k)] = true
	}
	return texts
}

func mustKey(t testing.TB, codec *key.Codec, tuple []any) key.Key {
	t.Helper()
	k, err := codec.FromBinlog(tuple)
	if err != nil {
		t.Fatalf("%v: %v", tuple, err)
	}
	return k
}

func compareKeys(t *testing.T, name string, codec *key.Codec, want map[key.Key]bool, tuples [][]any) {
	t.Helper()
	got := map[key.Key]bool{}
	for _, tuple := range tuples {
		k, err := codec.FromBinlog(tuple)
		if err != nil {
			t.Errorf("%s: %v: %v", name, tuple, err)
			continue
		}
		got[k] = true
		if !want[k] {
			t.Errorf("%s: binlog has %#v = %s, which no query gives", name, tuple, codec.Format(k))
		}
	}
	for k := range want {
		if !got[k] {
			t.Errorf("%s: %s is not in the binlog", name, codec.Format(k))
		}
	}
}

func (b *bundle) keysByQuery(table string, codec *key.Codec) map[key.Key]bool {
	return b.keysWhere(table, codec, "1")
}

func (b *bundle) keysWhere(table string, codec *key.Codec, where string) map[key.Key]bool {
	b.t.Helper()
	keys := map[key.Key]bool{}
	for _, k := range b.keyList(table, codec, where) {
		keys[k] = true
	}
	return keys
}

func (b *bundle) keyList(table string, codec *key.Codec, where string) []key.Key {
	b.t.Helper()
	rows, err := b.conn.QueryContext(context.Background(),
		"SELECT "+strings.Join(codec.SelectExprs(), ", ")+" FROM "+table+" WHERE "+where)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	var keys []key.Key
	for rows.Next() {
		texts := make([][]byte, len(codec.Parts()))
		dest := make([]any, len(texts))
		for i := range texts {
			dest[i] = &texts[i]
		}
		if err := rows.Scan(dest...); err != nil {
			b.t.Fatal(err)
		}
		k, err := codec.FromText(texts)
		if err != nil {
			b.t.Errorf("%s: %q: %v", table, texts, err)
			continue
		}
		keys = append(keys, k)
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	return keys
}

// findsByIndex checks that the key's literals select exactly its row, by the index.
func (b *bundle) findsByIndex(name, table string, codec *key.Codec, k key.Key) {
	b.t.Helper()
	var conditions []string
	for i, l := range codec.Literals(k) {
		conditions = append(conditions, codec.Names()[i]+" = "+l)
	}
	where := strings.Join(conditions, " AND ")
	found := b.keysWhere(table, codec, where)
	if len(found) != 1 || !found[k] {
		b.t.Errorf("%s: WHERE %.200s finds %d rows: %.300v", name, where, len(found), formatAll(codec, found))
		return
	}
	explain := "EXPLAIN FORMAT=TRADITIONAL"
	if b.isMariaDB() {
		explain = "EXPLAIN"
	}
	rows, err := b.conn.QueryContext(context.Background(), explain+" SELECT 1 FROM "+table+" WHERE "+where)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	dest := make([]any, len(columns))
	for i := range dest {
		dest[i] = new(sql.NullString)
	}
	if rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			b.t.Fatal(err)
		}
	}
	if typ := dest[slices.Index(columns, "type")].(*sql.NullString); typ.String != "const" {
		b.t.Errorf("%s: WHERE %.200s is read by %q", name, where, typ.String)
	}
}
