package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// CodeIndex is the code of clauses with wrong names of indexes.
const CodeIndex Code = "index"

// checkMap compares the operator's map with the table, and refuses clauses that contradict each
// other.
func (c *checker) checkMap() {
	for _, fresh := range slices.Sorted(maps.Keys(c.options.Map)) {
		old := c.options.Map[fresh]
		if _, ok := c.table.Column(old); !ok && old != "" {
			c.block(CodeMap, fmt.Sprintf("--map %s=%s: the table has no column %s", old, fresh, old), "", "")
		}
		if c.absent(fresh) {
			c.block(CodeMap, fmt.Sprintf("--map %s=%s: the altered table has no column %s", old, fresh, fresh), "", "")
		}
	}
	for _, name := range twice(c.alter) {
		c.block(
			CodeColumn, "the ALTER changes column "+name+" by two clauses",
			"it is unclear which of them the server follows", "Write it as one clause",
		)
	}
}

// absent reports whether the altered table has no column of that name, as far as is known.
func (c *checker) absent(name string) bool {
	if back := c.options.Back; back != nil && back.Old != nil {
		_, there := back.Old.Column(name)
		return !there
	}
	m := mapper{source: c.table, alter: c.alter}
	if !c.alter.Parsed || !plain(name) || schema.GeneratedKeyName == fold(name) || m.comesBack(name) {
		return false
	}
	_, there := c.table.Column(name)
	return !there || m.moved(name)
}

// checkReferences finds columns and indexes that the statement names and the table lacks, and names
// that the statement adds and the table already has. The server would refuse them on the shadow,
// one problem at a time. In doubt checkReferences reports nothing: MariaDB's IF EXISTS makes such
// names legal there. TestPlanRefusesNoAlterThatTheServerTakes asks the servers.
func (c *checker) checkReferences() {
	if !c.alter.Parsed || c.facts.Version.MariaDB {
		return
	}
	c.checkColumns()
	c.checkNewColumns()
	c.checkIndexes()
	c.checkNewIndexes()
}

const (
	lacksIt = "the table has no such name"
	hasIt   = "the table already has that name"
)

// checkColumns checks that the table has the columns that the statement names.
func (c *checker) checkColumns() {
	a := c.alter
	named := slices.Concat(a.Dropped, a.Modified)
	for _, r := range a.Renames {
		if !slices.Contains(a.Modified, r.Old) {
			named = append(named, r.Old)
		}
	}
	for _, name := range distinct(named) {
		if _, ok := c.table.Column(name); !ok && plain(name) {
			c.block(CodeColumn, "the ALTER names column "+name, lacksIt, "")
		}
	}
	for _, name := range distinct(a.Named.Altered) {
		if _, ok := c.table.Column(name); !ok && !c.hasAfterwards(name) && !contains(named, name) {
			c.block(CodeColumn, "the ALTER names column "+name, lacksIt, "")
		}
	}
	for _, name := range distinct(a.Named.After) {
		if !c.hasAfterwards(name) {
			c.block(CodeColumn, "the ALTER puts a column after "+name, "the altered table has no column of that name", "")
		}
	}
	for _, name := range distinct(a.Named.KeyColumns) {
		if !c.hasAfterwards(name) {
			c.block(CodeColumn, "the ALTER adds an index on column "+name, "the altered table has no column of that name", "")
		}
	}
}

// hasAfterwards reports whether the altered table may have a column of the name.
func (c *checker) hasAfterwards(name string) bool {
	m := mapper{source: c.table, alter: c.alter}
	if _, ok := c.table.Column(name); ok && !m.moved(name) {
		return true
	}
	return m.comesBack(name) || strings.EqualFold(name, schema.GeneratedKeyName) || !plain(name)
}

