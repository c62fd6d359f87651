package ghost

import (
	"fmt"
	"io"
	"strings"

	"midstream/internal/compat/speech"
	"midstream/internal/mysql/escape"
)

// Version is that program's.
const Version = "1.1.9"

// Exit codes of that program.
const (
	exitDone   = 0
	exitFatal  = 1
	exitUnread = 2 // by Go's package flag
)

// End tells how it all ended, and returns the exit code. complaint is what midstream run says of an error.
func (s *Speaker) End(err error, complaint string) int {
	if err != nil {
		s.log.fatal("%s", escape.Sentence(err))
		fmt.Fprint(s.log.out, complaint)
		return exitFatal
	}
	if !s.asked.Execute && s.plan != nil {
		how := string(s.plan.Choice.Method)
		if s.plan.Choice.CopiesRows() {
			how = "copy to a new table, then cut over"
		}
		warnings := "no warnings"
		if n := len(s.plan.Risks); n > 0 {
			warnings = fmt.Sprintf("%d warnings (--verbose lists them)", n)
		}
		fmt.Fprintf(s.out, "# Plan: %s, about %d rows, %s\n", how, s.plan.Source.Rows, warnings)
	}
	if !s.asked.Execute {
		fmt.Fprintln(s.out, "# Nothing was changed: --execute was not said")
	}
	fmt.Fprintln(s.out, "# Done")
	return exitDone
}

// Answer answers a command line that asks for no run, as Read's error says, and returns the exit code.
func Answer(err error, midstream string, out, errs io.Writer) int {
	return speech.Answer(err,
		func(t *Told) int { return tell(t, midstream, out, errs) },
		func(w *Wrong) int { return refuse(w, out, errs) },
		func(text string) *Wrong { return &Wrong{Problems: []string{text}} })
}

// refuse tells what is wrong with a command line, and tell what one asks to read.
func refuse(w *Wrong, out, errs io.Writer) int {
	if w.Unread {
		for _, text := range w.Problems {
			fmt.Fprintln(out, escape.Line(text))
		}
		fmt.Fprint(out, usage())
		return exitUnread
	}
	for _, text := range w.Problems {
		log{out: errs}.fatal("%s", text)
	}
	return exitFatal
}

// tell tells what a command line asks to read.
func tell(t *Told, midstream string, out, errs io.Writer) int {
	switch {
	case t.Version:
		fmt.Fprintln(out, Version) // alone: ghost_adapter reads all of it as a number
		fmt.Fprintf(errs, "midstream %s\n", midstream)
	case t.Help:
		fmt.Fprint(out, usage())
	}
	return exitDone
}

func usage() string {
	var b strings.Builder
	b.WriteString(
		"Usage of gh-ost:\nThis is Midstream: it takes gh-ost's command line. docs/gh-ost-flags.md explains each flag.\n",
	)
	for _, f := range Flags() {
		fmt.Fprintf(&b, "  -%s %s\n    \t%s\n", f.Name, f.Kind, f.row().Help())
	}
	return b.String()
}

// Page is docs/gh-ost-flags.md.
func Page() string {
	var rows []speech.Row
	for _, f := range Flags() {
		rows = append(rows, f.row())
	}
	return "# gh-ost's flags, and what they do here\n\n" +
		"All flags of version " + Version + ", as `midstream gh-ost`, or a link of the name `gh-ost` to midstream, takes them: `-flag`, `--flag`, `--flag=value`, `--flag value`.\n" +
		"[coming-from-gh-ost.md](coming-from-gh-ost.md) lists what is the same, and what differs.\n\n" +
		speech.Table(rows, "flag", exitFatal) + speech.ExitCodes([]speech.ExitCode{
		{
			Code: exitDone,
			When: "The table is altered, or the run did what you asked for: a check without --execute, --help, --version, --check-flag.",
		},
		{
			Code: exitFatal,
			Name: "FATAL",
			When: "Anything else: a flag that is refused, a server that can't be reached, a plan that refuses, rows that don't fit or differ, a signal, panic. The message lists what is left, and what to do.",
		},
		{Code: exitUnread, When: "An unknown flag, or a value that cannot be read."},
	})
}
