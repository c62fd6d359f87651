package cli

import (
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/tableddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// Exit codes. They are documented and stable; 2 is a Go panic's.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 10
	exitRefused   = 11
	exitAborted   = 12
	exitMismatch  = 13
	exitUnknown   = 14
	exitLeftovers = 15
	exitStopped   = 16
	exitUnfit     = 17
	exitNoRun     = 18
	exitNotNow    = 19
	exitAtOnce    = 130
)

// outcome is an exit code with its stable name and what it means.
type outcome struct {
	code    int
	name    string // in the JSON result
	meaning string
	next    string // what to do, where the error itself says nothing better
}

// outcomes are all exit codes.
var outcomes = []outcome{
	{exitDone, "done", "Done. The table has its new schema, or the verb did what it was asked.", ""},
	{
		exitFailed, "failed",
		"Failed. The table is as it was, and nothing of this attempt is left on the server; what an earlier one has kept is still there. Of an ALTER that the server was to do in two statements (the plan says so) the first may be done: left says so, and next has the command for the rest. Of a statement that the server carries out itself also: the lock could not be had within --lock-attempts and --lock-give-up.",
		migration.SameCommand + " once the cause is removed.",
	},
	{
		exitUsage, "usage",
		"The command line or an option file is wrong. Nothing was connected to. Of set and throttle: the run doesn't take the value; nothing has changed. Of submit: the queue doesn't take the change.",
		"Correct the command line, or the option file: every problem is listed.",
	},
	{
		exitRefused,
		"refused",
		"Refused: by the plan, or because another run is at work on the table or was stopped half-way, or a newer version of midstream has left work on it, somebody uses what cleanup was to drop, " +
			"its account lacks a privilege, or there is no such table. Nothing was written or dropped; every reason is listed.",
		"Remove every reason that is listed, then run the same command again.",
	},
	{
		exitAborted,
		"aborted",
		"Aborted by the operator (Ctrl-C, SIGTERM, SIGHUP, midstream abort, or a before- hook that has failed). The table is as it was, and nothing of the run is left on the " +
			"server (but the first of two statements, as of code 1). Of cleanup: the message says whether anything was dropped.",
		migration.SameCommand + " to start anew.",
	},
	{exitMismatch, "mismatch", "Rows differ: the new table is not equal to the old one. The table is as it was. Of verify: the two " +
		"tables are not equal. In demo also: the table differs from its ledger.", "Look at the rows that are named; run the same command again to start anew."},
	{
		exitUnknown,
		"swap_unknown",
		"Nobody knows whether the tables were swapped: the connection broke while they were, or an earlier run was " +
			"stopped where it can't be told. Nothing was removed; the same command looks, and goes on from there. Of the server's own ALTER, of RENAME, DROP and TRUNCATE TABLE: " +
			"nobody knows whether it was carried out; the message says where to look.",
		migration.SameCommand + ": it looks which, and goes on from there.",
	},
	{exitLeftovers, "leftovers", "Not everything that the run created could be removed; the message says what is left, and whether " +
		"the swap happened. midstream cleanup removes it.", "Remove what is left: midstream cleanup database.table."},
	{
		exitStopped,
		"stopped",
		"Stopped half-way: the server could not be reached, could not go on, was above --critical-load, had no name left for the old table, could not have the lock within --lock-attempts and --lock-give-up, or was told to (abort --keep). The table is as it was, and what was " +
			"done is kept: the same command goes on with it.",
		migration.SameCommand + ": it goes on from where it stopped.",
	},
	{
		exitUnfit,
		"unfit",
		"The altered table doesn't take every row, as the prescan of check and run found before the row copy: values that don't fit, " +
			"NULLs, duplicates, with their keys. Of a duplicate also: a change has brought it during the run. The table is as it was, and nothing is left on the server.",
		"Change the rows that are listed, or the ALTER.",
	},
	{
		exitNoRun, "no_run",
		"There is no such run at work on this machine that could be asked or told (status, pause, set and so on). Of queue and withdraw: there is no such change.",
		"See which runs there are: midstream status.",
	},
	{
		exitNotNow, "not_now",
		"The run can't obey the command as it stands, or another one is being carried out; the message says why, and what to do. Nothing has changed there (without a table each run answers for itself). Of submit and withdraw: the id is another change's, or it is too late.",
		"Do what the message says, or try again when what it names is over.",
	},
	{
		exitAtOnce,
		"left_at_once",
		"Left at once, at a second Ctrl-C, SIGTERM or SIGHUP (half a second after the first, at least). The table is as it was or swapped, nothing between; " +
			"the same command goes on, and midstream cleanup removes what is left.",
		migration.SameCommand + ", or remove what is left: midstream cleanup database.table.",
	},
}

// ofSeveral says what a code means where there are several tables.
const ofSeveral = "With --to it is that of the table at which the run has stopped; those before it are done, and named."

// outcomeOf returns the outcome of an exit code; an unknown one is a failure.
func outcomeOf(code int) outcome {
	for _, o := range outcomes {
		if o.code == code {
			return o
		}
	}
	return outcomes[1]
}

// coded is an error whose exit code is decided where it is made.
type coded struct {
	code int
	err  error
	// left is what is left on the server, and next what to do; both may be "".
	left string
	next string
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

// Remains is what is left on the server; "" where that is not known.
func (c *coded) Remains() string { return c.left }

// usage is the error of a wrong command line; it holds every problem.
type usage struct {
	problems []error
	help     string // the command that explains
}

func (u *usage) Error() string {
	if len(u.problems) == 1 {
		return escape.Error(u.problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems on the command line", len(u.problems))
	for _, p := range u.problems {
		b.WriteString("\n- " + escape.Error(p))
	}
	return b.String()
}

// usageOf returns nil if there are no problems.
func usageOf(help string, problems ...error) error {
	u := &usage{help: help}
	for _, p := range problems {
		if p != nil {
			u.problems = append(u.problems, split(p)...)
		}
	}
	if len(u.problems) == 0 {
		return nil
	}
	return u
}

// split takes joined errors apart.
func split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, split(e)...)
	}
	return all
}

// exitCode maps an error to the exit code. interrupted says that the operator asked to
// abort: what failed because of that is no failure.
func exitCode(err error, interrupted bool) int {
	var c *coded
	var u *usage
	var f *migration.Failure
	var untold *leftovers.Untold
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &u):
		return exitUsage
	case errors.Is(err, cutover.ErrUnknown), errors.Is(err, native.ErrUnknown), errors.Is(err, tableddl.ErrUnknown):
		return exitUnknown
	case errors.Is(err, migration.ErrLeftovers):
		return exitLeftovers
	case errors.As(err, &f) && f.Kept:
		return exitStopped
	case interrupted:
		return exitAborted
	case errors.Is(err, migration.ErrUnfit), errors.Is(err, rowsync.ErrDuplicate):
		return exitUnfit
	case errors.Is(err, migration.ErrMismatch):
		return exitMismatch
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &untold),
		errors.Is(err, plan.ErrRefused),
		errors.Is(err, shadow.ErrRefused),
		errors.Is(err, leftovers.ErrClaimed),
		errors.Is(err, leftovers.ErrElsewhere),
		errors.Is(err, migration.ErrOtherAlter),
		errors.Is(err, migration.ErrOtherCapture),
		errors.Is(err, migration.ErrStopped),
		errors.Is(err, checkpoint.ErrNewer),
		errors.Is(err, schema.ErrNotFound),
		errors.Is(err, schema.ErrNotBaseTable):
		return exitRefused
	}
	return exitFailed
}
