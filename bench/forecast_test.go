package main

import (
	"math"
	"testing"
	"time"
)

// TestETAs: a forecast counts by the first report after a part of the time. One that is not known is a miss.
func TestETAs(t *testing.T) {
	began := time.Now()
	report := func(after time.Duration, left float64) midstreamEvent {
		e := midstreamEvent{seen: began.Add(after)}
		if least, most := left/2, left*2; left >= 0 {
			e.ETAMS, e.ETALeastMS, e.ETAMostMS = &left, &least, &most
		}
		return e
	}
	got := etas([]midstreamEvent{
		report(time.Second, 1), report(3*time.Second, -1), report(6*time.Second, 2000), report(8*time.Second, 4000),
	}, began, 10_000)
	if len(got) != 3 || got[0].Expected != 0 || math.Abs(got[1].Expected-0.8) > 1e-9 || math.Abs(got[2].Expected-1.2) > 1e-9 ||
		math.Abs(got[2].Least-1) > 1e-9 || math.Abs(got[2].Most-1.6) > 1e-9 {
		t.Errorf("forecasts %+v", got)
	}
	f := &File{Runs: []Run{{Finished: true, Midstream: &midstreamResult{ElapsedMS: 10_000, Foresight: &foresight{
		Calibrated: prediction{ElapsedMS: 12_000}, ETAs: got,
	}}}, {Finished: false}}}
	verdicts := foresightVerdicts(f)
	if verdicts[0].value != 100 || math.Abs(verdicts[1].value-200.0/3) > 1e-9 || math.Abs(verdicts[2].value-200.0/3) > 1e-9 {
		t.Errorf("verdicts %+v", verdicts)
	}
}

// TestStagesOfARun: a transaction counts for each stage that it overlaps.
func TestStagesOfARun(t *testing.T) {
	began := time.UnixMicro(5e6)
	at := func(after time.Duration) int64 { return began.Add(after).UnixMicro() }
	trace := []transaction{
		{at: at(100 * time.Millisecond), took: 5000}, {at: at(990 * time.Millisecond), took: 40_000}, {at: at(2 * time.Second), took: 7000},
	}
	r := midstreamResult{Stages: []stage{{Phase: "copy", At: began}, {Phase: "verify", At: began.Add(time.Second)}}}
	r.feel(trace, began.Add(3*time.Second))
	if c, v := r.Stages[0], r.Stages[1]; c.Seconds != 1 || c.LongestMS != 40 || v.Seconds != 2 || v.LongestMS != 40 || v.WorstMS != 40 {
		t.Errorf("stages %+v", r.Stages)
	}
	if run := (Run{Midstream: &r}); run.inStage("verify", func(s stage) float64 { return s.Seconds }) != 2 ||
		!math.IsNaN(run.inStage("index", func(s stage) float64 { return s.Seconds })) {
		t.Errorf("stages %+v", r.Stages)
	}
}
