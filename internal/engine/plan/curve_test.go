package plan_test

import (
	"math"
	"testing"
	"time"

	"midstream/internal/engine/plan"
)

// TestCurve: a limit takes the drive that costs as much, on a straight line through the measured
// points. Rows and p99 are between the neighbours. A limit above all of them is full speed.
func TestCurve(t *testing.T) {
	const ms = time.Millisecond
	c := plan.Curve{Statements: 500, Mean: 2 * ms, P99: 4 * ms, Points: []plan.Point{
		{Drive: 0.5, Rows: 1000, Slower: 0.1, P99: 6 * ms}, {Drive: 1, Rows: 2000, Slower: 0.2, P99: 10 * ms},
		{Drive: 3, Rows: 4000, Slower: 0.6, P99: 100 * ms},
	}}
	for _, x := range []struct {
		part        float64
		longer      time.Duration
		drive, rows float64
		p99         time.Duration
	}{
		{0.05, 0, math.Log(1.05) / 0.2, 2000 * math.Log(1.05) / 0.2, 4*ms + time.Duration(2*float64(ms)*math.Log(1.05)/0.1)},
		{0.05, ms / 10, math.Log(1.05) / 0.2, 2000 * math.Log(1.05) / 0.2, 0},
		{0, ms / 5, math.Log(1.1) / 0.2, 2000 * math.Log(1.1) / 0.2, 0}, // 10 %
		{math.Expm1(0.15), 0, 0.75, 1500, 8 * ms},
		{math.Expm1(0.2), 0, 1, 2000, 10 * ms},
		{math.Expm1(0.4), 0, 2, 3000, 55 * ms},
		{10, 0, 3, 4000, 100 * ms},
	} {
		p := c.Within(x.part, x.longer)
		if math.Abs(p.Drive-x.drive) > 1e-9 || math.Abs(p.Rows-x.rows) > 1e-6 || x.p99 > 0 && (p.P99-x.p99).Abs() > 2 {
			t.Errorf("%g, %s: %+v, want %+v", x.part, x.longer, p, x)
		}
	}
	if c.Uncertain() {
		t.Error("points on a line are uncertain")
	}
	noisy := plan.Curve{Mean: ms, Points: []plan.Point{{Drive: 0.3, Slower: 0.3}, {Drive: 1, Slower: -0.4}, {Drive: 3, Slower: 0.2}}}
	if !noisy.Uncertain() {
		t.Error("points of noise are certain")
	}
	free := plan.Curve{Mean: ms, Points: []plan.Point{{Drive: 0.5, Rows: 100, Slower: -0.01}, {Drive: 3, Rows: 400, Slower: 0}}}
	if p := free.Within(0.01, 0); p.Rows != 400 || !free.Known() {
		t.Errorf("work that costs nothing: %+v", p)
	}
	if (plan.Curve{}).Known() || (plan.Curve{Mean: ms}).Known() || (plan.Curve{}).Within(1, 0).Rows != 0 {
		t.Error("an empty curve is known")
	}
}
