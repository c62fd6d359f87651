package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"midstream/internal/engine/event"
)

// ask are the samples that a handler answers with, by name and labels.
func ask(t *testing.T, h http.Handler) map[string]string {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return samples(answer.Body.String())
}

func samples(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && !strings.HasPrefix(line, "#") {
			all[name+"}"] = value
		}
	}
	return all
}

const of = `server="db1:3306",table="shop.orders"`

// began is a run that has told something of everything.
func began(t *testing.T) *Run {
	r := New(About{Table: "shop.orders", Server: "db1:3306", Version: "1"})
	at := time.Now()
	r.now = func() time.Time { return at.Add(10 * time.Second) }
	for _, e := range []event.Event{
		event.PhaseEntered{Phase: event.PhaseCheck, At: at.Add(-3 * time.Second)}, event.PhaseEntered{Phase: event.PhaseCopy, At: at},
		event.Progress{RowsCopied: 5, RowsTotal: 10, ETA: -1, ReplicaLag: -1, Slowdown: -1, StatementTime: 2 * time.Millisecond,
			CaptureDelay: time.Millisecond, Backlog: 7, Unfit: &event.Unfit{Rows: 2}},
		event.ChunkCopied{Rows: 5, Elapsed: 20 * time.Millisecond}, event.LockAttempt{Granted: false,
			Waited: 250 * time.Millisecond}, event.LockAttempt{Granted: true},
		event.Throttled{At: at, Gates: []event.Gate{{Name: "replica-lag db2:3306", Since: at}, {Name: "replica-lag db3:3306", Since: at.Add(time.Second)}, {Name: "file", Since: at}}},
		event.Throttled{At: at.Add(4 * time.Second), Gates: []event.Gate{{Name: "replica-lag db3:3306", Since: at.Add(time.Second)}}},
		event.Blocked{Blockers: make([]event.Blocker, 2), At: at}, event.Killed{}, event.Retry{What: "chunk"}, event.Controlled{Refused: true}, event.Finding{Kind: "null"},
		event.Mismatch{}, event.Verified{Repaired: 3}, event.SwapDone{LockHeld: 30 * time.Millisecond}, event.Note{},
	} {
		r.Listen(e)
	}
	return r
}

// TestRun: every event arrives at its metric, and what is not known has no sample.
func TestRun(t *testing.T) {
	r := began(t)
	got := ask(t, r)
	for name, want := range map[string]string{
		`midstream_run_info{rehearsal="",` + of + `,version="1"}`: "1", `midstream_phase{phase="copy",` + of + `}`: "1", `midstream_phase{phase="check",` + of + `}`: "0",
		`midstream_phase_seconds_total{phase="check",` + of + `}`: "3", `midstream_phase_seconds_total{phase="copy",` + of + `}`: "10",
		"midstream_rows_copied_total{" + of + "}": "5", "midstream_rows_estimated{" + of + "}": "10", "midstream_backlog_keys{" + of + "}": "7",
		"midstream_capture_delay_seconds{" + of + "}": "0.001", "midstream_application_statement_seconds{" + of + `,when="now"}`: "0.002",
		"midstream_application_statement_seconds{" + of + `,when="alone"}`: "", "midstream_eta_seconds{" + of + "}": "", "midstream_replica_lag_seconds{" + of + "}": "",
		"midstream_application_slowdown_ratio{" + of + "}": "", `midstream_chunk_seconds_count{` + of + `}`: "1", `midstream_chunk_seconds_bucket{` + of + `,le="0.01"}`: "0",
		`midstream_lock_wait_seconds_sum{outcome="withdrawn",` + of + `}`: "0.25", `midstream_lock_attempts_total{outcome="granted",` + of + `}`: "1",
		`midstream_throttled{gate="replica-lag",` + of + `}`: "1", `midstream_throttled{gate="file",` + of + `}`: "0",
		`midstream_throttled_seconds_total{gate="replica-lag",` + of + `}`: "10", `midstream_throttled_seconds_total{gate="file",` + of + `}`: "4",
		"midstream_blockers{" + of + "}": "2", "midstream_kills_total{" + of + "}": "1", "midstream_retries_total{" + of + `,what="chunk"}`: "1", "midstream_retries_total{" + of + `,what="keys"}`: "0",
		`midstream_commands_total{outcome="refused",` + of + `}`: "1", `midstream_findings_total{kind="null",` + of + `}`: "1", "midstream_mismatches_total{" + of + "}": "1",
		"midstream_undo_unfit_rows{" + of + "}": "2", "midstream_rows_repaired_total{" + of + "}": "3", "midstream_lock_held_seconds{" + of + "}": "0.03", `midstream_run_ended{outcome="done",` + of + `}`: "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q instead of %q", name, got[name], want)
		}
	}
	now := r.now
	r.now = func() time.Time { return now().Add(10 * time.Second) }
	if n := ask(t, r)["midstream_blockers{"+of+"}"]; n != "0" {
		t.Errorf("%s sessions are in the way of whom nobody has told for 20 s", n)
	}
	r.now = now
	r.End("done")
	got = ask(t, r)
	for name, want := range map[string]string{`midstream_run_ended{outcome="done",` + of + `}`: "1", `midstream_phase{phase="copy",` + of + `}`: "0",
		`midstream_throttled{gate="replica-lag",` + of + `}`: "0", `midstream_throttled_seconds_total{gate="replica-lag",` + of + `}`: "10", "midstream_blockers{" + of + "}": "0"} {
		if got[name] != want {
			t.Errorf("at the end %s is %q instead of %q", name, got[name], want)
		}
	}
}

