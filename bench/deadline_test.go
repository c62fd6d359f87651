package main

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// TestDeadlinesAreBetweenTheFixedLimits: runs at fixed limits come first. The deadlines of the other runs
// are such that a fixed limit between half and twice the default would just have met them.
func TestDeadlinesAreBetweenTheFixedLimits(t *testing.T) {
	f := &File{}
	for range schedules * len(fixedFactors()) {
		next, some := f.nextDeadline(10)
		if !some || next.Fixed == 0 || next.WithinS != 0 {
			t.Fatalf("run %d is %+v", len(f.Runs), next)
		}
		elapsed := 40 * math.Pow(next.Fixed, -0.4) * float64(1+next.Schedule)
		f.Runs = append(f.Runs, Run{Finished: true, ElapsedS: elapsed, Deadline: &next})
	}
	for n := range 11 {
		next, some := f.nextDeadline(10)
		if some != (n < 10) {
			t.Fatalf("run %d with a deadline: %v", n, some)
		} else if !some {
			return
		}
		want := 40 * math.Pow(next.Wanted, -0.4) * float64(1+next.Schedule)
		if next.Fixed != 0 || next.Wanted < 0.45 || next.Wanted > 2.2 || math.Abs(next.WithinS-want) > 1e-6*want {
			t.Errorf("run %d is %+v; with this limit it takes %.1f s", n, next, want)
		}
		f.Runs = append(f.Runs, Run{Finished: true, ElapsedS: next.WithinS, Deadline: &next})
	}
}

// TestFactorsAreWeighedByTime: the mean limit is that over the time of the run.
func TestFactorsAreWeighedByTime(t *testing.T) {
	var e midstreamEvent
	if err := json.Unmarshal([]byte(`{"event": "result", "deadline": "2026-11-26T06:00:00Z"}`), &e); err != nil {
		t.Fatal(err)
	}
	f, began := factors{lowest: math.Inf(1)}, time.Now()
	for _, c := range []struct {
		after  float64
		factor string
	}{{0, "1"}, {1, "1"}, {3, "4"}} {
		var e midstreamEvent
		if err := json.Unmarshal([]byte(`{"event": "progress", "deadline": {"factor": `+c.factor+`}}`), &e); err != nil {
			t.Fatal(err)
		}
		e.seen = began.Add(time.Duration(c.after * float64(time.Second)))
		f.see(e)
	}
	if got := f.sum / f.seconds; got != 3 || f.lowest != 1 || f.highest != 4 {
		t.Errorf("the mean limit is %.2f, between %.2f and %.2f", got, f.lowest, f.highest)
	}
}
