package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"time"
)

// foresight is what was expected of a run beforehand, and while it worked.
type foresight struct {
	Plan       prediction `json:"plan"`       // without a measurement
	Calibrated prediction `json:"calibrated"` // with --calibrate
	// ETAs are the forecasts of the run at askedAt.
	ETAs []eta `json:"etas"`
}

// eta is what a run expected at a moment, as parts of the time that it took in the end.
type eta struct {
	Part     float64 `json:"part"`     // of the time that had passed
	Expected float64 `json:"expected"` // 1.1: a tenth too long; 0: not known
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
}

// askedAt are the parts of a run's time at which its forecast counts.
func askedAt() []float64 { return []float64{0.25, 0.5, 0.75} }

// forecastLoads are the loads of the reach, as shares of the peak.
func forecastLoads() []besideLoad {
	return []besideLoad{{loadIdle, 0}, {loadTwenty, 0.2}, {loadForty, 0.4}, {loadEighty, 0.8}}
}

// forecast measures how well runs know when they end, beforehand and while they work.
func (b *bench) forecast(ctx context.Context) error {
	f, err := b.newFile(ctx, b.base)
	if err != nil {
		return err
	}
	loads := slices.DeleteFunc(forecastLoads(), func(l besideLoad) bool { return !slices.Contains(b.loads, l.name) })
	if !slices.Contains(b.asked, "loads") {
		loads = forecastLoads()
	}
	if slices.ContainsFunc(loads, func(l besideLoad) bool { return l.share > 0 }) {
		if f.PeakTPS, err = b.peak(ctx); err != nil {
			return err
		}
		b.say("peak: %.0f transactions/s over %d connections", f.PeakTPS, b.threads)
	}
	for round := range b.rounds {
		for _, load := range loads {
			at := scene{tool: toolMidstream, load: load.name, rate: load.share * f.PeakTPS, round: round}
			r, err := b.measure(ctx, b.base, at, forecastTool(b.midstream, b.midstreamArgs))
			if err != nil {
				return fmt.Errorf("forecast at %s: %w", load.name, err)
			}
			b.say("round %d  %-6s %s", round+1, load.name, r.foreseen())
			f.Runs = append(f.Runs, r)
			if err := b.results.save(measureForecast, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// forecastTool plans a change without and with a measurement, and then carries it out. Its time is that of all three.
func forecastTool(path string, extra []string) tool {
	return func(ctx context.Context, s *server) usage {
		var foreseen foresight
		for _, ask := range []struct {
			flags []string
			to    *prediction
		}{{nil, &foreseen.Plan}, {[]string{"--calibrate"}, &foreseen.Calibrated}} {
			predicted, err := planned(ctx, path, s, append(slices.Clone(extra), ask.flags...))
			if err != nil {
				return usage{err: err}
			}
			*ask.to = predicted
		}
		var seen []midstreamEvent
		began := time.Now()
		u := midstreamTool(path, extra, func(e midstreamEvent) {
			if e.Event == "progress" {
				seen = append(seen, e)
			}
		})(ctx, s)
		if u.result != nil {
			foreseen.ETAs = etas(seen, began, u.result.ElapsedMS)
			u.result.Foresight = &foreseen
		}
		return u
	}
}

// planned returns the prediction of a plan.
func planned(ctx context.Context, path string, s *server, extra []string) (prediction, error) {
	args := append([]string{"plan"}, midstreamArgs(s, extra, change)...)
	output, err := exec.CommandContext(ctx, path, args...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return prediction{}, fmt.Errorf("plan: %w: %s", err, tail(string(failed.Stderr)+string(output)))
	}
	if err != nil {
		return prediction{}, fmt.Errorf("plan: %w", err)
	}
	for line := range bytes.Lines(output) {
		var e midstreamEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return prediction{}, fmt.Errorf("read a line of the plan: %w", err)
		}
		if e.Event == "plan" && e.Prediction != nil {
			return *e.Prediction, nil
		}
	}
	return prediction{}, errors.New("the plan has no prediction")
}

// etas are the forecasts of a run, from its reports of progress.
func etas(seen []midstreamEvent, began time.Time, tookMS float64) (all []eta) {
	for _, part := range askedAt() {
		i := slices.IndexFunc(seen, func(e midstreamEvent) bool { return msOf(e.seen.Sub(began)) >= part*tookMS })
		if i < 0 {
			continue
		}
		e, passed := eta{Part: part}, msOf(seen[i].seen.Sub(began))
		if seen[i].ETAMS != nil {
			e.Expected = (passed + *seen[i].ETAMS) / tookMS
			e.Least, e.Most = (passed+*seen[i].ETALeastMS)/tookMS, (passed+*seen[i].ETAMostMS)/tookMS
		}
		all = append(all, e)
	}
	return all
}

// foreseen is a line about the forecasts of a run.
func (r Run) foreseen() string {
	m := r.Midstream
	if m == nil || m.Foresight == nil || !r.Finished {
		return "not finished"
	}
	f := m.Foresight
	text := fmt.Sprintf("%.1f s; planned %s, calibrated %s; ETA", m.ElapsedMS/1e3, f.Plan.against(m.ElapsedMS), f.Calibrated.against(m.ElapsedMS))
	for _, e := range f.ETAs {
		text += " " + e.text()
	}
	return text
}

// against writes a prediction, with its ratio to the time that the run took.
func (p prediction) against(tookMS float64) string {
	return fmt.Sprintf("%.1f s (%.1f to %.1f), %.2fx", p.ElapsedMS/1e3, p.LeastMS/1e3, p.MostMS/1e3, p.ElapsedMS/tookMS)
}

func (e eta) text() string {
	if e.Expected == 0 {
		return "not known"
	}
	return fmt.Sprintf("%.2fx (%.2f to %.2f)", e.Expected, e.Least, e.Most)
}

func msOf(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// near reports whether a ratio of a forecast to the time that the run took is within 25 %.
func near(ratio float64) bool { return math.Abs(ratio-1) <= 0.25 }

// foresightVerdicts compare the forecasts with the demand of the reach.
func foresightVerdicts(f *File) []verdict {
	var calibrated, atQuarter, within []float64
	yes := func(is bool) float64 {
		if is {
			return 100
		}
		return 0
	}
	for _, r := range f.finishedForecasts() {
		took, seen := r.Midstream.ElapsedMS, r.Midstream.Foresight
		calibrated = append(calibrated, yes(near(seen.Calibrated.ElapsedMS/took)))
		for _, e := range seen.ETAs {
			atQuarter = append(atQuarter, yes(near(e.Expected)))
			within = append(within, yes(e.Least <= 1 && e.Most >= 1))
		}
	}
	cases := func(what string, hits []float64, bound float64) verdict {
		share := math.NaN()
		var sum float64
		for _, hit := range hits {
			sum += hit
		}
		if len(hits) > 0 {
			share = sum / float64(len(hits))
		}
		return atLeast(what, share, bound, "%.0f %%").noted("of %d", len(hits))
	}
	return []verdict{
		cases("`plan --calibrate`, elapsed within 25 %, in so many cases", calibrated, 90),
		cases("forecasts at 25, 50 and 75 % of the time, elapsed within 25 %, in so many cases", atQuarter, 90),
		cases("the same, the end within the range, in so many cases", within, 80),
	}
}

// finishedForecasts are the runs of forecast that ended well.
func (f *File) finishedForecasts() []Run {
	if f == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Runs), func(r Run) bool {
		return !r.Finished || r.Midstream == nil || r.Midstream.Foresight == nil
	})
}

// forecasts writes the table of forecast.
func (p *page) forecasts(f *File) {
	if f == nil {
		return
	}
	p.line("## Forecasts\n")
	p.line("The peak of the server over %d connections: %.0f transactions/s.\n", f.Threads, f.PeakTPS)
	p.line("Each cell has the expected time, its range, and the expected time divided by the time that the run took.\n")
	head := []string{"load", "round", "elapsed s", "plan", "plan --calibrate"}
	for _, part := range askedAt() {
		head = append(head, fmt.Sprintf("ETA at %.0f %%", 100*part))
	}
	p.head(head...)
	for _, load := range forecastLoads() {
		for _, r := range f.finishedForecasts() {
			if r.Load != load.name {
				continue
			}
			m := r.Midstream
			cells := []string{load.name, fmt.Sprint(r.Round + 1), fmt.Sprintf("%.1f", m.ElapsedMS/1e3),
				m.Foresight.Plan.against(m.ElapsedMS), m.Foresight.Calibrated.against(m.ElapsedMS)}
			for _, e := range m.Foresight.ETAs {
				cells = append(cells, e.text())
			}
			p.row(cells...)
		}
	}
	p.line("")
	p.judge(foresightVerdicts(f))
	p.troubles(f.Runs)
}
