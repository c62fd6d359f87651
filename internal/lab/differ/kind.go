package differ

import (
	"fmt"
	"slices"
	"strings"
)

// kind is a type of a column, and values at its edges as literals.
type kind struct {
	sql    string
	family family
	values []string
	size   int // of strings: letters; of times: digits
	text   letters
	bare   bool // a type that has no DEFAULT literal
}

type family string

const (
	integers family = "integer"
	decimals family = "decimal"
	floats   family = "float"
	bits     family = "bit"
	strs     family = "string"
	texts    family = "text"
	bytesOf  family = "bytes"
	blobs    family = "blob"
	enums    family = "enum"
	sets     family = "set"
	dates    family = "date"
	moments  family = "datetime"
	stamps   family = "timestamp"
	times    family = "time"
	years    family = "year"
	jsons    family = "json"
	shapes   family = "geometry"
	others   family = "other"
)

var widths = []struct {
	name     string
	low, top string // signed
	most     string // unsigned
}{
	{"TINYINT", "-128", "127", "255"}, {"SMALLINT", "-32768", "32767", "65535"}, {"MEDIUMINT", "-8388608", "8388607", "16777215"},
	{"INT", "-2147483648", "2147483647", "4294967295"}, {"BIGINT", "-9223372036854775808", "9223372036854775807", "18446744073709551615"},
}

func (g *gen) integer() kind {
	w := pick(g, widths)
	k := kind{sql: w.name, family: integers, values: []string{"0", "1", "2", "7", "20", w.low, w.top, "-1", "'5'"}}
	switch g.n(6) {
	case 0, 1:
		k.sql, k.values = w.name+" UNSIGNED", []string{"0", "1", "3", "9", "20", w.top, w.most, "'12'"}
	case 2:
		k.sql, k.values = w.name+"(6) UNSIGNED ZEROFILL", []string{"0", "1", "42", w.most}
	}
	return k
}

func (g *gen) decimal() kind {
	shapes := []string{"(10,2)", "(5,0)", "(65,30)", "(20,4)", "(3,3)", "", "(10,2) UNSIGNED"}
	return kind{
		sql:    "DECIMAL" + pick(g, shapes),
		family: decimals,
		values: []string{"0", "1.5", "-0.05", "99.995", "0.001", "-1", "0.999", "12345.67", "1e2", "'7.125'"},
	}
}

func (g *gen) float() kind {
	types := []string{"FLOAT", "DOUBLE", "FLOAT(7,2)", "DOUBLE(12,2)", "DOUBLE UNSIGNED", "FLOAT"}
	return kind{
		sql:    pick(g, types),
		family: floats,
		values: []string{"0", "0.1", "-0.0", "1e10", "1.5", "-1.25", "3.40282e38", "1.1754944e-38", "99.999", "1234567", "1e300"},
	}
}

func (g *gen) bit() kind {
	n := pick(g, []int{1, 3, 8, 64})
	return kind{sql: fmt.Sprintf("BIT(%d)", n), family: bits, values: []string{"b'0'", "b'1'", "1", "7", "255", "18446744073709551615"}}
}

// letter values by what a character set holds.
func (g *gen) words(holds string) []string {
	list := []string{
		"''", "'a'", "'A'", "'b'", "'B '", "' c'", "'a  '", "'10'", "'1e2'", "'0x1F'", "'-0'", "'NULL'", "'x''y'",
		"'a\tb'", "'20'", "'7 apples'", "'2020-02-29'", "'01:00'", "'%_'",
	}
	for _, more := range []struct{ of, values string }{{"w", "é É ß Ä ae"}, {"r", "Привет ё Е"}, {"e", "中 文中 あ"}, {"u", "😀 a😀 🏴"}} {
		if strings.Contains(holds, more.of) {
			for _, v := range strings.Fields(more.values) {
				list = append(list, "'"+v+"'")
			}
		}
	}
	return list
}

func (g *gen) char() kind {
	l := pick(g, g.server.letters())
	n := pick(g, []int{1, 2, 5, 10, 20, 40, 64, 80, 255})
	name := "VARCHAR"
	if g.n(3) == 0 {
		name = "CHAR"
		n = min(n, 40)
	}
	k := kind{family: strs, size: n, text: l, values: g.words(l.holds)}
	return k.lettered(fmt.Sprintf("%s(%d)", name, n), g.n(4) == 0)
}

// lettered is the type with its character set; plain leaves that to the table.
func (k kind) lettered(name string, plain bool) kind {
	k.sql = name
	if !plain {
		k.sql += " CHARACTER SET " + k.text.charset + " COLLATE " + k.text.collation
	}
	return k
}

func (g *gen) text() kind {
	l := pick(g, g.server.letters())
	k := kind{family: texts, size: 200, text: l, bare: true, values: append(g.words(l.holds), "REPEAT('ab ', 300)", "REPEAT('x', 255)")}
	return k.lettered(pick(g, []string{"TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"}), g.n(3) == 0)
}

func (g *gen) binary() kind {
	values := []string{"''", "X'00'", "X'FF00'", "X'6120'", "'a'", "X'0100'", "X'C3A9'", "X'F09F9880'", "X'61FF'"}
	if g.n(2) == 0 {
		return kind{
			sql:    pick(g, []string{"TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"}),
			family: blobs,
			size:   200,
			bare:   true,
			values: append(values, "REPEAT(X'00', 250)"),
		}
	}
	n := pick(g, []int{1, 2, 4, 8, 16, 40})
	return kind{sql: fmt.Sprintf("%s(%d)", pick(g, []string{"BINARY", "VARBINARY"}), n), family: bytesOf, size: n, values: values}
}

