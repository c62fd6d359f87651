package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TablesBack is how a statement on complete tables is taken back.
type TablesBack struct {
	Source schema.Name // by which the user knows the change
	Kind   ddl.Kind    // of the statement that is taken back
	// Was is the table before a DROP or a TRUNCATE, and Aside the name that it got.
	Was   *schema.Table
	Aside schema.Name
	// Merge takes the rows over that were written since a TRUNCATE. Park keeps those rows in a table of their own: all of them, or,
	// with Merge, those that the old table does not take.
	Merge, Park bool
	// Undone is the name that the table gets that was new after a TRUNCATE: with Park one of ParkedNames.
	Undone schema.Name
	// Comments are tables that a RENAME has taken the mark of an old table from: they get it back.
	Comments []Recomment
	// Shape is what the time of a swap depends on.
	Shape Shape
}

// Parks reports whether the table that was new after a TRUNCATE keeps its rows for the user.
func (b *TablesBack) Parks() bool { return slices.Contains(ParkedNames(b.Source), b.Undone) }

// BackFacts are the facts of an undo, in addition to those of the statement that it makes.
type BackFacts struct {
	Back TablesBack
	// Moved means that a table has the name, and is not the one that the statement renamed: by InnoDB's number.
	Moved []schema.Name
	// Taken are the names of constraints that other tables have now.
	Taken []string
	// Orphaned are the parents that no longer exist.
	Orphaned []schema.Name
	// Unfit are the rows without a parent: of the dropped table, or of tables that refer to it. Unsearched are those that were not
	// searched, because that takes too long for a plan.
	Unfit, Unsearched []event.Finding
	// Children are the tables that refer to the dropped table. Misled are those of their foreign keys that refer to columns which
	// it does not have.
	Children []schema.Name
	Misled   []Misled
	// Changed describes how the table differs from its definition before the TRUNCATE; "" if it doesn't.
	Changed string
	// Rows counts the rows that were written since a TRUNCATE, up to a limit.
	Rows int64
}

// Misled is a foreign key that refers to columns which its parent does not have.
type Misled struct {
	Key     schema.ForeignKey
	Columns []string
}

// LackParents is what to do about rows without a parent.
const LackParents = "Insert the parents that are missing, or delete the rows that are listed"

// MakeTablesBack decides how a DROP, a TRUNCATE or a RENAME is taken back. The statement is the RENAME that gives the
// tables their names back. It is pure.
func MakeTablesBack(statement *ddl.Statement, facts *StatementFacts, back *BackFacts, options TableOptions) (*TablePlan, error) {
	b := back.Back
	m := tablePlanner{facts: facts, options: options, plan: &TablePlan{
		Statement: statement, Server: serverOf(facts.Tables[0].Facts, Captured{}), Table: facts.Tables[0].Table, Back: &b,
		Choice: Choice{Method: MethodInstant, Why: "the server changes only its dictionary"},
		Again:  options.Again, Former: options.Former, Swapped: options.Swapped,
	}}
	for i, t := range facts.Tables {
		if t.Name != b.Undone || !ownSentinel(t, b.Source) {
			m.check(&facts.Tables[i])
		}
	}
	for _, name := range back.Moved {
		m.block(CodeUndo, fmt.Sprintf("%s is not the table that the statement left there", name),
			"another table has its name, or the table was built again",
			fmt.Sprintf("If you mean this table, rename it: midstream run  %s", schema.Shell(statement.Text())))
	}
	switch b.Kind {
	case ddl.KindDrop:
		m.backFromDrop(back)
	case ddl.KindTruncate:
		m.backFromTruncate(back)
	default:
		m.rename()
		m.mayUndo(m.of(b.Source))
		for _, move := range m.plan.Moves {
			for _, again := range b.Comments {
				if again.Table == move.To && m.of(move.From).Table.Comment == again.Former {
					m.plan.Comments = append(m.plan.Comments, again)
					m.step("%s gets the mark of an old table back, as its comment", again.Table)
				}
			}
		}
	}
	m.checkFiles()
	if len(m.blocking) > 0 {
		return nil, &Refused{Table: b.Source.String(), Blocking: m.blocking, Others: m.risks}
	}
	m.plan.Risks = m.risks
	m.step("then midstream undo  %s is the redo", b.Source.Argument())
	return m.plan, nil
}

// backFromDrop plans the return of a dropped table: one statement gives it its name, its comment and its foreign keys.
func (m *tablePlanner) backFromDrop(back *BackFacts) {
	b, p := back.Back, m.plan
	aside, free := m.of(b.Aside), m.of(b.Source)
	m.gone(aside)
	if free.Table != nil || free.Other != "" {
		m.block(CodeTableExists, fmt.Sprintf("%s exists", b.Source), "another table has taken the name since the DROP",
			"Rename or drop that table first, or give the undo up: midstream undo  --end "+b.Source.Argument())
	}
	for _, name := range back.Taken {
		m.block(CodeNameTaken, fmt.Sprintf("another table has a foreign key of the name %s", name), "the table had one of that name",
			"Drop that foreign key, or give it another name")
	}
	for _, parent := range back.Orphaned {
		m.block(CodeNoTable, fmt.Sprintf("no such table: %s", parent), "a foreign key of the table refers to it", "Create that table first")
	}
	m.orphans(back)
	m.watch(aside)
	m.watch(free)
	for _, child := range back.Children {
		m.watch(&TableFacts{Name: child, Facts: aside.Facts})
	}
	m.mayUndo(free)
	var clauses []string
	for i, clause := range b.Was.ForeignClauses {
		clauses = append(clauses, "ADD "+clause)
		m.watch(&TableFacts{Name: b.Was.ForeignKeys[i].Parent, Facts: aside.Facts})
	}
	m.plan.Watched = slices.DeleteFunc(m.plan.Watched, func(n schema.Name) bool { return n == b.Source })
	p.Main = fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE", b.Aside.Quoted(), strings.Join(append(clauses,
		"COMMENT = "+schema.Literal(b.Was.Comment), "RENAME TO "+b.Source.Quoted()), ", "))
	p.Moves, p.Gone = []ddl.TableRename{{From: b.Aside, To: b.Source}}, []schema.Name{b.Aside}
	with := ""
	if n := len(clauses); n > 0 {
		with = ", and gets its " + count(n, "foreign key") + " back"
		m.step("the run checks that each row's parent exists")
	}
	m.step("%s is renamed to %s by one statement%s", b.Aside, b.Source, with)
}

