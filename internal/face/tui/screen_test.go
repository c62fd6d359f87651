package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// events are those of a run in which everything happens.
var events = []event.Event{
	event.PhaseEntered{Phase: event.PhaseCheck},
	event.PhaseEntered{Phase: event.PhasePrescan},
	event.Progress{Phase: event.PhasePrescan, RowsTotal: 100, Scanned: 50, ETA: -1, ReplicaLag: -1, Slowdown: -1},
	event.PhaseEntered{Phase: event.PhaseCopy},
	event.Progress{
		Phase:              event.PhaseCopy,
		Elapsed:            1500 * time.Millisecond,
		RowsCopied:         41,
		RowsTotal:          100,
		Fraction:           .41,
		CopyRate:           12.5,
		ChunkRows:          10,
		Workers:            1.5,
		Statements:         4210,
		StatementTime:      1500 * time.Microsecond,
		StatementTimeAlone: 1100 * time.Microsecond,
		ReplicaLag:         7 * time.Millisecond,
		Slowdown:           .0312,
		Captured:           7,
		Applied:            6,
		Dropped:            5,
		Merged:             4,
		Backlog:            3,
		BacklogLimit:       1000,
		ApplyRate:          2.5,
		CaptureDelay:       53 * time.Millisecond,
		ETA:                31 * time.Second,
		ETALeast:           28 * time.Second,
		ETAMost:            41 * time.Second,
		Retries:            1,
	},
	event.Throttled{Gates: []event.Gate{{Name: "replica-lag r1", Why: "replica r1 is 3 s behind"}}},
	event.PhaseEntered{Phase: event.PhaseIndex},
	event.PhaseEntered{Phase: event.PhaseCatchUp},
	event.Throttled{},
	event.Blocked{
		Blockers: []event.Blocker{
			{
				ConnectionID: 17,
				User:         "app",
				Host:         "h:1",
				Command:      "Sleep",
				Age:          time.Minute,
				Statement:    "SELECT 'é😀'",
				Table:        "shop.orders",
				Why:          "holds a metadata lock",
			},
		},
	},
	event.LockAttempt{Number: 2, Waited: 250 * time.Millisecond},
	event.PhaseEntered{Phase: event.PhaseVerify},
	event.PhaseEntered{Phase: event.PhaseCutover},
	event.LockAttempt{Number: 3, Granted: true},
	event.PhaseEntered{Phase: event.PhaseDone},
}

// after is what the lines show after so many events.
func after(n, width int) []string { return strings.Split(modelAfter(n, width).View().Content, "\n") }

func modelAfter(n, width int) tea.Model {
	var m tea.Model = newModel("shop.orders")
	m, _ = m.Update(tea.WindowSizeMsg{Width: width, Height: 24})
	for _, e := range events[:n] {
		m, _ = m.Update(e)
	}
	return m
}

// TestGatesOfAnotherAttempt: an attempt that loses its server reports no gate as open. The next attempt has gates of its own.
func TestGatesOfAnotherAttempt(t *testing.T) {
	m := newModel("shop.orders")
	for _, e := range []event.Event{
		event.PhaseEntered{Phase: event.PhaseHold}, event.Throttled{Gates: []event.Gate{{Name: "capture-delay", Why: "capture is late"}}},
		event.PhaseEntered{Phase: event.PhaseCheck}, event.PhaseEntered{Phase: event.PhaseHold},
	} {
		next, _ := m.Update(e)
		m = next.(model)
	}
	if text := m.View().Content; strings.Contains(text, "capture is late") {
		t.Errorf("the new attempt waits for a gate of the former:\n%s", text)
	}
}

// TestFitsTheTerminal draws every state on terminals of every width.
func TestFitsTheTerminal(t *testing.T) {
	for width := 1; width < 200; width++ {
		for n := range events {
			for _, line := range after(n+1, width) {
				if w := ansi.StringWidth(line); w > width {
					t.Fatalf("%d columns on a terminal of %d: %q", w, width, line)
				}
			}
		}
	}
}

