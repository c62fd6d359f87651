package summary

import (
	"fmt"
	"time"

	"midstream/internal/engine/rowchange"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// OfRowPlan writes what a change of rows will do. only means that nothing follows.
func OfRowPlan(p *rowchange.Plan, address string, only bool, style Style) string {
	s := newSheet(style)
	s.heading("%s on %s (%s), %s", p.Source.Name, address, p.Server.Version, size(p.Source))
	text := "OK to run. No problems found."
	if len(p.Risks) > 0 {
		text = "OK to run, with " + humanize.Plural(len(p.Risks), "warning") + " (below)."
	}
	s.WriteString("\n  " + text + "\n\n")
	s.line("Change", "%s", escape.Line(p.Statement.String()))
	if p.Meets >= 0 {
		s.line("Rows", "about %s of %s, by the server's estimate", humanize.Count(min(p.Meets, p.Source.Rows)), humanize.Plural(p.Source.Rows, "row"))
	}
	s.line("Time", "%s next to an idle application; it gives way to a busy one", expected(p.Expected()))
	label := "Steps"
	for i, step := range p.Steps() {
		s.line(label, "%d. %s", i+1, step)
		label = ""
	}
	s.line("Impact", "an application waits for a row at most as long as a chunk takes; a chunk waits at most 1 s for a row, and is then tried again with fewer rows")
	if len(p.Server.Followers) > 0 {
		s.line("Replicas", "%s found; the run waits for those that it can reach (--max-replica-lag)", humanize.Plural(len(p.Server.Followers), "replica"))
	}
	switch {
	case p.Statement.Verb == ddl.Update:
		s.line("Data loss", "the old values, for good: no undo")
	case p.Options.Rest != (schema.Name{}):
		s.line("Data loss", "none: the deleted rows are in %s", p.Options.Rest)
	default:
		s.line("Data loss", "the deleted rows, for good (--rest keeps them in another table)")
	}
	if p.Statement.Verb == ddl.Delete {
		s.line("Space", "it stays in the table's file, for new rows; this returns it afterwards: midstream run  %s",
			schema.Literal("ALTER TABLE "+p.Source.Name.Quoted()+" ENGINE=InnoDB"))
	}
	if p.Former != "" {
		s.line("Earlier run", "%s", p.Former)
	}
	if len(p.Risks) > 0 {
		s.WriteString("\n")
		s.risks(p.Risks)
	}
	if only {
		s.WriteString("\n  Nothing was written. The same command without --plan does it.\n")
	} else {
		s.WriteString("\n")
	}
	return s.String()
}

// OfRows writes what a finished change of rows has done.
func OfRows(p *rowchange.Plan, r rowchange.Result) string {
	text := fmt.Sprintf("Done: %s %s of %s in %s (%d matched).\n", p.Done(), humanize.Plural(r.Rows, "row"), p.Source.Name, humanize.Span(r.Elapsed), r.Matched)
	if p.Options.Rest != (schema.Name{}) {
		text += fmt.Sprintf("Archived: %s in %s.\n", humanize.Plural(r.Archived, "row"), p.Options.Rest)
	}
	switch {
	case r.Match > 0 && p.Statement.Verb == ddl.Delete:
		text += fmt.Sprintf("%s now, written since their range was read. The same command deletes them.\n", matching(r.Match))
	case r.Match > 0:
		text += fmt.Sprintf("%s now: written since their range was read, or still meeting the condition.\n", matching(r.Match))
	case r.Match == 0:
		text += "No row matches now.\n"
	}
	return text
}

// expected writes a rough time.
func expected(least, most time.Duration) string {
	if most < 2*time.Second {
		return "seconds"
	}
	return "roughly " + humanize.About(max(least, time.Second)) + " to " + humanize.About(most)
}

func matching(n int64) string {
	if n == 1 {
		return "1 row matches"
	}
	return fmt.Sprintf("%d rows match", n)
}

// OfRowsInterrupt describes an interrupt of a change of rows.
func OfRowsInterrupt(p *rowchange.Plan) Interrupt {
	return Interrupt{
		First: "interrupted: finishing the chunk and keeping the checkpoint; another Ctrl-C leaves at once",
		Left:  fmt.Sprintf("a part of the rows of %s may be %s; the checkpoint is in %s", p.Source.Name, p.Done(), p.State()),
		Next:  "run the same command again, which resumes; or midstream cleanup  " + p.Source.Name.Argument(),
	}
}
