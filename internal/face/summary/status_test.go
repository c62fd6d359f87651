package summary_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/schema"
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
	p := event.Progress{Phase: event.PhaseVerify, ETA: time.Second / 2, RowsTotal: 10, Verified: 5, Backlog: 3, ApplyRate: 8}
	text := summary.OfStatus(socket.Status{
		About: socket.About{Table: "shop.orders", Page: "http://127.0.0.1:8385/changes/a\x1b"}, State: "paused", Why: "paused by ann", PausedBy: "ann", Since: &since,
		CopyShare: "100%", Progress: record.Of(p),
		Throttled: record.Of(event.Throttled{Gates: []event.Gate{{Why: "paused by ann", Since: since}}}),
	})
	for _, want := range []string{"  page      http://127.0.0.1:8385/changes/a\\", "  state     paused: by ann, since 2026-12-01 19:00:00\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Count(text, "ann") != 1 || strings.Contains(text, "done in") || strings.Contains(text, "/s)") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
	if got := humanize.ETA(event.Progress{Phase: event.PhaseCatchUp, ETA: time.Millisecond}); got != "all changes applied" {
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
		{"running", "100%", 0.35, "slower the row copy works 35 % of its time, because the application needs the server: its statements take 8 % longer. " +
			"At most 5%,0.2ms is allowed (max-slowdown); to allow more: midstream set --control-dir=/run/m shop.orders max-slowdown=20%,0.2ms"},
		{"running", "30%", 0.35, "slower the row copy works at most 30% of its time, until midstream throttle --control-dir=/run/m shop.orders 100%"},
		{"paused", "100%", 0, "next midstream resume --control-dir=/run/m shop.orders lets the run go on"},
		{"running", "100%", 2, ""},
	} {
		p.Workers = c.workers
		text := strings.Join(strings.Fields(summary.OfStatus(socket.Status{
			About: socket.About{Table: "shop.orders", Reach: reach.Flags("").Sockets("/run/m")}, State: c.state, CopyShare: c.share, Slowdown: "5%,0.2ms", Progress: record.Of(p),
		})), " ")
		if !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "slower") {
			t.Errorf("%q is missing in %s", c.want, text)
		}
	}
}

// TestStatusHasTheReasonOfADerivedLimit: a limit that the run has derived from its deadline is shown with the deadline as its reason, and
// no command suggests a lower one.
func TestStatusHasTheReasonOfADerivedLimit(t *testing.T) {
	now := time.Now()
	status := socket.Status{About: socket.About{Table: "shop.orders"}, State: "running", CopyShare: "100%", Slowdown: "5%"}
	for _, c := range []struct {
		slowdown, want string
		factor         float64
	}{
		{"5%", "At most 30% is allowed: the run has derived that limit from its deadline and max-slowdown=5%", 6},
		{"30%", "At most 30% is allowed (max-slowdown); to allow more: midstream set shop.orders max-slowdown=60%", 0},
	} {
		p := event.Progress{Phase: event.PhaseCopy, RowsTotal: 10, RowsCopied: 5, Workers: 0.35, Slowdown: 0.08, ETA: time.Minute, At: now}
		if c.factor > 0 {
			p.Deadline = event.Deadline{By: now.Add(time.Hour), State: event.DeadlineMet, Expected: now, Limit: "30%", Factor: c.factor}
		}
		status.Slowdown, status.Progress = c.slowdown, record.Of(p)
		text := strings.Join(strings.Fields(summary.OfStatus(status)), " ")
		if !strings.Contains(text, c.want) || c.factor > 0 && strings.Contains(text, "midstream set") {
			t.Errorf("%q is missing in %s", c.want, text)
		}
	}
}

// TestStatusHasAHoldOnce: a run that is held, or will be, has one line about that.
func TestStatusHasAHoldOnce(t *testing.T) {
	const why = "until midstream cutover  shop.orders"
	for state, want := range map[string]string{
		"held":    "state on hold: until midstream cutover shop.orders",
		"running": "hold the run will wait before it swaps: until midstream cutover shop.orders",
	} {
		status := socket.Status{About: socket.About{Table: "shop.orders"}, State: state, CopyShare: "100%", Held: why}
		if state == "held" {
			status.Why = why
		}
		text := strings.Join(strings.Fields(summary.OfStatus(status)), " ")
		if !strings.Contains(text, want) || strings.Count(text, "until midstream cutover") != 1 {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

// TestBlockersNamesAnOldSnapshot: the swap waits for it, and it holds no lock.
func TestBlockersNamesAnOldSnapshot(t *testing.T) {
	table := schema.Name{Schema: "shop", Table: "orders"}
	old := event.Blocker{ConnectionID: 7, User: "u", Host: "h", Snapshot: true}
	for want, holding := range map[string][]event.Blocker{
		"No session holds a lock of shop.orders.\nWith an old snapshot, for which the swap waits; it holds no lock:\n  connection 7, ": {old},
		"Holding a lock of shop.orders:\n  connection 8, ":                             {{ConnectionID: 8}},
		"old snapshot, which holds no lock: midstream status  shop.orders shows it.\n": nil,
	} {
		if got := summary.OfBlockers(table, holding, nil); !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}
