package summary

import (
	"fmt"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// TableNames writes the tables of a statement on complete tables.
func TableNames(p *plan.TablePlan) string {
	return schema.List(p.Statement.Tables())
}

// OfTablePlan writes what a run of a statement on complete tables will do.
func OfTablePlan(p *plan.TablePlan, address string, settings operator.Settings, style Style) string {
	s := newSheet(style)
	about := ""
	if p.Table != nil {
		about = ", " + size(p.Table)
	}
	s.heading("%s on %s (%s)%s", TableNames(p), address, p.Server.Version, about)
	stops := ""
	if p.Stops {
		stops = "Not yet: the undo would stop before it changes anything, because of rows without a parent (below)."
	}
	s.verdict(p.Choice, p.Risks, stops)
	switch {
	case p.Redo && p.Back != nil: // it was made before the kill
		s.line("Redo of", "%s of %s", p.Back.Kind, p.Back.Source)
	case p.Redo:
		s.line("Redo of", "%s of %s", p.Statement.Kind, p.Subject())
	case p.Back != nil:
		s.line("Undo of", "%s of %s", p.Back.Kind, p.Back.Source)
	}
	s.line("Change", "%s", p.Statement.Kind)
	method := string(p.Choice.Method)
	if p.Choice.Why != "" {
		method += ": " + p.Choice.Why
	}
	s.line("Method", "%s", method)
	if why := whyNot(p.Choice, style.Verbose); why != "" {
		s.line("", "%s", why)
	}
	label := "Steps"
	for i, step := range p.Steps {
		s.line(label, "%d. %s", i+1, step)
		label = ""
	}
	if p.Main != "" {
		work := ""
		if p.Swap != nil {
			work = fmt.Sprintf(" for the lock, and about %s for the work on %d files", humanize.Span(p.Swap.Rename), p.Swap.Files)
		}
		s.line("Impact", "a query on %s waits at most %s%s; the run asks for no lock while another session holds one",
			joined(p.Watched, ", "), humanize.Span(settings.WithDefaults().Lock.Wait), work)
		s.line("Data loss", "%s", lostByTables(p))
	}
	if len(p.Risks) > 0 {
		s.WriteString("\n")
		s.risks(p.Risks)
	}
	return s.String()
}

// lostByTables is which rows are gone after a statement on complete tables, and whether it can be taken back.
func lostByTables(p *plan.TablePlan) string {
	drops := p.Back == nil && (p.Statement.Kind == ddl.KindDrop || p.Statement.Kind == ddl.KindTruncate)
	switch kept := p.Subject().Sibling(p.Aside.Table); {
	case p.Undo > 0 && drops:
		return fmt.Sprintf("none for %s: the rows stay in %s, for the undo", humanize.About(p.Undo), kept)
	case drops && p.Keep:
		return fmt.Sprintf("none: the rows stay in %s", kept)
	case drops:
		return "all rows of the table, for good (--undo=24h keeps them)"
	case p.Undo > 0 || p.Back != nil || p.Statement.Kind == ddl.KindCreate:
		return "none"
	}
	return "none; the undo is " + undoNotKept
}

// OfTableRun writes what a finished run of such a statement did.
func OfTableRun(p *plan.TablePlan, r migration.Result) string {
	if p.Choice.Method == plan.MethodNone {
		return fmt.Sprintf("Done: nothing was to be done: %s (%s).\n", p.Choice.Why, TableNames(p))
	}
	what, took := fmt.Sprintf("%s of %s in", p.Statement.Kind, TableNames(p)), humanize.Span(r.Elapsed)
	switch {
	case p.Back != nil:
		what = fmt.Sprintf("undone: took back the %s of %s in", p.Back.Kind, p.Back.Source)
	case p.Redo:
		what = "redone: " + what
	}
	text := fmt.Sprintf("Done: %s %s: %s, %s in the statement.\n", what, took, humanize.Plural(r.Attempts, "attempt"), humanize.Span(r.Native))
	how := howToUndo(p.Subject(), r.Undo)
	text += humanize.SetAside(r.Parked.Rows, r.Parked.Table, "", "") + how
	switch {
	case r.Old != "" && how != "" && p.Back == nil:
		text += keptForUndo(p.Subject(), r.Old, "", false, r.Undo)
	case r.Old != "":
		text += fmt.Sprintf("Old table kept: %s. To drop it: midstream cleanup  --old %s\n", escape.Line(r.Old), p.Subject().Argument())
	}
	return text
}
