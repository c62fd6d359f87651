package plan_test

import (
	"math"
	"testing"
	"time"

	"midstream/internal/engine/plan"
)

// TestCurve: the cost of a drive is on a straight line through the measured points. Rows and p99 are
// between the neighbours. A drive above all of them is full speed.
func TestCurve(t *testing.T) {
	const ms = time.Millisecond
	c := plan.Curve{Statements: 500, Mean: 2 * ms, P99: 4 * ms, Points: []plan.Point{
		{Drive: 0.5, Rows: 1000, Slower: 0.1, P99: 6 * ms}, {Drive: 1, Rows: 2000, Slower: 0.2, P99: 10 * ms},
		{Drive: 3, Rows: 4000, Slower: 0.6, P99: 100 * ms},
	}}
	for _, want := range []plan.Point{
		{Drive: 0.25, Rows: 500, Slower: 0.05, P99: 5 * ms},
		{Drive: 0.75, Rows: 1500, Slower: 0.15, P99: 8 * ms},
		{Drive: 1, Rows: 2000, Slower: 0.2, P99: 10 * ms},
		{Drive: 2, Rows: 3000, Slower: 0.4, P99: 55 * ms},
		{Drive: 3, Rows: 4000, Slower: 0.6, P99: 100 * ms},
	} {
		p := c.At(want.Drive)
		if math.Abs(p.Rows-want.Rows) > 1e-6 || math.Abs(p.Slower-want.Slower) > 1e-9 || (p.P99-want.P99).Abs() > 2 {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	if p := c.At(4); p != c.Full() {
		t.Errorf("above all drives it is %+v", p)
	}
	if c.Uncertain() {
		t.Error("points on a line are uncertain")
	}
	noisy := plan.Curve{Mean: ms, Points: []plan.Point{{Drive: 0.3, Slower: 0.3}, {Drive: 1, Slower: -0.4}, {Drive: 3, Slower: 0.2}}}
	if !noisy.Uncertain() {
		t.Error("points of noise are certain")
	}
	free := plan.Curve{Mean: ms, Points: []plan.Point{{Drive: 0.5, Rows: 100, Slower: -0.01}, {Drive: 3, Rows: 400, Slower: 0}}}
	if free.Slope() != 0 || !free.Known() {
		t.Errorf("work that costs nothing has a slope of %g", free.Slope())
	}
	if (plan.Curve{}).Known() || (plan.Curve{Mean: ms}).Known() || (plan.Curve{}).At(1).Rows != 0 {
		t.Error("an empty curve is known")
	}
}
