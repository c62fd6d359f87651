package soak

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Code is the code of what --soak refuses, and of what the plan says of it.
const Code plan.Code = "soak"

// Drop is what the second act drops.
type Drop struct {
	Table            schema.Name
	Columns, Indexes []string
	Clauses          string
}

// What names what is dropped, for people.
func (d Drop) What() string {
	var all []string
	for _, c := range d.Columns {
		all = append(all, "column "+c)
	}
	for _, i := range d.Indexes {
		all = append(all, "index "+i)
	}
	return strings.Join(all, ", ")
}

// Gone reports whether a table has nothing of it.
func (d Drop) Gone(t *schema.Table) bool {
	return !slices.ContainsFunc(d.Columns, func(name string) bool { _, has := t.Column(name); return has }) &&
		!slices.ContainsFunc(d.Indexes, func(name string) bool { _, has := t.Key(name); return has })
}

// Of reads what an ALTER drops. It fails with *plan.Refused if the ALTER does anything else.
func Of(alter *ddl.Alter) (Drop, error) {
	d := Drop{Table: alter.Table, Columns: alter.Dropped, Indexes: alter.DroppedKeys, Clauses: alter.Clauses}
	tokens, _ := token.Split(alter.Clauses)
	other := alter.DropsPrimaryKey || alter.DropsForeignKey || len(alter.DroppedConstraints) > 0 || len(d.Columns)+len(d.Indexes) == 0
	if other || len(token.List(tokens)) != len(d.Columns)+len(d.Indexes) {
		return d, d.refused("--soak is only for DROP COLUMN and DROP INDEX", "nothing else can be hidden first", "make the other clauses a change of their own")
	}
	return d, nil
}

func (d Drop) refused(what, why, fix string) error {
	return &plan.Refused{Table: d.Table.String(), Blocking: []plan.Risk{{Code: Code, What: what, Why: why, Fix: fix, Blocking: true}}}
}

// First returns the clauses of the first act. It fails with *plan.Refused if the server cannot hide what is dropped, or if hiding it would
// change more than what SELECT * returns.
func (d Drop) First(t *schema.Table, v plan.Version) (string, error) {
	var clauses []string
	const without = "leave out --soak"
	for _, name := range d.Columns {
		c, has := t.Column(name)
		switch {
		case !has:
			return "", d.refused("the table has no column "+name, "", "check the name")
		case v.MariaDB && !v.AtLeast(10, 3, 0), !v.MariaDB && !v.AtLeast(8, 0, 23):
			return "", d.refused(fmt.Sprintf("column %s cannot be hidden first", name), "the server ("+v.Text+") has no invisible columns: "+
				"MySQL 8.0.23 and MariaDB 10.3 have them", without)
		case c.Invisible:
			return "", d.refused(fmt.Sprintf("column %s is invisible already", name), "so nothing shows since when no statement names it",
				"make it visible first, or "+without)
		case !c.Nullable && c.Default == "" && c.Generated == schema.NotGenerated && !c.AutoIncrement:
			return "", d.refused(fmt.Sprintf("column %s has no default", name), "each INSERT must name it until it is dropped",
				"give it one first: midstream run  "+schema.Shell("ALTER TABLE "+t.Name.Quoted()+" ALTER COLUMN "+schema.Quote(name)+" SET DEFAULT ..."))
		}
		clauses = append(clauses, "MODIFY COLUMN "+schema.Quote(c.Name)+" "+hidden(c))
	}
	for _, name := range d.Indexes {
		k, has := t.Key(name)
		word := "INVISIBLE"
		if v.MariaDB {
			word = "IGNORED"
		}
		switch {
		case !has:
			return "", d.refused("the table has no index "+name, "", "check the name")
		case v.MariaDB && !v.AtLeast(10, 6, 0), !v.MariaDB && !v.AtLeast(8, 0, 0):
			return "", d.refused(fmt.Sprintf("index %s cannot be hidden first", name), "the server ("+v.Text+") has no invisible indexes: "+
				"MySQL 8.0 and MariaDB 10.6 have them", without)
		case !k.Visible:
			return "", d.refused(fmt.Sprintf("index %s is invisible already", name), "so nothing shows since when no statement needs it",
				"make it visible first, or "+without)
		}
		clauses = append(clauses, "ALTER INDEX "+schema.Quote(k.Name)+" "+word)
	}
	return strings.Join(clauses, ", "), nil
}

// hidden is the definition of a column, invisible. MariaDB has a column's own CHECK at the end.
func hidden(c schema.Column) string {
	if at := strings.LastIndex(c.Definition, " CHECK ("); c.Check != "" && at >= 0 {
		return c.Definition[:at] + " INVISIBLE" + c.Definition[at:]
	}
	return c.Definition + " INVISIBLE"
}

// Every is the time between two checks: at most the given one, and short enough for a short soak.
func Every(most, soak time.Duration) time.Duration {
	return max(min(most, soak/20), 200*time.Millisecond)
}

// FirstOn returns First for the table as a server has it. It also fails if the server does not show which statements run.
func (d Drop) FirstOn(ctx context.Context, db *sql.DB) (string, error) {
	table, err := schema.Load(ctx, db, d.Table)
	if err != nil {
		return "", err
	}
	version, err := facts.ReadVersion(ctx, db)
	if err != nil {
		return "", err
	}
	clauses, err := d.First(table, version)
	if err != nil {
		return "", err
	}
	why, err := Blind(ctx, db)
	if err == nil && why != "" {
		err = d.refused("the application's statements cannot be watched", why, "change that, or leave out --soak")
	}
	return clauses, err
}

// Record is the table with the record of the first act, and with what was seen.
func Record(table schema.Name) schema.Name { return plan.UndoOf(table) }
