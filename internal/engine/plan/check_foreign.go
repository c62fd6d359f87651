package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// CodeConstraints is the code of what operators must know of foreign keys that move in the swap.
const CodeConstraints Code = "constraints"

// ForeignFacts describe the tables at the other ends of foreign keys.
type ForeignFacts struct {
	// Native means that InnoDB itself changes the rows of children, and that the binlog does not
	// show these changes (innodb_native_foreign_keys).
	Native bool
	// Missing are tables that constraints name and that don't exist.
	Missing []schema.Name
	// Linked are tables that the server locks together with the tables at the other ends, because a
	// change there changes their rows.
	Linked []schema.Name
}

// remaining are the relations that exist after the ALTER.
func remaining(t *schema.Table, a *ddl.Alter) []schema.ForeignKey {
	gone := dropped(t, a)
	return slices.DeleteFunc(t.Relations(), func(fk schema.ForeignKey) bool { return slices.ContainsFunc(gone, fk.Is) })
}

// likeForeign is the advice about a name that only underscores tell from that of a foreign key; "" if there is none.
// pt-online-schema-change puts one in front of the names of foreign keys, and a run keeps them.
func likeForeign(t *schema.Table, name string) string {
	for _, fk := range t.ForeignKeys {
		if strings.EqualFold(strings.TrimLeft(fk.Constraint, "_"), strings.TrimLeft(name, "_")) {
			return "Write DROP FOREIGN KEY " + schema.Quote(fk.Constraint) + ": a run keeps the names of foreign keys"
		}
	}
	return ""
}

// checkForeign checks what foreign keys require of a shadow.
func (c *checker) checkForeign() {
	t := c.table
	for _, fk := range c.unseen() {
		if fk.Child != t.Name {
			what, fix := c.lack(onChildren, fk.Child.Quoted())
			c.block(CodeReferenced, fmt.Sprintf("foreign key %s of %s refers to the table, and %s", fk.Constraint, fk.Child, what),
				"at the swap it would follow the old table", fix)
		}
	}
	all := t.Relations()
	if len(all) == 0 {
		return
	}
	gone := dropped(t, c.alter)
	if len(gone) > 0 && withoutForeign(t, c.alter) == nil {
		c.block(
			CodeForeignKey, "the ALTER only drops a foreign key, or a run cannot split it into clauses",
			"a shadow has none before the swap",
			"Run it alone, without --method and --together: the server changes only its dictionary",
		)
	}
	if name := missingForeign(t, c.alter); name != "" {
		c.block(CodeForeignKey, "the ALTER drops foreign key "+name, lacksIt, likeForeign(t, name))
	}
	if !c.facts.Version.renamesUnderLock() && c.tooOld(all) {
		return
	}
	for _, fk := range all {
		if !slices.ContainsFunc(gone, fk.Is) {
			c.checkActions(fk)
			c.checkEnds(fk)
			c.checkInside(fk)
		} else if fk.Acts() && !c.facts.LogsCascades() {
			c.block(
				CodeForeignKey,
				fmt.Sprintf("the ALTER drops foreign key %s, which changes rows of the table until the swap", fk.Constraint),
				"the binlog does not contain such changes ("+c.facts.silentOf()+")",
				"Drop it first, with a client such as mysql: the server changes only its dictionary",
			)
		}
	}
	for _, name := range c.facts.Foreign.Missing {
		c.block(
			CodeForeignKey, "a foreign key refers to "+name.String()+", which does not exist",
			"the run cannot declare the constraint on the shadow", "Drop the constraint, or create that table",
		)
	}
	if slices.Contains(c.alter.PartitionOps, "PARTITION BY") {
		c.block(
			CodeForeignKey, "the ALTER divides the table into partitions",
			"InnoDB has no foreign keys on partitioned tables, and none that refer to one",
			"Drop the foreign keys first",
		)
	}
	c.checkForeignGrants(all)
	c.tellForeign(all)
}

