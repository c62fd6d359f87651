package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// OpenUndo is the undo of an earlier change of a table that a statement names.
type OpenUndo struct {
	Table schema.Name
	Until time.Time
	// Redo means that the change was undone already.
	Redo bool
	// Over means that its time is over, or that the change was never made.
	Over bool
	// Unfinished means that an earlier run has executed this very statement, and was killed before it could record that.
	Unfinished bool
	// Passing means that it is to keep no undo.
	Passing bool
	// Aside is the table that it has put aside then; nil if there is none.
	Aside *schema.Table
	// Twin means that an earlier run was killed before its TRUNCATE, and has left an empty table of this name.
	Twin schema.Name
}

// untilFormat is how times of the server are written, in UTC.
const untilFormat = "2006-01-02 15:04:05 UTC"

// undo plans how the statement can be taken back.
func (m *tablePlanner) undo() {
	p, first := m.plan, &m.facts.Tables[0]
	if p.Choice.Method == MethodNone {
		return
	}
	if m.options.Undo <= 0 {
		if p.Twin == (schema.Name{}) && p.Records() { // a twin is made only if it can be recorded
			m.mayRecord(first)
		}
		return
	}
	if p.Statement.Kind == ddl.KindCreate {
		m.warn(CodeUndo, "a CREATE TABLE needs no undo", "a DROP TABLE takes it back, and that one can be undone", "")
		return
	}
	m.mayUndo(first)
	if stranger := m.strangerUndo(first); stranger != "" {
		m.block(CodeNameTaken, stranger+" exists and is not Midstream's",
			"the run needs the name for what an undo must know", "Rename or drop that table first, or leave --undo out")
	}
	p.Undo, p.DropOld, p.Redo = m.options.Undo, m.options.Drop, m.options.Redo
	m.step("the change can be undone for %s: midstream undo  %s", inUnits(m.options.Undo), first.Name.Argument())
}

// strangerUndo is the table of others that has the name of a table's undo table; "" for none.
func (m *tablePlanner) strangerUndo(t *TableFacts) string {
	for _, taken := range t.Facts.Taken {
		if t.Facts.sameTable(taken.Name, UndoOf(t.Name)) && taken.Comment != schema.MarkFor(UndoKind, t.Name) {
			return taken.Name.String()
		}
	}
	return ""
}

// mayRecord blocks a statement that ends undos of earlier changes, and cannot record that.
func (m *tablePlanner) mayRecord(first *TableFacts) {
	c := checker{facts: first.Facts}
	c.missing(first.Facts.lacks(UndoOf(first.Name), onRecord...), grantSchema(first.Name.Schema, first.Facts.Grants.LiteralNames)+".*",
		"the run records there which undos the statement ends")
	m.blocking = append(m.blocking, c.blocking...)
	if stranger := m.strangerUndo(first); stranger != "" {
		m.block(CodeNameTaken, stranger+" exists and is not Midstream's", "the run records there which undos the statement ends",
			"Rename or drop that table first")
	}
}

// inUnits writes a duration without the units that are zero: 24h, not 24h0m0s.
func inUnits(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if short := strings.TrimSuffix(text, zero); strings.HasSuffix(short, "m") || strings.HasSuffix(short, "h") {
			text = short
		}
	}
	return text
}

// StillOpen is what blocks a change while the last one can be undone, or redone, and what to do about it.
func StillOpen(table schema.Name, until string, redo bool) (what, fix string) {
	if redo {
		return "the last change of the table was undone, and can be redone until " + until,
			fmt.Sprintf("Give the redo up: midstream undo  --end %s, or --end-undo. Or make that change again: midstream undo  %[1]s", table.Argument())
	}
	return "the last change of the table can be undone until " + until,
		fmt.Sprintf("Take the change back: midstream undo  %s. Or give its undo up: midstream undo  --end %[1]s, or --end-undo with this command", table.Argument())
}

// checkUndo refuses a statement while an earlier change of one of its tables can be undone, or ends that undo if it may: that undo
// would no longer find its tables.
func (m *tablePlanner) checkUndo() {
	for _, open := range m.facts.Undos {
		table := open.Table.Argument()
		switch {
		case m.of(open.Table).Facts.RunBy != 0: // blocked already
			continue
		case open.Over && !m.options.EndUndo, m.options.Redo && open.Table == m.facts.Tables[0].Name:
			continue
		case m.of(open.Table).Table == nil:
			m.warn(CodeUndo, fmt.Sprintf("the last change of %s can be undone until %s", open.Table, open.Until.Format(untilFormat)),
				"the undo will be refused while another table has its name", "")
			continue
		}
		what, fix := fmt.Sprintf("the last change of %s can be undone until %s", open.Table, open.Until.Format(untilFormat)),
			fmt.Sprintf("Take that change back: midstream undo  %s. Or give the undo up: midstream undo  --end %[1]s, or --end-undo with this command", table)
		if open.Redo {
			what = fmt.Sprintf("the last change of %s was undone, and can be redone until %s", open.Table, open.Until.Format(untilFormat))
			fix = fmt.Sprintf("Give the redo up: midstream undo  --end %s, or --end-undo with this command. Or make that change again: midstream undo  %[1]s",
				table)
		}
		if m.options.EndUndo {
			m.plan.EndsUndo = append(m.plan.EndsUndo, open.Table)
			m.warn(CodeUndo, what+"; this statement ends that", "the undo would not find its tables any longer; --end-undo allows that",
				fmt.Sprintf("If it has an old table, that stays; midstream cleanup  --old %s drops it", table))
			continue
		}
		m.block(CodeUndo, what, "the undo would not find its tables any longer", fix)
	}
}

