package tui

import (
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/face/humanize"
)

// waitEvery is the time between two lines that report the same wait.
const waitEvery = time.Minute

// waiting remembers what a display has printed about closed gates.
type waiting struct {
	gates string    // their names; "" if none is closed
	shown time.Time // when they had a line

	paused bool   // the only gate was that of a pause
	advice string // about the sessions that block the swap: it is printed once
}

// news reports whether an event is to be printed: of the same closed gates, one each minute.
func (w *waiting) news(e event.Event) bool {
	t, is := e.(event.Throttled)
	if !is {
		return true
	}
	var names []string
	for _, g := range t.Gates {
		names = append(names, g.Name)
	}
	gates := strings.Join(names, "\n")
	if gates == w.gates && gates != "" && t.At.Sub(w.shown) < waitEvery {
		return false
	}
	w.gates, w.shown = gates, t.At
	return true
}

// blocked is the text about sessions that block the swap, with an advice that is new.
func (w *waiting) blocked(e event.Blocked) string {
	advice := strings.Join(humanize.Advice(e), "\n")
	if advice == w.advice {
		return strings.Join(humanize.BlockedBy(e), humanize.Indent)
	}
	w.advice = advice
	return humanize.Blocked(e)
}

// known reports whether an event repeats what the line of an operator's pause or resume reports: the command comes before or after it.
func (w *waiting) known(e event.Event) bool {
	t, is := e.(event.Throttled)
	if !is {
		return false
	}
	was := w.paused
	w.paused = len(t.Gates) == 1 && t.Gates[0].Name == operator.PausedGate
	return w.paused || was && len(t.Gates) == 0
}
