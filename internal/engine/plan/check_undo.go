package plan

import (
	"slices"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// onRecord are the privileges on the undo table.
var onRecord = []string{"SELECT", "INSERT", "UPDATE", "CREATE", "DROP"}

// namesOfUndo are the tables that the undo of a change by a shadow needs next to those of a run; none if no undo is kept.
func (c *checker) namesOfUndo() []schema.Name {
	if !c.options.KeepsUndo && c.options.Back == nil {
		return nil
	}
	table := c.table.Name
	return []schema.Name{UndoOf(table), UndoneOf(table), KeptOf(table), ParkedNames(table)[0]}
}

// checkRecordGrants refuses a change that the server makes itself if its undo is to be kept, and the account lacks privileges on the
// undo table.
func (c *checker) checkRecordGrants(choice Choice) error {
	if choice.Method == MethodShadow || choice.Method == MethodNone || !c.options.KeepsUndo && c.options.Back == nil {
		return nil
	}
	refused := LackedByUndo(c.facts, c.table.Name, onRecord...)
	if refused == nil {
		return nil
	}
	refused.Others = c.risks
	return refused
}

// LackedByRun is the refusal that lists the privileges which the account lacks for a run on the table and its undo; nil if it lacks none.
func LackedByRun(f *Facts, table schema.Name) *Refused {
	c := checker{facts: f, table: &schema.Table{Name: table}, names: NamesOf(table), options: Options{KeepsUndo: true}}
	c.checkGrants()
	if len(c.blocking) == 0 {
		return nil
	}
	return &Refused{Table: table.String(), Blocking: c.blocking, Others: c.risks}
}

// mayUndo blocks because of privileges that the account lacks for a statement on complete tables and its undo. The server grants
// privileges on a table that does not exist only together with CREATE, so the GRANT is one on the database.
func (m *tablePlanner) mayUndo(first *TableFacts) {
	p, source := m.plan, first.Name
	kind, aside := p.Statement.Kind, p.Aside
	if p.Back != nil {
		kind, aside = p.Back.Kind, p.Back.Aside
	}
	var lacked []string
	on := func(table schema.Name, privileges ...string) {
		for _, privilege := range first.Facts.lacks(table, privileges...) {
			if !slices.Contains(lacked, privilege) {
				lacked = append(lacked, privilege)
			}
		}
	}
	on(UndoOf(source), onRecord...)
	switch kind {
	case ddl.KindRename:
		for _, r := range p.Statement.Renames {
			on(r.From, onRenamed...)
			on(r.To, onRenamed...)
		}
	default:
		on(source, slices.Concat(onRenamed, []string{"SELECT"})...)
		on(aside, slices.Concat(onRenamed, []string{"SELECT"})...)
	}
	if kind == ddl.KindTruncate {
		on(aside, "DELETE")
		on(MergedOf(source), slices.Concat(onRecord, []string{"DELETE"})...)
		on(UndoneOf(source), onRenamed...)
		on(schema.Name{Schema: source.Schema}, "LOCK TABLES")
	}
	c := checker{facts: first.Facts}
	was := first.Table
	if p.Back != nil {
		was = p.Back.Was
	}
	if kind == ddl.KindDrop && was != nil {
		for _, fk := range was.ForeignKeys {
			c.missing(first.Facts.lacks(fk.Parent, "REFERENCES"), fk.Parent.Quoted(), "the undo brings a foreign key back that refers to the table")
		}
	}
	if kind == ddl.KindTruncate {
		c.missing(c.lackedOf(forLooking), "*.*", "the undo looks for transactions that would see only a part of its rows")
	}
	c.missing(lacked, grantSchema(source.Schema, first.Facts.Grants.LiteralNames)+".*", "the statement, its undo and its redo need them")
	m.blocking = append(m.blocking, c.blocking...)
}

// onRenamed are the privileges on the names of a table that is renamed, and renamed back.
var onRenamed = []string{"ALTER", "DROP", "CREATE", "INSERT"}
