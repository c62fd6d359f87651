package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// loadStep is a load that rises from 40 % of the peak to the maximum, and then ends.
const loadStep = "step"

// The parts of a step.
const (
	stepCalm  = 10 * time.Second // at 40 %
	stepFull  = 12 * time.Second // as fast as it can be
	stepAlone = 6 * time.Second  // without a load
)

// Pace is how many rows were copied until a moment.
type Pace struct {
	AtS     float64 `json:"at_s"` // since the tool began
	Rows    int64   `json:"rows"`
	Workers float64 `json:"workers"`
}

// Step is a run whose load changes.
type Step struct {
	UpS   float64 `json:"up_s"`   // when the load rose, since the tool began
	GoneS float64 `json:"gone_s"` // when it ended
	Pace  []Pace  `json:"pace"`
}

// step lets midstream copy while the load changes.
func (b *bench) step(ctx context.Context, at scene) (r Run, err error) {
	s, err := b.base.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	r = Run{Tool: at.tool, Load: at.load, RateTPS: at.rate, Round: at.round, Rows: b.base.rows}
	calm, err := startLoad(ctx, b.programs.sysbench, s, b.options, at.rate)
	if err != nil {
		return r, err
	}
	if err := pause(ctx, b.lead); err != nil {
		return r, err
	}
	var mu sync.Mutex
	var step Step
	tool := midstreamTool(b.midstream, b.gentle(), func(e midstreamEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Event == "progress" && e.Phase == "copy" {
			step.Pace = append(step.Pace, Pace{e.seen.Sub(r.At).Seconds(), e.RowsCopied, e.Workers})
		}
	})
	r.At = time.Now()
	running, cancel := context.WithTimeout(ctx, stepCalm+stepFull+stepAlone)
	defer cancel()
	done := make(chan usage, 1)
	go func() { done <- tool(running, s) }()
	err = pause(ctx, stepCalm)
	var full *load
	if err == nil {
		full, err = startLoad(ctx, b.programs.sysbench, s, b.options, 0)
		step.UpS = time.Since(r.At).Seconds()
	}
	if err == nil {
		err = pause(ctx, stepFull)
	}
	step.GoneS = time.Since(r.At).Seconds()
	for _, l := range []*load{calm, full} {
		if l != nil {
			_, _, stopErr := l.stop()
			err = errors.Join(err, stopErr)
		}
	}
	if err != nil {
		cancel()
	}
	u := <-done
	r.ElapsedS, r.Finished, r.Step = u.elapsed.Seconds(), u.err == nil, &step
	b.say(
		"round %d  %-6s slowed down after %s, full speed after %s", r.Round+1, r.Load, number(gaveWay(r), "%.1f s"),
		number(speededUp(r), "%.1f s"),
	)
	return r, err
}

// rates are rows in a second between two samples, at the time of the later one.
func (s *Step) rates() (rates []Pace) {
	for i := 1; i < len(s.Pace); i++ {
		if dt := s.Pace[i].AtS - s.Pace[i-1].AtS; dt > 0 {
			rates = append(
				rates,
				Pace{AtS: s.Pace[i].AtS, Rows: int64(float64(s.Pace[i].Rows-s.Pace[i-1].Rows) / dt), Workers: s.Pace[i].Workers},
			)
		}
	}
	return rates
}

// between returns the rates of a period.
func (s *Step) between(from, to float64) (rates []float64) {
	for _, p := range s.rates() {
		if p.AtS > from && p.AtS <= to {
			rates = append(rates, float64(p.Rows))
		}
	}
	return rates
}

// gaveWay is the time from the rise of the load until the copy has the pace that it then keeps: at
// most a fifth above the median of the rest of that period, or a tenth of the pace before.
func gaveWay(r Run) float64 {
	s := r.Step
	if s == nil {
		return math.NaN()
	}
	kept := max(1.2*median(s.between(s.UpS+stepFull.Seconds()/2, s.GoneS)), 0.1*median(s.between(s.UpS-stepCalm.Seconds()/2, s.UpS)))
	for _, p := range s.rates() {
		if p.AtS > s.UpS && float64(p.Rows) <= kept {
			return p.AtS - s.UpS
		}
	}
	return math.NaN()
}

// speededUp is the time from the end of the load until the copy has nine tenths of the pace that it
// then keeps.
func speededUp(r Run) float64 {
	s := r.Step
	if s == nil {
		return math.NaN()
	}
	kept := median(s.between(s.GoneS+stepAlone.Seconds()/2, math.Inf(1)))
	for _, p := range s.rates() {
		if p.AtS > s.GoneS && float64(p.Rows) >= 0.9*kept {
			return p.AtS - s.GoneS
		}
	}
	return math.NaN()
}

func (p *page) steps(f *File) {
	steps := f.of(toolMidstream, loadStep)
	if len(steps) == 0 {
		return
	}
	p.line("The load rises from 40 %% of the peak to its maximum, and stops:\n")
	p.head("round", "rows copied/s at 40 %", "at full load", "without a load", "slowed down after", "full speed after")
	for _, r := range steps {
		s := r.Step
		p.row(
			fmt.Sprint(r.Round+1), number(median(s.between(s.UpS-stepCalm.Seconds()/2, s.UpS)), "%.0f"),
			number(median(s.between(s.UpS+2, s.GoneS)), "%.0f"),
			number(median(s.between(s.GoneS+2, math.Inf(1))), "%.0f"), number(gaveWay(r), "%.1f s"),
			number(speededUp(r), "%.1f s"),
		)
	}
	p.line("")
}