// tooOld works for servers that cannot rename a table under its lock. It refuses the foreign keys
// that can't move there, and reports whether it refused any.
func (c *checker) tooOld(all []schema.ForeignKey) (refused bool) {
	version := c.facts.Version
	for _, fk := range all {
		why := "between the swap and the statements that move it, on " + version.String() + ", other sessions could use the tables; MySQL 8.0.13 and later does it all under one lock"
		fix := natively
		if c.retypes(fk) { // the server refuses that too
			fix = "Drop the foreign key, change both of its ends, and add it again: until then the server accepts rows without a parent"
		}
		switch {
		case fk.Child != c.table.Name:
			c.block(CodeReferenced, fmt.Sprintf("foreign key %s of %s refers to the table", fk.Constraint, fk.Child), why, fix)
		case fk.Parent == c.table.Name:
			c.block(CodeForeignKey, fmt.Sprintf("foreign key %s refers to the table itself", fk.Constraint), why, fix)
		case !version.CarriesForeign():
			c.block(CodeForeignKey, fmt.Sprintf("foreign key %s refers to %s", fk.Constraint, fk.Parent), why, fix)
		default:
			continue
		}
		refused = true
	}
	return refused
}

// CodeCascades is the code of warnings about constraints that change rows without a record in the
// binlog.
const CodeCascades Code = "cascades"

// checkActions checks constraints that change rows of the table, and refuses those that can't be
// followed.
func (c *checker) checkActions(fk schema.ForeignKey) {
	if fk.Child != c.table.Name || !fk.Acts() || c.captured.By == CaptureTrigger { // refused for that reason
		return
	}
	what := fmt.Sprintf(
		"foreign key %s (ON DELETE %s ON UPDATE %s) changes rows of the table when those of %s change", fk.Constraint,
		fk.OnDelete, fk.OnUpdate, fk.Parent,
	)
	f := c.facts
	switch {
	case f.LogsCascades() && (f.Capture != nil || f.IsReplica):
		c.block(
			CodeForeignKey, what, "a replica logs such changes only if its primary does, and the run cannot know that",
			"Run on the primary, and read its own binlog",
		)
	case f.LogsCascades():
	case c.inside(fk):
		c.block(
			CodeForeignKey, what,
			"the binlog does not contain such changes ("+f.silentOf()+"), and on a shadow such a constraint would change rows that the run writes",
			natively,
		)
	case c.options.Purpose == RehearsingOnReplica:
		c.block(
			CodeForeignKey, what,
			"the binlog does not contain such changes ("+f.silentOf()+"), and a constraint on the rehearsal's table would block replication",
			"Rehearse on the primary",
		)
	case schema.ActsBy(fk.OnUpdate) && c.inKey(fk.Columns):
		c.block(
			CodeForeignKey, what,
			"the binlog does not contain such changes ("+f.silentOf()+"), and a row could move to another key value while the run copies it",
			natively+", or choose another key with --key",
		)
	default:
		c.acting = append(c.acting, fk.Constraint)
		c.warn(
			CodeCascades,
			what,
			"the binlog does not contain such changes ("+f.silentOf()+"): so the constraint acts on the new table too, from the start, and the run reads rows FOR SHARE. "+
				"A session that changes a row during its copy waits for the chunk, or rarely gets a deadlock (error 1213). A change of the parent does its work on both tables",
			"Shorter chunks make shorter waits: --chunk-time",
		)
	}
}

// LogsCascades reports whether the binlog has the rows that foreign keys change.
func (f *Facts) LogsCascades() bool {
	return f.Version.AtLeast(9, 6, 0) && !f.Version.MariaDB && !f.Foreign.Native
}

// silentOf returns why the binlog lacks these rows.
func (f *Facts) silentOf() string {
	if f.Foreign.Native {
		return "innodb_native_foreign_keys is ON"
	}
	return "MySQL 9.6 and later logs them"
}

// inKey reports whether one of the columns is part of the followed key.
func (c *checker) inKey(columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool {
		return slices.ContainsFunc(c.followed.Parts, func(p key.Part) bool { return strings.EqualFold(p.Column.Name, name) })
	})
}

