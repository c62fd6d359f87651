package cli

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"midstream/internal/event"
)

// output are the flags that say how results are told.
type output struct {
	app     *app
	json    bool
	quiet   bool
	noColor bool
}

func (o *output) register(f *checks) {
	f.boolean(&o.json, "", "json", "one JSON object a line (docs/events.md), the result last; not with --quiet")
	f.boolean(&o.quiet, "q", "quiet", "only what may need somebody, and the result; not with --json")
	f.boolean(&o.noColor, "", "no-color", "no colors on a terminal; NO_COLOR does the same")
}

// check says what is wrong with the flags.
func (o *output) check() error {
	if o.json && o.quiet {
		return fmt.Errorf("--json and --quiet exclude each other")
	}
	return nil
}

// display returns the display of a run on a table.
func (o *output) display(table string) display {
	switch {
	case o.json:
		return &jsonLines{out: o.app.Stdout}
	case onTerminal(o.app.Stdout) && o.app.Getenv("TERM") != "dumb":
		return newBars(o.app.Stdout, table, o.quiet, o.colors())
	}
	return &lines{out: o.app.Stdout, quiet: o.quiet}
}

func (o *output) colors() bool { return !o.noColor && o.app.Getenv("NO_COLOR") == "" }

func onTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// text prints a text for people, unless they want quiet or JSON.
func (o *output) text(format string, args ...any) {
	if !o.json && !o.quiet {
		fmt.Fprintf(o.app.Stdout, format, args...)
	}
}

// note tells something that the user should know, before a run has a display.
func (o *output) note(text string) {
	if o.json {
		(&jsonLines{out: o.app.Stdout}).show(event.Note{Text: text, At: time.Now()})
		return
	}
	fmt.Fprintf(o.app.Stderr, "midstream: note: %s\n", text)
}