// TestRowsOfAnotherAttempt: the rows of one that goes on begin at zero, as what counts an increase
// would take those of before for new ones.
func TestRowsOfAnotherAttempt(t *testing.T) {
	r := began(t)
	for _, c := range []struct {
		e    event.Event
		want string
	}{
		{event.PhaseEntered{Phase: event.PhaseCheck}, ""},
		{event.Resumed{Rows: 4}, ""},
		{event.Progress{RowsCopied: 4}, "0"},
		{event.Progress{RowsCopied: 9}, "5"},
	} {
		r.Listen(c.e)
		if got := ask(t, r)["midstream_rows_copied_total{"+of+"}"]; got != c.want {
			t.Errorf("after %+v it is %q instead of %q", c.e, got, c.want)
		}
	}
}

// TestGatesOfAnotherAttempt: an attempt that ends because its server is lost reports no gate as open. The next one begins without
// closed gates.
func TestGatesOfAnotherAttempt(t *testing.T) {
	r := began(t)
	r.Listen(event.PhaseEntered{Phase: event.PhaseCheck, At: r.now()})
	for name, want := range map[string]string{
		`midstream_throttled{gate="replica-lag",` + of + `}`:               "0",
		`midstream_throttled_seconds_total{gate="replica-lag",` + of + `}`: "10",
	} {
		if got := ask(t, r)[name]; got != want {
			t.Errorf("%s is %q instead of %q", name, got, want)
		}
	}
}

// TestStrangeNames: a name that is no UTF-8, as a command line may have, is a label all the same.
func TestStrangeNames(t *testing.T) {
	got := ask(t, New(About{Table: "shop.a\xff", Server: "/run/\xfe", Version: "1"}))
	if got["midstream_run_info{rehearsal=\"\",server=\"/run/\uFFFD\",table=\"shop.a\uFFFD\",version=\"1\"}"] != "1" {
		t.Errorf("it is %v", got)
	}
}

// TestNames: Prometheus's own rules find nothing to say.
func TestNames(t *testing.T) {
	problems, err := testutil.GatherAndLint(began(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestUnion: the metrics of several runs stand beside each other; one that doesn't answer is told,
// and keeps nobody from the others'.
func TestUnion(t *testing.T) {
	source := func(change string, r *Run) Source {
		return Source{Change: change, Read: func(context.Context) ([]io.ReadCloser, error) {
			if r == nil {
				return nil, errors.New("it has just ended")
			}
			answer := httptest.NewRecorder()
			r.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			return []io.ReadCloser{answer.Result().Body}, nil
		}}
	}
	got := ask(t, Union(Queue{Counts: func() map[string]int { return map[string]int{"waiting": 4, "failed": 0} },
		Sources: func() []Source { return []Source{source("a", began(t)), source("b", began(t)), source("c", nil)} }}))
	for name, want := range map[string]string{
		`midstream_changes{state="waiting"}`: "4", `midstream_changes{state="failed"}`: "0", `midstream_run_up{change="a"}`: "1", `midstream_run_up{change="c"}`: "0",
		`midstream_rows_copied_total{change="a",` + of + `}`: "5", `midstream_rows_copied_total{change="b",` + of + `}`: "5",
		`midstream_lock_wait_seconds_count{change="b",outcome="withdrawn",` + of + `}`: "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q instead of %q", name, got[name], want)
		}
	}
}

// TestSets: change sets have their metrics next to those of the queue, and one that waits for no person has no age.
func TestSets(t *testing.T) {
	got := ask(t, Union(Queue{
		Counts: func() map[string]int { return map[string]int{"waiting": 4} }, Sources: func() []Source { return nil },
		Sets: func() Sets {
			return Sets{Counts: map[string]int{"running": 1, "stopped": 1}, AtWork: []Set{
				{ID: "a", Members: map[string]int{"ready": 2, "done": 0}, Waves: map[string]int{"running": 1}, Waits: time.Now().Add(time.Hour)},
				{ID: "b", Members: map[string]int{"failed": 1}, Waves: map[string]int{"to approve": 1}, Stopped: true},
			}}
		},
	}))
	for name, want := range map[string]string{
		`midstream_changes{state="waiting"}`: "4", `midstream_sets{state="stopped"}`: "1",
		`midstream_set_members{set="a",state="ready"}`: "2", `midstream_set_members{set="a",state="done"}`: "0",
		`midstream_set_members{set="b",state="failed"}`: "1", `midstream_set_waves{set="b",state="to approve"}`: "1",
		`midstream_set_stopped{set="a"}`: "0", `midstream_set_stopped{set="b"}`: "1",
		`midstream_set_wait_seconds{set="a"}`: "0", `midstream_set_wait_seconds{set="b"}`: "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q instead of %q", name, got[name], want)
		}
	}
}

// TestKeep: the file is there from the beginning, and tells the end.
func TestKeep(t *testing.T) {
	r, path := began(t), filepath.Join(t.TempDir(), "midstream.prom")
	stop, err := r.Keep(path)
	if err != nil {
		t.Fatal(err)
	}
	r.End("failed")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || samples(string(text))[`midstream_run_ended{outcome="failed",`+of+`}`] != "1" {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := r.Keep(filepath.Join(path, "nowhere")); err == nil {
		t.Error("a file that can't be written to is taken")
	}
}
