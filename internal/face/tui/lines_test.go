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

// TestAnEventIsOneLine: the gate opens before the line of the command that resumes. A note follows an attempt without the lock. The
// advice about a session that blocks the swap comes once, and the position in the binlog only with --verbose.
func TestAnEventIsOneLine(t *testing.T) {
	at := time.Now()
	shown := func(verbose bool, events ...event.Event) string {
		var b strings.Builder
		lines := tui.Lines{Out: &b, Verbose: verbose}
		for _, e := range events {
			lines.Show(e)
		}
		return b.String()
	}
	text := shown(false, event.Controlled{Command: "pause", By: "ann", Text: "paused", At: at},
		event.Throttled{Gates: []event.Gate{{Name: operator.PausedGate, Why: "paused by ann"}}, At: at}, event.Throttled{At: at},
		event.Controlled{Command: "resume", By: "ann", Text: "resumed", At: at})
	if strings.Count(text, "\n") != 2 || strings.Count(text, "resumed") != 1 {
		t.Error(text)
	}
	for _, verbose := range []bool{false, true} {
		text = shown(verbose, event.LockAttempt{Number: 1, Waited: 251 * time.Millisecond, At: at}, event.Note{Text: "attempt 1 to cut over: the lock was not granted", At: at})
		if strings.Count(text, "\n") != 1 || !strings.Contains(text, "attempt 1 to cut over") {
			t.Error(text)
		}
		if text = shown(verbose, event.SwapDone{Position: "binlog.000001:4", Attempts: 1, At: at}); strings.Contains(text, "binlog.000001:4") != verbose {
			t.Errorf("verbose %v: %s", verbose, text)
		}
	}
	blocked := event.Blocked{Run: "shop.orders", Waiting: 42 * time.Second, Blockers: []event.Blocker{{ConnectionID: 7, User: "u", Host: "h", Command: "Sleep", Age: time.Minute}}, At: at}
	later := blocked.Until(at.Add(10 * time.Second))
	killed := later.Until(at.Add(20 * time.Second))
	killed.KillAfter, killed.Kills, killed.KillIn = 30*time.Second, 1, 22*time.Second
	text = shown(false, blocked, later, killed)
	if strings.Count(text, "BLOCKED ") != 3 || strings.Count(text, "kill-blockers-after=30s") != 1 || strings.Count(text, "To kill it: KILL 7") != 1 ||
		strings.Count(text, "The session will be killed in 22 s (kill-blockers-after).") != 1 {
		t.Error(text)
	}
}

// TestAWaitIsReportedOnceAMinute: a run that waits for its disk prints why once, then each minute, and no rows meanwhile: they would be
// the same each time.
func TestAWaitIsReportedOnceAMinute(t *testing.T) {
	at := time.Now()
	var b strings.Builder
	lines := tui.Lines{Out: &b}
	for i := range 125 {
		now := at.Add(time.Duration(i) * time.Second)
		if i%10 == 0 {
			lines.Show(event.Throttled{Gates: []event.Gate{{Name: "disk", Why: "the disk of the server is full"}}, At: now})
		}
		lines.Show(event.Progress{Phase: event.PhaseCopy, RowsTotal: 100, ETA: -1, Slowdown: -1, At: now})
	}
	if got := strings.Count(b.String(), "\n"); got != 3 || strings.Count(b.String(), "the disk of the server is full") != 3 {
		t.Errorf("%d lines:\n%s", got, b.String())
	}
	b.Reset()
	lines.Show(event.Throttled{At: at.Add(126 * time.Second)})
	for i := range 61 { // the copy stands still for another reason
		now := at.Add(time.Duration(130+i) * time.Second)
		lines.Show(event.Progress{Phase: event.PhaseCopy, RowsTotal: 100, RowsCopied: 30, Fraction: 0.3, ETA: -1, Slowdown: -1, At: now})
	}
	if got := strings.Count(b.String(), "30 of 100"); got != 2 || !strings.Contains(b.String(), "resumed") {
		t.Errorf("%d lines:\n%s", got, b.String())
	}
}

// TestAHoldIsOneLine: a hold has a line with its reason; a program that begins to watch during a hold prints the phase.
func TestAHoldIsOneLine(t *testing.T) {
	at := time.Now()
	hold, why := event.PhaseEntered{Phase: event.PhaseHold, At: at}, event.Note{Text: "cut over: on hold: until midstream cutover  shop.orders", At: at}
	progress := event.Progress{Phase: event.PhaseHold, At: at}
	for _, c := range []struct {
		events []event.Event
		want   string
	}{
		{[]event.Event{hold, why, progress}, "5/5 cut over  on hold: until midstream cutover  shop.orders"},
		{[]event.Event{hold, progress}, "5/5 cut over  on hold until an operator or the time window allows the swap"},
	} {
		var b strings.Builder
		lines := tui.Lines{Out: &b}
		for _, e := range c.events {
			lines.Show(e)
		}
		if _, got, _ := strings.Cut(strings.TrimSpace(b.String()), "  "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestABlockedRunDoesNotRepeatThatItHasCaughtUp: while a session blocks the lock, the lines are about the session.
func TestABlockedRunDoesNotRepeatThatItHasCaughtUp(t *testing.T) {
	at := time.Now()
	var b strings.Builder
	lines := tui.Lines{Out: &b}
	for i := range 55 {
		now := at.Add(time.Duration(i) * time.Second)
		lines.Show(event.Progress{Phase: event.PhaseCatchUp, ETA: time.Millisecond, Slowdown: -1, Backlog: i % 3, At: now})
	}
	if got := strings.Count(b.String(), "all changes applied"); got != 1 {
		t.Errorf("%d lines:\n%s", got, b.String())
	}
}
