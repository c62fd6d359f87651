package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// CodeFilter is the code of what a condition for rows (--keep) brings, or what prevents it.
const CodeFilter Code = "filter"

// OnlyNewTable is why a run with a filter takes a shadow.
const OnlyNewTable = "only a new table can leave rows out"

// FilteredAgain is why an undo of a change with a filter cannot be taken back itself.
const FilteredAgain = "the table has the rows again that --keep had left out; the change can be made again"

// unfiltered is why a change with a filter cannot be taken back by these columns, and with so many foreign keys; "" if it can.
func unfiltered(filter string, keys int, way *Columns) string {
	switch {
	case filter == "":
	case keys > 0:
		return "the table has foreign keys, and nothing keeps the parents of rows that --keep has left out"
	case way.KeyChanged():
		return "the change alters the key, by which an undo finds the rows that --keep has left out"
	case len(way.Kept) > 0:
		return "the change drops " + strings.Join(way.Kept, ", ") + ", and an undo of --keep does not keep values of dropped columns"
	}
	return ""
}

// NamedIn are the table's columns that a text of an operator names, and perhaps some that it does not.
func NamedIn(text string, table *schema.Table) (named []schema.Column) {
	tokens, _ := token.Split(text)
	for _, c := range table.Columns {
		if slices.ContainsFunc(tokens, func(t token.Token) bool { return t.Name() && strings.EqualFold(t.Text, c.Name) }) {
			named = append(named, c)
		}
	}
	return named
}

// checkFilter checks what a run with a filter leaves out. The rows that are left out stay in the old table, and only there.
func (c *checker) checkFilter() {
	if c.options.Filter == "" {
		return
	}
	const what = "--keep leaves rows out"
	if m := c.options.Method; m != "" && m != MethodShadow {
		c.block(CodeFilter, what, "only a new table can do that, and not the method "+string(m), "Leave out --method="+string(m))
	}
	for _, fk := range c.children() {
		c.block(CodeFilter, what, fmt.Sprintf("by the foreign key %s, rows of %s refer to rows of the table, perhaps to some that are left out", fk.Constraint, fk.Child),
			"Drop that foreign key first, or leave out --keep")
	}
	about := ""
	if meet := c.options.Meet; meet >= 0 {
		about = fmt.Sprintf(" (about %d of %d rows meet it, by the server's estimate)", min(meet, c.table.Rows), c.table.Rows)
	}
	c.warn(CodeFilter, "rows that do not meet the condition of --keep are no longer in the table"+about, "they are in "+c.names.Former().String()+" after the swap, "+
		"which no command of Midstream drops", "")
}

// Deciding are the settings of the server by which rows meet the filter, of the change or of the one that is taken back; nil without one.
func (p *Plan) Deciding() map[string]string {
	if condition, _ := p.condition(); condition == "" {
		return nil
	}
	settings := maps.Clone(p.Server.Deciding)
	if settings["time_zone"] != "SYSTEM" {
		delete(settings, "system_time_zone")
	}
	if !byZone(p.condition()) {
		delete(settings, "time_zone")
		delete(settings, "system_time_zone")
	}
	return settings
}
