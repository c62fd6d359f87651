package summary_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestL9_StatusHasCommandsThatWork: what status prints about sessions in the way names the table of the run, and where its socket is.
func TestL9_StatusHasCommandsThatWork(t *testing.T) {
	blocked := event.Blocked{Run: "shop.orders", Blockers: []event.Blocker{{ConnectionID: 7, User: "app", Command: "Sleep", Age: time.Minute}}, At: time.Now()}
	text := strings.Join(strings.Fields(summary.OfStatus(socket.Status{
		About: socket.About{Table: "shop.orders", Reach: reach.Flags("").Sockets("/run/m")}, State: "blocked", CopyShare: "100%",
		Blocked: record.Of(blocked.Until(time.Now())),
	})), " ")
	for _, want := range []string{"next Queries are not waiting. To kill it: KILL 7.", "midstream set --control-dir=/run/m shop.orders kill-blockers-after=30s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

// TestStatusNamesEachPhaseAsTheDisplays: without progress, status has the words of the progress lines, of the page and of the report
// for each phase, of a run and of an undo, and not the name that JSON has.
func TestStatusNamesEachPhaseAsTheDisplays(t *testing.T) {
	for _, undoes := range []bool{false, true} {
		for _, phase := range event.Phases() {
			text := strings.Join(strings.Fields(summary.OfStatus(socket.Status{
				About: socket.About{Table: "shop.orders", Undoes: undoes}, Phase: string(phase), State: "running", CopyShare: "100%",
			})), " ")
			if want := humanize.PhaseOf(phase, undoes); !strings.Contains(text, "phase "+want) {
				t.Errorf("phase %s, undo %v: %q is missing in %s", phase, undoes, want, text)
			}
		}
	}
}

// TestStatusOfAPausedRun: the pause is there once, without an end that nobody knows, and with the page of the change.
func TestStatusOfAPausedRun(t *testing.T) {
	since := time.Date(2026, 12, 1, 19, 0, 0, 0, time.Local)
	p := event.Progress{Phase: event.PhaseVerify, ETA: time.Second / 2, RowsTotal: 10, Verified: 5}
	text := summary.OfStatus(socket.Status{
		About: socket.About{Table: "shop.orders", Page: "http://127.0.0.1:8385/changes/a\x1b"}, State: "paused", Why: "paused by ann", PausedBy: "ann", Since: since,
		CopyShare: "100%", Progress: record.Of(p),
		Throttled: record.Of(event.Throttled{Gates: []event.Gate{{Why: "paused by ann", Since: since}}}),
	})
	for _, want := range []string{"  page      http://127.0.0.1:8385/changes/a\\", "  state     paused: by ann, since 2026-12-01 19:00:00\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Count(text, "ann") != 1 || strings.Contains(text, "done in") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
	if got := humanize.ETA(event.Progress{Phase: event.PhaseCatchUp, ETA: time.Millisecond}); got != "caught up" {
		t.Error(got)
	}
}

// TestStatusNamesWhatSlowsTheRun: the pace next to the application, the share that a person chose and a pause are there in one line each,
// with the command that changes them.
func TestStatusNamesWhatSlowsTheRun(t *testing.T) {
	p := event.Progress{Phase: event.PhaseCopy, RowsTotal: 10, RowsCopied: 5, Workers: 0.35, Slowdown: 0.08, ETA: time.Minute}
	for _, c := range []struct {
		state, share string
		workers      float64
		want         string
	}{
		{"running", "100%", 0.35, "slower the row copy works 35 % of its time, because the application needs the server: its statements take 8 % longer; " +
			"to change that: midstream set --control-dir=/run/m shop.orders max-slowdown=20%"},
		{"running", "30%", 0.35, "slower the row copy works at most 30% of its time, until midstream throttle --control-dir=/run/m shop.orders 100%"},
		{"paused", "100%", 0, "next midstream resume --control-dir=/run/m shop.orders lets the run go on"},
		{"running", "100%", 2, ""},
	} {
		p.Workers = c.workers
		text := strings.Join(strings.Fields(summary.OfStatus(socket.Status{
			About: socket.About{Table: "shop.orders", Reach: reach.Flags("").Sockets("/run/m")}, State: c.state, CopyShare: c.share, Progress: record.Of(p),
		})), " ")
		if !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "slower") {
			t.Errorf("%q is missing in %s", c.want, text)
		}
	}
}
