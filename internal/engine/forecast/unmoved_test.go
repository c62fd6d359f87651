package forecast_test

import (
	"math"
	"testing"
	"time"

	"midstream/internal/engine/forecast"
)

// TestNoETAWhileNothingMoves: a server that stands still lets the rate shrink toward zero. Such a
// rate predicts nothing.
func TestNoETAWhileNothingMoves(t *testing.T) {
	for _, c := range []struct {
		left, rate float64
		want       time.Duration
	}{
		{1000, 500, 2 * time.Second},
		{0, 0, 0},
		{1000, 0, -1},
		{1000, 0.049, -1}, // shown as 0.0/s
		{1, 0.05, 20 * time.Second},
		{math.MaxInt64, 1, 365 * 24 * time.Hour},
	} {
		f, l := forecast.NewForecaster(), forecast.Look{At: began, Left: c.left}
		for range 10 {
			f.Observe(l, forecast.Calendar{})
			l.At, l.Done = l.At.Add(time.Second), l.Done+c.rate
		}
		got := f.Estimate(l, forecast.Calendar{})
		if (got.Left-c.want).Abs() > time.Millisecond || got.Least > got.Left || got.Most < got.Left {
			t.Errorf("%g at %g/s: %v instead of %s", c.left, c.rate, got, c.want)
		}
	}
}
