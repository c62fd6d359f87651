package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// CodeTogether is the code of what keeps the swap of a table from being made together with those of others.
const CodeTogether Code = "together"

// Partner is another table of a group: it is swapped in the same step.
type Partner struct {
	Alter *ddl.Alter
	// Table is the table as it is; nil if no foreign key binds it to the plan's.
	Table *schema.Table
}

// Binds reports whether a foreign key binds the table to the partner.
func (p Partner) Binds(t *schema.Table) bool {
	return slices.ContainsFunc(t.Relations(), func(fk schema.ForeignKey) bool {
		return fk.Child == p.Alter.Table || fk.Parent == p.Alter.Table
	})
}

// checkTogether checks whether the swap can be one with those of other tables.
func (c *checker) checkTogether() {
	if len(c.options.Together) > 0 && !c.facts.Version.renamesUnderLock() {
		fix := "Change the tables one after the other, without --together"
		if slices.ContainsFunc(c.table.Relations(), func(fk schema.ForeignKey) bool { return c.inside(fk) && c.retypes(fk) }) {
			fix = "Drop the foreign keys between the tables, change the tables one after the other, without --together, and add the foreign keys again"
		}
		c.block(CodeTogether, "this server cannot swap several tables in one step",
			"it refuses a RENAME of tables that the session has locked (before MySQL 8.0.13, and MariaDB), so another session could come between two swaps",
			fix)
	}
	for _, fk := range dropped(c.table, c.alter) {
		if c.options.KeepsUndo && fk.Child != fk.Parent && c.inside(fk) {
			c.block(CodeTogether, fmt.Sprintf("an undo of the group could not bring foreign key %s back, which the statement of %s drops", fk.Constraint, c.table.Name),
				"it binds two of the tables, whose old tables come back in one step", "Drop it before this change, or after it; or leave out --undo")
		}
	}
}

// together are the other tables of the group.
func (c *checker) together() []schema.Name {
	var names []schema.Name
	for _, p := range c.options.Together {
		names = append(names, p.Alter.Table)
	}
	return names
}

// inside reports whether both ends of a foreign key are swapped in one step.
func inside(fk schema.ForeignKey, source schema.Name, others []schema.Name) bool {
	among := func(n schema.Name) bool { return n == source || slices.Contains(others, n) }
	return among(fk.Child) && among(fk.Parent)
}

func (c *checker) inside(fk schema.ForeignKey) bool { return inside(fk, c.table.Name, c.together()) }

// end is the table at one end of a foreign key inside the group, with its statement.
func (c *checker) end(name schema.Name) (*schema.Table, *ddl.Alter) {
	for _, p := range c.options.Together {
		if p.Alter.Table == name && p.Table != nil {
			return p.Table, p.Alter
		}
	}
	return c.table, c.alter
}

// checkInside refuses a foreign key inside the group whose two ends get different types, as far as the statements show. The server
// judges again when the new tables exist.
func (c *checker) checkInside(fk schema.ForeignKey) {
	if fk.Child != c.table.Name || !c.inside(fk) { // the plan of the child has it
		return
	}
	for i := range fk.Columns {
		child, changes, known := c.endAfter(fk.Child, fk.Columns[i])
		parent, too, knownToo := c.endAfter(fk.Parent, fk.ParentColumns[i])
		if (changes || too) && known && knownToo && !sameEnds(child, parent) {
			c.block(
				CodeForeignKey, fmt.Sprintf("foreign key %s would bind %s %s of %s to %s %s of %s",
					fk.Constraint, child.Name, child.Type, fk.Child, parent.Name, parent.Type, fk.Parent),
				"both ends of a foreign key must have the same type", "Give both columns the same type: "+completes,
			)
		}
	}
}

// checkEqual refuses a change of a foreign key's column that may take a row its parent, as far as the statement shows.
func (c *checker) checkEqual(fk string, from, to schema.Column) {
	to = collated(to, c.table)
	if to.Family() == "string" && to.Collation == "" { // the server knows the charset's collation
		return
	}
	who := ""
	switch {
	case !keepsEqual(from, to):
		who = "the ALTER"
	case c.options.KeepsUndo && !keepsEqual(to, from):
		who, from, to = "the undo", to, from
	default:
		return
	}
	c.block(CodeForeignKey, fmt.Sprintf("%s changes how values of column %s of %s compare", who, from.Name, fk), unequal(from, to), fixUnequal)
}

const fixUnequal = "Drop the foreign key first, and add it after the change: the server checks the rows then"

// unequal is why a row may lose its parent.
func unequal(from, to schema.Column) string {
	as := func(c schema.Column) string { return strings.TrimSpace(c.Type + " " + c.Collation) }
	return fmt.Sprintf("a value that is equal to its parent's as %s may not be as %s, and the row would have no parent", as(from), as(to))
}

// endAfter is a column after the change of its table. changes means that the statement may give it another type. It is not known if the
// statement leaves the type to the server.
func (c *checker) endAfter(table schema.Name, name string) (column schema.Column, changes, known bool) {
	t, alter := c.end(table)
	column, known = t.Column(name)
	converts := alter.ConvertsCharset && column.Charset != ""
	if !contains(alter.Modified, name) {
		return column, converts, known && !converts
	}
	to := definedBy(alter, name)
	if to < 0 || converts {
		return column, true, false
	}
	return collated(alter.Defined[to], t), true, true
}

// sameEnds reports whether the columns may be the two ends of a foreign key, as far as the statements show.
func sameEnds(child, parent schema.Column) bool {
	family := child.Family()
	switch {
	case family != parent.Family():
		return false
	case family == "string": // CHAR and VARCHAR may be the two ends
		return child.Collation == "" || parent.Collation == "" || child.Collation == parent.Collation
	case child.DataType != parent.DataType || child.Unsigned != parent.Unsigned:
		return false
	}
	return family == "integer" || child.Type == parent.Type
}

// Carried are the foreign keys that go over with this table. A foreign key of another table of the group goes over with that one.
func Carried(p *Plan) []schema.ForeignKey {
	keys := slices.Concat(p.Foreign, addedKeys(p))
	return slices.DeleteFunc(keys, func(fk schema.ForeignKey) bool { return slices.Contains(p.Together, fk.Child) })
}

// BackTogether is how a group is taken back whose tables a foreign key binds to each other.
const BackTogether = "Foreign keys bind the tables to each other: to take this back, change all of them back together"

// Bound reports whether a foreign key binds the table to another one of its group.
func Bound(p *Plan) bool {
	return slices.ContainsFunc(p.Foreign, func(fk schema.ForeignKey) bool {
		return slices.Contains(p.Together, fk.Child) || slices.Contains(p.Together, fk.Parent)
	})
}

// Inside are the foreign keys of this table that refer to a table which is swapped in the same step, or to the table itself.
func Inside(p *Plan) []schema.ForeignKey {
	return slices.DeleteFunc(Carried(p), func(fk schema.ForeignKey) bool {
		return fk.Child != p.Source.Name || !inside(fk, p.Source.Name, p.Together)
	})
}
