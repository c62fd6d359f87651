package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/follow"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/native"
	"midstream/internal/engine/parents"
	"midstream/internal/engine/park"
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

//go:embed exit_codes.txt
var exitCodes string

// outcomes are all exit codes.
var outcomes = readOutcomes(exitCodes)

// readOutcomes reads a paragraph for each: its code and name, what it means, and behind > what to do.
func readOutcomes(text string) (all []outcome) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var o outcome
		head, body, _ := strings.Cut(paragraph, "\n")
		_, _ = fmt.Sscan(head, &o.code, &o.name) // a test reads them all
		meaning, next, _ := strings.Cut(body, "\n> ")
		o.meaning, o.next = strings.ReplaceAll(meaning, "\n", " "), next
		all = append(all, o)
	}
	return all
}

// ofSeveral says what a code means where there are several tables.
const ofSeveral = "With --to, the code is that of the table at which the run stopped; the message lists the tables that are done."

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
	var f *failure.Failure
	var untold *leftovers.Untold
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &u):
		return exitUsage
	case errors.Is(err, cutover.ErrUnknown), errors.Is(err, native.ErrUnknown), errors.Is(err, tableddl.ErrUnknown):
		return exitUnknown
	case errors.Is(err, failure.ErrLeftovers):
		return exitLeftovers
	case errors.As(err, &f) && f.Kept && !errors.Is(err, parents.ErrOrphans):
		return exitStopped
	case interrupted, errors.Is(err, follow.ErrOver):
		return exitAborted
	case errors.Is(err, failure.ErrUnfit), errors.Is(err, park.ErrUnfit),
		errors.Is(err, rowsync.ErrDuplicate), errors.Is(err, rowsync.ErrRefused):
		return exitUnfit
	case errors.Is(err, failure.ErrMismatch):
		return exitMismatch
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &untold),
		errors.Is(err, plan.ErrRefused),
		errors.Is(err, shadow.ErrRefused),
		errors.Is(err, leftovers.ErrClaimed),
		errors.Is(err, leftovers.ErrElsewhere),
		errors.Is(err, failure.ErrOtherAlter), errors.Is(err, leftovers.ErrNoUndo), errors.Is(err, leftovers.ErrUndoBegun),
		errors.Is(err, intake.ErrOtherCapture), errors.Is(err, park.ErrSlow), errors.Is(err, leftovers.ErrOvertaken),
		errors.Is(err, failure.ErrStopped),
		errors.Is(err, checkpoint.ErrNewer),
		errors.Is(err, schema.ErrNotFound),
		errors.Is(err, schema.ErrNotBaseTable):
		return exitRefused
	}
	return exitFailed
}
