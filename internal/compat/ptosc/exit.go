package ptosc

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Exit codes of that program.
const (
	ExitDone        = 0
	exitInvalid     = 1 // also: not altered, for whatever reason has no number of its own
	exitVersion     = 2
	exitLacking     = 3
	exitNoKey       = 4
	exitPlugin      = 5
	exitCreating    = 10
	exitAltering    = 11
	exitSwapping    = 14
	exitDropping    = 16
	exitUnsupported = 17
	exitConnecting  = 18
	exitLost        = 19
	exitStopped     = 128
)

// ofRisks are the codes of plans that are refused; the first that fits counts.
var ofRisks = []struct {
	exit  int
	codes []plan.Code
}{
	{exitNoKey, []plan.Code{plan.CodeNoKey}},
	{exitVersion, []plan.Code{plan.CodeVersion}},
	{
		exitLacking,
		[]plan.Code{
			plan.CodeLogBin, plan.CodeBinlogFormat, plan.CodeBinlogFilter, plan.CodeCaptureTrigger, plan.CodeCluster,
			plan.CodeGrants, plan.CodeReadOnly, plan.CodeMDL,
		},
	},
	{exitCreating, []plan.Code{plan.CodeNameTaken, plan.CodeLeftover}},
	{
		exitUnsupported,
		[]plan.Code{
			plan.CodeTrigger, plan.CodeTriggerColumn, plan.CodeRenamesTable, plan.CodePartition, plan.CodeTablespace,
			plan.CodeSecondary, plan.CodeEngine, plan.CodeSystemSchema, plan.CodeOtherTable, plan.CodeUnparsed,
			plan.CodeNotNull, plan.CodeUnique, plan.CodeMap, plan.CodeNoPrimary, plan.CodeUndo,
		},
	},
	{exitAltering, []plan.Code{plan.CodeColumn, plan.CodeIndex, plan.CodeCheck, plan.CodeAlgorithm}},
}

// ofVariables are the server's errors about variables: unknown, wrong value, wrong type, read-only,
// of all sessions only.
var ofVariables = []uint16{1193, 1231, 1232, 1238, 1229}

// code is the exit code of an error. met says that the server was reached, interrupted that a
// signal has ended the run.
func code(err error, met bool, a *Asked) int {
	var failed *failure.Failure
	var refused *plan.Refused
	var unfit *Unfit
	switch {
	case err == nil && a.Mode == Looking:
		return exitInvalid
	case err == nil:
		return ExitDone
	case !met && unparsed(a):
		return exitAltering
	case errors.As(err, &unfit) && a.history.job == 0 && (a.history.wanted || a.history.resume != ""):
		return exitUnsupported
	case !met && len(a.Variables) > 0 && slices.Contains(ofVariables, dbconn.Number(err)):
		return exitInvalid
	case !met:
		return exitConnecting
	case errors.Is(err, cutover.ErrUnknown), errors.Is(err, failure.ErrGaveUp), errors.Is(err, failure.ErrNamesTaken):
		return exitSwapping
	case errors.As(err, &failed):
		return ofFailure(failed)
	case errors.As(err, &refused):
		return ofRefusal(refused)
	case errors.Is(err, native.ErrRefused), errors.Is(err, schema.ErrNotFound), errors.Is(err, schema.ErrNotBaseTable):
		return exitAltering
	}
	return exitInvalid
}

// unparsed says that the ALTER can't be read at all, or is a whole statement.
func unparsed(a *Asked) bool {
	err := ddl.Guess(func(d token.Dialect) error {
		_, err := ddl.ParseClausesIn(d, a.Table, a.Alter)
		return err
	})
	_, _, whole := ddl.Cut(a.Alter)
	return err != nil || whole == nil
}

func ofFailure(f *failure.Failure) int {
	switch {
	case f.Swapped:
		return exitDropping
	case f.Lost:
		return exitLost
	case f.Phase == event.PhaseShadow:
		return exitCreating
	case f.Phase == event.PhaseNative:
		return exitAltering
	case f.Phase == event.PhaseCutover && !errors.Is(f.Err, failure.ErrKeep) && !errors.Is(f.Err, failure.ErrMismatch):
		return exitSwapping
	}
	return exitInvalid
}

