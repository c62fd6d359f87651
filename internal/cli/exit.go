package cli

import (
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/intake"
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
	{exitDone, "done", "Done. The table was altered, or the verb did what you asked for.", ""},
	{
		exitFailed, "failed",
		"Failed. The table is unchanged, and nothing of this attempt is left on the server; the work that an earlier attempt has kept still exists. " +
			"If the server was to run the ALTER as two statements (the plan shows it), the first may be done. Then left reports it, and next has the command for the rest. " +
			"A statement that the server runs itself also fails if it did not get the lock within --lock-attempts and --lock-give-up.",
		migration.SameCommand + " once the cause is removed.",
	},
	{
		exitUsage, "usage",
		"The command line or an option file is wrong. Midstream did not connect to a server. set and throttle: the run refuses the value; nothing has changed. submit: the queue refuses the change.",
		"Correct the command line, or the option file: every problem is listed.",
	},
	{
		exitRefused,
		"refused",
		"Refused, by the plan or for another reason: another run works on the table or was stopped half-way, or a newer version of midstream has left work on it. " +
			"Or a session uses what cleanup was to drop, the account lacks a privilege, or the table does not exist. Nothing was written or dropped; every reason is listed.",
		"Remove every reason that is listed, then run the same command again.",
	},
	{
		exitAborted,
		"aborted",
		"Aborted by the operator (Ctrl-C, SIGTERM, SIGHUP, midstream abort, or a before- hook that failed). The table is unchanged, and nothing of the run is left on the " +
			"server (except the first of two statements, as with code 1). cleanup: the message reports whether anything was dropped.",
		migration.SameCommand + " to start again.",
	},
	{exitMismatch, "mismatch", "Rows differ: the new table is not equal to the old one. The table is unchanged. verify: the two " +
		"tables are not equal. demo also: the table differs from its ledger.", "Check the listed rows; run the same command again to start again."},
	{
		exitUnknown,
		"swap_unknown",
		"It is unknown whether the tables were swapped: the connection broke during the swap, or an earlier run was " +
			"stopped there. Nothing was removed; the same command finds out, and continues. The server's own ALTER, RENAME, DROP and TRUNCATE TABLE: " +
			"it is unknown whether the statement was executed; the message names the place to check.",
		migration.SameCommand + ": it finds out which, and continues.",
	},
	{exitLeftovers, "leftovers", "Not everything that the run created could be removed; the message lists what is left, and " +
		"whether the swap happened. midstream cleanup removes it.", "Remove what is left: midstream cleanup database.table."},
	{
		exitStopped,
		"stopped",
		"Stopped half-way: the server could not be reached, could not continue, was above --critical-load, or had no name left for the old table. " +
			"Or the run did not get the lock within --lock-attempts and --lock-give-up, or an operator stopped it (abort --keep). " +
			"The table is unchanged, and the work is kept: the same command resumes.",
		migration.SameCommand + ": it resumes from where it stopped.",
	},
	{
		exitUnfit,
		"unfit",
		"Rows do not fit the altered table, as the prescan of check and run found before the row copy: values that do not fit, " +
			"NULLs, duplicates, with their keys. Also: a change has brought a duplicate during the run. The table is unchanged, and nothing is left on the server.",
		"Change the rows that are listed, or the ALTER.",
	},
	{
		exitNoRun, "no_run",
		"This machine has no such run at work (status, pause, set and so on). queue and withdraw: there is no such change.",
		"List the runs: midstream status.",
	},
	{
		exitNotNow, "not_now",
		"The run cannot obey the command now, or it executes another one; the message explains why, and what to do. " +
			"Nothing has changed there (without a table each run answers for itself). submit and withdraw: the id belongs to another change, or it is too late.",
		"Follow the message, or try again when the cause that it names is over.",
	},
	{
		exitAtOnce,
		"left_at_once",
		"Left at once, at a second Ctrl-C, SIGTERM or SIGHUP (half a second after the first, at least). The table is unchanged or swapped, nothing between; " +
			"the same command resumes, and midstream cleanup removes what is left.",
		migration.SameCommand + ", or remove what is left: midstream cleanup database.table.",
	},
}

// ofSeveral says what a code means where there are several tables.
const ofSeveral = "With --to the code is for the table at which the run stopped; the tables before it are done, and listed."

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
		errors.Is(err, intake.ErrOtherCapture),
		errors.Is(err, migration.ErrStopped),
		errors.Is(err, checkpoint.ErrNewer),
		errors.Is(err, schema.ErrNotFound),
		errors.Is(err, schema.ErrNotBaseTable):
		return exitRefused
	}
	return exitFailed
}
