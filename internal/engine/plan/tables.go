package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TableFacts are the facts of one table that a statement on complete tables names.
type TableFacts struct {
	Name  schema.Name
	Table *schema.Table // nil if there is none
	// Other is the kind of object with that name, if it is no table: a view, for example.
	Other string
	// NoDatabase means that the database does not exist.
	NoDatabase bool
	Facts      *Facts
	// Views are the views that refer to the table, as far as the account may see them.
	Views      []schema.Name
	Partitions []string // of the table, if any
	// Files has one file for each partition or subpartition; it is 0 if the table has none.
	Files int
}

// StatementFacts are what is known before a statement on complete tables is planned.
type StatementFacts struct {
	Tables []TableFacts // in the order of Statement.Tables
	// Unlike describes, for TRUNCATE TABLE, what CREATE TABLE ... LIKE did not copy to an empty
	// clone; "" if the clone is equal.
	Unlike string
	// Differs describes, for CREATE TABLE, how the existing table differs from the definition; ""
	// if it is equal, or if there is none.
	Differs string
	// Swap is the time that the server takes to rename the files; nil if it is not long, or was not
	// measured.
	Swap *Swap
	// Undos are the open undos of earlier changes of the tables.
	Undos []OpenUndo
	// Needed are tables that open undos of other tables need.
	Needed []NeededByUndo
}

// TableOptions are the operator's wishes for a statement on complete tables.
type TableOptions struct {
	Method Method
	// Keep and Drop decide what becomes of the table that a DROP or a TRUNCATE puts aside. With
	// neither, the run drops the table if that stalls no session for longer than Stall (see
	// Limits.Locked).
	Keep, Drop bool
	Stall      time.Duration
	// Undo is how long the statement can be taken back; 0 if it need not be. The table that it puts aside is kept
	// for that time. Redo means that it was made before, and taken back.
	Undo time.Duration
	Redo bool
	// EndUndo lets the statement end the undos of earlier changes of its tables.
	EndUndo bool
	// Back means that the statement is to be taken back. Merge takes over the rows that were written since a TRUNCATE, and Park
	// keeps them in a table of their own.
	Back, Merge, Park bool
	// Filter is as in Options. No such statement can choose rows.
	Filter string
	// Set is as in Options. No such statement can compute values.
	Set Settings
	// Again are the flags with which this undo or redo is begun again if it is killed. Former is the statement that it takes back or
	// makes again, and Swapped is when that was made or taken back.
	Again   []string
	Former  string
	Swapped time.Time
	// Replicates and Kills are as in Options.
	Replicates, Kills bool
}

// TablePlan is what a run of a statement on complete tables (RENAME, DROP, TRUNCATE, CREATE TABLE)
// will do. It is a value, and no code changes it.
type TablePlan struct {
	Statement *ddl.Statement
	// Again, Former and Swapped are as TableOptions has them.
	Again   []string  `json:"-"`
	Former  string    `json:"-"`
	Swapped time.Time `json:"-"`
	Choice  Choice
	// Stops means that rows without a parent would stop an undo before it changes anything.
	Stops  bool `json:"-"`
	Server Server
	// Table is the first table of the statement, nil if it doesn't exist.
	Table *schema.Table
	// Main is the one statement that runs under the bounded lock; "" with MethodNone.
	Main string
	// Watched are the tables that it locks, including tables of foreign keys.
	Watched []schema.Name
	// Moves are the tables that have another name afterwards, and Gone the names that are then
	// free. They show what happened if the server's answer was lost.
	Moves []ddl.TableRename
	Gone  []schema.Name
	// Comments are the renamed tables that lose the mark of an old table, or get it back.
	Comments []Recomment
	// Twin is the empty copy that takes the table's place, for a TRUNCATE by a swap.
	Twin schema.Name
	// Aside is the name that the table gets before it is dropped. Keep means that it isn't dropped.
	Aside schema.Name
	Keep  bool
	// Undo is how long the statement can be taken back; 0 if it can't. DropOld means that the end of the undo drops
	// the table that was put aside.
	Undo    time.Duration
	DropOld bool
	// Unheld means that no hold is for this statement: it belongs to a swap that is held, or was.
	Unheld bool `json:"-"`
	// Redo means that the statement was made before, and taken back.
	Redo bool
	// EndsUndo are the tables with an open undo of an earlier change, which ends with the statement.
	EndsUndo []schema.Name `json:",omitempty"`
	// Finish means that an earlier run was killed after the statement, or after its undo: only the undo table lacks that.
	Finish bool
	// Back is for the undo of such a statement; nil for the statement itself.
	Back *TablesBack
	// Slices are the partitions that are emptied one by one before it is dropped.
	Slices []string
	// Swap is the time that the server takes to rename the files, if it may be long.
	Swap *Swap
	// Steps describe the work for people, in order.
	Steps []string
	Risks []Risk
}

