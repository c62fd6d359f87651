package tui_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/face/tui"
)

// TestAPauseIsOneLine: the gate that a pause closes is no line next to that of the command, whichever comes first, and so is its end.
func TestAPauseIsOneLine(t *testing.T) {
	at := time.Now()
	gate := event.Throttled{Gates: []event.Gate{{Name: operator.PausedGate, Why: "paused by ann"}}, At: at}
	pause, resume := event.Controlled{Command: "pause", By: "ann", Text: "the run is paused", At: at}, event.Controlled{Command: "resume", By: "ann", Text: "resumed", At: at}
	other := event.Throttled{Gates: []event.Gate{{Name: "max-load", Why: "Threads_running is 90"}}, At: at}
	var b strings.Builder
	lines := tui.Lines{Out: &b}
	for _, e := range []event.Event{gate, pause, resume, event.Throttled{At: at}, other, event.Throttled{At: at.Add(time.Minute)}} {
		lines.Show(e)
	}
	if got := strings.Count(b.String(), "\n"); got != 4 || strings.Contains(b.String(), "waiting: paused") || !strings.Contains(b.String(), "Threads_running") {
		t.Errorf("%d lines:\n%s", got, b.String())
	}
}