func ofRefusal(r *plan.Refused) int {
	for _, of := range ofRisks {
		if slices.ContainsFunc(r.Blocking, func(risk plan.Risk) bool { return slices.Contains(of.codes, risk.Code) }) {
			return of.exit
		}
	}
	return exitInvalid
}

// End tells how it all ended, and returns the exit code. complaint is what midstream run says of an
// error; met says that the server was reached.
func (s *Speaker) End(err error, met bool, complaint string) int {
	table := s.asked.Table.Quoted()
	exit := code(err, met, s.asked)
	if err != nil && s.stopped {
		exit = exitStopped
	}
	var failed *failure.Failure
	switch {
	case exit == exitConnecting && !dbconn.Denied(err):
		s.say("Cannot connect to MySQL: %v", err)
	case errors.Is(err, schema.ErrNotFound):
		s.warn("The original table %s does not exist.", table)
	case exit == exitNoKey:
		s.say("The new table %s does not have a PRIMARY KEY or a unique index which is required to follow changes.\n"+
			"Please check you have at least one UNIQUE and NOT NULLABLE index.", table)
	case exit == exitSwapping:
		s.warn("Error swapping tables: %v", err)
	}
	if err != nil {
		fmt.Fprint(s.errors, complaint)
		if s.asked.history.job > 0 {
			s.say("History saved. Job id: %d", s.asked.history.job)
		}
	}
	switch {
	case err == nil && s.asked.Mode == Looking:
		s.say(
			"Exiting without altering %s because neither --dry-run nor --execute was specified.  Please read the tool's documentation carefully before using this tool.",
			table,
		)
	case s.asked.Mode == DryRun && met:
		s.say("Dry run complete.  %s was not altered.", table)
	case s.following: // its end was told
	case err == nil:
		if s.asked.history.job > 0 {
			s.say("Job %d finished successfully.", s.asked.history.job)
		}
		s.say("Successfully altered %s.", table)
	case errors.As(err, &failed) && failed.Swapped:
		s.say("Altered %s but there were errors or warnings.", table)
	case met:
		s.say("%s was not altered.", table)
	}
	return exit
}

// Answer answers a command line that asks for no run, as Read's error says, and returns the exit code.
func Answer(err error, midstream string, out, errs io.Writer) int {
	return speech.Answer(err,
		func(t *Told) int { return tell(t, midstream, out, errs) },
		func(w *Wrong) int { return refuse(w, out, errs) },
		func(text string) *Wrong { return &Wrong{Warnings: []string{text}} })
}

// refuse tells what is wrong with a command line, and tell what one asks to read.
func refuse(w *Wrong, out, errs io.Writer) int {
	for _, text := range w.Warnings {
		fmt.Fprintln(errs, escape.Line(text))
	}
	fmt.Fprintf(out, "%s\nErrors in command-line arguments:\n", usage)
	for _, text := range w.Problems {
		fmt.Fprintf(out, "  * %s\n", escape.Line(text))
	}
	fmt.Fprintf(out, "\n%s\n", about)
	if slices.ContainsFunc(w.Problems, func(text string) bool { return strings.HasPrefix(text, "--plugin ") }) {
		return exitPlugin
	}
	return exitInvalid
}

const (
	usage = "Usage: pt-online-schema-change [OPTIONS] DSN\n"
	about = "This is Midstream: it takes pt-online-schema-change's command line.\n" +
		"For more details, please use the --help option; docs/pt-osc-flags.md explains each option."
	// Version is that program's.
	Version = "3.7.1"
)

// tell tells the help, or the version.
func tell(t *Told, midstream string, out, errs io.Writer) int {
	if !t.Help {
		fmt.Fprintf(out, "pt-online-schema-change %s\n", Version)
		fmt.Fprintf(errs, "midstream %s\n", midstream)
		return ExitDone
	}
	fmt.Fprintf(out, "%s\n%s\nOptions:\n\n", about, usage)
	for _, o := range Options() {
		name := "--" + map[bool]string{true: "[no]"}[o.Kind == yesNo] + o.Name
		if o.Kind != onOff && o.Kind != yesNo {
			name += "=" + string(o.Kind)
		}
		if o.Short != "" {
			name += ", -" + o.Short
		}
		fmt.Fprintf(out, "  %-36s %s\n", name, o.row().Help())
	}
	return ExitDone
}
