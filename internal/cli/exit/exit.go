// Package exit has the exit codes of the program, the errors that carry one, and the rule from an error to its code.
package exit

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
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
	"midstream/internal/ops/record"
)

// The exit codes.
const (
	Done       = record.CodeDone
	Failed     = record.CodeFailed
	Differs    = record.CodeDiffers
	WrongUsage = record.CodeWrongUsage
	Refused    = record.CodeRefused
	Aborted    = record.CodeAborted
	Mismatch   = record.CodeMismatch
	Unknown    = record.CodeUnknown
	Leftovers  = record.CodeLeftovers
	Stopped    = record.CodeStopped
	Unfit      = record.CodeUnfit
	NoRun      = record.CodeNoRun
	NotNow     = record.CodeNotNow
	Busy       = record.CodeBusy
	AtOnce     = record.CodeAtOnce
)

// Outcome is an exit code with its stable name and what it means.
type Outcome struct {
	Code    int
	Name    string // in the JSON result
	Meaning string
	Next    string // what to do, where the error itself says nothing better
	Retry   string // what a scheduler does about it: stop, or try again
}

//go:embed exit_codes.txt
var exitCodes string

// Outcomes are all exit codes.
var Outcomes = readOutcomes(exitCodes)

// readOutcomes reads a paragraph for each: its code and name, behind ~ what a scheduler does, what it means, and behind > what to do.
func readOutcomes(text string) (all []Outcome) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var o Outcome
		head, body, _ := strings.Cut(paragraph, "\n")
		retry, body, _ := strings.Cut(strings.TrimPrefix(body, "~ "), "\n")
		_, _ = fmt.Sscan(head, &o.Code, &o.Name) // a test reads them all
		meaning, next, _ := strings.Cut(body, "\n> ")
		o.Retry = retry
		o.Meaning, o.Next = strings.ReplaceAll(meaning, "\n", " "), next
		all = append(all, o)
	}
	return all
}

// OfSeveral says what a code means where there are several tables.
const OfSeveral = "With --to or several statements, the code is that of the table at which the run stopped; the message lists what is done."

// OutcomeOf returns the outcome of an exit code; an unknown one is a failure.
func OutcomeOf(code int) Outcome {
	for _, o := range Outcomes {
		if o.Code == code {
			return o
		}
	}
	return Outcomes[1]
}

// Error is an error whose exit code is decided where it is made.
type Error struct {
	Code int
	Err  error
	// Left is what is left on the server, and Next what to do; both may be "".
	Left string
	Next string
}

func (c *Error) Error() string { return c.Err.Error() }
func (c *Error) Unwrap() error { return c.Err }

// Remains is what is left on the server; "" where that is not known.
func (c *Error) Remains() string { return c.Left }

// Usage is the error of a wrong command line; it holds every problem.
type Usage struct {
	Problems []error
	Help     string // the command that explains
}

func (u *Usage) Error() string {
	if len(u.Problems) == 1 {
		return escape.Error(u.Problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems on the command line", len(u.Problems))
	for _, p := range u.Problems {
		b.WriteString("\n- " + escape.Error(p))
	}
	return b.String()
}

// UsageOf returns nil if there are no problems.
func UsageOf(help string, problems ...error) error {
	u := &Usage{Help: help}
	for _, p := range problems {
		if p != nil {
			u.Problems = append(u.Problems, split(p)...)
		}
	}
	if len(u.Problems) == 0 {
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

// Code maps an error to the exit code. interrupted says that the operator asked to
// abort: what failed because of that is no failure.
func Code(err error, interrupted bool) int {
	var c *Error
	var u *Usage
	var f *failure.Failure
	var untold *leftovers.Untold
	switch {
	case err == nil:
		return Done
	case errors.As(err, &u):
		return WrongUsage
	case errors.Is(err, cutover.ErrUnknown), errors.Is(err, native.ErrUnknown), errors.Is(err, tableddl.ErrUnknown):
		return Unknown
	case errors.Is(err, failure.ErrLeftovers):
		return Leftovers
	case errors.As(err, &f) && f.Kept && !errors.Is(err, parents.ErrOrphans), errors.As(err, &c) && c.Code == Stopped:
		return Stopped
	case interrupted, errors.Is(err, follow.ErrOver):
		return Aborted
	case errors.Is(err, failure.ErrUnfit), errors.Is(err, park.ErrUnfit),
		errors.Is(err, rowsync.ErrDuplicate), errors.Is(err, rowsync.ErrRefused):
		return Unfit
	case errors.Is(err, failure.ErrMismatch):
		return Mismatch
	case errors.As(err, &c):
		return c.Code
	case busy(err):
		return Busy
	case errors.As(err, &untold),
		errors.Is(err, plan.ErrRefused),
		errors.Is(err, shadow.ErrRefused),
		errors.Is(err, leftovers.ErrElsewhere),
		errors.Is(err, failure.ErrOtherAlter), errors.Is(err, leftovers.ErrNoUndo), errors.Is(err, leftovers.ErrUndoBegun),
		errors.Is(err, intake.ErrOtherCapture), errors.Is(err, park.ErrSlow), errors.Is(err, leftovers.ErrOvertaken),
		errors.Is(err, failure.ErrStopped),
		errors.Is(err, checkpoint.ErrNewer),
		errors.Is(err, schema.ErrNotFound),
		errors.Is(err, schema.ErrNotBaseTable):
		return Refused
	}
	return Failed
}

// busy reports whether nothing but another run on the table is in the way.
func busy(err error) bool {
	var refused *plan.Refused
	if errors.As(err, &refused) {
		return len(refused.Blocking) > 0 &&
			!slices.ContainsFunc(refused.Blocking, func(r plan.Risk) bool { return r.Code != plan.CodeAtWork })
	}
	return errors.Is(err, leftovers.ErrClaimed)
}