// Subject is the table by which the user knows the run.
func (p *TablePlan) Subject() schema.Name {
	if p.Back != nil {
		return p.Back.Source
	}
	return p.Statement.Tables()[0]
}

// Records reports whether the run writes into the undo table what it is about to do, also if it keeps no undo: one that is killed would
// leave a table without a mark, or the undo of a table that has another name.
func (p *TablePlan) Records() bool {
	return p.Undo > 0 || p.Back != nil || p.Twin != (schema.Name{}) || len(p.Moves) > 0 && len(p.EndsUndo) > 0
}

// The codes of reasons against a statement on complete tables.
const (
	CodeNoTable     Code = "no-table"
	CodeTableExists Code = "table-exists"
	CodeView        Code = "view"
)

// MakeTables decides how a statement on complete tables is carried out, or returns a *Refused. It
// is pure.
func MakeTables(statement *ddl.Statement, facts *StatementFacts, options TableOptions) (*TablePlan, error) {
	m := tablePlanner{facts: facts, options: options, plan: &TablePlan{
		Statement: statement, Server: serverOf(facts.Tables[0].Facts, Captured{}), Table: facts.Tables[0].Table,
		Choice: Choice{Method: MethodInstant, Why: "the server changes only its dictionary"},
		Again:  options.Again, Former: options.Former, Swapped: options.Swapped,
	}}
	for i := range facts.Tables {
		m.check(&facts.Tables[i])
	}
	if m.finish() {
		return m.plan, nil
	}
	m.checkUndo()
	switch statement.Kind {
	case ddl.KindRename:
		m.rename()
	case ddl.KindDrop:
		m.drop()
	case ddl.KindTruncate:
		m.truncate()
	case ddl.KindCreate:
		m.create()
	}
	m.checkNeeded()
	m.undo()
	m.checkFiles()
	if wish := options.Method; wish != "" && wish != m.plan.Choice.Method && m.plan.Choice.Method != MethodNone {
		m.block(
			CodeMethod, fmt.Sprintf("a %s can't be done by the method %s", statement.Kind, wish),
			"it does not copy rows", "Leave --method out",
		)
	}
	if len(m.blocking) > 0 {
		return nil, &Refused{Table: facts.Tables[0].Name.String(), Blocking: m.blocking, Others: m.risks}
	}
	m.plan.Risks = m.risks
	return m.plan, nil
}

// tablePlanner makes a TablePlan.
type tablePlanner struct {
	checker // for its lists of risks
	facts   *StatementFacts
	options TableOptions
	plan    *TablePlan
}

func (m *tablePlanner) of(name schema.Name) *TableFacts {
	i := slices.IndexFunc(m.facts.Tables, func(t TableFacts) bool { return t.Name == name })
	return &m.facts.Tables[i]
}