// checkNewColumns checks that the names of new columns are free.
func (c *checker) checkNewColumns() {
	a, m := c.alter, mapper{source: c.table, alter: c.alter}
	var given []string
	taken := func(name string) bool {
		col, ok := c.table.Column(name)
		taken := ok && same(col.Name, name) && !m.moved(name) || slices.ContainsFunc(given, func(g string) bool { return same(g, name) })
		given = append(given, name)
		return taken
	}
	for _, name := range a.Added {
		if taken(name) {
			c.block(CodeColumn, "the ALTER adds column "+name, hasIt, "")
		}
	}
	for _, r := range a.Renames {
		if taken(r.New) {
			c.block(CodeColumn, fmt.Sprintf("the ALTER renames column %s to %s", r.Old, r.New), hasIt, "")
		}
	}
}

// checkReserved refuses columns with names that the run's queries use themselves: they would be
// ambiguous.
func (c *checker) checkReserved() {
	a := c.alter
	names := slices.Clone(a.Added)
	for _, r := range a.Renames {
		names = append(names, r.New)
	}
	for _, col := range c.table.Columns {
		names = append(names, col.Name)
	}
	for _, name := range distinct(names) {
		if schema.Reserved(name) {
			c.block(CodeColumn, "a column has the name "+name, "the run's own queries use such names",
				"Rename the column natively first (ALGORITHM=INSTANT or INPLACE)")
		}
	}
}

// checkIndexes checks that the table has the indexes that the statement names.
func (c *checker) checkIndexes() {
	named := slices.Concat(c.alter.Named.DroppedKeys, c.alter.Named.AlteredKeys)
	for _, r := range c.alter.Named.RenamedKeys {
		named = append(named, r.Old)
	}
	for _, name := range distinct(named) {
		if _, ok := c.table.Key(name); !ok && plain(name) {
			c.block(CodeIndex, "the ALTER names index "+name, lacksIt, "")
		}
	}
	if _, ok := c.table.Key("PRIMARY"); !ok && c.alter.DropsPrimaryKey {
		c.block(CodeIndex, "the ALTER drops the primary key", "the table has none", "")
	}
}

// checkNewIndexes checks that the names of new indexes are free.
func (c *checker) checkNewIndexes() {
	a := c.alter
	if len(c.table.ForeignKeys) > 0 {
		// The server drops an index that it made for a foreign key if a new one has the same name.
		return
	}
	var given []string
	taken := func(name string) bool {
		taken := c.keeps(name) || slices.ContainsFunc(given, func(g string) bool { return same(g, name) })
		given = append(given, name)
		return taken
	}
	for _, name := range a.Named.AddedKeys {
		if taken(name) {
			c.block(CodeIndex, "the ALTER adds index "+name, hasIt, "")
		}
	}
	for _, r := range a.Named.RenamedKeys {
		if taken(r.New) {
			c.block(CodeIndex, fmt.Sprintf("the ALTER renames index %s to %s", r.Old, r.New), hasIt, "")
		}
	}
	if a.AddsPrimaryKey && c.keeps("PRIMARY") {
		c.block(CodeIndex, "the ALTER adds a primary key", "the table has one", "To replace it, add DROP PRIMARY KEY")
	}
}

// keeps reports whether the table has an index of the name that stays after the ALTER. The server
// drops an index with the last of its columns.
func (c *checker) keeps(name string) bool {
	k, ok := c.table.Key(name)
	if !ok || !same(k.Name, name) || contains(c.alter.DroppedKeys, name) {
		return false
	}
	for _, r := range c.alter.Named.RenamedKeys {
		if strings.EqualFold(r.Old, name) {
			return false
		}
	}
	return slices.ContainsFunc(k.Parts, func(p schema.KeyPart) bool {
		return !contains(c.alter.Dropped, p.Column) && !strings.EqualFold(p.Column, schema.GeneratedKeyName)
	})
}

// plain reports whether a name has ASCII letters only. Only the server knows which other letters it
// treats as equal.
func plain(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r > 0x7f }) < 0
}

// same reports whether two names are certainly the same to the server.
func same(a, b string) bool { return a == b || plain(a) && plain(b) && strings.EqualFold(a, b) }

// distinct returns the names, each once.
func distinct(names []string) []string {
	var all []string
	for _, name := range names {
		if !contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
