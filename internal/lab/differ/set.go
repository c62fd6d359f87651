package differ

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
)

// ownValues makes the random numbers of a case's expressions others than those of its table, its ALTER and its condition.
const ownValues = 1 << 51

// Given is a column of the new table that has the values of an expression (--set).
type Given struct {
	Column string
	Expr   string
	// Clause is the clause of the ALTER that defines the column, up to its type; "" if there is none.
	Clause string
	// Definition is what follows in the clause.
	Definition string
	// Old says that the table has the column before the ALTER.
	Old bool
	// Type is what the twin computes the expression into: the column's type, or that of the column which is the whole expression.
	Type string
}

// place is a column of the twin that has the values of an expression until the ALTER.
func place(n int) string { return fmt.Sprintf("place_%d", n) }

// WithExpressions is the case in which random expressions give one or two columns their values (--set), and sometimes with a condition.
func (c *Case) WithExpressions(seed uint64, number int) *Case {
	g := &gen{rand: rand.New(rand.NewPCG(seed, ownValues+uint64(number))), server: serverOf(c.Version), c: c, columns: c.Columns}
	d := c.clone()
	if g.in(5) {
		d = c.WithCondition(seed, number)
	}
	var clauses []string
	for n := range 1 + g.n(2) {
		given, ok := g.given(n, d.Given)
		if !ok {
			continue
		}
		d.Given = append(d.Given, given)
		if given.Clause == "" {
			continue
		}
		clauses = append(clauses, given.Clause+given.Definition)
		if !given.Old && g.in(4) && !strings.Contains(given.Type, "TEXT") && !strings.Contains(given.Type, "BLOB") {
			clauses = append(clauses, pick(g, []string{"ADD INDEX ", "ADD UNIQUE INDEX "})+"("+quote(given.Column)+")")
		}
	}
	d.Clauses = append(clauses, d.Clauses...)
	return d
}

// lettered is a type that has a character set.
var lettered = regexp.MustCompile(`^((VAR)?CHAR|[A-Z]*TEXT|ENUM|SET)\b`)

// given is the nth expression and its column.
func (g *gen) given(n int, others []Given) (Given, bool) {
	expr, fits, column := g.valued()
	if g.in(8) {
		fits = pick(g, []string{g.kind().sql, g.integer().sql, g.char().sql})
	}
	made := Given{Expr: expr, Type: fits}
	if column != nil {
		made.Type = column.Kind.sql
	} else if lettered.MatchString(fits) && !strings.Contains(fits, "CHARACTER SET") { // the ALTER may change that of the table
		fits += " CHARACTER SET " + pick(g, []string{"utf8mb4", "utf8mb4", "latin1", "utf16"})
		made.Type = fits
	}
	switch old, is := g.replaced(others); {
	case is && g.in(3) && column == nil && n == 0: // the column stays, with other values; an UPDATE would read those of the first of two
		made.Column, made.Old, made.Type = old.Name, true, ""
	case is && g.in(2) && g.alone(old):
		made.Column, made.Old = old.Name, true
		made.Clause, made.Definition = "MODIFY "+quote(old.Name), " "+fits
	default:
		made.Column = fmt.Sprintf("e%d", n)
		if g.in(6) {
			made.Column = pick(g, oddNames) + made.Column
		}
		made.Clause, made.Definition = "ADD COLUMN "+quote(made.Column), " "+fits
	}
	switch {
	case strings.HasPrefix(fits, "TIMESTAMP"): // else the twin may have the time of its ALTER
		made.Definition += " NULL"
	case g.in(4):
		made.Definition += " NOT NULL"
	}
	if !made.Old && g.in(4) && !slices.ContainsFunc(g.c.Clauses, func(c string) bool { return strings.HasSuffix(c, " FIRST") }) && n == 0 {
		made.Definition += " FIRST"
	}
	return made, true
}

// replaced is a column of the table whose values an expression may give: none of a key that tells rows apart, and none that the server
// checks one by one, as the twin may have two equal values for a while.
func (g *gen) replaced(others []Given) (Column, bool) {
	c := pick(g, g.columns)
	taken := func(o Given) bool { return strings.EqualFold(o.Column, c.Name) }
	if c.Generated || strings.Contains(c.Attrs, "AUTO_INCREMENT") || slices.ContainsFunc(others, taken) || g.mentions(c, g.c.Clauses...) {
		return c, false
	}
	for _, key := range g.c.Keys {
		if g.mentions(c, key) && !strings.HasPrefix(key, "KEY") && !strings.HasPrefix(key, "INDEX") {
			return c, false
		}
	}
	return c, !g.mentions(c, g.c.Parts)
}

// alone says that nothing but the table has the column.
func (g *gen) alone(c Column) bool {
	return !g.mentions(c, g.c.Keys...) && !slices.ContainsFunc(g.columns, func(o Column) bool { return g.mentions(c, o.Attrs) })
}

