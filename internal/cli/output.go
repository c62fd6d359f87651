package cli

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"midstream/internal/cli/flags"
	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/summary"
	"midstream/internal/face/tui"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// presentation tells a run in words of its own: those of the program whose command line it was asked for by.
type presentation interface {
	// Planned is called before anything is written. former is the earlier run that is gone on with, "" for none.
	Planned(p *plan.Plan, former string)
	// Show is called with one event after the other, by one goroutine.
	Show(e event.Event)
	// Done tells of a run or a rehearsal that has come to its end.
	Done(table schema.Name, result migration.Result)
	// Note tells what somebody should know, outside of the events.
	Note(text string)
}

// display shows the events of one migration.
type display = session.Display

// shown is a presentation as a display.
type shown struct{ presentation }

func (s shown) Close()   {}
func (s shown) Abandon() {}

// output are the flags that say how results are told.
type output struct {
	app     *app
	own     presentation // nil: in midstream's words
	oneStep bool         // the run only prepares, so no step has a number

	json, quiet, verbose, noColor bool
	// format is how a plan is written, "" as a text. Of sql, nothing but statements goes to standard output.
	format planFormat
	// table is in each line, if the lines are those of several tables; else "".
	table string
}

// planFormat is how a plan is written.
type planFormat string

const (
	planText     planFormat = "text"
	planMarkdown planFormat = "md"
	planSQL      planFormat = "sql"
	planJSON     planFormat = "json"
)

// style is how plans, refusals and results are written.
func (o *output) style() summary.Style {
	style := summary.Style{Verbose: o.verbose, Reach: o.app.Reach(), Markdown: o.format == planMarkdown}
	if onTerminal(o.app.Env.Stdout) {
		style.Width, _, _ = term.GetSize(int(o.app.Env.Stdout.Fd())) // 0 for the default
	}
	return style
}

func (o *output) register(f *flags.Set) {
	f.Bool(&o.json, "", "json", "print one JSON object a line (docs/events.md), the result last; not with --quiet")
	f.Bool(&o.quiet, "q", "quiet", "print only warnings that may need an operator, and the result; not with --json")
	f.Bool(&o.verbose, "", "verbose", "print all details: key, locks, grants, indexes, every phase, and what the run cost")
	f.Bool(&o.noColor, "", "no-color", "no colors on a terminal; NO_COLOR does the same")
}

// check says what is wrong with the flags.
func (o *output) check() error {
	if o.json && o.quiet {
		return fmt.Errorf("--json and --quiet exclude each other")
	}
	if o.format != "" && o.format != planText && (o.quiet || o.json != (o.format == planJSON)) {
		return fmt.Errorf("--format=%s excludes --quiet and --json", o.format)
	}
	if o.verbose && (o.json || o.quiet) {
		return fmt.Errorf("--verbose excludes --json and --quiet")
	}
	return nil
}

// display returns the display of a run on a table.
func (o *output) display(table string) display {
	switch {
	case o.own != nil:
		return shown{o.own}
	case o.json:
		return &session.Lines{Out: o.app.Stdout, Table: o.table}
	case o.table == "" && onTerminal(o.app.Env.Stdout) && o.app.Getenv("TERM") != "dumb":
		return tui.New(o.app.Env.Stdout, table, o.quiet, o.colors(), o.oneStep)
	}
	return &tui.Lines{Out: o.app.Stdout, Quiet: o.quiet, Verbose: o.verbose, Table: o.table, OneStep: o.oneStep}
}

func (o *output) colors() bool { return !o.noColor && o.app.Getenv("NO_COLOR") == "" }

func onTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// text prints a text for people, unless they want quiet or JSON.
func (o *output) text(format string, args ...any) {
	if !o.json && !o.quiet && o.format != planSQL {
		fmt.Fprintf(o.app.Stdout, format, escape.Args(args...)...)
	}
}

// note tells something that the user should know, before a run has a display.
func (o *output) note(text string) {
	switch {
	case o.own != nil:
		o.own.Note(text)
	case o.json:
		(&session.Lines{Out: o.app.Stdout}).Show(event.Note{Text: text, At: time.Now()})
	default:
		fmt.Fprintf(o.app.Stderr, "midstream: note: %s\n", escape.Line(text))
	}
}

// reported says where the report of a run is.
func (o *output) reported(page string) {
	if o.own == nil && !o.json && !o.quiet {
		fmt.Fprintf(o.app.Stdout, "  %-9s %s\n", "report", escape.Line(page))
	}
}

// done tells of a run or a rehearsal that has come to its end: in a line for those who want quiet,
// and else by a summary.
func (o *output) done(table schema.Name, result migration.Result, line, summary string) {
	switch {
	case o.own != nil:
		o.own.Done(table, result)
	case o.json: // the result is told at the end
	case o.quiet:
		fmt.Fprintln(o.app.Stdout, line)
	default:
		fmt.Fprint(o.app.Stdout, summary)
	}
}