func TestShows(t *testing.T) {
	for n, want := range map[int][]string{
		3: {"prepare: checking that every row fits", "1/5 prepare: checking", "50 %  50 of ~100"},
		5: {"shop.orders  2/5 copy: copying rows", "1.5 s", "✓ prepare › 2 copy › 3 indexes › 4 verify › 5 cut over", "41 %  done in 30 s (30 s to 40 s)  41 of ~100  12/s", "3 keys (most 3)  2.5/s  capture delay 53 ms  replica lag 7.0 ms",
			"app      4,210 statements/s, 1.5 ms each, 1.1 ms without this run · 3.1 % slower", "work     1.5 workers · 10 rows per chunk · 7 changes captured · 6 applied · 5 of rows not copied yet · 4 of the same rows · 1 retry"},
		6:  {"waiting  replica r1 is 3 s behind"},
		10: {"blocked  connection 17, app@h:1"},
		11: {"lock     attempt 2 not granted within 250 ms, withdrawn"},
	} {
		text := ansi.Strip(strings.Join(after(n, 140), "\n"))
		for _, says := range want {
			if !strings.Contains(text, says) {
				t.Errorf("after %d events the lines don't say %q:\n%s", n, says, text)
			}
		}
	}
	m, _ := modelAfter(10, 140).Update(event.Progress{Phase: event.PhaseCatchUp, At: time.Time{}.Add(20 * time.Second)})
	if text := m.View().Content; strings.Contains(text, "blocked") {
		t.Errorf("nobody has been told to be in the way for 20 s, and the lines still say:\n%s", text)
	}
	for n, not := range map[int]string{9: "waiting  replica", 13: "blocked", 14: "attempt"} {
		if text := strings.Join(after(n, 140), "\n"); strings.Contains(text, not) {
			t.Errorf("after %d events the lines still say %q:\n%s", n, not, text)
		}
	}
}

// TestScreenPrintsInOrder: what is told while something is being printed waits for that, and all of it
// is printed before the end.
func TestScreenPrintsInOrder(t *testing.T) {
	var m tea.Model = newModel("shop.orders")
	m, first := m.Update(scrolled("1"))
	m, second := m.Update(scrolled("2"))
	m, third := m.Update(scrolled("3"))
	m, end := m.Update(finished{})
	if first == nil || second != nil || third != nil || end != nil {
		t.Error("things are printed side by side")
	}
	m, rest := m.Update(printed{})
	_, quit := m.Update(printed{})
	if rest == nil || quit == nil {
		t.Fatal("what waited is not printed, or there is no end")
	}
	if _, is := quit().(tea.QuitMsg); !is {
		t.Error("it does not end")
	}
}

// TestL9_TheScreenIsOurs: what others have named or said moves no cursor and sets no title.
func TestL9_TheScreenIsOurs(t *testing.T) {
	const hostile = "x\x1b]0;owned\x07\nFORGED\u009b31m\u202e中文"
	b := event.Blocker{
		User:      hostile,
		Host:      hostile,
		Command:   hostile,
		Statement: hostile,
		Table:     hostile,
		Why:       hostile,
		Lock:      hostile,
		Role:      event.Role(hostile),
	}
	var m tea.Model = newModel(escape.Line(hostile))
	m, _ = m.Update(tea.WindowSizeMsg{Width: 2000, Height: 24})
	for _, e := range []tea.Msg{event.PhaseEntered{Phase: event.Phase(hostile)},
		event.Progress{Phase: event.PhaseNative, BuildStep: hostile},
		event.Throttled{Gates: []event.Gate{{Why: hostile}}},
		event.Blocked{Blockers: []event.Blocker{b}}, event.PhaseEntered{Phase: event.PhaseNative}} {
		m, _ = m.Update(e)
	}
	view := ansi.Strip(m.View().Content)
	if escape.Text(view) != view || strings.Contains("\n"+view, "\nFORGED") || !strings.Contains(view, "中文") {
		t.Errorf("it shows %q", view)
	}
	if strings.Contains(m.View().Content, "owned\x07") {
		t.Errorf("it sets the title: %q", m.View().Content)
	}
	busy := m.(model)
	busy.printing, busy.commands.ctx = true, t.Context() // what is to be printed stays pending
	m, _ = busy.Update(answered{command: "pause", err: errors.New(hostile)})
	if said := strings.Join(m.(model).pending, "\n"); escape.Text(said) != said || !strings.Contains(said, "中文") {
		t.Errorf("it says %q", said)
	}
}

