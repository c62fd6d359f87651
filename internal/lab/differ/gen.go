package differ

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// gen makes a case out of random numbers.
type gen struct {
	rand   *rand.Rand
	server server
	c      *Case
	keyed  []string // columns of the key
	named  int
	// columns are those of the table as the ALTER leaves them; indexes are its keys' names.
	columns []Column
	indexes []string
	checks  []string
	primary bool // the table has a primary key
	auto    bool // and an AUTO_INCREMENT column
}

// moment is the time of all sessions that write: NOW() is the same for the table and its twin.
const moment = "1700000000"

// PerBatch cases have the same settings of the server.
const PerBatch = 50

// Make returns a case.
func Make(version string, seed uint64, number int, include map[string]bool) *Case {
	s := serverOf(version)
	batch := number / PerBatch
	c := &Case{Version: version, Settings: settings(s, rand.New(rand.NewPCG(seed, 1<<40+uint64(batch))), include)}
	g := &gen{rand: rand.New(rand.NewPCG(seed, uint64(number))), server: s, c: c}
	g.table()
	g.write()
	g.alter()
	return c
}

func (g *gen) n(n int) int { return g.rand.IntN(n) }

// in says yes once in n times.
func (g *gen) in(n int) bool { return g.rand.IntN(n) == 0 }

func pick[T any](g *gen, list []T) T { return list[g.rand.IntN(len(list))] }

func weighted[T any](g *gen, list map[int]T, weights []int) T {
	all := 0
	for _, w := range weights {
		all += w
	}
	n := g.rand.IntN(all)
	for i, w := range weights {
		if n -= w; n < 0 {
			return list[i]
		}
	}
	return list[0]
}

var oddNames = []string{"order", "select", "a b", "é", "名", "a`b", "a\"b", "a.b", "a'b", "%d", "A1", "x\\y", "c-1", "1a", "a?b"}

// name is a new name of a column or key.
func (g *gen) name() string {
	g.named++
	if g.in(8) {
		return fmt.Sprintf("%s%d", pick(g, oddNames), g.named)
	}
	return fmt.Sprintf("c%d", g.named)
}

// modes are sql_modes of the session that writes.
var modes = []string{"", "", "ALLOW_INVALID_DATES", "NO_AUTO_VALUE_ON_ZERO", "STRICT_TRANS_TABLES,NO_ZERO_DATE"}

func (g *gen) table() {
	c, s := g.c, g.server
	c.Mode = pick(g, modes)
	c.Hold = g.in(3)
	c.Database = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci" // sessions differ in what they take by themselves
	if g.in(3) {
		l := pick(g, s.letters())
		c.Database = "CHARACTER SET " + l.charset + " COLLATE " + l.collation
	}
	if g.in(2) {
		l := pick(g, s.letters())
		c.Options = append(c.Options, "CHARACTER SET "+l.charset+" COLLATE "+l.collation)
	}
	if g.in(6) {
		c.Options = append(c.Options, pick(g, []string{"COMMENT 'a ''comment'", "COMMENT 'é中😀'", "COMMENT 'x\\\\y'"}))
	}
	if g.in(6) {
		c.Options = append(c.Options, "ROW_FORMAT="+pick(g, []string{"DYNAMIC", "COMPACT", "REDUNDANT", "COMPRESSED"}))
	}
	if g.in(10) {
		c.Options = append(
			c.Options,
			pick(
				g,
				[]string{
					"STATS_PERSISTENT=0", "STATS_AUTO_RECALC=0", "AUTO_INCREMENT=100", "CHECKSUM=1", "MAX_ROWS=100",
					"STATS_SAMPLE_PAGES=3", "PACK_KEYS=1", "AVG_ROW_LENGTH=9",
				},
			),
		)
	}
	g.key()
	for range 1 + g.n(5) {
		g.add(g.name(), g.kind())
	}
	for range g.n(3) {
		if g.in(2) {
			g.generate(g.name())
		}
	}
	for range g.n(3) {
		if k := g.index(); k != "" {
			c.Keys = append(c.Keys, k)
		}
	}
	if s.checks() && g.in(5) {
		name := g.name()
		c.Keys = append(c.Keys, "CONSTRAINT "+quote(name)+" CHECK ("+g.condition()+")")
		g.checks = append(g.checks, name)
	}
	if g.in(8) && len(g.keyed) > 0 {
		c.Parts = g.partitions()
	}
	c.Columns = slices.Clone(g.columns)
	if g.in(4) { // the key need not come first
		g.rand.Shuffle(len(c.Columns), func(i, j int) { c.Columns[i], c.Columns[j] = c.Columns[j], c.Columns[i] })
		if slices.ContainsFunc(c.Columns, func(col Column) bool { return col.Generated && strings.Contains(col.Attrs, "DEFAULT") }) {
			c.Columns = slices.Clone(g.columns)
		}
	}
}

