package tui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
)

// lineEvery is the time between two lines of progress.
const lineEvery = 5 * time.Second

// Lines is the display of a run without a terminal. It prints a line of progress every few seconds,
// the result of each step, and everything that may need an operator.
type Lines struct {
	Out     io.Writer
	Quiet   bool   // only what may need an operator
	Verbose bool   // each phase and each lock attempt too
	OneStep bool   // the run has one step only, which needs no number
	Table   string // in each line, if the lines are those of several tables; else ""

	shown   time.Time      // of the last line of progress, or of the first phase
	last    event.Progress // the last one with a line
	phase   event.Phase    // current
	entered time.Time      // of the current phase
	copied  time.Time      // when an undo began to copy
	holds   string         // a hold that has begun, and has no line yet
	waiting waiting

	explained []string // short words that were explained
}

// Show prints an event, or nothing.
func (l *Lines) Show(e event.Event) {
	if _, reason := e.(event.Note); !reason && l.holds != "" { // a program watches a run that is held already
		l.print(l.entered, l.holds)
	}
	l.holds = ""
	switch e := e.(type) {
	case event.Progress:
		if l.Quiet || e.At.Sub(l.shown) < lineEvery || e.Phase == event.PhaseDone || e.Still(l.last) || l.stuck(e) {
			return
		}
		l.shown, l.last = e.At, e
		l.print(e.At, humanize.Progress(e))
		l.explain(e)
	case event.PhaseEntered:
		l.enter(e)
	default:
		if swap, is := e.(event.SwapDone); is && !l.Verbose {
			swap.Position = ""
			e = swap
		}
		at, text, matters := humanize.Happening(e)
		if l.waiting.known(e) {
			return
		}
		if text == "" || l.Quiet && !matters || !l.waiting.news(e) {
			return
		}
		switch e := e.(type) {
		case event.LockAttempt:
			if !e.Granted || !l.Verbose {
				return // the swap, or a note with the reason, reports it
			}
		case event.Blocked:
			text = l.waiting.blocked(e)
		}
		l.print(at, text)
	}
}

// stuck reports whether a progress has no more rows than the last one with a line, and not much time has gone by. Nothing is
// printed while closed gates explain it.
func (l *Lines) stuck(p event.Progress) bool {
	if p.RowsCopied != l.last.RowsCopied || p.Verified != l.last.Verified || p.Scanned != l.last.Scanned {
		return false
	}
	switch p.Phase {
	case event.PhasePrescan, event.PhaseCopy, event.PhaseVerify, event.PhaseRows, event.PhaseRecount:
		return l.waiting.gates != "" || p.Phase == l.last.Phase && p.At.Sub(l.last.At) < waitEvery
	case event.PhaseCatchUp, event.PhaseCutover, event.PhaseLock: // the run waits for its lock
		return p.Phase == l.last.Phase && caughtUp(p) && caughtUp(l.last) && p.At.Sub(l.last.At) < waitEvery
	}
	return false
}

// caughtUp reports whether a progress has no end that a person waits for.
func caughtUp(p event.Progress) bool { return p.ETA >= 0 && p.ETA < time.Second }

// enter prints the result of the last phase, and the new phase if it waits for something or if the
// user wants every phase.
func (l *Lines) enter(e event.PhaseEntered) {
	last, began := l.phase, l.entered
	l.phase, l.entered = e.Phase, e.At
	if l.shown.IsZero() {
		l.shown = e.At // nothing to report yet
	}
	if l.Quiet {
		return
	}
	if last == event.PhaseCopy {
		l.copied = began
	}
	switch {
	case e.Undo && last == event.PhaseShadow:
		l.print(e.At, "prepare: old table taken over")
	case e.Undo && e.Phase == event.PhaseVerify && !l.copied.IsZero():
		l.print(e.At, "copy: old table brought up to date in "+humanize.Span(e.At.Sub(l.copied)))
		l.copied = time.Time{}
	}
	if e.Undo {
		last = ""
	}
	switch last {
	case event.PhaseShadow:
		l.print(e.At, "prepare: new table created")
	case event.PhaseCopy:
		l.print(e.At, "copy: all rows copied in "+humanize.Span(e.At.Sub(began)))
	case event.PhaseIndex:
		l.print(e.At, "indexes: built in "+humanize.Span(e.At.Sub(began)))
	}
	if e.Phase == event.PhaseHold && !l.Verbose {
		l.holds = humanize.PhaseOf(e.Phase, e.Undo)
	}
	if l.Verbose || e.Phase == event.PhaseNative || e.Phase == event.PhaseCopy {
		l.print(e.At, humanize.PhaseOf(e.Phase, e.Undo))
	}
}

// explain prints once what the short words of a line of progress mean.
func (l *Lines) explain(p event.Progress) {
	text := humanize.Progress(p)
	for _, term := range humanize.Terms() {
		if strings.Contains(text, "  "+term.Word+" ") && !slices.Contains(l.explained, term.Word) {
			l.explained = append(l.explained, term.Word)
			l.print(p.At, "("+term.Word+": "+term.Meaning+")")
		}
	}
}

// print writes a line.
func (l *Lines) print(at time.Time, text string) {
	line := lineOf(at, text, l.OneStep)
	if l.Table != "" {
		line = line[:clock] + "  " + l.Table + line[clock:]
	}
	fmt.Fprintln(l.Out, line)
}

// clock is the length of a line's time.
const clock = len("15:04:05")

// lineOf is a text with its time of day. A text that begins with a step gets the number of the step, unless the run
// has one step only.
func lineOf(at time.Time, text string, oneStep bool) string {
	if step, rest, is := strings.Cut(text, ": "); is && humanize.IsStep(step) {
		if text = rest; !oneStep {
			text = humanize.Numbered(step) + "  " + rest
		}
	}
	return at.Local().Format("15:04:05") + "  " + text
}

// Close does nothing.
func (l *Lines) Close() {}

// Abandon does nothing.
func (l *Lines) Abandon() {}
