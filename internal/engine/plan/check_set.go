package plan

import (
	"fmt"
	"maps"
	"slices"

	"midstream/internal/mysql/schema"
)

// CodeSet is the code of what an expression for a column (--set) brings, or what prevents it.
const CodeSet Code = "set"

// unset is why a change with expressions cannot be taken back.
const unset = "an undo does not know which values of the table are those of an expression (--set)"

// checkSet checks what a run with expressions for columns does.
func (c *checker) checkSet() {
	if len(c.options.Set) == 0 {
		return
	}
	const what = "--set gives columns the values of expressions"
	if m := c.options.Method; m != "" && m != MethodShadow {
		c.block(CodeSet, what, "only a new table can take them, and not the method "+string(m), "Leave out --method="+string(m))
	}
	if c.options.KeepsUndo {
		c.block(CodeSet, "a change with --set cannot be taken back", unset, "Leave out --undo: the old table keeps its values")
	}
	for _, name := range slices.Sorted(maps.Keys(c.options.Set)) {
		expr := c.options.Set[name]
		c.warn(CodeSet, fmt.Sprintf("after the swap, no expression gives column %s its values", name),
			"--set is for the rows that the table has at the swap; later rows have what the application writes", c.filledLater())
		if was, is := c.table.Column(c.origin(name)); is && was.Generated == schema.NotGenerated {
			c.warn(CodeLossy, fmt.Sprintf("--set changes values of column %s", was.Name), "the table no longer has them after the swap; "+
				c.names.Former().String()+" does", fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s counts the rows", c.table.Name.Quoted(), changedBy(expr, was)))
		}
	}
}

// filledLater is what gives later rows a value.
func (c *checker) filledLater() string {
	v := c.facts.Version
	if v.MariaDB || v.AtLeast(8, 0, 13) {
		return "If the application does not write it: DEFAULT (expression), a generated column, or a trigger"
	}
	return "If the application does not write it: a generated column, or a trigger"
}
