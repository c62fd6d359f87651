package summary

import (
	"fmt"
	"strings"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/onreplica"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// BriefRehearsal writes the end of a rehearsal in a line, for those who want quiet.
func BriefRehearsal(p *plan.Plan, r migration.Result) string {
	kept := ""
	if r.Rehearsed.Shadow != "" {
		kept = "; the new table is kept as " + r.Rehearsed.Shadow
	}
	return escape.Line(fmt.Sprintf("%s is unchanged: rehearsed in %s%s.", p.Source.Name, humanize.Span(r.Elapsed), kept))
}

// OfCheck writes the verdict of a check whose rows all fit, in a line.
func OfCheck(p *plan.Plan, r migration.Result) string {
	rows := "every row of " + p.Source.Name.String()
	if p.Filter != "" {
		rows += " that --keep keeps"
	}
	return escape.Line(fmt.Sprintf("Done in %s: %s fits the altered table; nothing was changed.", humanize.Span(r.Elapsed), rows))
}

// OfRehearsal writes what a run would have been. locked says that the rehearsal took the lock.
func OfRehearsal(p *plan.Plan, r migration.Result, used Used, locked bool, style Style) string {
	s := newSheet(style)
	s.heading("Rehearsed in %s: %s is unchanged.", humanize.Span(r.Elapsed), p.Source.Name)
	if p.Choice.Method != plan.MethodShadow {
		says := p.Choice.Rehearsal()
		s.line("Method", "%s: nothing was done. %s%s", p.Choice.Method, strings.ToUpper(says[:1]), says[1:])
		return s.String()
	}
	if len(p.Together) > 0 {
		s.line("Together", "rehearsed with %s, as they are swapped in one step", schema.List(p.Together))
	}
	workLines(s, r)
	seen := r.Rehearsed
	s.line("Delay", "capture was behind by at most %s", humanize.Span(seen.CaptureDelay))
	if locked {
		more := ""
		if shape := p.ShapeOf(1, 1); shape.Declared > 0 {
			more = ". A run holds it longer, because it also moves foreign keys and triggers under it"
		}
		s.line("Lock", "%s; granted after %s and held for %s, %s applied under it; %s%s",
			humanize.Plural(r.Attempts, "attempt"), humanize.Span(seen.LockWaited), humanize.Span(r.LockHeld),
			humanize.Plural(r.Drained, "key"), blockers(seen), more)
	} else {
		s.line("Lock", "not asked for: --rehearse-lock takes it as a run does, and gives it back")
	}
	if p.Purpose == plan.RehearsingOnReplica {
		s.line("Replica", "%s", replication(seen.Replication))
	}
	s.line("New table", "about %s; %s", humanize.Size(seen.ShadowBytes), shadow(p, r))
	clientLine(s, used)
	return s.String()
}

func blockers(seen migration.Rehearsed) string {
	if seen.Blockers == 0 {
		return "no session blocked it"
	}
	return fmt.Sprintf("%s blocked it, for about %s", humanize.Plural(seen.Blockers, "session"), humanize.Span(seen.Blocked))
}

func replication(r onreplica.Replication) string {
	text := fmt.Sprintf(
		"behind by at most %s, by the two servers' clocks (%s at first); no transaction took longer than about %s to be applied",
		humanize.Span(r.Lag), humanize.Span(r.Before), humanize.Span(r.Stall))
	if r.Stopped {
		text += "; an operator stopped it for a while"
	}
	return text
}

func shadow(p *plan.Plan, r migration.Result) string {
	if r.Rehearsed.Shadow == "" {
		return "it was dropped"
	}
	text := fmt.Sprintf(
		"it is kept as %s, which no longer follows the table. Compare: midstream verify  %s %s. Remove: midstream cleanup  %s",
		r.Rehearsed.Shadow, p.Source.Name.Argument(), p.Names.Shadow.Argument(), p.Source.Name.Argument())
	if p.Purpose == plan.Rehearsing {
		text += ". A run of the same ALTER resumes it"
	}
	return text
}
