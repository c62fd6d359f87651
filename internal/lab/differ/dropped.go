package differ

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// WithoutKeyColumns returns the case with an ALTER that drops the columns of the key that identifies the rows, without
// partitions. Other clauses stay unless they name such a column, or the key.
func (c *Case) WithoutKeyColumns() *Case {
	d := c.clone()
	d.Parts = ""
	var dropped, drops []string
	of := c.Keys[0][strings.Index(c.Keys[0], "(")+1:]
	for _, column := range c.Columns {
		if q := schema.Quote(column.Name); strings.Contains(of, q) {
			dropped = append(dropped, q, strings.ReplaceAll(q, "`", `"`))
			drops = append(drops, "DROP COLUMN "+q)
		}
	}
	about := func(clause string) bool {
		return isPartitioning(clause) || strings.Contains(clause, "PRIMARY") || strings.Contains(clause, "AUTO_INCREMENT") ||
			slices.ContainsFunc(dropped, func(name string) bool { return strings.Contains(clause, name) })
	}
	d.Clauses = append(drops, slices.DeleteFunc(d.Clauses, about)...)
	if name, unique := strings.CutPrefix(c.Keys[0], "UNIQUE KEY "); unique {
		d.Clauses = append([]string{"DROP KEY " + name[:strings.Index(name, " (")]}, d.Clauses...)
	}
	return d
}
