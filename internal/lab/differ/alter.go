package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// alter makes one to four clauses.
func (g *gen) alter() {
	touched := map[string]bool{}
	for range 1 + g.n(4) {
		for try := 0; try < 6; try++ {
			if list := g.clause(touched); len(list) > 0 {
				g.c.Clauses = append(g.c.Clauses, list...)
				break
			}
		}
		if len(g.c.Clauses) >= 4 {
			break
		}
	}
	if g.in(15) {
		last := "REMOVE PARTITIONING"
		if g.c.Parts == "" || g.in(2) {
			last = g.partitions()
		}
		g.c.Clauses = append(g.c.Clauses, last)
	}
	if len(g.c.Clauses) == 0 {
		g.c.Clauses = []string{"FORCE"}
	}
	g.spell()
}

// clause is a clause, or some that belong together.
func (g *gen) clause(touched map[string]bool) []string {
	switch g.n(20) {
	case 0, 1, 2:
		return g.addColumn(touched)
	case 3:
		name := g.name()
		if attrs, k, ok := g.generated(); ok {
			touched[name] = true
			return []string{"ADD COLUMN " + quote(name) + " " + k.sql + " " + attrs + g.place(touched)}
		}
		return nil
	case 4, 5, 6, 7:
		return g.change(touched)
	case 8:
		return g.drop(touched)
	case 9, 10:
		return g.rename(touched)
	case 11, 12:
		if i := g.index(); i != "" {
			return []string{"ADD " + i}
		}
		return nil
	case 13:
		return g.indexed(touched)
	case 14:
		return g.defaulted(touched)
	case 15:
		return g.checked(touched)
	case 16:
		return g.charset()
	case 17:
		return g.option()
	case 18:
		return g.visibility(touched)
	}
	return g.dropAdd(touched)
}

var (
	inBackticks = regexp.MustCompile("`([^`\"'\\\\]*)`")
	inQuotes    = regexp.MustCompile(`'([a-z0-9]+)'`)
)

// spell writes names and texts of some clauses otherwise, as the server's sql_mode allows.
func (g *gen) spell() {
	ansi := slices.ContainsFunc(
		g.c.Settings, func(s string) bool { return strings.HasPrefix(s, "sql_mode") && strings.Contains(s, "ANSI") },
	)
	for i, c := range g.c.Clauses {
		switch {
		case g.server.number == 507 && isPartitioning(c): // 5.7 stores "c" as it is, and reads it as a text
		case ansi && g.in(2):
			g.c.Clauses[i] = inBackticks.ReplaceAllString(c, `"$1"`)
		case !ansi && g.in(8):
			g.c.Clauses[i] = inQuotes.ReplaceAllString(c, `"$1"`)
		}
	}
}

func (g *gen) place(touched map[string]bool) string {
	if !g.in(3) {
		return ""
	}
	if g.in(2) {
		return " FIRST"
	}
	if c := pick(g, g.columns); !touched[c.Name] {
		return " AFTER " + quote(c.Name)
	}
	return ""
}

func (g *gen) addColumn(touched map[string]bool) []string {
	name := g.name()
	c := g.column(name, g.kind())
	if timed(c) || refusedShape(c) {
		return nil
	}
	if g.server.computed() && g.in(8) {
		if list := g.of(integers); len(list) > 0 {
			if of := pick(g, list); !touched[of.Name] && !strings.Contains(of.Attrs, "AUTO_INCREMENT") {
				c.Kind.sql, c.Attrs = "BIGINT", "DEFAULT ("+quote(of.Name)+" % 1000 + 1)"
			}
		}
	}
	touched[name] = true
	return []string{strings.TrimRight("ADD COLUMN "+quote(name)+" "+c.Kind.sql+" "+c.Attrs, " ") + g.place(touched)}
}

// refusedShape says that MySQL's own ALTER takes a new geometry NOT NULL for one without a default,
// although it has an expression, and refuses it as soon as there is a row (1138, 9.7.4). A run
// fills in the default.
func refusedShape(c Column) bool {
	return c.Kind.family == shapes && strings.Contains(c.Attrs, "NOT NULL") && strings.Contains(c.Attrs, "DEFAULT")
}

