package summary

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/throttle"
)

// TestPlanWithCurve: a calibrated plan says what the change takes by several limits, the gentlest
// first, and which one is chosen. Without an application, or with too few rows, it says nothing.
func TestPlanWithCurve(t *testing.T) {
	const us = time.Microsecond
	curve := plan.Curve{
		Statements: 4000, Mean: 100 * us, P99: 3900 * us, Running: 1, Used: 0.01, Complete: true,
		Points: []plan.Point{
			{Drive: 0.5, Rows: 10, Slower: 0.5, P99: 5 * time.Millisecond}, {Drive: 1, Rows: 20, Slower: 1, P99: 9 * time.Millisecond},
			{Drive: 3, Rows: 60, Slower: 3, P99: 117 * time.Millisecond},
		},
	}
	calibrated := func(c plan.Curve) Planned {
		p := planned(t, "ADD COLUMN c INT", func(p *plan.Plan) { p.Pace.Curve, p.Pace.Measured, p.Pace.Verify = c, true, 0 })
		p.Settings.MaxSlowdown = throttle.Slowdown{Part: 0.2}
		return p
	}
	p := calibrated(curve)
	text := strings.Join(strings.Fields(OfPlan(p, Style{}, "")), " ")
	for _, want := range []string{
		"Pace within 5%: about 3 days 19 h, 0.9 rows/s; statements take 5 % longer, p99 4.0 ms (now 3.9 ms) within 20% (chosen): about 24 h, 3.4 rows/s; " +
			"statements take 20 % longer, p99 4.3 ms (now 3.9 ms) within 0.2ms: about 4 h 25 min, 18 rows/s; statements take 2.7 times as long, p99 9.0 ms (now 3.9 ms) " +
			"full speed: about 1 h 20 min, 60 rows/s; statements take 20 times as long, p99 117 ms (now 3.9 ms) Impact",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
	p.Settings.FullSpeed = true
	if text := OfPlan(p, Style{}, ""); !strings.Contains(text, "full speed (chosen)") || strings.Count(text, "(chosen)") != 1 {
		t.Errorf("at full speed: %s", text)
	}
	noisy := calibrated(curve)
	noisy.Pace.Curve.Points = []plan.Point{{Drive: 0.3, Rows: 10, Slower: 0.3}, {Drive: 3, Rows: 60, Slower: -0.1}}
	if !strings.Contains(OfPlan(noisy, Style{}, ""), "(uncertain: ") || strings.Contains(text, "uncertain") {
		t.Error("only an uncertain curve is called so")
	}
	incomplete := curve
	incomplete.Complete = false
	for _, c := range []plan.Curve{{}, incomplete} {
		if text := OfPlan(calibrated(c), Style{}, ""); strings.Contains(text, "Pace") {
			t.Errorf("%+v: %s", c, text)
		}
	}
}
