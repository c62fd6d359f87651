package summary

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/units"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// Used is what the process of a run took.
type Used = record.Usage

// Brief writes the end of a run in a line, for those who want quiet.
func Brief(p *plan.Plan, r migration.Result) string {
	text := fmt.Sprintf("altered %s%s in %s", p.Source.Name, isNow(p), humanize.Span(r.Elapsed))
	if p.Back != nil {
		text = undone(p, r)
	}
	if r.Old == "" && r.Method == plan.MethodShadow {
		text += "; the old table was dropped"
	}
	text += kept(r.Old)
	if r.Undo != nil && r.Undo.State == leftovers.UndoOpen {
		text += "; undo until " + units.Minute(r.Undo.Record.Until)
	}
	return escape.Line(text)
}

// isNow is the name that the new table has, if it has another one than the source.
func isNow(p *plan.Plan) string {
	switch {
	case p.Into.View:
		return fmt.Sprintf(" (the table is %s now, and the old name a view)", p.Into.Name)
	case p.Into.Given():
		return fmt.Sprintf(" (the table is %s now)", p.Into.Name)
	}
	return ""
}

// Finished writes, in a line, that the work of an earlier run was finished. old is the old table, "" for none.
func Finished(table schema.Name, old string) string {
	return escape.Line(fmt.Sprintf("%s was altered%s", table, kept(old)))
}

func kept(old string) string {
	if old == "" {
		return ""
	}
	return "; the old table is kept as " + old
}

// OfRun writes what a finished run did.
func OfRun(p Planned, r migration.Result, used Used, style Style) string {
	s := newSheet(style)
	if p.Back != nil {
		s.heading("Done: %s%s.", undone(p.Plan, r), synced(p.Plan, r))
	} else {
		s.heading("Done in %s: altered %s%s%s.", humanize.Span(r.Elapsed), p.Source.Name, isNow(p.Plan), work(r))
	}
	again := "redo"
	switch {
	case p.Back == nil:
	case p.Back.Rest != "":
		again = ""
	case p.Back.Redo:
		again = "undo"
	}
	s.WriteString(humanize.SetAside(r.Parked.Rows, r.Parked.Table, r.Parked.Values, again))
	if r.Undo != nil && !r.Undo.Record.Back {
		for _, p := range r.Undo.Parked {
			fmt.Fprintf(s, "Set aside: %s\n", parkedIn(p, *r.Undo))
		}
	}
	how := howToUndo(p.Source.Name, r.Undo)
	s.WriteString(how)
	switch {
	case r.Undo != nil:
	case r.Old != "": // also if a shadow took over from the server's own statement
		s.WriteString(staysOpen(p.Plan))
	default:
		s.WriteString(cmp.Or(staysOpen(p.Plan), keptNone(p.Plan)))
	}
	switch {
	case r.Old != "" && how != "":
		s.WriteString(keptForUndo(p.Source.Name, r.Old, ", about "+humanize.Size(p.Source.DataBytes+p.Source.IndexBytes), p.Filter != "", r.Undo))
	case r.Old != "" && p.Filter != "":
		fmt.Fprintf(s, "Old table kept: %s. It has the rows that were left out (--keep), and no command of Midstream drops it.\n", escape.Line(r.Old))
	case r.Old != "":
		fmt.Fprintf(s, "Old table kept: %s, about %s. To drop it: midstream cleanup  --old %s\n", escape.Line(r.Old),
			humanize.Size(p.Source.DataBytes+p.Source.IndexBytes), escape.Line(p.Source.Name.Argument()))
	}
	if text := finished(r.Deadline, time.Now()); text != "" {
		s.line("Deadline", "%s", text)
	}
	if !style.Verbose {
		return s.String()
	}
	if cost := cost(Predict(p.Plan, p.Config, p.Settings), r); cost != "" {
		s.line("Cost", "%s", cost)
	}
	switch r.Method {
	case plan.MethodNone:
	case plan.MethodShadow:
		workLines(s, r)
		s.line("Cut-over", "%s; locked for %s, %s applied under the lock",
			humanize.Plural(r.Attempts, "attempt"), humanize.Span(r.LockHeld), humanize.Plural(r.Drained, "key"))
		clientLine(s, used)
	default:
		s.line("Server", "%s, %s in its own statement", humanize.Plural(r.Attempts, "attempt"), humanize.Span(r.Native))
	}
	return s.String()
}