// key makes the columns that tell rows apart.
func (g *gen) key() {
	c := g.c
	column := func(k kind, attrs string) {
		name := g.name()
		g.columns = append(g.columns, Column{Name: name, Kind: k, Attrs: attrs})
		g.keyed = append(g.keyed, name)
	}
	switch g.n(12) {
	case 0, 1, 2, 3:
		column(kind{sql: pick(g, []string{"INT", "INT UNSIGNED", "BIGINT", "SMALLINT"}), family: integers, values: few(20)}, "NOT NULL")
	case 4, 5:
		column(
			kind{sql: pick(g, []string{"INT", "BIGINT UNSIGNED"}), family: integers, values: append(few(20), "NULL")},
			"NOT NULL AUTO_INCREMENT",
		)
		g.auto = true
	case 6, 7:
		column(g.shortKey(), "NOT NULL")
	case 8, 9:
		column(g.shortKey(), "NOT NULL")
		column(kind{sql: "INT", family: integers, values: few(3)}, "NOT NULL")
	case 10:
		column(g.anyKey(), "NOT NULL")
	case 11:
		column(g.integer(), "NOT NULL")
	}
	var quoted []string
	for _, k := range g.keyed {
		q := quote(k)
		if g.server.descending() && g.in(8) {
			q += " DESC"
		}
		quoted = append(quoted, q)
	}
	switch {
	case g.in(10):
		name := g.name()
		c.Keys = append(c.Keys, "UNIQUE KEY "+quote(name)+" ("+strings.Join(quoted, ", ")+")")
		g.indexes = append(g.indexes, name)
	default:
		c.Keys = append(c.Keys, "PRIMARY KEY ("+strings.Join(quoted, ", ")+")")
		g.primary = true
	}
}

func few(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(i-2))
	}
	return list
}

// shortKey is a string, as keys may have.
func (g *gen) shortKey() kind {
	for {
		if k := g.char(); k.size <= 64 && k.size > 1 {
			return k
		}
	}
}

func (g *gen) anyKey() kind {
	for {
		k := g.kind()
		if k.family == bytesOf || !k.bare && k.family != floats {
			return k
		}
	}
}

// add adds a column of the table.
func (g *gen) add(name string, k kind) { g.columns = append(g.columns, g.column(name, k)) }

// column is a column of a type with random attributes.
func (g *gen) column(name string, k kind) Column {
	s := g.server
	var attrs []string
	null := true
	switch {
	case k.family == stamps && g.in(2):
		attrs = append(attrs, "NULL")
	case k.family == stamps && g.in(2):
	case g.in(4):
		attrs, null = append(attrs, "NOT NULL"), false
	}
	switch {
	case k.family == moments && g.in(5) || k.family == stamps && null && g.in(4):
		digits := ""
		if i := strings.Index(k.sql, "("); i > 0 {
			digits = k.sql[i:]
		}
		attrs = append(attrs, "DEFAULT CURRENT_TIMESTAMP"+digits)
		if g.in(2) {
			attrs = append(attrs, "ON UPDATE CURRENT_TIMESTAMP"+digits)
		}
	case g.in(4) && !k.bare:
		if v := pick(g, k.values); plain(v) {
			attrs = append(attrs, "DEFAULT "+v)
		}
	case g.in(12) && s.computed() && !(s.mariadb && g.wide(Column{})): // its own ALTER takes another literal than an INSERT
		attrs = append(attrs, "DEFAULT ("+g.constant(k)+")")
	}
	if g.in(8) {
		attrs = append(attrs, pick(g, []string{"COMMENT 'it''s'", "COMMENT 'é中😀'", "COMMENT ''", "COMMENT 'a\\\\b'"}))
	}
	if g.in(14) && s.invisible() {
		attrs = append(attrs, "INVISIBLE")
	}
	return Column{Name: name, Kind: k, Attrs: strings.Join(attrs, " ")}
}

// plain says that a value is a literal, which a DEFAULT may be.
func plain(v string) bool { return !strings.Contains(v, "(") }

// constant is an expression without columns.
func (g *gen) constant(k kind) string {
	switch k.family {
	case integers, decimals, floats, bits:
		return pick(g, []string{"1 + 1", "7 DIV 2", "LENGTH('abc')", "ROUND(2.5)"})
	case strs, texts, bytesOf, blobs:
		return pick(g, []string{"CONCAT('a', 'b')", "UPPER('x')", "LEFT('abc', 1)"})
	case jsons:
		return "JSON_ARRAY(1, 2)"
	case dates, moments, stamps:
		return pick(g, []string{"'2020-01-01' + INTERVAL 1 DAY", "DATE('2020-02-29')"})
	}
	// A server with NO_BACKSLASH_ESCAPES does not read its own spelling of a quote in an expression (9.7: error 1064).
	return pick(g, slices.DeleteFunc(slices.Clone(k.values), func(v string) bool { return strings.Contains(strings.Trim(v, "'"), "''") }))
}

// of returns the columns of families.
func (g *gen) of(families ...family) (list []Column) {
	for _, c := range g.columns {
		if slices.Contains(families, c.Kind.family) && !c.Generated {
			list = append(list, c)
		}
	}
	return list
}

func (g *gen) generate(name string) {
	if text, k, ok := g.generated(); ok {
		g.columns = append(g.columns, Column{Name: name, Kind: k, Attrs: text, Generated: true})
	}
}