// timed says that a new column has the time of the ALTER, which is another moment for the twin: a
// first TIMESTAMP has it by itself on some servers.
func timed(c Column) bool {
	return strings.Contains(c.Attrs, "CURRENT_TIMESTAMP") ||
		c.Kind.family == stamps && !strings.HasPrefix(c.Attrs, "NULL") && !strings.Contains(c.Attrs, "DEFAULT")
}

// old picks a column that no clause has touched, and touches it.
func (g *gen) old(touched map[string]bool, generated bool) (Column, bool) {
	c := pick(g, g.columns)
	if touched[c.Name] || c.Generated && !generated {
		return c, false
	}
	touched[c.Name] = true
	return c, true
}

// change modifies a column, or gives it another name as well.
func (g *gen) change(touched map[string]bool) []string {
	c, ok := g.old(touched, g.in(5))
	if !ok {
		return nil
	}
	var to Column
	switch {
	case c.Generated:
		to = c
		if g.in(3) {
			to.Kind.sql = pick(g, []string{"VARCHAR(100)", "BIGINT", "DOUBLE"})
		}
	case g.in(6):
		to = g.column(c.Name, g.kind()) // any other type
	default:
		to = g.column(c.Name, g.wider(c.Kind))
	}
	if slices.Contains(g.keyed, c.Name) {
		to.Attrs = c.Attrs
	} else if strings.Contains(to.Attrs, "NOT NULL") && !c.Generated && g.n(4) > 0 {
		to.Attrs = strings.Replace(to.Attrs, "NOT NULL", "", 1) // rows may have NULL
	}
	definition := strings.TrimRight(to.Kind.sql+" "+to.Attrs, " ") + g.place(touched)
	if g.in(3) {
		name := g.name()
		if g.in(4) {
			name = strings.ToUpper(c.Name)
		}
		touched[name] = true
		return []string{"CHANGE " + quote(c.Name) + " " + quote(name) + " " + definition}
	}
	return []string{"MODIFY " + quote(c.Name) + " " + definition}
}