// finished writes whether a run that has ended met its deadline; "" if it had none.
func finished(d event.Deadline, ended time.Time) string {
	if d.By.IsZero() {
		return ""
	}
	by, late := humanize.Moment(d.By, ended), ended.Sub(d.By)
	if late > 0 {
		return by + " was missed by " + humanize.About(late)
	}
	return by + " was met, " + humanize.About(-late) + " early"
}

// work says in one sentence what a run has done. It leaves out what is zero.
func work(r migration.Result) string {
	if r.Method != plan.MethodShadow {
		return ""
	}
	text := "; " + humanize.Plural(r.RowsCopied, "row") + " copied"
	if r.Applied > 0 {
		text += ", " + humanize.Plural(r.Applied, "change") + " applied"
	}
	if r.LeftOut > 0 {
		text += ", " + humanize.Plural(r.LeftOut, "row") + " left out (--keep)"
	}
	return text + proof(r, "all rows verified")
}

// proof says what the comparison has shown; equal says that all that was compared is equal.
func proof(r migration.Result, equal string) string {
	switch {
	case r.Verify == 0:
		return ", rows not compared"
	case r.Repaired > 0:
		return fmt.Sprintf(", %s (%s differed and %s repaired)", equal, humanize.Plural(r.Repaired, "row"), humanize.Was(r.Repaired))
	}
	return ", " + equal
}

// workLines write what runs and rehearsals have in common.
func workLines(s *sheet, r migration.Result) {
	index := ""
	if r.Index > 0 {
		index = "; indexes built in " + humanize.Span(r.Index)
	}
	s.line("Rows", "%s copied in %s (%s/s)%s", humanize.Count(r.RowsCopied), humanize.Span(r.Copy),
		humanize.Rate(float64(r.RowsCopied)/max(r.Copy.Seconds(), 1e-9)), index)
	s.line("Changes", "%s", humanize.Changes(r.Captured, r.Applied, r.Dropped, r.Merged, ", "))
	if r.Resumed {
		s.line("Resumed", "yes: the rows of the earlier run are counted, its changes are not")
	}
	if r.Verify == 0 {
		s.line("Verified", "no: the tables were not compared")
		return
	}
	repaired := ""
	if r.Repaired > 0 {
		repaired = fmt.Sprintf("; %s differed and %s repaired", humanize.Plural(r.Repaired, "row"), humanize.Was(r.Repaired))
	}
	s.line("Verified", "%s compared in %s, all equal%s", humanize.Plural(r.Verified, "row"), humanize.Span(r.Verify), repaired)
}

func clientLine(s *sheet, used Used) {
	if used.PeakRSS > 0 {
		s.line("Client", "%s of memory at most, %s of CPU", humanize.Size(used.PeakRSS), humanize.Span(used.CPU))
	}
}

// cost compares what a run cost with what was predicted.
func cost(d plan.Prediction, r migration.Result) string {
	if d.Rows == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%s (predicted %s, between %s and %s)", humanize.Span(r.Elapsed), humanize.Span(d.Elapsed),
		humanize.Span(d.Least), humanize.Span(d.Most))}
	for _, c := range []struct {
		what              string
		actual, predicted int64
	}{{"disk", r.Disk, d.Disk}, {"redo log", r.Redo, d.Redo}, {"binlog", r.Binlog, d.Binlog}} {
		if c.actual > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s (predicted %s)", humanize.Size(c.actual), c.what, humanize.Size(c.predicted)))
		}
	}
	return strings.Join(parts, ", ")
}
