package summary

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
)

// OfFleetPlan writes the plans of a fleet: a line for each group of servers, the servers whose definition differs, and the warnings.
func OfFleetPlan(r fleetplan.Report, style Style) string {
	f := fleetSheet{newSheet(style), style.Verbose}
	f.heading("%s: %s, planned in %s", r.Selector, humanize.Plural(r.Servers, "server"), humanize.Span(r.TookMS.Duration()))
	if f.markdown {
		f.WriteString("\n" + strings.Replace(escape.Block(r.Statement+";"), "\n", "sql\n", 1) + "\n\n**" + escape.Markdown(sentence(FleetVerdict(r))) +
			"**\n\n| servers | outcome | which | versions |\n|---:|---|---|---|\n")
	} else {
		f.WriteString("  " + f.wrapped(ddl.Shorten(r.Statement), f.width-2, "    ") + "\n\n  " + f.wrapped(sentence(FleetVerdict(r)), f.width-2, "  ") + "\n\n")
	}
	for _, g := range r.Groups {
		f.group(g)
	}
	if len(r.Drift) > 0 {
		which := "the most common one"
		if slices.ContainsFunc(r.Drift, func(d fleetplan.Drift) bool { return len(d.Servers) == r.Common.Servers }) {
			which = "others are as common"
		}
		f.title(fmt.Sprintf("Definitions (%s: %s)", humanize.Plural(r.Common.Servers, "server"), which))
		for _, d := range r.Drift {
			f.drift(d)
		}
	}
	if len(r.Warnings)+len(r.Same)+len(r.Notes) > 0 {
		f.title("Warnings")
	}
	for _, w := range r.Warnings {
		f.item(fmt.Sprintf("%s: %s (%s)", humanize.Plural(len(w.Servers), "server"), w.What, f.names(w.Servers)))
	}
	for i, same := range r.Same {
		if i == 2 && len(r.Same) > 3 && !f.verbose {
			f.item(fmt.Sprintf("%d more tables with several names (--verbose)", len(r.Same)-i))
			break
		}
		f.item("the same table of one server, under several names: " + f.names(same))
	}
	for _, note := range r.Notes {
		f.item(note)
	}
	if next := FleetNext(r); f.markdown {
		f.WriteString("\n**Next** " + escape.Markdown(next) + "\n")
	} else if r.ExitCode == 0 { // else the end of the verb has it
		f.WriteString("\n  Next  " + f.wrapped(next, f.width-8, "        ") + "\n")
	}
	return f.String()
}

// fleetSheet is the sheet of a fleet's plans.
type fleetSheet struct {
	*sheet
	verbose bool
}

// beside is the width of what is left of a group's text.
const beside = 9

// group writes a group of servers.
func (f fleetSheet) group(g fleetplan.Group) {
	what := fleetOutcome(g)
	if f.markdown {
		versions := make([]string, 0, len(g.Versions))
		for _, v := range g.Versions {
			versions = append(versions, fmt.Sprintf("%s (%d)", v.Text, v.N))
		}
		fmt.Fprintf(f, "| %s | %s | %s | %s |\n", humanize.Count(len(g.Servers)), escape.Markdown(strings.Join(append([]string{what}, f.reasons(g)...), "; ")),
			escape.Markdown(f.names(g.Servers)), escape.Markdown(strings.Join(versions, ", ")))
		return
	}
	indent := strings.Repeat(" ", beside)
	line := func(text string) { f.WriteString(indent + f.wrapped(text, f.width-beside, indent) + "\n") }
	fmt.Fprintf(f, "  %5s  %s\n", humanize.Count(len(g.Servers)), f.wrapped(what, f.width-beside, indent))
	for _, reason := range f.reasons(g) {
		line(reason)
	}
	if len(g.Versions) > 1 {
		var versions []string
		for _, v := range g.Versions {
			versions = append(versions, fmt.Sprintf("%s (%d)", v.Text, v.N))
		}
		line(strings.Join(versions, ", "))
	}
	line(f.names(g.Servers))
}

// fleetOutcome is a group's outcome in words.
func fleetOutcome(g fleetplan.Group) string {
	switch g.Outcome {
	case fleetplan.Done:
		return "done: the change is there already"
	case fleetplan.Unfit:
		return "rows do not fit: " + g.Reason
	case fleetplan.Refused:
		return "refused: " + g.Reason
	case fleetplan.Wrong:
		return "wrong option file: " + g.Reason
	case fleetplan.Failed:
		return "no plan: " + g.Reason
	}
	text := strings.ToUpper(g.Method)
	if g.Method == "shadow" {
		text = "a new table"
	}
	least, most := humanize.About(g.LeastMS.Duration()), humanize.About(g.MostMS.Duration())
	switch {
	case g.Rows == 0 && g.MostMS == 0:
	case least == most:
		text += ", " + most
	default:
		text += ", " + least + " to " + most
	}
	if g.DiskBytes > 0 {
		text += fmt.Sprintf("; %s of disk", humanize.Size(g.DiskBytes))
		if len(g.Servers) > 1 {
			text += " in all"
		}
	}
	return text
}

