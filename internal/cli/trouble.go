package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// trouble is what people and programs are told where a verb did not do what it was asked: always
// the same five parts. None is "".
type trouble struct {
	stage  string // command line, connecting, planning, a phase of the run, or the verb
	object string // what it was about: a table with its server, a server, a command
	cause  string
	left   string // what is left on the server, or of the run
	next   string // what to do
}

// place is where a verb is.
type place struct{ verb, command, stage, object string }

// stands says where the verb is now. An object that is "" stays.
func (a *app) stands(stage, object string) {
	now := a.place()
	now.stage, now.object = stage, cmp.Or(object, now.object)
	a.at.Store(&now)
}

func (a *app) place() place {
	if now := a.at.Load(); now != nil {
		return *now
	}
	return place{verb: "midstream", command: "midstream", stage: "command line", object: "midstream"}
}

// untouched is what is left where an error does not say it: nothing has changed then.
func (p place) untouched() string {
	switch p.verb {
	case "pause", "resume", "throttle", "set", "hold", "cutover", "abort":
		return "no run was affected"
	case "status", "watch", "report", "blockers", "verify", "completion", "version", "help", "midstream":
		return "nothing was changed"
	case "serve", "submit", "queue", "withdraw":
		return "the queue is unchanged"
	case "demo", "sandbox":
		return "at most the folder of the throwaway server"
	}
	return "nothing was written"
}

// troubleOf puts an error with its exit code into the five parts. What it does not say itself is said for the code.
func (a *app) troubleOf(err error, code int) trouble {
	at := a.place()
	t := trouble{stage: at.stage, object: at.object, cause: escape.Sentence(err)}
	var refused *plan.Refused
	var failed *failure.Failure
	var u *exit.Usage
	var c *exit.Error
	switch {
	case errors.As(err, &u):
		t.stage, t.object, t.cause = "command line", at.command, u.Error()
		if verb, flagged := strings.CutSuffix(u.Help, " --help"); flagged {
			t.object = verb
		}
		t.left, t.next = "midstream did not connect to a server", "see "+u.Help
	case errors.As(err, &failed):
		t.stage, t.cause, t.left, t.next = string(failed.Phase), escape.Sentence(failed.Err), failed.Left, failed.Next
	case errors.As(err, &refused):
		t.cause = refused.Summary()
	case errors.As(err, &c):
		t.cause, t.left, t.next = escape.Sentence(c.Err), c.Left, c.Next
	}
	var p *session.Partly
	if errors.As(err, &p) {
		t.object = p.Table
	}
	t.stage, t.object = cmp.Or(t.stage, at.verb), cmp.Or(t.object, at.command)
	t.left, t.next = cmp.Or(t.left, at.untouched()), cmp.Or(t.next, exit.OutcomeOf(code).Next)
	t.cause, t.left, t.next = a.speech.Of(t.cause), a.reach().In(a.speech.Of(t.left)), a.reach().In(a.speech.Of(t.next))
	return t
}

// complaint is what standard error gets to read; "" of no error.
func (a *app) complaint(err error, code int) string {
	if err == nil {
		return ""
	}
	t := a.troubleOf(err, code)
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-6s %s\n", label, humanize.Wrapped(text, 100, "         "))
		}
	}
	var refused *plan.Refused
	var failed *failure.Failure
	var p *session.Partly
	cause := escape.Line(t.cause)
	if laidOut(err) {
		cause = escape.Text(t.cause)
	}
	switch {
	case errors.As(err, &refused):
		b.WriteString(
			summary.OfRefusal(
				&plan.Refused{Table: refused.Table, Blocking: a.speech.Risks(refused.Blocking), Others: a.speech.Risks(refused.Others)},
				summary.Style{Reach: a.reach()},
			),
		)
	case errors.As(err, &failed):
		fmt.Fprintf(&b, "midstream: %s in phase %s: %s\n", verdict(code), failed.Phase, cause)
	case code == exit.Aborted:
		fmt.Fprintf(&b, "midstream: aborted: %s\n", cause)
	default:
		fmt.Fprintf(&b, "midstream: %s\n", cause)
	}
	line("where:", t.stage+", "+t.object)
	line("left:", t.left)
	line("next:", t.next)
	if errors.As(err, &p) {
		line("done:", summary.DoneOf(p))
		line("rest:", summary.RestOf(p))
	}
	return b.String()
}

// laidOut reports whether an error has lines of its own, in which text of others is escaped.
func laidOut(err error) bool {
	var u *exit.Usage
	var d denials
	return errors.As(err, &u) || errors.As(err, &d)
}

func verdict(code int) string {
	switch code {
	case exit.Aborted:
		return "aborted"
	case exit.Stopped:
		return "stopped"
	}
	return "failed"
}

// fill puts what went wrong into the record of a run's end.
func (a *app) fill(rec *record.Result, err error, code int) {
	t := a.troubleOf(err, code)
	rec.Error, rec.Stage, rec.Object, rec.Left, rec.Next = t.cause, t.stage, t.object, t.left, t.next
	rec.Passing = passing(err, code)
	var failed *failure.Failure
	var refused *plan.Refused
	var partly *session.Partly
	switch {
	case errors.As(err, &failed):
		rec.Phase, rec.Swapped = string(failed.Phase), failed.Swapped
	case errors.As(err, &refused):
		rec.Error, rec.Problems = err.Error(), record.Risks(refused.Blocking)
	}
	if errors.As(err, &partly) && len(partly.Done) > 0 {
		rec.Left = summary.DoneOf(partly) + "; of " + partly.Table + ": " + rec.Left
	}
}

// passing reports that the cause of an error passes by itself, so that the same command may succeed
// later. A limit that the operator has set is not such a cause, and neither is a lock that other
// sessions kept until that limit.
func passing(err error, code int) bool {
	var u *exit.Usage
	var f *failure.Failure
	switch {
	case errors.As(err, &f) && (f.Half || f.Swapped):
		return false
	case code != exit.Failed && code != exit.Stopped && code != exit.WrongUsage && code != exit.Refused:
		return false
	case errors.Is(err, lock.ErrGivenUp), errors.Is(err, lock.ErrTooLong), errors.Is(err, lock.ErrWork):
		return false
	case errors.As(err, &u):
		return slices.ContainsFunc(u.Problems, dbconn.Passes)
	}
	return dbconn.Passes(err)
}

// denials lists privileges, a line for each.
type denials string

func (d denials) Error() string { return string(d) }

// denial lists every privilege that cleanup's account lacks.
func denial(d *leftovers.Denied) denials {
	text := "refused: the account lacks privileges that cleanup needs; nothing was dropped\n"
	return denials(text + strings.TrimSuffix(summary.Risks(d.Lacked, summary.Style{}), "\n"))
}

// resultOf returns the record of a run's end.
func (a *app) resultOf(r migration.Result, err error, code int) record.Result {
	rec := record.ResultOf(r, code, exit.OutcomeOf(code).Name)
	if err != nil {
		a.fill(&rec, err, code)
	}
	return rec
}