// wider is a type that takes most values of another.
func (g *gen) wider(k kind) kind {
	switch k.family {
	case integers:
		return kind{
			sql: pick(
				g,
				[]string{"BIGINT", "BIGINT", "DECIMAL(30,2)", "VARCHAR(40)", "DOUBLE", k.sql, "CHAR(30)", "BIGINT UNSIGNED", "INT"},
			),
			family: integers,
			values: []string{"0", "1"},
		}
	case decimals, floats:
		return kind{
			sql:    pick(g, []string{"DOUBLE", "VARCHAR(80)", "DECIMAL(65,10)", k.sql, "FLOAT", "TEXT"}),
			family: floats,
			values: []string{"0", "1"},
			bare:   true,
		}
	case bits:
		return kind{
			sql:    pick(g, []string{"BIT(64)", "BIGINT UNSIGNED", "BLOB", "BINARY(8)"}),
			family: bits,
			values: []string{"0", "1"},
			bare:   true,
		}
	case strs, texts:
		l := pick(g, g.server.letters())
		if g.in(2) {
			l.charset, l.collation, l.holds = "utf8mb4", pick(
				g, []string{"utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci"},
			), holdsAll
		}
		name := pick(
			g,
			[]string{
				"VARCHAR(100)", "VARCHAR(300)", "TEXT", "MEDIUMTEXT", fmt.Sprintf("VARCHAR(%d)", max(k.size, 1)),
				fmt.Sprintf("CHAR(%d)", min(k.size, 100)), "VARBINARY(400)", "BLOB",
			},
		)
		if strings.Contains(name, "B") && !strings.HasPrefix(name, "VARCHAR") {
			return kind{sql: name, family: blobs, size: k.size, values: []string{"'a'"}, bare: true}
		}
		return kind{
			family: k.family,
			size:   k.size,
			text:   l,
			values: []string{"'a'", "''"},
			bare:   strings.Contains(name, "TEXT"),
		}.lettered(
			name,
			g.in(4),
		)
	case bytesOf, blobs:
		return kind{
			sql:    pick(g, []string{"VARBINARY(300)", "BLOB", "LONGBLOB", "BINARY(50)", "VARCHAR(300) CHARACTER SET latin1"}),
			family: blobs,
			values: []string{"'a'"},
			bare:   true,
		}
	case enums, sets:
		if g.in(3) {
			return g.enum()
		}
		return kind{
			sql: pick(
				g,
				[]string{
					strings.Replace(k.sql, ")", ",'new')", 1), strings.Replace(k.sql, "(", "('new',", 1),
					"VARCHAR(60)", "INT", k.sql, "BIGINT UNSIGNED", "TEXT",
				},
			),
			family: enums,
			values: []string{"1"},
			bare:   true,
		}
	case dates, moments, stamps:
		return kind{
			sql: pick(
				g,
				[]string{"DATETIME(6)", "DATETIME", "VARCHAR(40)", "DATETIME(3)", k.sql, "DATE", "TIMESTAMP(6) NULL", "TIMESTAMP NULL"},
			),
			family: moments,
			values: []string{"'2020-01-01'"},
			bare:   true,
		}
	case times:
		return kind{
			sql:    pick(g, []string{"TIME(6)", "TIME", "VARCHAR(40)", "TIME(2)", "DATETIME"}),
			family: times,
			values: []string{"'01:00:00'"},
			bare:   true,
		}
	case years:
		return kind{sql: pick(g, []string{"INT", "VARCHAR(10)", "YEAR", "SMALLINT UNSIGNED"}), family: years, values: []string{"1"}}
	case jsons:
		return kind{
			sql:    pick(g, []string{"LONGTEXT CHARACTER SET utf8mb4", "JSON", "LONGBLOB"}),
			family: jsons,
			values: []string{"'1'"},
			bare:   true,
		}
	case shapes:
		return kind{sql: pick(g, []string{"GEOMETRY", k.sql}), family: shapes, values: []string{"''"}, bare: true}
	}
	if strings.HasPrefix(k.sql, "VECTOR") {
		return k
	}
	return kind{sql: pick(g, []string{k.sql, "VARCHAR(80)", "CHAR(60)"}), family: others, values: k.values, bare: true}
}

func (g *gen) drop(touched map[string]bool) []string {
	c, ok := g.old(touched, true)
	if !ok || slices.Contains(g.keyed, c.Name) {
		return nil
	}
	return []string{"DROP COLUMN " + quote(c.Name)}
}

// rename gives columns other names, or those of each other.
func (g *gen) rename(touched map[string]bool) []string {
	a, ok := g.old(touched, false)
	if !ok {
		return nil
	}
	b, two := g.old(touched, false)
	renamed := func(c Column, to string) string {
		if g.server.renames() && g.in(2) {
			return "RENAME COLUMN " + quote(c.Name) + " TO " + quote(to)
		}
		return "CHANGE " + quote(c.Name) + " " + quote(to) + " " + strings.TrimRight(c.Kind.sql+" "+c.Attrs, " ")
	}
	if !two || g.in(2) || slices.Contains(g.keyed, b.Name) && g.in(2) {
		return []string{renamed(a, g.name())}
	}
	if g.in(2) || slices.Contains(g.keyed, b.Name) {
		return []string{renamed(a, b.Name), renamed(b, a.Name)}
	}
	return []string{renamed(a, b.Name), "DROP COLUMN " + quote(b.Name)}
}

