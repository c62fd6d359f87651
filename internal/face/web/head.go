package web

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/report"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/record"
)

// part is a piece of a headline: a text, or the time since when something lasts. The page counts it.
type part struct {
	Text  string     `json:"text,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	At    *time.Time `json:"at,omitempty"` // a time of day
}

// headline is the state of a run in one line: a word, which is its badge, and the rest.
type headline struct {
	Word  string `json:"word"`
	Parts []part `json:"parts"`
}

func (h *headline) text(format string, args ...any) {
	h.Parts = append(h.Parts, part{Text: escape.Line(fmt.Sprintf(format, args...))})
}

// since adds an age that the page counts.
func (h *headline) since(at time.Time) {
	at = at.UTC().Truncate(time.Second)
	h.Parts = append(h.Parts, part{Since: &at})
}

// headlineOf reads the headline of a run. held is when it began to wait with the swap; zero if that is not known.
func headlineOf(status groups.ChangeStatus, held time.Time) headline {
	p, known := record.EventOf(status.Progress).(event.Progress)
	known = known && string(p.Phase) == status.Phase
	h := headline{Word: status.State}
	switch status.State {
	case "held":
		h.ready(status, p, held)
	case "prepared":
		h.text("for round %d of a barrier: it swaps, or gives its lock back in a moment", status.Round.Number)
	case "blocked":
		if b, is := record.EventOf(status.Blocked).(event.Blocked); is && len(b.Blockers) > 0 {
			h.blocked(b)
		}
	case "paused":
		by, _, _ := strings.Cut(status.PausedBy, ", through ") // the service, whose name helps no one here
		if status.Since != nil {
			h.since(*status.Since)
		}
		h.text(" by %s", by)
	case "stopped":
		h.text("at a checkpoint by %s; changes are not captured", status.PausedBy)
	case "waiting":
		h.waiting(status)
	default:
		if known {
			h.text("%s", doing(p))
		} else {
			h.text("%s", rest(humanize.PhaseOf(event.Phase(status.Phase), status.Undoes)))
		}
		return h
	}
	if known && status.State != "held" && p.Fraction > 0 && p.Fraction < 1 && p.Phase == event.PhaseCopy {
		h.text(". %s copied", humanize.Percent(p.Fraction))
	}
	return h
}

// ready is the headline of a run that waits before the swap.
func (h *headline) ready(status groups.ChangeStatus, p event.Progress, held time.Time) {
	switch {
	case status.Soaks:
		h.Word = "soaking"
		h.text("until the drop is due")
		return
	case status.Undoes:
		h.text("follows the table until the undo is released")
	case strings.HasPrefix(status.Why, "the copy window"):
		h.text("%s", status.Why)
		return
	default:
		h.Word = "ready"
		h.text("to cut over")
	}
	if !held.IsZero() {
		h.text(", waiting for ")
		h.since(held)
	}
	if !p.Compared.IsZero() {
		h.text(", verified ")
		h.since(p.Compared)
		h.text(" ago")
	}
}

func (h *headline) blocked(b event.Blocked) {
	h.since(b.At.Add(-b.Waiting))
	if len(b.Blockers) > 1 {
		h.text(" by %s", humanize.Plural(len(b.Blockers), "session"))
		return
	}
	one := b.Blockers[0]
	h.text(" by connection %d, %s@%s: %s for ", one.ConnectionID, one.User, one.Host, humanize.Doing(one))
	h.since(b.At.Add(-one.Age))
	if one.Statement != "" {
		h.text(`, last statement "%s"`, humanize.OneLine(one.Statement, 60))
	}
}

// waiting names the first closed gate.
func (h *headline) waiting(status groups.ChangeStatus) {
	t, is := record.EventOf(status.Throttled).(event.Throttled)
	if !is || len(t.Gates) == 0 {
		h.text("%s", status.Why)
		return
	}
	h.since(t.Gates[0].Since)
	h.text(": %s", t.Gates[0].Why)
	if more := len(t.Gates) - 1; more > 0 {
		h.text(", and %s", humanize.Plural(more, "other reason"))
	}
}

// doing is what a run works on, and when it ends.
func doing(p event.Progress) string {
	text := ""
	switch fraction := fractionOf(p); {
	case p.Phase == event.PhaseCopy && fraction != nil:
		text = humanize.Percent(*fraction) + " copied"
	case p.Phase == event.PhaseVerify && fraction != nil:
		text = humanize.Percent(*fraction) + " verified"
	case p.Phase == event.PhasePrescan && fraction != nil:
		text = humanize.Percent(*fraction) + " of the rows checked"
	case p.Phase == event.PhaseIndex || p.Phase == event.PhaseNative:
		text = humanize.Built(p)
	default:
		text = rest(humanize.Phase(p.Phase))
	}
	if end := endsAt(p); end != "" {
		text += ", done " + end
	}
	return text
}

// rest is the description of a phase without its step.
func rest(text string) string {
	_, after, _ := strings.Cut(text, ": ")
	return cmp.Or(after, text)
}

// endsAt is when the run will end, such as "about 10:34 UTC", or "in about 3 days"; "" if that is not known.
func endsAt(p event.Progress) string {
	switch p.Phase {
	case event.PhaseHold, event.PhaseCutover, event.PhaseLock, event.PhaseCatchUp:
		return ""
	}
	switch {
	case p.ETA < 0 || p.At.IsZero():
		return ""
	case p.ETA < 10*time.Second:
		return "in some seconds"
	case p.ETA < 24*time.Hour:
		return "about " + p.At.Add(p.ETA).UTC().Format("15:04 UTC")
	}
	return "in about " + humanize.About(p.ETA)
}

// endWord is the word for the end of a run: the one that lists have.
func endWord(r *report.Report) string {
	if r.Run.Rehearsal != "" && r.State == "done" {
		return r.Words()
	}
	return string(queue.StateOf(r.Result.Outcome))
}

// endHead is the headline of a run that has ended, without its word.
func endHead(r *report.Report) string {
	var parts []string
	if lock := r.Result.LockHeldMS.Duration(); r.Result.Swapped && lock > 0 {
		parts = append(parts, "swapped, locked for "+humanize.Span(lock))
	}
	if at := r.Result.Time(); !at.IsZero() {
		parts = append(parts, "ended at "+at.UTC().Format("15:04:05 UTC"))
	}
	text := strings.Join(parts, "; ")
	if took := r.Result.ElapsedMS.Duration(); took > 0 {
		text += " after " + humanize.Span(took)
	}
	if r.Result.Error != "" {
		text += ": " + inLine(r.Result.Error)
	}
	return escape.Line(text)
}

// inLine is an error that may have a list of reasons, in one line.
func inLine(text string) string {
	return escape.Line(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n- ", "; ")), " "))
}

// heldUntil is why a run waits with the cut-over. The page has a button in the place of the command.
func heldUntil(why string) string {
	if strings.HasPrefix(why, "until midstream cutover") {
		return "until you press Cut over"
	}
	return escape.Line(why)
}
