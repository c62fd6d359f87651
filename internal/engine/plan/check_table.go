package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// The codes of risks about the table and the names of artefacts.
const (
	CodeSystemSchema Code = "system-schema"
	CodeArtefact     Code = "artefact"
	CodeEngine       Code = "engine"
	CodeForeignKey   Code = "foreign-key"
	CodeReferenced   Code = "referenced"
	CodeTrigger      Code = "trigger"
	CodeLeftover     Code = "leftover"
	CodeNameTaken    Code = "name-taken"
	CodeNames        Code = "names"
	CodeUndo         Code = "undo"
	CodeAtWork       Code = "at-work"
	CodeNoKey        Code = "no-key"
)

// SystemSchema reports whether a database is the server's own.
func SystemSchema(name string) bool { return contains(systemSchemas, name) }

var systemSchemas = []string{"mysql", "sys", "information_schema", "performance_schema"}

// checkTable checks the table itself.
func (c *checker) checkTable() {
	t := c.table
	if SystemSchema(t.Name.Schema) {
		c.block(CodeSystemSchema, t.Name.Schema+" is the server's own schema", "", "")
	}
	if was, isAside := schema.WasAside(t.Comment); isAside {
		why := "it was renamed since, and midstream cleanup --old would drop it under its former name"
		if source, _, here := schema.SourceOfAside(t.Comment, t.Name.Schema); here && IsAside(source, t.Name, t.Comment) {
			why = "it is the old table of " + source.String()
		}
		c.block(CodeArtefact, "the table's comment marks it as an old table", why,
			fmt.Sprintf("If it is in use again, restore its comment: ALTER TABLE %s COMMENT = %s", t.Name.Quoted(), schema.Literal(was)))
	} else if schema.Marked(t.Comment) {
		c.block(CodeArtefact, fmt.Sprintf("the table is an artefact of Midstream (its comment is %q)", t.Comment),
			"it belongs to another run", "")
	}
	if !strings.EqualFold(t.Engine, "InnoDB") {
		c.block(CodeEngine, "the table's engine is "+t.Engine, "only InnoDB has transactions and row locks", natively)
	}
	c.checkForeign()
	c.checkTriggers()
}

// unseen returns the foreign keys that only InnoDB shows.
func (c *checker) unseen() []schema.ForeignKey {
	var fks []schema.ForeignKey
	for _, fk := range c.facts.Referencing {
		if !slices.ContainsFunc(c.table.ReferencedBy, fk.Is) {
			fks = append(fks, fk)
		}
	}
	return fks
}

