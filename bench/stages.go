package main

import (
	"math"
	"slices"
	"time"
)

// stage is a phase of a run, and what the foreground's transactions took in it.
type stage struct {
	Phase     string    `json:"phase"`
	At        time.Time `json:"at"`
	Seconds   float64   `json:"seconds"`
	P99MS     float64   `json:"p99_ms,omitempty"` // of transactions that overlap it
	LongestMS float64   `json:"longest_ms,omitempty"`
	WorstMS   float64   `json:"worst_second_ms,omitempty"` // p99
}

// feel adds the foreground's figures to the stages of a run that ended at a time.
func (r *midstreamResult) feel(trace []transaction, ended time.Time) {
	for i := range r.Stages {
		s, to := &r.Stages[i], ended
		if i+1 < len(r.Stages) {
			to = r.Stages[i+1].At
		}
		s.Seconds = to.Sub(s.At).Seconds()
		if f := summarise(trace, s.At.UnixMicro(), to.UnixMicro()); f.P99MS > 0 {
			s.P99MS, s.LongestMS = f.P99MS, f.LongestMS
			s.WorstMS = highest(secondsP99(trace, s.At.UnixMicro(), to.UnixMicro()))
		}
	}
}

// stages writes what the foreground felt in each stage of our runs.
func (p *page) stages(f *File) {
	p.line("### The stages of our runs\n")
	p.line("What the foreground's transactions took in each stage: medians of the rounds.\n")
	p.head("load", "stage", "s", "p99 ms", "worst second ms", "longest ms")
	for _, load := range rivalLoads() {
		runs := f.of(toolMidstream, load.name)
		if load.threads == 0 || len(runs) == 0 {
			continue
		}
		for _, phase := range phases(runs) {
			of := func(figure func(stage) float64) string {
				return number(median(collect(runs, func(r Run) float64 { return r.inStage(phase, figure) })), "%.1f")
			}
			p.row(load.name, phase, of(func(s stage) float64 { return s.Seconds }), of(func(s stage) float64 { return s.P99MS }),
				of(func(s stage) float64 { return s.WorstMS }), of(func(s stage) float64 { return s.LongestMS }))
		}
	}
	p.line("")
}

// phases are those of the runs, in their order.
func phases(runs []Run) (names []string) {
	for _, r := range runs {
		if r.Midstream == nil {
			continue
		}
		for _, s := range r.Midstream.Stages {
			if !slices.Contains(names, s.Phase) {
				names = append(names, s.Phase)
			}
		}
	}
	return names
}

// inStage returns the highest figure of a stage; NaN if the run did not go through it.
func (r Run) inStage(phase string, figure func(stage) float64) float64 {
	most := math.NaN()
	if r.Midstream == nil {
		return most
	}
	for _, s := range r.Midstream.Stages {
		if v := figure(s); s.Phase == phase && !(v <= most) {
			most = v
		}
	}
	return most
}