// mentions says that a text has the column's name.
func (g *gen) mentions(c Column, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		text, name := strings.ToLower(text), strings.ToLower(quote(c.Name))
		return strings.HasPrefix(text, "convert to") || strings.Contains(text, name) ||
			strings.Contains(strings.ReplaceAll(text, `"`, "`"), name)
	})
}

// valued is an expression and a type that takes most of its values. The column is the one which the expression is, if it is only that.
func (g *gen) valued() (expr, fits string, column *Column) {
	member := func(c Column) bool { return c.Kind.family == sets && emptyMember.MatchString(c.Kind.sql) } // see lighter
	if c := pick(g, g.columns); g.in(6) && !c.Generated && !strings.Contains(c.Attrs, "AUTO_INCREMENT") && !member(c) {
		return quote(c.Name), g.wider(c.Kind).sql, &c
	}
	if g.in(10) {
		k := pick(g, []func() kind{g.integer, g.decimal, g.char, g.text, g.time})()
		return pick(g, []string{g.constant(k), pick(g, k.values)}), k.sql, nil
	}
	type made struct{ expr, fits string }
	var list []made
	for _, c := range g.columns {
		q := quote(c.Name)
		list = append(list, made{q + " IS NULL", "TINYINT"})
		switch c.Kind.family {
		case integers:
			list = append(list, made{q + " / 3", "DECIMAL(30,12)"}, made{"COALESCE(" + q + ", -1)", "DECIMAL(30)"},
				made{"CONCAT(" + q + ", '-')", "VARCHAR(40)"},
				made{q + " DIV 2", "BIGINT"}, made{q + " & 255", "BIGINT UNSIGNED"},
				made{"NULLIF(" + q + ", 7)", "BIGINT"}, made{q + " * 1e0", "DOUBLE"},
				made{"IF(" + q + " > 3, 'x', 'y')", "ENUM('y','x','z')"}, made{"LPAD(" + q + ", 8, '0')", "CHAR(9)"},
				made{"-" + q, "DECIMAL(40)"})
		case decimals, floats:
			list = append(list, made{"ROUND(" + q + ", 1)", "DOUBLE"}, made{q + " / 7", "DOUBLE"},
				made{"CONCAT(" + q + ")", "VARCHAR(400)"},
				made{"COALESCE(" + q + ", 0)", "DOUBLE"}, made{"TRUNCATE(" + q + ", 0)", "DECIMAL(65)"},
				made{"SIGN(" + q + ")", "TINYINT"})
		case bits:
			list = append(list, made{q + " + 0", "BIGINT UNSIGNED"}, made{"HEX(" + q + ")", "VARCHAR(20)"},
				made{"COALESCE(" + q + ", b'1')", "BIT(64)"})
		case strs, texts:
			list = append(list, made{"LENGTH(" + q + ")", "INT"}, made{"CHAR_LENGTH(" + q + ")", "SMALLINT UNSIGNED"},
				made{"COALESCE(" + q + ", 'none')", "TEXT"},
				made{"LEFT(" + q + ", 2)", "VARCHAR(2)"}, made{"LOWER(" + q + ")", "VARCHAR(700)"},
				made{"REVERSE(" + q + ")", "TEXT CHARACTER SET utf8mb4"},
				made{"HEX(" + q + ")", "TEXT"}, made{"TRIM(" + q + ")", "MEDIUMTEXT"},
				made{"CONCAT(" + q + ", '|')", "TEXT"}, made{"SHA1(" + q + ")", "CHAR(40)"},
				made{"REPLACE(" + q + ", 'a', 'ab')", "TEXT"}, made{q + " = 'a'", "INT"},
				made{"NULLIF(" + q + ", '')", "TEXT"}, made{q + " + 0", "DOUBLE"},
				made{"SUBSTRING_INDEX(" + q + ", ' ', 1)", "VARCHAR(800)"}, made{"CAST(" + q + " AS BINARY)", "LONGBLOB"})
		case bytesOf, blobs:
			list = append(list, made{"HEX(" + q + ")", "TEXT"}, made{"REVERSE(" + q + ")", "BLOB"},
				made{"COALESCE(" + q + ", 'none')", "VARBINARY(300)"},
				made{"LEFT(" + q + ", 3)", "VARBINARY(3)"}, made{"CRC32(" + q + ")", "INT UNSIGNED"})
		case dates, moments, stamps:
			list = append(list, made{"DATE(" + q + ")", "DATE"}, made{q + " + INTERVAL 1 DAY", "DATETIME(6)"},
				made{"YEAR(" + q + ")", "INT"},
				made{"CONCAT(" + q + ")", "VARCHAR(40)"}, made{"COALESCE(" + q + ", '2020-01-01')", "DATETIME"},
				made{"HOUR(" + q + ")", "TINYINT"},
				made{"WEEK(" + q + ")", "INT"}, made{"DATE_FORMAT(" + q + ", '%Y-%m')", "CHAR(7)"},
				made{"TO_DAYS(" + q + ")", "INT"},
				made{q + " + 0", "DECIMAL(30,6)"}, made{"LAST_DAY(" + q + ")", "DATE"},
				made{"COALESCE(" + q + ", NULL)", "TIMESTAMP(6)"})
		case times:
			list = append(list, made{"TIME_TO_SEC(" + q + ")", "INT"},
				made{"COALESCE(" + q + ", '01:00:00')", "TIME(6)"}, made{"CONCAT(" + q + ")", "VARCHAR(30)"},
				made{"HOUR(" + q + ")", "SMALLINT"}, made{"ADDTIME(" + q + ", '00:00:01')", "TIME(6)"})
		case years:
			list = append(list, made{q + " + 1", "INT"}, made{"COALESCE(" + q + ", 2000)", "YEAR"})
		case enums, sets:
			list = append(list, made{q + " + 0", "INT"}, made{"CONCAT(" + q + ", '!')", "VARCHAR(80)"},
				made{"COALESCE(" + q + ", '')", "VARCHAR(80)"},
				made{"COALESCE(" + q + ", NULL)", c.Kind.sql}, made{"UPPER(" + q + ")", "TEXT"})
		case jsons:
			list = append(list, made{"JSON_LENGTH(" + q + ")", "INT"}, made{"JSON_EXTRACT(" + q + ", '$.a')", "JSON"},
				made{"JSON_UNQUOTE(JSON_EXTRACT(" + q + ", '$.a'))", "TEXT"},
				made{"JSON_SET(" + q + ", '$.z', 1)", "JSON"}, made{"LENGTH(" + q + ")", "INT"})
		}
	}
	m := pick(g, list)
	if other := pick(g, list); g.in(5) {
		switch g.n(3) {
		case 0:
			return "CONCAT(" + m.expr + ", '/', " + other.expr + ")", "LONGTEXT CHARACTER SET utf8mb4", nil
		case 1:
			return "COALESCE(" + m.expr + ", " + other.expr + ")", pick(g, []string{m.fits, other.fits, "LONGTEXT CHARACTER SET utf8mb4"}), nil
		}
		return "CASE WHEN " + other.expr + " THEN " + m.expr + " END", m.fits, nil
	}
	return m.expr, m.fits, nil
}