// checkEnds refuses an ALTER that removes what a constraint needs.
func (c *checker) checkEnds(fk schema.ForeignKey) {
	after := predict(c.table, c.alter)
	name := fmt.Sprintf("foreign key %s of %s", fk.Constraint, fk.Child)
	if fk.Child == c.table.Name {
		c.checkEnd(name, fk.Columns, fk.OnDelete == "SET NULL" || fk.OnUpdate == "SET NULL", c.inside(fk))
		if !slices.ContainsFunc(after.Keys, func(k schema.Key) bool { return k.Leads(c.renamed(fk.Columns)) }) {
			c.block(
				CodeForeignKey, "the ALTER drops the index that "+name+" needs",
				"the server would have to build it under the lock of the swap",
				c.forUndo("Keep an index that begins with its columns", "Drop the foreign key first, and add it again after the undo"),
			)
		}
	}
	if fk.Parent == c.table.Name {
		c.checkEnd(name, fk.ParentColumns, false, c.inside(fk))
		if !standsOn(after, c.renamed(fk.ParentColumns), standsOn(c.table, fk.ParentColumns, true)) {
			c.block(
				CodeReferenced, "the ALTER drops the key that "+name+" refers to",
				"the server refuses a constraint without it", "Drop the constraint first, or keep the key",
			)
		}
	}
}

// standsOn reports whether a table has a key that begins with the columns. If unique is set, the
// key must be unique and have only these columns.
func standsOn(t *schema.Table, columns []string, unique bool) bool {
	return slices.ContainsFunc(t.Keys, func(k schema.Key) bool {
		return k.Leads(columns) && (!unique || (k.Unique || k.Name == "PRIMARY") && len(k.Parts) == len(columns))
	})
}

// renamed returns the columns' names after the ALTER.
func (c *checker) renamed(columns []string) []string {
	after := slices.Clone(columns)
	for i := range after {
		after[i] = renamed(c.alter, after[i])
		for old, now := range c.options.Map {
			if c.options.Back.Adopts() && strings.EqualFold(now, columns[i]) { // the ALTER may say nothing
				after[i] = old
			}
		}
	}
	return after
}

// completes is how a DBA finds the other columns that need the new type.
const completes = "midstream plan --together with this ALTER prints the complete command"

// defined is the index of the column's new definition; -1 for none.
func (c *checker) defined(name string) int { return definedBy(c.alter, name) }

// definedBy is the index of the new definition that an ALTER gives a column; -1 for none.
func definedBy(a *ddl.Alter, name string) int {
	return slices.IndexFunc(a.Defined, func(d schema.Column) bool { return strings.EqualFold(d.Name, renamed(a, name)) })
}

// retyped reports whether the ALTER gives a column of a constraint another type, as far as the statement shows.
func (c *checker) retyped(name string) bool {
	from, there := c.table.Column(name)
	to := c.defined(name)
	return there && from.Charset != "" && c.alter.ConvertsCharset ||
		contains(c.alter.Modified, name) && (to < 0 || !there || !likeEnds(from, collated(c.alter.Defined[to], c.table)))
}

// retypes reports whether the ALTER gives a column at an end of the constraint another type.
func (c *checker) retypes(fk schema.ForeignKey) bool {
	return fk.Child == c.table.Name && slices.ContainsFunc(fk.Columns, c.retyped) ||
		fk.Parent == c.table.Name && slices.ContainsFunc(fk.ParentColumns, c.retyped)
}

// checkEnd refuses a change of a constraint's columns that its other end does not make. inside means that checkInside compares both ends.
func (c *checker) checkEnd(fk string, columns []string, null, inside bool) {
	fix := "Change both tables in one step: " + completes + ". Or drop the constraint first"
	switch {
	case !c.facts.Version.renamesUnderLock():
		fix = "Drop the constraint first"
	case c.options.Back != nil:
		fix = "Change both tables back in one step, by a new change: midstream plan --together prints the complete command. Or drop the constraint first"
	}
	for _, name := range columns {
		from, there := c.table.Column(name)
		to := c.defined(name)
		why := "both ends of a foreign key must have the same type"
		modified := contains(c.alter.Modified, name)
		switch {
		case contains(c.alter.Dropped, name):
			c.block(
				CodeForeignKey, fmt.Sprintf("the ALTER drops column %s of %s", name, fk),
				"the constraint uses it", "Drop the constraint first",
			)
		case modified && null && to >= 0 && !c.alter.Defined[to].Nullable:
			c.block(
				CodeForeignKey, fmt.Sprintf("the ALTER makes column %s of %s NOT NULL", name, fk),
				"the constraint sets it to NULL", "Drop the constraint first",
			)
		case inside && modified && there && to >= 0:
			c.checkEqual(fk, from, c.alter.Defined[to])
		case inside:
		case there && from.Charset != "" && c.alter.ConvertsCharset:
			c.block(CodeForeignKey, fmt.Sprintf("the ALTER converts column %s of %s", name, fk), why, fix)
		case c.retyped(name):
			c.block(CodeForeignKey, fmt.Sprintf("the ALTER gives column %s of %s another type", name, fk), why, fix)
		}
	}
}

