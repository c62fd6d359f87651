package migration

import (
	"math"
	"testing"
	"time"
)

// TestNoETAWhileNothingMoves: a server that stands still lets the smoothed rate shrink toward zero. Such a rate predicts nothing.
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
		{math.MaxInt64, 1, 1e9 * time.Second},
	} {
		if got := eta(c.left, c.rate); got != c.want {
			t.Errorf("%g at %g/s: %s instead of %s", c.left, c.rate, got, c.want)
		}
	}
}
