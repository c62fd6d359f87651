package differ

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// Case is a table, what is written to it, and how it is altered.
type Case struct {
	Version  string
	Settings []string // assignments to global variables
	Mode     string   // sql_mode of the session that makes the table and writes
	Database string   // options of the databases
	Columns  []Column
	Keys     []string
	Options  []string
	Parts    string // PARTITION BY ..., or ""
	Clauses  []string
	Keep     string  // condition of the rows that the new table has; "" for all
	Given    []Given // columns that have the values of expressions
	Writes   []Write
	Hold     bool // the run is held before its swap
}

// Column is a column of the table before the ALTER.
type Column struct {
	Name      string
	Kind      kind
	Attrs     string // what follows the type
	Generated bool
}

// Stage is when a write is made.
type Stage int

// The stages, in their order.
const (
	Before Stage = iota // before the plan
	Early               // as the row copy begins
	Late                // after its first chunk, or as it ends
	Held                // after the comparison
	stages
)

// Write is one statement of the application's.
type Write struct {
	Stage  Stage
	Verb   string // INSERT, UPDATE, DELETE or REPLACE
	Values []value
	Where  string
}

type value struct{ column, expr string }

// quote quotes a name in a session without ANSI_QUOTES, or with it.
func quote(name string) string { return schema.Quote(name) }

// create is the statement that makes the table.
func (c *Case) create() string {
	var lines []string
	for _, col := range c.Columns {
		lines = append(lines, strings.TrimRight(quote(col.Name)+" "+col.Kind.sql+" "+col.Attrs, " "))
	}
	text := "CREATE TABLE t (" + strings.Join(append(lines, c.Keys...), ",\n  ") + ")"
	return strings.TrimSpace(text + " " + strings.Join(c.Options, " ") + " " + c.Parts)
}

// sql is the statement of a write; false if it writes to none of the columns that there are.
func (c *Case) sql(w Write) (string, bool) {
	var names, exprs, sets []string
	for _, v := range w.Values {
		if !slices.ContainsFunc(c.Columns, func(col Column) bool { return col.Name == v.column && !col.Generated }) {
			continue
		}
		names, exprs = append(names, quote(v.column)), append(exprs, v.expr)
		sets = append(sets, quote(v.column)+" = "+v.expr)
	}
	switch w.Verb {
	case "UPDATE":
		return "UPDATE t SET " + strings.Join(sets, ", ") + w.Where, len(sets) > 0
	case "DELETE":
		return "DELETE FROM t" + w.Where, true
	}
	return fmt.Sprintf("%s INTO t (%s) VALUES (%s)", w.Verb, strings.Join(names, ", "), strings.Join(exprs, ", ")), true
}

// alter is what follows ALTER TABLE t. Partitions come last and without a comma.
func (c *Case) alter() string {
	var text strings.Builder
	for i, clause := range c.Clauses {
		if i > 0 && !isPartitioning(clause) {
			text.WriteString(",")
		}
		if i > 0 {
			text.WriteString(" ")
		}
		text.WriteString(clause)
	}
	return text.String()
}

func isPartitioning(clause string) bool {
	return strings.HasPrefix(clause, "PARTITION BY") || strings.HasPrefix(clause, "REMOVE PARTITIONING")
}

// statements are the writes of a stage.
func (c *Case) statements(s Stage) (list []string) {
	for _, w := range c.Writes {
		if w.Stage != s {
			continue
		}
		if text, any := c.sql(w); any {
			list = append(list, text)
		}
	}
	return list
}

// Folder prints the case as the files of a folder of package cases.
func (c *Case) Folder() string {
	var b strings.Builder
	file := func(name string, lines ...string) {
		fmt.Fprintf(&b, "-- %s\n", name)
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
	}
	var set, back []string
	for _, s := range c.Settings {
		name, _, _ := strings.Cut(s, " = ")
		set, back = append(set, "SET GLOBAL "+s+";"), append(back, "SET GLOBAL "+name+" = DEFAULT;")
	}
	with := func(list []string) (lines []string) {
		for _, s := range list {
			lines = append(lines, s+";")
		}
		return lines
	}
	file("setup.sql", set...)
	if c.Database != "" {
		file("the database has", c.Database)
	}
	file(
		"create.sql",
		append(
			[]string{"SET SESSION sql_mode = '" + c.Mode + "', timestamp = " + moment + ";", c.create() + ";"},
			with(c.statements(Before))...)...)
	file("alter", c.alter())
	if c.Keep != "" {
		file("--keep", c.Keep)
	}
	for _, g := range c.Given {
		file("--set", g.Column+"="+g.Expr)
	}
	for s, name := range map[Stage]string{Early: "early.sql (as the row copy begins)", Late: "late.sql (after its first chunk)", Held: "during.sql"} {
		if list := c.statements(s); len(list) > 0 {
			file(name, with(list)...)
		}
	}
	file("teardown.sql", back...)
	file("expect", "equal")
	file("versions", c.Version)
	return b.String()
}
