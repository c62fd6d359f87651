package tui

import (
	"strings"
	"time"

	"midstream/internal/engine/event"
)

// waitEvery is the time between two lines that report the same wait.
const waitEvery = time.Minute

// waiting remembers what a display has printed about closed gates.
type waiting struct {
	gates string    // their names; "" if none is closed
	shown time.Time // when they had a line
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
