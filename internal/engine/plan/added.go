package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Added is a foreign key that the ALTER adds. The shadow has none while rows are copied: the run proves that each row has its
// parent (package parents), and the swap declares the key.
type Added struct {
	schema.ForeignKey // as the new table has it
	// Parts are the parent's columns.
	Parts []key.Part
	// Width is the number of columns in the parent's row events, and Create its definition.
	Width  int
	Create string
	// Index is the definition of the index that the server makes for it; "" for none. It is known if Judged.
	Index  string `json:",omitempty"`
	Judged bool   `json:",omitempty"`
}

// AddedTrial is what the server has made of a foreign key on an empty copy of the table, next to an empty copy of its parent.
type AddedTrial struct {
	Columns, ParentColumns []string
	Types                  []schema.Column // Columns, as the altered table has them
	Index                  string          // as in Added
}

// AddedBy are the foreign keys that an ALTER of the table adds, with the names that the server gives them; nil if they cannot be read.
func AddedBy(t *schema.Table, a *ddl.Alter) (added []schema.ForeignKey) {
	clauses, read := a.ForeignAdded()
	if !read {
		return nil
	}
	last := 0 // number of a generated name
	for _, fk := range t.ForeignKeys {
		if number, generated := strings.CutPrefix(fk.Constraint, t.Name.Table+"_ibfk_"); generated {
			n, _ := strconv.Atoi(number)
			last = max(last, n)
		}
	}
	for _, k := range clauses {
		if k.Constraint == "" {
			last++
			k.Constraint = fmt.Sprintf("%s_ibfk_%d", t.Name.Table, last)
		}
		if k.Parent.Schema == "" {
			k.Parent.Schema = t.Name.Schema
		}
		added = append(added, schema.ForeignKey{Constraint: k.Constraint, Child: t.Name, Columns: k.Columns, Parent: k.Parent,
			ParentColumns: k.ParentColumns, OnDelete: k.OnDelete, OnUpdate: k.OnUpdate})
	}
	return added
}

// addedKeys are the foreign keys that the ALTER adds.
func addedKeys(p *Plan) (keys []schema.ForeignKey) {
	for _, a := range p.Added {
		keys = append(keys, a.ForeignKey)
	}
	return keys
}

// Unjudged reports whether the server was not asked about the foreign keys that the ALTER adds: the plan is for a run that resumes.
func Unjudged(p *Plan) bool {
	return slices.ContainsFunc(p.Added, func(a Added) bool { return !a.Judged })
}

// simple matches names of tables that appear unchanged in names which every server makes.
var simple = regexp.MustCompile(`^[0-9A-Za-z_$]+$`)

// checkAdded checks the foreign keys that the ALTER adds.
func (c *checker) checkAdded() {
	if !c.alter.AddsForeignKey {
		return
	}
	clauses, read := c.alter.ForeignAdded()
	if !read {
		c.block(CodeForeignKey, "the ALTER adds a foreign key by a clause that a run does not read",
			"it reads FOREIGN KEY (column, ..) REFERENCES parent (column, ..) with the rules RESTRICT, NO ACTION, CASCADE and SET NULL",
			"Write it as a clause of its own: ADD CONSTRAINT name FOREIGN KEY ...")
		return
	}
	if !c.canProve() {
		return
	}
	keys := AddedBy(c.table, c.alter)
	for i, fk := range keys {
		what := "the ALTER adds foreign key " + fk.Constraint
		if clauses[i].Constraint == "" && (clauses[i].Index != "" || !simple.MatchString(c.table.Name.Table) || len(fk.Constraint) > maxServerName) {
			c.block(CodeForeignKey, what, "servers differ in the name that they give it", "Name it: ADD CONSTRAINT name FOREIGN KEY ...")
		}
		c.checkParent(what, fk, i)
	}
	if len(c.added) == len(keys) {
		c.tellAdded()
	}
}