// NeededByUndo is a table, or a name, that the open undo of a change of another table needs.
type NeededByUndo struct {
	Table, Source schema.Name
	Until         time.Time
	// Redo means that the change was undone already.
	Redo bool
	// Free means that no table may have the name then.
	Free bool
	// Renamed means that the change is a RENAME: its undo goes by the names alone.
	Renamed bool
}

// checkNeeded warns of a statement that takes a table, or its name, away from the undo of another table. It refuses one that removes
// the rows, unless it may end that undo.
func (m *tablePlanner) checkNeeded() {
	p := m.plan
	leaves := func(name schema.Name) bool {
		return slices.Contains(p.Gone, name) || slices.ContainsFunc(p.Moves, func(move ddl.TableRename) bool { return move.From == name })
	}
	takes := func(name schema.Name) bool {
		is := func(move ddl.TableRename) bool { return move.To == name }
		return p.Statement.Kind == ddl.KindCreate || slices.ContainsFunc(p.Moves, is)
	}
	for _, n := range m.facts.Needed {
		undo := UndoWord(n.Redo)
		what := fmt.Sprintf("the %s of the last change of %s needs %s until %s", undo, n.Source, n.Table, n.Until.Format(untilFormat))
		first := fmt.Sprintf("Make it first: midstream undo  %s", n.Source.Argument())
		kind := p.Statement.Kind
		switch {
		case p.Choice.Method == MethodNone:
		case n.Free && takes(n.Table):
			m.warn(CodeUndo, fmt.Sprintf("the %s of the last change of %s needs the name %s", undo, n.Source, n.Table),
				"it will be refused while another table has the name", "")
		case n.Free || kind == ddl.KindCreate, kind == ddl.KindRename && !leaves(n.Table):
		case kind == ddl.KindRename && n.Renamed:
			m.warn(CodeUndo, what, "it will be refused until the table has this name again", first)
		case kind == ddl.KindRename:
			m.warn(CodeUndo, what, "this statement ends it: it would not find the table any longer", first)
		case m.options.EndUndo:
			m.warn(CodeUndo, what+"; this statement ends that", "it would not find these rows any longer; --end-undo allows that",
				"What is left of it goes with: midstream undo  --end "+n.Source.Argument())
		default:
			m.block(CodeUndo, what, "this statement ends it: it would not find these rows any longer",
				fmt.Sprintf("%s. Or give it up: midstream undo  --end %s, or --end-undo with this command", first, n.Source.Argument()))
		}
	}
}

// keptForUndo reports whether a table is kept for an undo of the last change, apart from its record: what ends that undo drops it.
func (m *tablePlanner) keptForUndo(table, kept schema.Name) bool {
	return (kept == KeptOf(table) || slices.Contains(SinceNames(table), kept)) &&
		slices.ContainsFunc(m.facts.Undos, func(open OpenUndo) bool { return open.Table == table && (!open.Over || m.options.EndUndo) })
}

// openUndo is until when the undo of the last change of a table is open; "" if it is not.
func (m *tablePlanner) openUndo(table schema.Name) string {
	for _, open := range m.facts.Undos {
		if open.Table == table && !open.Over {
			return open.Until.Format(untilFormat)
		}
	}
	return ""
}

// finish plans the end of a run that was killed after its statement.
func (m *tablePlanner) finish() bool {
	i := slices.IndexFunc(m.facts.Undos, func(open OpenUndo) bool { return open.Unfinished })
	if i < 0 {
		return false
	}
	p := m.plan
	p.Choice = Choice{Method: MethodNone, Why: "an earlier run has made the change; this one completes what its undo must know"}
	p.Finish, p.Undo = true, m.options.Undo
	if m.facts.Undos[i].Passing && p.Undo == 0 {
		p.Choice.Why = "an earlier run has made the change, and was killed; this one completes its work"
	}
	if aside := m.facts.Undos[i].Aside; aside != nil && p.Undo == 0 {
		p.Aside = aside.Name
		m.end(&TableFacts{Name: m.facts.Tables[0].Name, Table: aside, Facts: m.facts.Tables[0].Facts})
		m.plan.Risks = m.risks
	}
	return true
}
