package plan

import (
	"fmt"
	"maps"
	"slices"

	"midstream/internal/mysql/schema"
)

// CodeSet is the code of what an expression for a column (--set) brings, or what prevents it.
const CodeSet Code = "set"

// checkSet checks what a run with expressions for columns does.
func (c *checker) checkSet() {
	if len(c.options.Set) == 0 {
		return
	}
	const what = "--set gives columns the values of expressions"
	if m := c.options.Method; m != "" && m != MethodShadow {
		c.block(CodeSet, what, "only a new table can take them, and not the method "+string(m), "Leave out --method="+string(m))
	}
	for _, name := range slices.Sorted(maps.Keys(c.options.Set)) {
		expr := c.options.Set[name]
		c.warn(CodeSet, fmt.Sprintf("after the swap, no expression gives column %s its values", name),
			"--set is for the rows that the table has at the swap; later rows have what the application writes", c.filledLater())
		was, is := c.table.Column(c.origin(name))
		if fk := c.referring(was.Name); is && fk != "" {
			c.block(CodeSet, "--set cannot give column "+name+" its values", "rows refer to each other by them: foreign key "+fk,
				"Drop the foreign key first, or leave out --set for it")
		}
		if is && was.Generated == schema.NotGenerated {
			c.warn(CodeLossy, fmt.Sprintf("--set changes values of column %s", was.Name), "the table no longer has them after the swap; "+
				c.names.Former().String()+" does", fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s counts the rows", c.table.Name.Quoted(), changedBy(expr, was, c.table)))
		}
	}
}

// referring names a foreign key that has the column, on either end; "" for none.
func (c *checker) referring(column string) string {
	for _, fk := range c.table.ForeignKeys {
		gone := slices.ContainsFunc(dropped(c.table, c.alter), func(d schema.ForeignKey) bool { return d.Is(fk) })
		if !gone && contains(fk.Columns, column) {
			return fk.Constraint
		}
	}
	for _, fk := range c.children() {
		if len(fk.ParentColumns) == 0 || contains(fk.ParentColumns, column) { // the account may not see the columns
			return fk.Constraint
		}
	}
	return ""
}

// children are the foreign keys that refer to the table, as far as the account sees them.
func (c *checker) children() []schema.ForeignKey {
	all := slices.Clone(c.table.ReferencedBy)
	for _, fk := range c.facts.Referencing {
		if !slices.ContainsFunc(all, fk.Is) {
			all = append(all, fk)
		}
	}
	return all
}

// filledLater is what gives later rows a value.
func (c *checker) filledLater() string {
	v := c.facts.Version
	if v.MariaDB || v.AtLeast(8, 0, 13) {
		return "If the application does not write it: DEFAULT (expression), a generated column, or a trigger"
	}
	return "If the application does not write it: a generated column, or a trigger"
}