// canProve refuses what keeps a run from proving that each row has a parent.
func (c *checker) canProve() bool {
	const what, later = "the ALTER adds a foreign key", "Leave the clause out, and add the foreign key by a run of its own"
	f, before := c.facts, len(c.blocking)
	switch {
	case c.options.Back != nil:
		c.block(CodeForeignKey, what, "an undo does not look for the parents of rows",
			"Add the foreign key by a new change: midstream run with ADD FOREIGN KEY")
	case c.options.KeepsUndo:
		c.block(CodeForeignKey, what, "the undo of it would be a DROP FOREIGN KEY, which changes only the dictionary, and a run with --undo does not make that",
			"Leave --undo out; ALTER TABLE ... DROP FOREIGN KEY takes it back within milliseconds")
	case len(c.options.Together) > 0:
		c.block(CodeForeignKey, what, "a group does not follow the rows of a parent", later)
	case c.captured.By == CaptureTrigger:
		c.block(CodeForeignKey, what, "a run learns of deleted parents from the binlog, and triggers capture its changes", "Capture from the binlog: --capture=binlog")
	case f.Capture != nil, f.IsReplica:
		c.block(CodeForeignKey, what, "a replica may leave out or delay changes of the parent", "Run on the primary, and read its own binlog")
	case !f.CommitOrder:
		c.block(CodeForeignKey, what, "with binlog_order_commits=OFF a run cannot know when a deletion of a parent is visible", "SET GLOBAL binlog_order_commits = ON")
	case !f.Version.CarriesForeign():
		c.block(CodeForeignKey, what, "its swap has no lock that includes the parent on "+f.Version.String(), natively)
	case c.table.Partitioned && !slices.Contains(c.alter.PartitionOps, "REMOVE PARTITIONING"), slices.Contains(c.alter.PartitionOps, "PARTITION BY"):
		c.block(CodeForeignKey, what, "InnoDB has no foreign keys on partitioned tables", "")
	case slices.ContainsFunc(c.followed.Parts, func(p key.Part) bool { return c.retyped(p.Column.Name) }):
		c.block(CodeForeignKey, what, "it also changes the key by which the run finds rows again", later)
	}
	return len(c.blocking) == before
}

// checkParent checks the table that a new foreign key refers to.
func (c *checker) checkParent(what string, fk schema.ForeignKey, number int) {
	f, before := c.facts, len(c.blocking)
	if f.sameTable(fk.Parent, c.table.Name) {
		c.block(CodeForeignKey, what+" to the table itself", "the rows of the old table and of the new one would be each other's parents during the run", natively)
		return
	}
	i := slices.IndexFunc(f.Parents, func(t *schema.Table) bool { return f.sameTable(t.Name, fk.Parent) })
	if i < 0 {
		c.block(CodeForeignKey, what+" to "+fk.Parent.String(), "no such table is there, or the account has no privilege on it", "Create the parent first, or GRANT SELECT, REFERENCES on it")
		return
	}
	parent := f.Parents[i]
	fk.Parent = parent.Name
	for _, rule := range []*string{&fk.OnDelete, &fk.OnUpdate} {
		if *rule == "RESTRICT" && !f.Version.renamesUnderLock() { // as in foreign
			*rule = ""
		}
	}
	a := Added{ForeignKey: fk, Width: parent.BinlogColumns()}
	a.Create, _ = schema.SplitAutoIncrement(parent.Create)
	var types []schema.Column
	if t := f.Trial; t != nil && number < len(t.Added) {
		a.Columns, a.ParentColumns, a.Index, a.Judged = t.Added[number].Columns, t.Added[number].ParentColumns, t.Added[number].Index, true
		types = t.Added[number].Types
	}
	for i, name := range a.ParentColumns {
		column, there := parent.Column(name)
		if !there {
			c.block(CodeForeignKey, what, fmt.Sprintf("%s has no column %s", parent.Name, name), "")
			return
		}
		a.Parts = append(a.Parts, key.Part{Column: column})
		if i < len(types) && !storedAlike(types[i], column) {
			c.block(CodeForeignKey, fmt.Sprintf("%s to %s: column %s is %s, and %s.%s is %s", what, parent.Name, types[i].Name, types[i].Type,
				parent.Name.Table, column.Name, column.Type),
				"the server takes this definition, and compares the stored bytes: equal values of the two types have different ones, so rows with a parent count as orphans",
				"Give both columns the same type")
		}
	}
	if _, err := key.NewCodec(a.Parts); err != nil {
		c.block(CodeForeignKey, what, fmt.Sprintf("a run cannot follow values of column %s of %s: %v", a.ParentColumns[0], parent.Name, err), natively)
	}
	if parent.Engine != "InnoDB" || parent.Partitioned {
		c.block(CodeForeignKey, what+" to "+parent.Name.String(), "InnoDB has foreign keys only to tables of InnoDB without partitions", "")
	}
	if f.hidesSchema(parent.Name.Schema) {
		c.block(CodeBinlogFilter, "the binlog leaves out schema "+parent.Name.Schema+" (binlog_do_db, binlog_ignore_db)",
			"a run would miss deletions of parents", "Start the server without that filter")
	}
	c.checkUnseenParents(what, parent, a)
	c.missing(f.lacks(parent.Name, onParents...), parent.Name.Quoted(), "the new foreign key refers to it, and the run reads it")
	if names := append(c.names.All(), c.table.Name); slices.ContainsFunc(names, func(n schema.Name) bool { return len(f.lacks(n, "REFERENCES")) > 0 }) {
		c.missing([]string{"REFERENCES"}, grantSchema(c.table.Name.Schema, f.Grants.LiteralNames)+".*", "the shadow and the table get a foreign key")
	}
	if !f.Grants.On("LOCK TABLES", parent.Name.Schema, "") && parent.Name.Schema != c.table.Name.Schema {
		c.missing([]string{"LOCK TABLES"}, grantSchema(parent.Name.Schema, f.Grants.LiteralNames)+".*", "the swap locks the parent of the new foreign key")
	}
	if len(c.blocking) == before {
		c.added = append(c.added, a)
	}
}