// settings are the expressions as the plan takes them.
func (c *Case) settings() plan.Settings {
	set := plan.Settings{}
	for _, g := range c.Given {
		set[g.Column] = g.Expr
	}
	return set
}

// placed is the case of the twin: it has a place for the values of each expression, and the ALTER makes the column of that place.
func (c *Case) placed() *Case {
	d := c.clone()
	for n, g := range c.Given {
		if g.Clause == "" {
			continue
		}
		column := Column{Name: place(n), Kind: kind{sql: g.Type}, Attrs: "NULL"}
		at := len(d.Columns)
		for i, clause := range d.Clauses {
			if clause != g.Clause+g.Definition {
				continue
			}
			changed := "CHANGE " + quote(place(n)) + " " + quote(g.Column) + g.Definition
			if g.Old {
				at = slices.IndexFunc(d.Columns, func(o Column) bool { return o.Name == g.Column }) + 1
				d.Clauses = slices.Insert(d.Clauses, i, "DROP COLUMN "+quote(g.Column))
				i++
			}
			d.Clauses[i] = changed
			break
		}
		d.Columns = slices.Insert(d.Columns, at, column)
	}
	return d
}

// give has the server compute the expressions of the twin's rows in a strict mode. The session has the server's own settings and those
// of setup, but for what keeps an UPDATE from rows.
func (b *bench) give(ctx context.Context, c *Case, setup []string) error {
	if len(c.Given) == 0 {
		return nil
	}
	s, err := b.session(ctx, b.tables[1].Schema, append(slices.Clone(setup), "SET SESSION autocommit = 1, completion_type = 0,"+
		" sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1, max_join_size = 18446744073709551615",
		"SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')")...)
	if err != nil {
		return err
	}
	defer s.close()
	var sets, last []string
	for n, g := range c.Given {
		if g.Clause == "" {
			last = append(last, quote(g.Column)+" = ("+g.Expr+")")
			continue
		}
		sets = append(sets, quote(place(n))+" = ("+g.Expr+")")
	}
	for _, column := range c.Columns { // an UPDATE sets some to its own time
		given := func(g Given) bool { return g.Column == column.Name && g.Clause == "" }
		timely := !column.Generated && (column.Kind.family == stamps || column.Kind.family == moments)
		if timely && !slices.ContainsFunc(c.Given, given) {
			sets = append(sets, quote(column.Name)+" = "+quote(column.Name))
		}
	}
	return s.exec(ctx, "UPDATE t SET "+strings.Join(append(sets, last...), ", "))
}