// generated is a type and AS (...) of a generated column.
func (g *gen) generated() (attrs string, k kind, ok bool) {
	expr, sql, f := g.expression()
	if expr == "" {
		return "", k, false
	}
	stored := "VIRTUAL"
	if g.in(2) {
		stored = "STORED"
	}
	attrs = "GENERATED ALWAYS AS (" + expr + ") " + stored
	if g.in(10) && !g.server.mariadb && stored == "STORED" {
		attrs += " NOT NULL"
	}
	return attrs, kind{sql: sql, family: f, size: 50, values: []string{"1"}, bare: f == texts}, true
}

// expression is one over a column, its type and family.
func (g *gen) expression() (expr, sql string, f family) {
	type made struct {
		expr, sql string
		family    family
	}
	var list []made
	for _, c := range g.columns {
		if c.Generated || strings.Contains(c.Attrs, "AUTO_INCREMENT") {
			continue
		}
		q := quote(c.Name)
		switch c.Kind.family {
		case integers:
			list = append(
				list,
				made{q + " DIV 10", "BIGINT", integers},
				made{q + " IS NULL", "INT", integers},
				made{"COALESCE(" + q + ", 0) % 7", "INT", integers},
				made{
					"CONCAT('x', " + q + ")", "VARCHAR(40)", strs,
				},
				made{q + " / 3", "DECIMAL(30,4)", decimals},
				made{q + " * 0.5e0", "DOUBLE", floats},
			)
		case decimals, floats:
			list = append(list, made{"ROUND(" + q + ")", "DOUBLE", floats}, made{q + " > 1", "INT", integers})
		case strs, texts:
			if g.wide(c) {
				// Constants beside letters of several bytes are broken by the server's own ALTER
				// (5.7; 9.7 with NO_BACKSLASH_ESCAPES).
				list = append(list, made{"LENGTH(" + q + ")", "INT", integers}, made{"HEX(LEFT(" + q + ", 9))", "VARCHAR(80)", strs})
				continue
			}
			list = append(
				list,
				made{"UPPER(" + q + ")", "VARCHAR(700)", texts},
				made{"LENGTH(" + q + ")", "INT", integers},
				made{"LEFT(" + q + ", 3)", "VARCHAR(10)", strs},
				made{
					q + " = 'a'", "INT", integers,
				},
				made{"HEX(LEFT(" + q + ", 9))", "VARCHAR(80)", strs},
				made{"CONCAT(LEFT(" + q + ", 5), '-')", "VARCHAR(30)", strs},
			)
		case bytesOf, blobs:
			list = append(list, made{"HEX(LEFT(" + q + ", 9))", "VARCHAR(40)", strs}, made{"LENGTH(" + q + ")", "INT", integers})
		case dates, moments:
			list = append(
				list, made{"DATE(" + q + ")", "DATE", dates}, made{"YEAR(" + q + ")", "INT", integers},
				made{q + " IS NULL", "INT", integers},
			)
		case times:
			list = append(list, made{"HOUR(" + q + ")", "INT", integers})
		case enums, sets:
			list = append(list, made{q + " + 0", "INT", integers})
			if !g.server.mariadb && !g.wide(c) {
				list = append(list, made{"CONCAT(" + q + ", '!')", "VARCHAR(40)", strs})
			}
		case jsons:
			list = append(
				list, made{"JSON_UNQUOTE(JSON_EXTRACT(" + q + ", '$.a'))", "VARCHAR(200)", strs},
				made{"JSON_LENGTH(" + q + ")", "INT", integers},
			)
		}
	}
	if len(list) == 0 {
		return "", "", ""
	}
	m := pick(g, list)
	return m.expr, m.sql, m.family
}

// wide says that the column may have letters of two bytes and more, none of which is ASCII's.
func (g *gen) wide(c Column) bool { return g.c.wide(c) }

func (c *Case) wide(column Column) bool {
	for _, charset := range []string{"ucs2", "utf16", "utf32"} {
		of := column.Kind.sql
		if !strings.Contains(of, "CHARACTER SET") {
			of = strings.Join(c.Options, " ") + c.Database
		}
		if strings.Contains(of, charset) {
			return true
		}
	}
	return false
}

// condition is of a CHECK that most rows satisfy.
func (g *gen) condition() string {
	var list []string
	for _, c := range g.columns {
		q := quote(c.Name)
		if strings.Contains(c.Attrs, "AUTO_INCREMENT") {
			continue
		}
		switch c.Kind.family {
		case integers:
			list = append(list, q+" IS NULL OR "+q+" > -100000000000", q+" <> 77")
		case strs, texts:
			list = append(list, "CHAR_LENGTH("+q+") < 10000")
			if g.wide(c) {
				continue
			}
			list = append(list, q+" <> 'zz'", "NOT ("+q+" <=> 'q')")
		case dates, moments:
			list = append(list, q+" IS NULL OR YEAR("+q+") < 100000")
		case decimals, floats:
			list = append(list, q+" < 1e308")
		}
	}
	if len(list) == 0 {
		return "1 = 1"
	}
	return pick(g, list)
}
