package schema

import (
	"slices"
	"strings"
)

// Mentioned lists the columns that an expression of SHOW CREATE TABLE names.
func (t *Table) Mentioned(expression string) []string {
	var names []string
	for _, c := range t.Columns {
		if strings.Contains(strings.ToLower(expression), strings.ToLower(Quote(c.Name))) {
			names = append(names, c.Name)
		}
	}
	return names
}

// ComputedFrom returns the columns, and all columns that they are computed from by generated
// columns and expressions in DEFAULT, in the order of the table.
func (t *Table) ComputedFrom(columns ...string) []Column {
	in := map[string]bool{}
	var visit func(names []string)
	visit = func(names []string) {
		for _, name := range names {
			c, ok := t.Column(name)
			if !ok || in[c.Name] {
				continue
			}
			in[c.Name] = true
			visit(t.Mentioned(c.Expression))
			if c.Computes() {
				visit(t.Mentioned(c.Default))
			}
		}
	}
	visit(columns)
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !in[c.Name] })
}