// collated is a column as the statement defines it, with the table's collation if the statement
// names none. The real column is checked again when the shadow exists.
func collated(to schema.Column, t *schema.Table) schema.Column {
	if to.Charset == "" && to.Collation == "" {
		to.Collation = t.Collation
	}
	return to
}

// likeEnds reports whether a column may take another's place in a constraint, as far as the
// statement shows.
func likeEnds(from, to schema.Column) bool {
	if from.DataType != to.DataType || from.Unsigned != to.Unsigned || to.Generated != from.Generated {
		return false
	}
	switch from.Family() {
	case "integer":
		return true
	case "string":
		return to.Collation == from.Collation
	}
	return from.Type == to.Type
}

// The privileges at the other ends: the server asks for CREATE and INSERT if a table is altered.
var (
	onChildren = []string{"SELECT", "ALTER", "CREATE", "INSERT"}
	onParents  = []string{"SELECT", "REFERENCES"}
)

// checkForeignGrants finds missing privileges on the tables at the other ends.
func (c *checker) checkForeignGrants(all []schema.ForeignKey) {
	f, why := c.facts, "the swap moves its foreign key to the new table"
	var seen []schema.Name
	for _, fk := range all {
		other, wanted := fk.Child, onChildren
		if fk.Child == c.table.Name {
			other, wanted = fk.Parent, onParents
		}
		if other == c.table.Name || slices.Contains(seen, other) {
			continue
		}
		seen = append(seen, other)
		c.missing(f.lacks(other, wanted...), other.Quoted(), why)
		if !f.Grants.On("LOCK TABLES", other.Schema, "") && other.Schema != c.table.Name.Schema {
			c.missing([]string{"LOCK TABLES"}, grantSchema(other.Schema, f.Grants.LiteralNames)+".*", why)
		}
	}
	names := append(c.names.All(), c.table.Name)
	if slices.ContainsFunc(names, func(n schema.Name) bool { return len(f.lacks(n, "REFERENCES")) > 0 }) {
		c.missing(
			[]string{"REFERENCES"}, grantSchema(c.table.Name.Schema, f.Grants.LiteralNames)+".*",
			"foreign keys refer to the shadow and to the table",
		)
	}
}

// tellForeign describes what the swap does to each table with a constraint.
func (c *checker) tellForeign(all []schema.ForeignKey) {
	var own, others, gone []string
	statements := 1 // on the old table
	for _, fk := range all {
		if slices.ContainsFunc(dropped(c.table, c.alter), fk.Is) {
			gone = append(gone, fk.Constraint)
		} else if fk.Child == c.table.Name {
			own = append(own, fmt.Sprintf("%s (to %s)", fk.Constraint, fk.Parent))
		} else if !c.inside(fk) {
			others = append(others, fmt.Sprintf("%s of %s", fk.Constraint, fk.Child))
			statements += 3
		}
	}
	if len(own) > 0 {
		statements += 1 + len(own)
	}
	var what []string
	if len(own) > 0 {
		what = append(what, "declares "+strings.Join(own, ", ")+" on the new table")
	}
	if len(others) > 0 {
		what = append(what, "turns "+strings.Join(others, ", ")+" to the new table")
	}
	if len(gone) > 0 {
		what = append(what, "leaves "+strings.Join(gone, ", ")+" behind")
	}
	why := fmt.Sprintf(
		"the swap also locks the tables at the other ends, and adds up to %d statements that change the dictionary, of about 10 ms each "+
			"on an idle server; a session that uses one of these tables blocks the lock",
		statements,
	)
	if len(c.facts.Foreign.Linked) > 0 {
		why += "; the server also locks " + schema.List(c.facts.Foreign.Linked)
	}
	if len(what) == 0 { // they go over with other tables of the group
		return
	}
	c.warn(CodeConstraints, "the swap "+strings.Join(what, ", and "), why, "If the attempts take longer than --lock-work, raise it")
}