var members = [][]string{
	{"x", "y", "z"},
	{"", "x", "y"},
	{"1", "2", "3"},
	{"a,b", "c", "it''s"},
	{"b", "a"},
	{"é", "e", "中"},
	{"3", "1", "2", "0"},
	{"x"},
	{"A", "b", "C", "d", "e", "f", "g", "h", "i"},
}

func (g *gen) enum() kind {
	list := pick(g, members)
	if g.n(3) == 0 {
		list = slices.Clone(list)
		g.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	k := kind{family: enums, values: []string{"1", "2", "0"}}
	name := "ENUM"
	if g.n(2) == 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(m string) bool { return strings.Contains(m, ",") })
		k.family, name, k.values = sets, "SET", []string{"0", "1", "2", "3", "7", "''"}
	}
	for _, m := range list {
		k.values = append(k.values, "'"+m+"'")
	}
	charset := ""
	if g.n(3) == 0 {
		charset = pick(g, []string{" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", " CHARACTER SET utf8 COLLATE utf8_general_ci"})
	}
	k.sql = name + "('" + strings.Join(list, "','") + "')" + charset
	return k
}

func (g *gen) time() kind {
	digits := pick(g, []string{"", "", "(1)", "(3)", "(6)"})
	zero := []string{"'0000-00-00'", "'2020-00-00'", "'2020-02-30'"}
	day := []string{"'2020-02-29'", "'1000-01-01'", "'9999-12-31'", "'2020-10-25'", "'2021-03-28'", "'1970-01-02'"}
	at := []string{
		"'2020-10-25 02:30:00'", "'2020-10-25 01:30:00'", "'2020-10-25 00:30:00.5'", "'2021-03-28 02:30:00'",
		"'1999-12-31 23:59:59.999999'", "'2020-06-01 12:00:00.123456'", "'1971-01-01 00:00:00'",
		"'2038-01-18 03:14:07'", "'2020-02-29 23:30:00'", "'2020-02-29 04:00:00.05'",
	}
	switch g.n(6) {
	case 0:
		return kind{sql: "DATE", family: dates, values: append(day, zero...)}
	case 1, 2:
		return kind{
			sql:    "DATETIME" + digits,
			family: moments,
			values: append(append(at, zero...), "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'"),
		}
	case 3:
		return kind{sql: "TIMESTAMP" + digits, family: stamps, values: append(at, "'0000-00-00 00:00:00'")}
	case 4:
		return kind{
			sql:    "TIME" + digits,
			family: times,
			values: []string{
				"'00:00:00'", "'12:34:56.789'", "'-838:59:59'", "'838:59:59'", "'25:00:00.5'", "'-00:00:00.000001'",
				"'23:59:59.999999'", "'101112'",
			},
		}
	}
	return kind{sql: "YEAR", family: years, values: []string{"0", "1901", "2155", "2020", "'70'"}}
}

func (g *gen) other() kind {
	s := g.server
	kinds := []kind{
		{
			sql:    "JSON",
			family: jsons,
			bare:   true,
			values: []string{
				`'{"b": 1.0, "a": [1, null, "x"]}'`, `'[]'`, `'null'`, `'1.50'`, `'"é😀"'`,
				`'{"a": 18446744073709551615}'`, `'{"a":1,"a":2}'`,
			},
		},
		{
			sql:    "GEOMETRY",
			family: shapes,
			bare:   true,
			values: []string{
				"ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('LINESTRING(0 0,1 1)')",
				"ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')",
			},
		},
		{
			sql:    "POINT",
			family: shapes,
			bare:   true,
			values: []string{"ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(-1.5 2e10)')"},
		},
	}
	if s.newest() {
		kinds = append(
			kinds,
			kind{
				sql:    "VECTOR(3)",
				family: others,
				bare:   true,
				values: []string{"STRING_TO_VECTOR('[1,2,3]')", "STRING_TO_VECTOR('[0,-1.5,1e10]')"},
			},
		)
	}
	if s.number == 1108 {
		kinds = append(
			kinds,
			kind{
				sql:    "VECTOR(3)",
				family: others,
				bare:   true,
				values: []string{"VEC_FromText('[1,2,3]')", "VEC_FromText('[0,-1.5,1e10]')"},
			},
		)
	}
	if s.mariadb {
		kinds = append(
			kinds,
			kind{
				sql:    "UUID",
				family: others,
				values: []string{
					"'123e4567-e89b-12d3-a456-426655440000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
					"'00000000-0000-0000-0000-000000000000'",
				},
			},
			kind{sql: "INET6", family: others, values: []string{"'::'", "'2001:db8::1'", "'::ffff:1.2.3.4'"}},
			kind{sql: "INET4", family: others, values: []string{"'0.0.0.0'", "'10.0.0.1'", "'255.255.255.255'"}},
		)
	}
	return pick(g, kinds)
}

// kind is a random type.
func (g *gen) kind() kind {
	return weighted(
		g,
		map[int]func() kind{
			0: g.integer,
			1: g.decimal,
			2: g.float,
			3: g.bit,
			4: g.char,
			5: g.text,
			6: g.binary,
			7: g.enum,
			8: g.time,
			9: g.other,
		},
		[]int{5, 2, 2, 1, 6, 2, 2, 2, 4, 2},
	)()
}