// storedAlike reports whether equal values of a column and of its parent's are stored as the same bytes: then InnoDB, which compares
// these, agrees with the comparison by which a run finds orphans. Tried on 9.7.4 and 11.8.9 (docs/adr/0008): DECIMAL, ENUM, SET, BIT and
// temporal types of other attributes are accepted by the server and differ.
func storedAlike(child, parent schema.Column) bool {
	switch child.DataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "float", "double":
		return child.DataType == parent.DataType && child.Unsigned == parent.Unsigned
	case "char", "varchar":
		if parent.DataType != "char" && parent.DataType != "varchar" || child.Collation != parent.Collation {
			return false
		}
		return child.DataType == parent.DataType || !noPad(child.Collation)
	case "binary", "varbinary":
		return child.DataType == parent.DataType
	}
	return child.Type == parent.Type && child.Collation == parent.Collation
}

// checkUnseenParents refuses a parent whose deletions and changes the binlog may not show.
func (c *checker) checkUnseenParents(what string, parent *schema.Table, a Added) {
	for _, fk := range parent.ForeignKeys {
		moves := schema.ActsBy(fk.OnUpdate) || schema.ActsBy(fk.OnDelete)
		touches := slices.ContainsFunc(fk.Columns, func(name string) bool { return contains(a.ParentColumns, name) })
		if (fk.OnDelete == "CASCADE" || moves && touches) && !c.facts.LogsCascades() {
			c.block(
				CodeForeignKey, what+" to "+parent.Name.String(),
				fmt.Sprintf("foreign key %s deletes or changes rows of %s when those of %s change, and the binlog does not contain that (%s)",
					fk.Constraint, parent.Name, fk.Parent, c.facts.silentOf()),
				natively,
			)
		}
	}
	primary, _ := parent.Key("PRIMARY")
	inPrimary := func(name string) bool {
		return slices.ContainsFunc(primary.Parts, func(p schema.KeyPart) bool { return strings.EqualFold(p.Column, name) })
	}
	if c.facts.RowImage == "MINIMAL" && slices.ContainsFunc(a.ParentColumns, func(name string) bool { return !inPrimary(name) }) {
		c.block(CodeForeignKey, what+" to "+parent.Name.String(), "with binlog_row_image=MINIMAL the binlog has only the primary key of a deleted row",
			"SET GLOBAL binlog_row_image = 'FULL', then let the applications reconnect")
	}
}

// tellAdded describes how new foreign keys are proved, and what is locked.
func (c *checker) tellAdded() {
	var names []string
	var parents []schema.Name
	for _, a := range c.added {
		names = append(names, fmt.Sprintf("%s (to %s)", a.Constraint, a.Parent))
		if !slices.Contains(parents, a.Parent) {
			parents = append(parents, a.Parent)
		}
	}
	c.warn(
		CodeConstraints, "the swap declares the new foreign key "+strings.Join(names, ", "),
		"the run looks for the parent of each row, and follows the deletions and changes of "+schema.List(parents)+" in the binlog; "+
			"until the swap the server accepts rows without a parent, and such a row holds the swap. The swap also locks "+schema.List(parents)+
			", for as long as the table: about 10 ms more for each key, because the server reads no row then",
		"Delete rows without a parent, or give them one: a row that stays for a minute ends the run (exit code 17), with its work kept",
	)
}

// ParentTable is a table to which new foreign keys refer, with the columns of all of them.
type ParentTable struct {
	Name    schema.Name
	Columns []int // ordinals
	Width   int
}

// ParentTables are the tables to which the new foreign keys refer, each once.
func ParentTables(p *Plan) (tables []ParentTable) {
	for _, a := range p.Added {
		i := slices.IndexFunc(tables, func(t ParentTable) bool { return t.Name == a.Parent })
		if i < 0 {
			i = len(tables)
			tables = append(tables, ParentTable{Name: a.Parent, Width: a.Width})
		}
		for _, part := range a.Parts {
			if !slices.Contains(tables[i].Columns, part.Column.Ordinal) {
				tables[i].Columns = append(tables[i].Columns, part.Column.Ordinal)
			}
		}
	}
	return tables
}
