package groups

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestTheStateOfAGroupIsThatOfTheRunWhoseTurnItIs: and its progress has the sums.
func TestTheStateOfAGroupIsThatOfTheRunWhoseTurnItIs(t *testing.T) {
	at := func(table, phase, state string, copied int64, eta time.Duration) socket.Status {
		s := socket.Status{Phase: phase, State: state, Why: "why of " + table}
		s.Table = "shop." + table
		p := event.Progress{Phase: event.Phase(phase), RowsCopied: copied, RowsTotal: 100, Fraction: float64(copied) / 100, ETA: eta}
		s.Progress = record.Of(p)
		return s
	}
	for _, c := range []struct {
		all               []socket.Status
		phase, state, why string
		copied            int64
		eta               time.Duration
	}{
		{[]socket.Status{at("a", "copy", "running", 50, time.Second), at("b", "start", "running", 0, -1)}, "copy", "running", "shop.a: why of a", 50, -1},
		{[]socket.Status{at("a", "catchup", "running", 100, 0), at("b", "copy", "waiting", 10, time.Minute)}, "copy", "waiting", "shop.b: why of b", 110, time.Minute},
		{[]socket.Status{at("a", "hold", "held", 100, 0), at("b", "catchup", "running", 100, 0)}, "hold", "held", "why of a", 200, 0},
		{[]socket.Status{at("a", "copy", "running", 50, 0), at("b", "start", "paused", 0, -1)}, "start", "paused", "shop.b: why of b", 50, -1},
		{[]socket.Status{at("a", "copy", "paused", 50, 0), at("b", "copy", "paused", 0, 0)}, "copy", "paused", "why of a", 50, 0},
		{[]socket.Status{at("a", "catchup", "running", 50, 0), at("b", "cutover", "blocked", 0, 0)}, "cutover", "blocked", "shop.b: why of b", 50, 0},
	} {
		now := Of(c.all)
		if now.Status.State == "running" {
			now.Why = c.why // a running run has none
		}
		p, _ := record.EventOf(now.Progress).(event.Progress)
		if now.Phase != c.phase || now.State != c.state || now.Why != c.why || now.Table != "shop.a" || len(now.Tables) != 2 {
			t.Errorf("%s %s %q instead of %s %s %q", now.Phase, now.State, now.Why, c.phase, c.state, c.why)
		}
		unlike := p.ETA != c.eta && (p.ETA >= 0 || c.eta >= 0)
		if unlike || p.RowsCopied != c.copied || p.RowsTotal != 200 || p.Fraction != float64(c.copied)/200 {
			t.Errorf("%+v", p)
		}
	}
}

// TestL5_HistoriesOfAGroupSurviveTheStore: what a killed run has left of a line separates no two histories.
func TestL5_HistoriesOfAGroupSurviveTheStore(t *testing.T) {
	const run = `{"event":"run","at":""}` + "\n"
	texts := []string{run + "{}\n{\"eve", run + "{}\n", run}
	var paths []string
	for i, text := range texts {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(i, err)
		}
		paths = append(paths, path)
	}
	all, err := Join(paths)
	if err != nil {
		t.Fatal(err)
	}
	got := Split(all)
	if want := [][]byte{[]byte(run + "{}\n"), []byte(texts[1]), []byte(texts[2])}; len(got) != 3 || !bytes.Equal(bytes.Join(got, []byte("|")), bytes.Join(want, []byte("|"))) {
		t.Errorf("%q", got)
	}
}