// orphans warns of rows without a parent, which forbid the undo, and blocks because of foreign keys that cannot find any.
func (m *tablePlanner) orphans(back *BackFacts) {
	const refused = "such rows end the undo with exit code 17, before it changes anything"
	m.plan.Stops = len(back.Unfit) > 0
	for _, f := range back.Unfit {
		m.warn(CodeUndo, fmt.Sprintf("%s %s", count(int(f.Rows), "row"), f.What), refused, fmt.Sprintf("%s: %s", LackParents, f.Query))
	}
	for _, f := range back.Unsearched {
		m.warn(CodeUndo, "there may be rows "+f.What, "they were not counted, because that takes too long for a plan; "+refused,
			f.Query+" lists them")
	}
	for _, misled := range back.Misled {
		fk := misled.Key
		m.block(CodeReferenced, fmt.Sprintf("foreign key %s of %s refers to columns that the table does not have: %s",
			fk.Constraint, fk.Child, strings.Join(misled.Columns, ", ")), "it was made while the table did not exist",
			fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s", fk.Child.Quoted(), schema.Quote(fk.Constraint)))
	}
}

// ownSentinel reports whether a table only keeps a name for a swap.
func ownSentinel(t TableFacts, source schema.Name) bool {
	return t.Table != nil && t.Table.Comment == schema.MarkFor("sentinel", source)
}

// gone blocks because the table that was put aside does not exist.
func (m *tablePlanner) gone(aside *TableFacts) {
	if aside.Table == nil {
		m.block(CodeNoTable, fmt.Sprintf("no such table: %s", aside.Name), "the statement had put the table aside under this name", "")
	}
}

// backFromTruncate plans the return of a truncated table: a swap.
func (m *tablePlanner) backFromTruncate(back *BackFacts) {
	b, p := back.Back, m.plan
	aside, source := m.of(b.Aside), m.of(b.Source)
	m.gone(aside)
	if source.Table == nil {
		m.block(CodeNoTable, fmt.Sprintf("no such table: %s", b.Source), "", "")
		return
	}
	if other := m.of(b.Undone); (other.Table != nil || other.Other != "") && !ownSentinel(*other, b.Source) {
		m.block(CodeNameTaken, fmt.Sprintf("%s exists", b.Undone), "the run needs the name for the table that it puts aside",
			"Rename or drop that table first")
	}
	if back.Changed != "" {
		m.block(CodeUndo, fmt.Sprintf("%s was altered since the TRUNCATE", b.Source), back.Changed,
			fmt.Sprintf("Take that change back first, or copy the rows yourself: INSERT INTO %s SELECT * FROM %s", b.Source.Quoted(), b.Aside.Quoted()))
	}
	if back.Rows > 0 && !b.Merge && !b.Park {
		m.block(CodeUndo, fmt.Sprintf("%s has %s written since the TRUNCATE", b.Source, count(int(back.Rows), "row")),
			"they would be put aside",
			fmt.Sprintf("Take the rows over, if all their keys are free: midstream undo  --merge %s. Or keep them in %s: midstream undo  --park %[1]s. "+
				"Both flags take over the rows whose keys are free, and keep the others there", b.Source.Argument(), ParkedNames(b.Source)[0]))
	}
	m.watch(aside)
	m.watch(source)
	m.mayUndo(source)
	p.Main = fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", b.Source.Quoted(), b.Undone.Quoted(), b.Aside.Quoted(), b.Source.Quoted())
	p.Moves = []ddl.TableRename{{From: b.Aside, To: b.Source}, {From: b.Source, To: b.Undone}}
	p.Gone = []schema.Name{b.Aside}
	switch {
	case b.Merge && b.Park:
		m.step("the rows of %s are inserted into %s, if their keys are free; the others stay in %s", b.Source, b.Aside, b.Undone)
	case b.Merge:
		m.step("the rows of %s are inserted into %s, if all their keys are free", b.Source, b.Aside)
	case b.Park:
		m.step("the rows of %s stay in %s", b.Source, b.Undone)
	}
	m.step("%s, all at once", strings.ReplaceAll(p.Main, "`", ""))
}

// FinishTables plans the end of an undo, or a redo, that was killed after its statement.
func FinishTables(statement *ddl.Statement, facts *StatementFacts, back *BackFacts, options TableOptions) *TablePlan {
	return &TablePlan{
		Statement: statement, Server: serverOf(facts.Tables[0].Facts, Captured{}), Table: facts.Tables[0].Table,
		Back: &back.Back, Finish: true, Former: options.Former, Swapped: options.Swapped, Redo: options.Redo,
		Choice: Choice{Method: MethodNone, Why: "an earlier run has made the change; this one completes what its undo must know"},
	}
}
