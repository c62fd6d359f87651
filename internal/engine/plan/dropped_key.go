package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// A change that drops columns of the followed key has two acts. The shadow keeps their values in invisible columns of ours, with an
// index on them (Key.Helper). The swap drops the index, and the second act of the run drops the columns, in an instant.

// losesDropped returns why a run can't keep the columns of a key that the ALTER drops; "" if it can.
func (c *checker) losesDropped(k candidate) string {
	why := fmt.Sprintf("the ALTER drops column %s", k.key.Dropped[0])
	after, v := c.after(), c.facts.Version
	computed := func(t *schema.Table) bool {
		return slices.ContainsFunc(t.Keys, schema.Key.Computed) || slices.ContainsFunc(t.Columns, t.IndexesVirtual)
	}
	kind := func(name string) func(schema.Key) bool { return func(k schema.Key) bool { return k.Type == name } }
	switch {
	case !v.dropsInstantly():
		return why + ", and this server drops no column in an instant"
	case len(c.alter.Unknown) > 0:
		return why
	case c.options.Back != nil || c.options.KeepsUndo || c.options.Purpose == Undoing:
		return why + ", and an undo can't follow such a key"
	case slices.ContainsFunc(k.key.Dropped, c.mapped):
		return why + ", and --map gives its values to another column"
	case k.nulls || k.key.ByValue || slices.ContainsFunc(k.key.Dropped, c.computes):
		return why + ", which is generated, may be NULL, or is not unique"
	case slices.ContainsFunc(after.Keys, kind("FULLTEXT")), slices.ContainsFunc(c.table.Keys, kind("FULLTEXT")):
		return why + ", and with a full-text index the server drops no column in an instant"
	case computed(after) || computed(c.table):
		return why + ", and the table has an index of an expression or of a virtual column"
	case compressed(after) || compressed(c.table):
		return why + ", and a compressed table drops no column in an instant"
	case strings.Contains(c.table.Create, "WITH SYSTEM VERSIONING"):
		return why + ", and the table has system versioning"
	case !c.helps(k.key):
		return why + ", and the new table can have no index of the run (partitions, foreign keys, too many rows)"
	}
	return ""
}

func (c *checker) computes(name string) bool {
	col, ok := c.table.Column(name)
	return !ok || col.Generated != schema.NotGenerated
}

func (c *checker) mapped(name string) bool {
	for _, old := range c.options.Map {
		if strings.EqualFold(old, name) {
			return true
		}
	}
	return false
}

func compressed(t *schema.Table) bool {
	return slices.ContainsFunc(t.Options, func(o schema.Option) bool {
		return o.Name == "ROW_FORMAT" && strings.EqualFold(o.Value, "COMPRESSED") || o.Name == "KEY_BLOCK_SIZE"
	})
}

// dropsInstantly reports whether the server drops a column in an instant, and has invisible ones
// (MySQL 8.0.29, MariaDB 10.4).
func (v Version) dropsInstantly() bool {
	if v.MariaDB {
		return v.AtLeast(10, 4, 0)
	}
	return v.AtLeast(8, 0, 29)
}

// warnOfDropped tells of the columns that the new table has until the second act.
func (c *checker) warnOfDropped(k Key) {
	var names []string
	for i, p := range k.Parts {
		if contains(k.Dropped, p.Column.Name) {
			names = append(names, schema.HelperColumn(i)+" ("+p.Column.Name+")")
		}
	}
	c.warn(
		CodeNoKey, "the run keeps the dropped key in the new table until just after the swap, invisible: "+strings.Join(names, ", "),
		fmt.Sprintf("it finds rows by that. The swap drops its index, %s. The second act of the run drops the column in an instant, "+
			"under the lock that is bounded as that of the swap. Until then SELECT * does not show it, an INSERT gives it NULL, "+
			"and readers of the binlog see it", schema.HelperIndex), "",
	)
}

// twoSteps is how to drop the columns of the only key if a run can't keep them; "" if another reason counts.
func (c *checker) twoSteps() string {
	for _, k := range c.table.Keys {
		found, why := c.candidate(k)
		if why == "" || len(found.key.Dropped) == 0 || c.options.Key != "" && !strings.EqualFold(c.options.Key, k.Name) {
			continue
		}
		drops := make([]string, len(found.key.Dropped))
		for i, name := range found.key.Dropped {
			drops[i] = "DROP COLUMN " + schema.Quote(name)
		}
		clauses, first := strings.Join(drops, ", "), ""
		if c.options.KeepsUndo && c.facts.Version.dropsInstantly() {
			first = "Leave --undo out. Or: "
		}
		return first + fmt.Sprintf("Make the change in two runs: first this ALTER without %s, with a new PRIMARY KEY or UNIQUE key of NOT NULL columns. "+
			"Then ALTER TABLE %s %s, which follows the new key", clauses, c.table.Name.Quoted(), clauses)
	}
	return ""
}

// withDropped is the altered table with the columns of the dropped key, also if the server has not added them yet.
func withDropped(p *Plan, altered *schema.Table) *schema.Table {
	if len(p.Key.Dropped) == 0 || len(altered.Helpers()) > 0 {
		return altered
	}
	with := *altered
	with.Columns = slices.Clone(with.Columns)
	for i, part := range p.Key.Parts {
		if contains(p.Key.Dropped, part.Column.Name) {
			col := part.Column
			col.Name, col.Ordinal, col.AutoIncrement = schema.HelperColumn(i), len(with.Columns), false
			col.Nullable, col.Invisible = true, true
			with.Columns = append(with.Columns, col)
		}
	}
	return &with
}

// pairDropped has the columns of the dropped key filled, and adds their pairs.
func pairDropped(p *Plan, c *Columns, pairs []columnPair, shadow *schema.Table) []columnPair {
	var more []columnPair
	for i, part := range p.Key.Parts {
		to, ok := shadow.Column(schema.HelperColumn(i))
		if ok && contains(p.Key.Dropped, part.Column.Name) {
			more = append(more, columnPair{from: part.Column, to: to})
		}
	}
	c.Mappings = append(c.Mappings, stored(more, p.Server.Version.MariaDB)...)
	return append(pairs, more...)
}

// helperColumns defines the columns of the dropped key, as the source has them.
func helperColumns(k Key) string {
	var all []string
	for i, part := range k.Parts {
		if col := part.Column; contains(k.Dropped, col.Name) {
			definition := "COLUMN " + schema.Quote(schema.HelperColumn(i)) + " " + col.Type
			if col.Charset != "" && col.Charset != "binary" {
				definition += " CHARACTER SET " + col.Charset + " COLLATE " + col.Collation
			}
			all = append(all, definition+" NULL DEFAULT NULL INVISIBLE")
		}
	}
	return strings.Join(all, ", ADD ")
}