// check checks what matters for every kind of statement.
func (m *tablePlanner) check(t *TableFacts) {
	c := checker{facts: t.Facts, names: NamesOf(t.Name)}
	if t == &m.facts.Tables[0] {
		if t.Facts.ReadOnly || t.Facts.SuperReadOnly {
			c.block(
				CodeReadOnly, "the server is read-only", "it looks like a replica, and nothing can be written",
				"Connect to the primary",
			)
		}
		if t.Facts.Following && !m.options.Replicates {
			c.block(
				CodeFollows, "this server replicates from another one",
				"it looks like a replica: a change made here is missing on the primary, and may break replication",
				"Connect to the primary. If you mean this server, use --source-replicates",
			)
		}
		c.options.Kills = m.options.Kills
		c.checkKills()
		c.checkReadable(append([]string{instruments}, watched...), "a run finds there the sessions that block it")
	}
	if SystemSchema(t.Name.Schema) {
		c.block(CodeSystemSchema, t.Name.Schema+" is the server's own schema", "", "")
	}
	if t.NoDatabase {
		c.block(CodeNoTable, "no such database: "+t.Name.Schema, "", "Create it first, or check the name")
	}
	if t.Other != "" {
		c.block(CodeView, fmt.Sprintf("%s is a %s", t.Name, strings.ToLower(t.Other)), "a run takes only tables", "")
	}
	if t.Facts.RunBy != 0 {
		c.atWork(t.Name, "another run of Midstream is working on "+t.Name.String(), m.openUndo(t.Name))
	}
	for _, taken := range t.Facts.Taken {
		if t.Table != nil && t.Facts.RunBy == 0 && schema.MarkedFor(taken.Comment, t.Name) &&
			taken.Comment != schema.MarkFor(UndoKind, t.Name) && !m.keptForUndo(t.Name, taken.Name) {
			c.block(CodeLeftover, fmt.Sprintf("an earlier run on %s left %s", t.Name, taken.Name.Table), "it would have lost its table",
				fmt.Sprintf("Resume that run (run its command again), or remove its work with: midstream cleanup  %s", t.Name.Argument()))
		}
	}
	if t.Table != nil && schema.Marked(t.Table.Comment) && !schema.MarkedAside(t.Table.Comment) {
		c.block(
			CodeArtefact, fmt.Sprintf("%s is an artefact of Midstream (its comment is %q)", t.Name, t.Table.Comment),
			"it belongs to another run", "",
		)
	}
	m.blocking, m.risks = append(m.blocking, c.blocking...), append(m.risks, c.risks...)
}

// may blocks because of privileges that the account lacks on a table.
func (m *tablePlanner) may(t *TableFacts, privileges ...string) {
	if m.plan.Back != nil || m.options.Undo > 0 && m.plan.Statement.Kind != ddl.KindCreate {
		return // mayUndo requires them too
	}
	c, lacked, object := checker{facts: t.Facts}, t.Facts.lacks(t.Name, privileges...), t.Name.Quoted()
	if t.Table == nil && !slices.Contains(lacked, "CREATE") { // the server grants others on a table only if it exists
		object = grantSchema(t.Name.Schema, t.Facts.Grants.LiteralNames) + ".*"
	}
	c.missing(lacked, object, "the server requires them")
	m.blocking = append(m.blocking, c.blocking...)
}

// lacks returns the privileges that the account does not have on a table.
func (f *Facts) lacks(table schema.Name, privileges ...string) []string {
	return slices.DeleteFunc(slices.Clone(privileges), func(p string) bool { return f.Grants.On(p, table.Schema, table.Table) })
}

// watch adds a table to the locked tables, together with the tables of its foreign keys, which the
// server locks too.
func (m *tablePlanner) watch(t *TableFacts) {
	names := []schema.Name{t.Name}
	if t.Table != nil {
		for _, fk := range slices.Concat(t.Table.ForeignKeys, t.Table.ReferencedBy, t.Facts.Referencing) {
			names = append(names, fk.Child, fk.Parent)
		}
	}
	for _, name := range names {
		if !slices.Contains(m.plan.Watched, name) {
			m.plan.Watched = append(m.plan.Watched, name)
		}
	}
}

// step describes what is done next.
func (m *tablePlanner) step(format string, args ...any) {
	m.plan.Steps = append(m.plan.Steps, fmt.Sprintf(format, args...))
}

// views warns of views that lose the table.
func (m *tablePlanner) views(t *TableFacts, becomes string) {
	for _, view := range t.Views {
		m.warn(
			CodeView, fmt.Sprintf("view %s refers to %s", view, t.Name), "it fails when the table "+becomes,
			"Change the view afterwards",
		)
	}
}

// referencing are the foreign keys of other tables that refer to the table.
func (t *TableFacts) referencing() []schema.ForeignKey {
	var others []schema.ForeignKey
	for _, fk := range slices.Concat(t.Table.ReferencedBy, t.Facts.Referencing) {
		if fk.Child != t.Name && !slices.ContainsFunc(others, fk.Is) {
			others = append(others, fk)
		}
	}
	return others
}