// reasons are the reasons why no lighter method is taken, or the rows that do not fit.
func (f fleetSheet) reasons(g fleetplan.Group) (all []string) {
	for i, reason := range g.Reasons {
		if i == 2 && len(g.Reasons) > 3 && !f.verbose {
			more := "and %d other reasons"
			if g.Outcome == fleetplan.Unfit {
				more = "and %d other servers"
			}
			return append(all, fmt.Sprintf(more, len(g.Reasons)-i))
		}
		text := reason.Text
		if g.Outcome == fleetplan.Fits && (len(g.Reasons) > 1 || reason.N < len(g.Servers)) {
			text += fmt.Sprintf(" (%s)", humanize.Plural(reason.N, "server"))
		}
		all = append(all, text)
	}
	return all
}

// fewNames is how many servers of a group are named, unless all are wanted.
const fewNames = 6

// names are some servers, or all of them.
func (f fleetSheet) names(servers []string) string {
	if len(servers) <= fewNames+1 || f.verbose {
		return strings.Join(servers, ", ")
	}
	return fmt.Sprintf("%s and %s more", strings.Join(servers[:fewNames], ", "), humanize.Count(len(servers)-fewNames))
}

// drift writes the lines in which a definition differs from the most common one.
func (f fleetSheet) drift(d fleetplan.Drift) {
	f.item(fmt.Sprintf("%s: %s", humanize.Plural(len(d.Servers), "server"), f.names(d.Servers)))
	if f.markdown {
		var lines []string
		for _, line := range d.Lacks {
			lines = append(lines, "- "+line)
		}
		for _, line := range d.Has {
			lines = append(lines, "+ "+line)
		}
		f.WriteString("\n" + strings.Replace(escape.Block(strings.Join(lines, "\n")), "\n", "diff\n", 1) + "\n\n")
		return
	}
	for _, line := range d.Lacks {
		f.WriteString("      lacks  " + humanize.OneLine(line, f.width-13) + "\n")
	}
	for _, line := range d.Has {
		f.WriteString("      has    " + humanize.OneLine(line, f.width-13) + "\n")
	}
}

func (f fleetSheet) title(text string) {
	if f.markdown {
		f.WriteString("\n#### " + escape.Markdown(text) + "\n\n")
		return
	}
	f.WriteString("\n  " + text + "\n")
}

func (f fleetSheet) item(text string) {
	if f.markdown {
		f.WriteString("- " + escape.Markdown(text) + "\n")
		return
	}
	f.WriteString("  - " + f.wrapped(text, f.width-4, "    ") + "\n")
}

// FleetVerdict is whether the change can begin, in one line.
func FleetVerdict(r fleetplan.Report) string {
	var against []string
	add := func(of fleetplan.Outcome, text string) {
		if n := r.Count(of); n > 0 {
			against = append(against, humanize.Count(n)+" "+text)
		}
	}
	add(fleetplan.Refused, "cannot be changed")
	add(fleetplan.Unfit, "with rows that do not fit")
	add(fleetplan.Wrong, "with a wrong option file")
	add(fleetplan.Failed, "without a plan")
	if r.Drifts() {
		n := 0
		for _, d := range r.Drift {
			n += len(d.Servers)
		}
		against = append(against, humanize.Count(n)+" with another definition")
	}
	if len(against) > 0 {
		return fmt.Sprintf("not yet: of %s, %s", humanize.Plural(r.Servers, "server"), strings.Join(against, ", "))
	}
	done := ""
	if n := r.Count(fleetplan.Done); n == r.Servers {
		return "nothing to do: every server has the change"
	} else if n > 0 {
		done = fmt.Sprintf(", %d of them already done", n)
	}
	return fmt.Sprintf("OK to run on %s%s", humanize.Plural(r.Servers, "server"), done)
}

// sentence begins with a capital letter, and ends with a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// FleetNext is what to do now.
func FleetNext(r fleetplan.Report) string {
	next := func(of fleetplan.Outcome) string {
		for _, g := range r.Groups {
			if g.Outcome == of && g.Next != "" {
				return fmt.Sprintf("%s (server %s)", g.Next, g.Servers[0])
			}
		}
		return ""
	}
	switch {
	case r.Count(fleetplan.Refused) > 0 && openUndo(r) != "":
		return openUndo(r)
	case r.Count(fleetplan.Refused) > 0 && !r.SkipApplied:
		return "remove the reasons, and plan again; add --skip-applied if servers may have the change already"
	case r.Count(fleetplan.Refused) > 0:
		return "remove the reasons, and plan again"
	case r.Drifts():
		return "make the definitions equal (midstream plan --to finds the ALTER), or add --allow-drift"
	case r.Count(fleetplan.Unfit) > 0:
		return "change the rows, or the ALTER: --format=json has the keys and a SELECT that lists them"
	case r.Count(fleetplan.Wrong) > 0:
		return next(fleetplan.Wrong)
	case r.Count(fleetplan.Failed) > 0:
		return next(fleetplan.Failed)
	case r.Count(fleetplan.Done) == r.Servers:
		return "nothing"
	case !r.Checked:
		return "the same command with --check reads every row first"
	}
	return "submit a change set for these servers: midstream fleet submit (docs/change-sets.md)"
}

// openUndo is what to do if an open undo of the change before is why servers are refused; "" if none is.
func openUndo(r fleetplan.Report) string {
	for _, m := range r.Members {
		for _, p := range m.Problems {
			if m.Outcome == fleetplan.Refused && p.Code == string(plan.CodeUndo) && p.Fix != "" {
				return fmt.Sprintf("%s (server %s)", p.Fix, m.Server)
			}
		}
	}
	return ""
}
