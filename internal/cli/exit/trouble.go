package exit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/reach"
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

// Place is where a verb is: the verb and its command, the stage, and what the stage is about.
type Place struct{ Verb, Command, Stage, Object string }

// Teller puts the ends of a verb into words.
type Teller struct {
	At     Place
	Speech *speech.Speech // of the program whose command line it is; nil for midstream's own
	Reach  reach.Flags    // by which the commands in it reach the server
}

// untouched is what is left where an error does not say it: nothing has changed then.
func (p Place) untouched() string {
	switch p.Verb {
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
func (a Teller) troubleOf(err error, code int) trouble {
	at := a.At
	t := trouble{stage: at.Stage, object: at.Object, cause: escape.Sentence(err)}
	var refused *plan.Refused
	var failed *failure.Failure
	var u *Usage
	var c *Error
	switch {
	case errors.As(err, &u):
		t.stage, t.object, t.cause = "command line", at.Command, u.Error()
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
	t.stage, t.object = cmp.Or(t.stage, at.Verb), cmp.Or(t.object, at.Command)
	t.left, t.next = cmp.Or(t.left, at.untouched()), cmp.Or(t.next, OutcomeOf(code).Next)
	t.cause, t.left, t.next = a.Speech.Of(t.cause), a.Reach.In(a.Speech.Of(t.left)), a.Reach.In(a.Speech.Of(t.next))
	return t
}

// Complaint is what standard error gets to read; "" of no error.
func (a Teller) Complaint(err error, code int) string {
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
				&plan.Refused{Table: refused.Table, Blocking: a.Speech.Risks(refused.Blocking), Others: a.Speech.Risks(refused.Others)},
				summary.Style{Reach: a.Reach},
			),
		)
	case errors.As(err, &failed):
		fmt.Fprintf(&b, "midstream: %s in phase %s: %s\n", verdict(code), failed.Phase, cause)
	case code == Aborted:
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
	var u *Usage
	var d Denials
	return errors.As(err, &u) || errors.As(err, &d)
}

func verdict(code int) string {
	switch code {
	case Aborted:
		return "aborted"
	case Stopped:
		return "stopped"
	}
	return "failed"
}

// fill puts what went wrong into the record of a run's end.
func (a Teller) fill(rec *record.Result, err error, code int) {
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
	var u *Usage
	var f *failure.Failure
	switch {
	case errors.Is(err, session.ErrTurn):
		return true
	case errors.As(err, &f) && (f.Half || f.Swapped):
		return false
	case code != Failed && code != Stopped && code != WrongUsage && code != Refused:
		return false
	case errors.Is(err, lock.ErrGivenUp), errors.Is(err, lock.ErrTooLong), errors.Is(err, lock.ErrWork):
		return false
	case errors.As(err, &u):
		return slices.ContainsFunc(u.Problems, dbconn.Passes)
	}
	return dbconn.Passes(err)
}

// Denials lists privileges, a line for each.
type Denials string

func (d Denials) Error() string { return string(d) }

// Denial lists every privilege that cleanup's account lacks.
func Denial(d *leftovers.Denied) Denials {
	text := "refused: the account lacks privileges that cleanup needs; nothing was dropped\n"
	return Denials(text + strings.TrimSuffix(summary.Risks(d.Lacked, summary.Style{}), "\n"))
}

// ResultOf returns the record of a run's end.
func (a Teller) ResultOf(r migration.Result, err error, code int) record.Result {
	rec := record.ResultOf(r, code, OutcomeOf(code).Name)
	if err != nil {
		a.fill(&rec, err, code)
	}
	return rec
}
