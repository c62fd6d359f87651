package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// OnlyNewTableTakes is why a run with expressions for columns takes a shadow.
const OnlyNewTableTakes = "only a new table can take values from an expression"

// Settings are expressions over the source's columns that give columns of the shadow their values (--set), by the names of the
// shadow's columns.
type Settings map[string]string

// Of returns the expression for a column; "" if there is none.
func (s Settings) Of(column string) string {
	for name, expr := range s {
		if strings.EqualFold(name, column) {
			return expr
		}
	}
	return ""
}

// List has each as column=expression.
func (s Settings) List() []string {
	all := []string{}
	for _, column := range slices.Sorted(maps.Keys(s)) {
		all = append(all, column+"="+s[column])
	}
	return all
}

// Otherwise names --keep, --set and --into of a stopped run, and those of this one, if they differ; "" otherwise.
func Otherwise(p *Plan, filter string, set Settings, into Into) string {
	if filter == p.Filter && maps.Equal(set, p.Set) && into == p.Into {
		return ""
	}
	return "; it had " + flags(filter, set, into) + ", and this command has " + flags(p.Filter, p.Set, p.Into)
}

// flags are --keep, --set and --into as they are given.
func flags(filter string, set Settings, into Into) string {
	var all []string
	if filter != "" {
		all = append(all, `--keep "`+filter+`"`)
	}
	for _, given := range set.List() {
		all = append(all, `--set "`+given+`"`)
	}
	if into.Given() {
		all = append(all, "--into="+into.Name.Argument())
	}
	if into.View {
		all = append(all, "--into-view")
	}
	if len(all) == 0 {
		return "none of --keep, --set and --into"
	}
	return strings.Join(all, " ")
}

// unsettable is why an expression cannot give a column its values.
type unsettable struct{ column, why, fix string }

func (u *unsettable) Error() string {
	return "--set cannot give column " + u.column + " its values: " + u.why
}
func (u *unsettable) Unwrap() error { return ErrRefused }

// set makes the operator's expressions give columns of the shadow their values.
func (p *Plan) set(c *Columns, shadow *schema.Table) error {
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		to, err := p.settable(name, c, shadow)
		if err != nil {
			return err
		}
		m := setting(p.Source, to, p.Set[name], p.Server.Version.MariaDB)
		c.Fills = slices.DeleteFunc(c.Fills, func(f Fill) bool { return f.Shadow == to.Name })
		c.Kept = slices.DeleteFunc(c.Kept, func(kept string) bool { return kept == to.Name })
		at := slices.IndexFunc(c.Mappings, func(m Mapping) bool { return m.Shadow == to.Name })
		if at < 0 {
			at = slices.IndexFunc(c.Mappings, func(m Mapping) bool {
				other, _ := shadow.Column(m.Shadow)
				return other.Ordinal > to.Ordinal
			})
			if at < 0 {
				at = len(c.Mappings)
			}
			c.Mappings = slices.Insert(c.Mappings, at, m)
			continue
		}
		if was, _ := p.Source.Column(c.Mappings[at].Source); was.Generated == schema.NotGenerated {
			m.Was, m.Changed = was.Name, changedBy(m.Set, was, p.Source)
		}
		c.Mappings[at] = m
	}
	return nil
}