// foreign are the constraints that move, with the columns' names after the ALTER.
func (c *checker) foreign() []schema.ForeignKey {
	all := remaining(c.table, c.alter)
	own := len(all)
	if back := c.options.Back; back != nil {
		all = append(all, back.Foreign...)
	}
	for i, fk := range all {
		if fk.Child == c.table.Name && i < own {
			all[i].Columns = c.renamed(fk.Columns)
		}
		if fk.Parent == c.table.Name && i < own {
			all[i].ParentColumns = c.renamed(fk.ParentColumns)
		} else if c.inside(fk) && i < own {
			_, alter := c.end(fk.Parent)
			all[i].ParentColumns = renamedAll(alter, fk.ParentColumns)
		}
		if c.facts.Version.renamesUnderLock() {
			continue
		}
		for _, rule := range []*string{&all[i].OnDelete, &all[i].OnUpdate} {
			// RESTRICT is also the default: left out, it keeps this name. An ALTER that names it
			// makes NO ACTION of it.
			if *rule == "RESTRICT" {
				*rule = ""
			}
		}
	}
	return all
}

// Keyed are the names of the table's constraints with columns of the followed key.
func (p *Plan) Keyed() []string {
	var names []string
	for _, fk := range p.Source.Relations() {
		if slices.ContainsFunc(fk.Columns, func(name string) bool { return contains(p.Key.Columns(), name) }) && fk.Child == p.Source.Name {
			names = append(names, fk.Constraint)
		}
	}
	return names
}

// Others are the tables at the other ends of foreign keys, and the tables that the server locks
// with them.
func (p *Plan) Others() []schema.Name {
	var all []schema.Name
	for _, fk := range slices.Concat(p.Foreign, p.Dropped, addedKeys(p)) {
		all = append(all, fk.Child, fk.Parent)
	}
	slices.SortFunc(all, func(a, b schema.Name) int { return strings.Compare(a.Quoted(), b.Quoted()) })
	return slices.DeleteFunc(append(slices.Compact(all), p.Linked...), func(n schema.Name) bool { return n == p.Source.Name })
}

// Related are the source's foreign keys, and the foreign keys that refer to it, before the ALTER.
func (p *Plan) Related() []schema.ForeignKey { return p.Source.Relations() }

// CheckForeign returns why the shadow can't have the constraints, before a row is copied; nil if it
// can. made is the shadow as the server has made it.
func (p *Plan) CheckForeign(made *schema.Table) error {
	for i, was := range remaining(p.Source, p.Alter) {
		fk := p.Foreign[i]
		for _, end := range []struct {
			here          bool
			before, after []string
		}{{fk.Child == p.Source.Name, was.Columns, fk.Columns}, {fk.Parent == p.Source.Name, was.ParentColumns, fk.ParentColumns}} {
			if !end.here {
				continue
			}
			for j := range end.before {
				from, _ := p.Source.Column(end.before[j])
				to, ok := made.Column(end.after[j])
				if ok && inside(fk, p.Source.Name, p.Together) && !keepsEqual(from, to) {
					return fmt.Errorf("%w: foreign key %s of %s, column %s of the new table: %s. %s",
						ErrRefused, fk.Constraint, fk.Child, end.after[j], unequal(from, to), fixUnequal)
				}
				if !ok || !inside(fk, p.Source.Name, p.Together) && !likeEnds(from, to) {
					return fmt.Errorf(
						"foreign key %s of %s: column %s of the new table has another type than before",
						fk.Constraint, fk.Child, end.after[j],
					)
				}
			}
			if !standsOn(made, end.after, false) {
				return fmt.Errorf(
					"foreign key %s of %s: the new table has no index that begins with %s", fk.Constraint, fk.Child,
					list(end.after),
				)
			}
		}
	}
	return nil
}