// checkNames checks that the names of artefacts are free.
func (c *checker) checkNames() {
	var ours []string
	// A state table shows what an earlier run left: the next run resumes with it.
	stopped := c.stopped()
	for _, taken := range c.facts.Taken {
		if !slices.ContainsFunc(c.names.All(), func(n schema.Name) bool { return c.facts.sameTable(n, taken.Name) }) {
			continue // another table, or a kept old table
		}
		_, isOld := schema.MarkedOld(taken.Comment, c.table.Name)
		switch {
		case c.options.Back.Adopts() && c.facts.sameTable(taken.Name, c.names.Shadow): // the old table to which the undo goes back
		case c.options.Back.Adopts() && taken.Name.Table == c.options.Back.Log:
		case stopped && !c.facts.sameTable(taken.Name, c.names.Old) && taken.Name != c.names.Kept:
		case schema.MarkedFor(taken.Comment, c.table.Name):
			ours = append(ours, taken.Name.Table)
		case isOld && c.options.Names.Old == "":
			c.block(CodeNameTaken, fmt.Sprintf("old tables have all the names up to %s", taken.Name), "the run needs one for the next",
				fmt.Sprintf("Drop the unneeded ones: midstream cleanup  --old %s", c.table.Name.Argument()))
		case isOld:
			c.block(CodeNameTaken, fmt.Sprintf("%s is an old table", taken.Name), "the run needs the name for the next",
				fmt.Sprintf("If it is not needed, drop it: midstream cleanup  --old %s", c.table.Name.Argument()))
		case schema.Marked(taken.Comment):
			c.block(CodeNameTaken, fmt.Sprintf("%s exists (its comment is %q)", taken.Name, taken.Comment),
				"it belongs to a run on another table, whose name is shortened to the same one", "Wait until that run has ended")
		default:
			c.block(CodeNameTaken, fmt.Sprintf("%s exists and is not Midstream's", taken.Name),
				"the run needs the name", "Rename it, or drop it if it is not needed")
		}
	}
	c.checkUndoNames()
	c.checkRows()
	if c.options.OpenUndo != "" && (c.facts.RunBy == 0 || c.options.UndoRuns == "") {
		what, fix := StillOpen(c.table.Name, c.options.OpenUndo, c.options.OpenRedo)
		c.block(CodeUndo, what, "a second change that builds a new table would end that", fix)
	}
	if c.options.Back.Adopts() && c.names.Shadow.Table != c.options.Names.Shadow {
		old, table := c.table.Name.Sibling(c.options.Names.Shadow), c.table.Name
		fix := fmt.Sprintf("Give it another name: RENAME TABLE %s TO %s. Then midstream undo  --cold %s takes the change back by all rows",
			old.Quoted(), NamesOf(table).Old.Quoted(), table.Argument())
		if !c.options.Back.Swapped.IsZero() { // the record has the name
			fix = fmt.Sprintf("Give the record up: midstream undo  --end %s. %s", table.Argument(), fix)
		}
		c.block(CodeNames, fmt.Sprintf("the old table is called %s", old.Table), inOrder, fix)
	}
	switch {
	case c.options.Followed:
	case c.facts.RunBy != 0:
		c.atWork(c.table.Name, "another run of Midstream is working on the table", c.options.UndoRuns)
	case len(ours) > 0:
		c.block(CodeLeftover, fmt.Sprintf("an earlier run left %s", strings.Join(ours, ", ")), "the run needs the names",
			"No run is working on the table: midstream cleanup  "+c.table.Name.Argument())
	}
}

// atWork blocks because another run works on the table, which what says. undo is until when the undo of the last change is open,
// if that may be the run; "" if it cannot be.
func (c *checker) atWork(table schema.Name, what, undo string) {
	what = fmt.Sprintf("%s (connection %d)", what, c.facts.RunBy)
	why, fix := "only one run at a time may work on a table", "Wait until it has ended, or stop it: midstream abort  "+table.Argument()
	switch {
	case undo != "":
		what = fmt.Sprintf("the undo of the last change is at work on %s (connection %d); it is open until %s", table, c.facts.RunBy, undo)
		why = "it follows the table, or takes the change back now; only one run at a time may work on a table"
		fix = fmt.Sprintf("Take the change back: midstream undo  %s. Or stop the undo with midstream abort  %[1]s, and give it up with midstream undo  --end %[1]s",
			table.Argument())
		if c.options.Checks {
			fix = "Stop it, which leaves the undo open: midstream abort  " + table.Argument() + ". Then check, and give this again: midstream undo  --hold " + table.Argument()
		}
	case c.options.Back != nil:
		fix += ". If it follows the table for an undo, give this command as its user, on its machine"
	}
	c.block(CodeAtWork, what, why, fix)
}

// checkUndoNames checks the names of the tables that an undo needs. The undo table is made after the swap, when it is too
// late to refuse the run.
func (c *checker) checkUndoNames() {
	var needed []schema.Name
	if c.options.KeepsUndo || c.options.Back != nil {
		needed = append(needed, UndoOf(c.table.Name))
	}
	if c.options.Back.Adopts() {
		needed = append(needed, KeptOf(c.table.Name))
	}
	for _, taken := range c.facts.Taken {
		needs := slices.ContainsFunc(needed, func(n schema.Name) bool { return c.facts.sameTable(n, taken.Name) })
		if needs && !schema.MarkedFor(taken.Comment, c.table.Name) {
			c.block(CodeNameTaken, fmt.Sprintf("%s exists and is not a table of Midstream for %s", taken.Name, c.table.Name),
				"the run needs the name for an undo", "Rename it, or drop it if it is not needed")
		}
	}
}
