package schema

import (
	"fmt"
	"slices"
	"strings"
)

// HelperIndex is the name of an index that a shadow has during the run only.
const HelperIndex = "midstream_helper"

// HelperColumn is the name of a column that a shadow has until just after the swap: it keeps a dropped column of the followed key, by
// its place in the key.
func HelperColumn(place int) string { return fmt.Sprintf("%s_%d", HelperIndex, place+1) }

// Helpers are the names of such columns that the table has.
func (t *Table) Helpers() []string {
	var names []string
	for _, c := range t.Columns {
		if c.helps() {
			names = append(names, c.Name)
		}
	}
	return names
}

func (c Column) helps() bool { return c.Invisible && strings.HasPrefix(c.Name, HelperIndex+"_") }

// WithoutHelpers is the table without such columns.
func (t *Table) WithoutHelpers() *Table {
	if len(t.Helpers()) == 0 {
		return t
	}
	without := *t
	without.Columns = slices.DeleteFunc(slices.Clone(t.Columns), Column.helps)
	return &without
}

// DropHelpers is the statement that takes these columns from a table.
func DropHelpers(table Name, columns []string) string {
	drops := make([]string, len(columns))
	for i, name := range columns {
		drops[i] = "DROP COLUMN " + Quote(name)
	}
	return fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INSTANT", table.Quoted(), strings.Join(drops, ", "))
}