// rename plans RENAME TABLE. The server renames the pairs one after the other: all or none.
func (m *tablePlanner) rename() {
	s := m.plan.Statement
	origin := map[schema.Name]schema.Name{} // by the current name
	for _, name := range s.Tables() {
		t := m.of(name)
		m.watch(t)
		if t.Table != nil {
			origin[name] = name
		}
	}
	var pairs []string
	for _, r := range s.Renames {
		was, there := origin[r.From]
		if !there {
			why, fix := "", "Check the name and the account's privileges: SHOW GRANTS"
			if m.plan.Back != nil {
				why = "all tables of the RENAME get their names back, or none"
				fix = fmt.Sprintf("If the table has another name now, rename it to %s. If it was dropped, rename the other tables by hand", r.From)
			}
			m.block(CodeNoTable, fmt.Sprintf("no such table: %s", r.From), why, fix)
			continue
		}
		if _, taken := origin[r.To]; taken {
			m.block(
				CodeTableExists, fmt.Sprintf("%s exists", r.To), "a table can't take the name of another",
				"Rename or drop that table first",
			)
			continue
		}
		delete(origin, r.From)
		origin[r.To] = was
		if t := m.of(was); r.From.Schema != r.To.Schema && len(t.Table.Triggers) > 0 {
			m.block(
				CodeTrigger,
				fmt.Sprintf("%s has %s: %s", was, count(len(t.Table.Triggers), "trigger"), strings.Join(t.Table.TriggerNames(), ", ")),
				"triggers can't move to another database", "Drop them first, and create them again there",
			)
		}
		m.may(m.of(r.From), "ALTER", "DROP")
		m.may(m.of(r.To), "CREATE", "INSERT")
		pairs = append(pairs, r.From.Quoted()+" TO "+r.To.Quoted())
	}
	for to, from := range origin {
		if to != from {
			m.plan.Moves = append(m.plan.Moves, ddl.TableRename{From: from, To: to})
		}
		m.plan.Gone = append(m.plan.Gone, from)
	}
	slices.SortFunc(m.plan.Moves, func(a, b ddl.TableRename) int { return strings.Compare(a.From.String(), b.From.String()) })
	m.plan.Main = "RENAME TABLE " + strings.Join(pairs, ", ")
	m.step("%s, all at once", strings.ReplaceAll(m.plan.Main, "`", ""))
	for _, move := range m.plan.Moves {
		m.renamed(m.of(move.From), move.To)
	}
	m.plan.Gone = slices.DeleteFunc(m.plan.Gone, func(n schema.Name) bool { _, there := origin[n]; return there })
	for _, move := range m.plan.Moves {
		if t := m.of(move.From); slices.Contains(m.plan.Gone, move.From) && t.Facts.Into != nil {
			m.risks = append(m.risks, staysBehind(t.Facts.Into, t.Views, move.From, Into{Name: move.To}, "Change it afterwards")...)
		}
	}
}

// renamed warns of what refers to a table that gets another name.
func (m *tablePlanner) renamed(t *TableFacts, to schema.Name) {
	m.views(t, "has another name")
	for _, fk := range t.referencing() {
		m.warn(
			CodeReferenced, fmt.Sprintf("foreign key %s of %s refers to %s", fk.Constraint, fk.Child, t.Name),
			"it will refer to "+to.String(), "",
		)
	}
	was, aside := schema.WasAside(t.Table.Comment)
	source, _, here := schema.SourceOfAside(t.Table.Comment, t.Name.Schema)
	switch {
	case !aside || m.plan.Back != nil: // an undo gives each table the comment that it had
	case here && IsAside(source, to, t.Table.Comment):
		m.warn(CodeArtefact, fmt.Sprintf("%s still is an old table of %s", to, source), "it has the name of one, and its mark",
			"midstream cleanup  --old "+source.Argument()+" drops it. To use it again, choose another name")
	default:
		m.plan.Comments = append(m.plan.Comments, Recomment{Table: to, Former: t.Table.Comment, Comment: was})
		m.step("%s gets its own comment back, and is no old table any longer", to)
	}
}

// Recomment is a table that gets another comment after the statement.
type Recomment struct {
	Table           schema.Name
	Former, Comment string
}
