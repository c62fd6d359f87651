package plan

import (
	"fmt"
	"slices"

	"midstream/internal/mysql/schema"
)

// Fill is a column that the ALTER adds without a default although it may not be NULL. The server's
// own ALTER gives existing rows the type's implicit default. But the server refuses a strict INSERT
// that leaves the column out. So an INSERT into the shadow must name the column.
type Fill struct {
	Shadow string
	Expr   string
}

// fills finds the columns of the shadow that no column of the source continues and that an INSERT
// must name. zeroDates means that the server accepts the date 0000-00-00. A column without a value
// gets NULL, which the server refuses for the first row: the plan takes it for an empty table only.
func fills(shadow *schema.Table, pairs []columnPair, zeroDates, mariadb bool) []Fill {
	var all []Fill
	for _, c := range undefaulted(shadow, pairs) {
		expr := implicit(c, mariadb)
		if zero, is := zeroes()[c.DataType]; is && zeroDates {
			expr = zero
		}
		if expr == "" {
			expr = "NULL"
		}
		all = append(all, Fill{Shadow: c.Name, Expr: expr})
	}
	return all
}

// zeroes are the implicit defaults of types with a date. A server accepts them unless its sql_mode
// has NO_ZERO_DATE.
func zeroes() map[string]string {
	return map[string]string{"date": "'0000-00-00'", "datetime": "'0000-00-00 00:00:00'", "timestamp": "'0000-00-00 00:00:00'"}
}

// unfilled are the columns that an INSERT must name, but for which it has no value.
func unfilled(shadow *schema.Table, pairs []columnPair, mariadb bool) []schema.Column {
	return slices.DeleteFunc(undefaulted(shadow, pairs), func(c schema.Column) bool { return implicit(c, mariadb) != "" })
}

// undefaulted are the columns of the shadow that continue no column of the source and have no
// default.
func undefaulted(shadow *schema.Table, pairs []columnPair) []schema.Column {
	continued := map[string]bool{}
	for _, p := range pairs {
		continued[fold(p.to.Name)] = true
	}
	var all []schema.Column
	for _, c := range shadow.Columns {
		if !continued[fold(c.Name)] && !c.Nullable && c.Default == "" && !c.AutoIncrement && c.Generated == schema.NotGenerated {
			all = append(all, c)
		}
	}
	return all
}

// implicit returns the implicit default of a type as ALTER gives it, or "" if there is none that an
// INSERT could give: dates (zero dates, with the usual sql_mode), geometries, and a VECTOR of MySQL.
// The ALTERs of MariaDB and MySQL make the last two empty. MariaDB's VECTOR gets zeros.
func implicit(c schema.Column, mariadb bool) string {
	switch c.Family() {
	case "integer", "decimal", "float", "bit":
		return "0"
	case "string", "varbinary", "binary", "set":
		return "''"
	case "enum":
		return "1" // the number of the first member
	case "time":
		return "'00:00:00'"
	case "json":
		return "'null'"
	case "inet4":
		return "'0.0.0.0'"
	case "inet6":
		return "'::'"
	case "uuid":
		return "'00000000-0000-0000-0000-000000000000'"
	case "vector":
		if mariadb {
			return fmt.Sprintf("REPEAT(X'00', %d)", c.Length)
		}
	}
	return ""
}

// fillsOf splits the columns of an old table that the table does not have: those that keep their values, all of
// them, and the expressions for rows that are new.
func (b *Back) fillsOf(pairs []columnPair, old *schema.Table) (fills []Fill, kept []string) {
	for _, c := range old.Columns {
		if c.Generated != schema.NotGenerated || slices.ContainsFunc(pairs, func(p columnPair) bool { return p.to.Name == c.Name }) {
			continue
		}
		kept = append(kept, c.Name)
		for name, expr := range b.Fills {
			if fold(name) == fold(c.Name) {
				fills = append(fills, Fill{Shadow: c.Name, Expr: expr})
			}
		}
	}
	return fills, kept
}

// Unfilled is what an undo lacks for rows that are new since the swap: the change has dropped columns that have no default and
// no --undo-fill.
func (p *Plan) Unfilled() Filling {
	if !p.Back.Adopts() || p.Back.Old == nil {
		return Filling{}
	}
	m := mapper{source: p.Source, shadow: p.Back.Old, alter: p.Alter, user: p.Map}
	pairs, err := m.pairs()
	if err != nil {
		return Filling{} // the run reports it
	}
	fills, _ := p.Back.fillsOf(pairs, p.Back.Old)
	lacks := slices.DeleteFunc(undefaulted(p.Back.Old, pairs), func(c schema.Column) bool {
		return p.Set.Of(c.Name) != "" || slices.ContainsFunc(fills, func(f Fill) bool { return f.Shadow == c.Name })
	})
	return Filling{Given: p.Back.Fills, Grouped: len(p.Together) > 0, Columns: lacks}
}

// WarnOfNewRows warns, in an undo, of columns for which rows that are new since the swap have no value. followed means that a
// process follows the table.
func (p *Plan) WarnOfNewRows(followed bool) {
	unfilled := p.Unfilled()
	lacks := unfilled.Lacks()
	if lacks == "" {
		return
	}
	var more []string
	if p.Back.Park {
		more = []string{"--park"}
	}
	fix := "Give the values, such as: " + unfilled.Command(p.Source.Name, more...)
	if followed {
		fix = "If there are such rows, " + unfilled.AtFollower(p.Source.Name)
	}
	why, _ := p.Back.Refusing("without it such a row")
	p.Risks = append(p.Risks, Risk{Code: CodeUndo, What: "rows that are new since the swap need " + lacks, Why: why, Fix: fix})
}

// UnfilledOf is Unfilled, by the columns of both tables: continued has the old column for each one of the table that it
// continues, and set the expressions of a redo.
func UnfilledOf(table, old []schema.Column, continued map[string]string, set Settings) Filling {
	var pairs []columnPair
	for _, from := range table {
		for _, to := range old {
			if former, is := continued[from.Name]; is && fold(former) == fold(to.Name) {
				pairs = append(pairs, columnPair{from, to})
			}
		}
	}
	lacks := undefaulted(&schema.Table{Columns: old}, pairs)
	return Filling{Columns: slices.DeleteFunc(lacks, func(c schema.Column) bool { return set.Of(c.Name) != "" })}
}