// settable finds a column that may take its values from an expression.
func (p *Plan) settable(name string, c *Columns, shadow *schema.Table) (schema.Column, error) {
	not := func(why, fix string) (schema.Column, error) { return schema.Column{}, &unsettable{name, why, fix} }
	to, is := shadow.Column(name)
	if !is {
		for _, r := range p.Alter.Renames {
			if strings.EqualFold(r.Old, name) {
				return not("the ALTER renames it to "+r.New, "Name the column as the new table does: --set \""+r.New+"=...\"")
			}
		}
		if contains(p.Alter.Dropped, name) {
			return not("the ALTER drops it", "Leave out --set for it")
		}
		return not("the new table has no such column", "Name a column of the new table")
	}
	switch {
	case to.Generated != schema.NotGenerated:
		return not("it is a generated column, which the server computes", "Give the column the expression in the ALTER")
	case to.AutoIncrement:
		return not("the server numbers it (AUTO_INCREMENT)", "Leave out --set for it")
	}
	for _, from := range shadow.ComputedFrom(c.Key...) {
		if from.Name == to.Name {
			return not(fmt.Sprintf("the run follows rows by the key %s, which needs the values of the table", p.Key.Name), "Choose another key with --key")
		}
	}
	for fresh, old := range p.Map {
		if strings.EqualFold(fresh, name) && old != "" && !strings.EqualFold(fresh, old) {
			return not(fmt.Sprintf("--map %s=%s gives it the values of column %s", old, fresh, old), "Leave out one of the two")
		}
	}
	return to, nil
}

// setting is the mapping of a column that takes its values from an expression over the source's columns.
func setting(source *schema.Table, to schema.Column, expr string, mariadb bool) Mapping {
	named := NamedIn(expr, source)
	m := Mapping{
		Shadow: to.Name, Set: expr, Expr: "(" + expr + ")", Change: Converted, Text: isText(to) && to.Family() != "json",
		ToDate:        to.DataType == "date" || to.DataType == "datetime",
		ZoneSensitive: byZone(expr, source) || to.DataType == "timestamp",
		Dated:         to.Temporal() || ReadsDates(expr, source),
		toChar:        to.DataType == "char",
	}
	for _, c := range named {
		m.Reads = append(m.Reads, c.Name)
	}
	tokens, _ := token.Split(expr)
	tokens = slices.DeleteFunc(tokens, func(t token.Token) bool { return t.Is("(") || t.Is(")") || t.Is("+") })
	if len(tokens) == 1 && len(named) == 1 { // as the server's own ALTER reads a column
		m.Expr = expression(named[0], to, mariadb)
	}
	if mariadb && to.DataType == "timestamp" && !to.Nullable { // as refuseNulls does
		m.Expr = fmt.Sprintf("IF(ISNULL(%s) AND CAST(%s AS SIGNED) = 0, NULL, %[1]s)", m.Expr, schema.Literal("NULL in column "+to.Name))
	}
	return m
}

// dates reports whether an expression may make or read a date.
func (s Settings) dates(source *schema.Table, alter *ddl.Alter) bool {
	for name, expr := range s {
		to := slices.ContainsFunc(alter.Defined, func(c schema.Column) bool { return strings.EqualFold(c.Name, name) && c.Temporal() })
		if to || ReadsDates(expr, source) {
			return true
		}
	}
	return false
}

// ReadsDates reports whether an operator's expression may make or read a date or a time. The server then may add the day.
func ReadsDates(expr string, source *schema.Table) bool {
	return speaksOfDates.MatchString(expr) || slices.ContainsFunc(NamedIn(expr, source), schema.Column.Temporal)
}

// byZone reports whether the time zone may decide the value of an operator's expression.
func byZone(expr string, table *schema.Table) bool {
	return zoneFunctions.MatchString(expr) ||
		slices.ContainsFunc(NamedIn(expr, table), func(c schema.Column) bool { return c.DataType == "timestamp" })
}

// changedBy is the condition that an expression changes the value of a column.
func changedBy(expr string, column schema.Column, table *schema.Table) string {
	was, is := schema.Quote(column.Name), "("+expr+")"
	if slices.ContainsFunc(append(NamedIn(expr, table), column), func(c schema.Column) bool { return c.DataType == "vector" }) {
		// MySQL compares no vectors.
		was, is = "CAST("+was+" AS BINARY)", "CAST("+is+" AS BINARY)"
	} else if column.Charset != "" && column.Charset != "binary" {
		was, is = "CAST(CONVERT("+was+" USING utf8mb4) AS BINARY)", "CAST(CONVERT("+is+" USING utf8mb4) AS BINARY)"
	}
	return "NOT (" + was + " <=> " + is + ")"
}