func (g *gen) indexed(touched map[string]bool) []string {
	if g.primary && g.in(4) && !g.auto && !touched["PRIMARY"] {
		touched["PRIMARY"] = true
		var others []string
		for _, c := range g.of(integers, strs, dates) {
			if strings.Contains(c.Attrs, "NOT NULL") && !touched[c.Name] && !slices.Contains(g.keyed, c.Name) && c.Kind.size < 100 {
				others = append(others, quote(c.Name))
			}
		}
		for _, k := range g.keyed {
			others = append(others, quote(k))
		}
		return []string{"DROP PRIMARY KEY", "ADD PRIMARY KEY (" + strings.Join(others, ", ") + ")"}
	}
	if len(g.indexes) == 0 {
		return nil
	}
	i := pick(g, g.indexes)
	if touched[" "+i] {
		return nil
	}
	touched[" "+i] = true
	if g.in(2) {
		return []string{"RENAME INDEX " + quote(i) + " TO " + quote(g.name())}
	}
	return []string{"DROP INDEX " + quote(i)}
}

func (g *gen) defaulted(touched map[string]bool) []string {
	c, ok := g.old(touched, false)
	if !ok || strings.Contains(c.Attrs, "AUTO_INCREMENT") || c.Kind.bare {
		return nil
	}
	if v := pick(g, c.Kind.values); plain(v) && g.in(2) {
		return []string{"ALTER COLUMN " + quote(c.Name) + " SET DEFAULT " + v}
	}
	return []string{"ALTER COLUMN " + quote(c.Name) + " DROP DEFAULT"}
}

func (g *gen) checked(touched map[string]bool) []string {
	if !g.server.checks() {
		return nil
	}
	if len(g.checks) > 0 && g.in(2) {
		i := pick(g, g.checks)
		if touched["!"+i] {
			return nil
		}
		touched["!"+i] = true
		return []string{"DROP CONSTRAINT " + quote(i)}
	}
	name := ""
	if g.in(2) {
		name = "CONSTRAINT " + quote(g.name()) + " "
	}
	return []string{"ADD " + name + "CHECK (" + g.condition() + ")"}
}

func (g *gen) charset() []string {
	l := pick(g, g.server.letters())
	if g.in(2) {
		l.charset, l.collation = "utf8mb4", pick(g, []string{"utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci"})
	}
	if g.in(2) {
		return []string{"CONVERT TO CHARACTER SET " + l.charset + " COLLATE " + l.collation}
	}
	return []string{"DEFAULT CHARACTER SET " + l.charset + " COLLATE " + l.collation}
}

func (g *gen) option() []string {
	return []string{
		pick(
			g,
			[]string{
				"COMMENT = 'new ''one'", "COMMENT = 'é😀'", "ROW_FORMAT = DYNAMIC", "ROW_FORMAT = COMPACT", "FORCE",
				"ENGINE = InnoDB", "STATS_PERSISTENT = 1", "COMMENT = ''", "AUTO_INCREMENT = 1000", "CHECKSUM = 0",
				"KEY_BLOCK_SIZE = 8",
			},
		),
	}
}

func (g *gen) visibility(touched map[string]bool) []string {
	s := g.server
	if s.eight() && len(g.indexes) > 0 && g.in(2) {
		i := pick(g, g.indexes)
		if touched[" "+i] {
			return nil
		}
		touched[" "+i] = true
		return []string{"ALTER INDEX " + quote(i) + " " + pick(g, []string{"VISIBLE", "INVISIBLE"})}
	}
	if !s.newest() {
		return nil
	}
	c, ok := g.old(touched, true)
	if !ok {
		return nil
	}
	return []string{"ALTER COLUMN " + quote(c.Name) + " SET " + pick(g, []string{"VISIBLE", "INVISIBLE"})}
}

// dropAdd drops a column and adds one of the same name.
func (g *gen) dropAdd(touched map[string]bool) []string {
	c, ok := g.old(touched, true)
	if !ok || slices.Contains(g.keyed, c.Name) {
		return nil
	}
	to := g.column(c.Name, g.kind())
	if timed(to) || refusedShape(to) {
		return nil
	}
	return []string{"DROP COLUMN " + quote(c.Name), strings.TrimRight("ADD COLUMN "+quote(c.Name)+" "+to.Kind.sql+" "+to.Attrs, " ")}
}