// TestEightyColumnsCutNothing: on a terminal of 80 columns and 24 lines the end of a copy, each reason for waiting, each blocker and each
// question are there to their last letter, and ages count with the progress.
func TestEightyColumnsCutNothing(t *testing.T) {
	at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	progress := event.Progress{
		Phase: event.PhaseCopy, At: at, RowsCopied: 1_119_371_000, RowsTotal: 2_950_411_000, Fraction: .41, CopyRate: 121_192,
		ETA: 7800 * time.Second, ETALeast: 6000 * time.Second, ETAMost: 11_100 * time.Second,
		Backlog: 123_456, BacklogLimit: 1_000_000, ApplyRate: 12_345, ReplicaLag: 7 * time.Second,
		CaptureDelay: 53 * time.Second, Statements: 42_100, StatementTime: time.Millisecond, StatementTimeAlone: time.Millisecond,
		Slowdown: .03, Workers: 3, ChunkRows: 12_345, Captured: 123_456_789, Applied: 123_456_789,
		Dropped: 12_345_678, Merged: 12_345_678, Retries: 123,
	}
	var gates []event.Gate
	for i := range 3 {
		why := "replica replica-with-a-long-name-" + string(rune('a'+i)) + ".example.com:3306 is 12.5 s behind; at most 1 s is allowed END"
		gates = append(gates, event.Gate{Name: "replica-lag", Why: why, Since: at.Add(-9 * time.Second)})
	}
	blocker := event.Blocker{ConnectionID: 123456, User: "reporting", Host: "host-of-reports.example.com:54321", Command: "Query", Age: 8 * time.Second,
		Why: "holds a metadata lock", Table: "warehouse.customer_orders", Statement: "SELECT COUNT(*), region FROM customer_orders GROUP BY region LAST"}
	blocked := event.Blocked{At: at, Waiting: 6 * time.Second, Blockers: []event.Blocker{blocker, blocker, blocker}}
	var m tea.Model = newModel("warehouse.customer_orders_of_the_last_ten_years")
	m, _ = m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	do := func(context.Context, string) error { return nil }
	m, _ = m.Update(commanding{Commands: Commands{Do: do, Leave: func() {}}, ctx: t.Context()})
	copying := event.PhaseEntered{Phase: event.PhaseCopy, At: at}
	for _, e := range []tea.Msg{copying, progress, event.Throttled{At: at, Gates: gates}, key('a')} {
		m, _ = m.Update(e)
	}
	shows := func(want ...string) {
		t.Helper()
		text := ansi.Strip(m.View().Content)
		lines := strings.Split(text, "\n")
		joined := strings.Join(strings.Fields(text), " ")
		for _, w := range want {
			if !strings.Contains(joined, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
		if strings.Contains(text, "…") || len(lines) >= 24 {
			t.Errorf("%d lines, or a line is cut:\n%s", len(lines), text)
		}
	}
	shows("WAITING 9 s", "-c.example.com:3306 is 12.5 s behind; at most 1 s is allowed END", "[y/N] Abort, and remove what the run has created?",
		"done in 2 h 10 min (1 h 40 min to 3 h 5 min)", "5 cut over")
	later := progress
	later.At, later.Phase = at.Add(5*time.Second), event.PhaseCutover
	for _, e := range []tea.Msg{key('n'), event.Throttled{At: at}, event.PhaseEntered{Phase: event.PhaseCutover, At: at}, blocked, later} {
		m, _ = m.Update(e)
	}
	shows("BLOCKED 11 s by 3 sessions", "reporting@host-of-reports.example.com:54321, Query for 13.0 s", "LAST]", "q leave")
	paused := event.Throttled{At: at, Gates: []event.Gate{{Name: "paused", Why: "paused by ann (uid 1000, process 77)", Since: at.Add(-5 * time.Second)}}}
	m, _ = m.Update(paused)
	shows("PAUSED 10 s by ann (uid 1000, process 77)")
}
