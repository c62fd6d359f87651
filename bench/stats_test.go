package main

import (
	"math"
	"slices"
	"testing"
)

func TestMedianIsTheMiddleOfWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, math.NaN()},
		{[]float64{7}, 7},
		{[]float64{9, 1}, 5},
		{[]float64{3, 1, 2}, 2},
		{[]float64{100, 1, 3, 2}, 2.5},
	} {
		before := slices.Clone(c.values)
		if got := median(c.values); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
		if !slices.Equal(before, c.values) {
			t.Errorf("median reordered its argument: %v", c.values)
		}
	}
}

func TestPercentileIsAValueThatWasMeasured(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		values  []float64
		p, want float64
	}{
		{hundred, 99, 99}, {hundred, 100, 100}, {hundred, 50, 50}, {hundred, 0, 1}, {hundred, 0.1, 1},
		{[]float64{4, 8}, 99, 8}, {[]float64{4, 8}, 50, 4}, {[]float64{4}, 1, 4},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile %v of %d values = %v, want %v", c.p, len(c.values), got, c.want)
		}
	}
	if got := highest([]float64{2, 5, 3}); got != 5 {
		t.Errorf("highest = %v", got)
	}
	if got := lowest([]float64{2, 5, 3}); got != 2 {
		t.Errorf("lowest = %v", got)
	}
	if !math.IsNaN(percentile(nil, 99)) {
		t.Error("percentile of nothing is a number")
	}
}

func TestRatioOfNothingIsNoNumber(t *testing.T) {
	if got := ratio(3, 2); got != 1.5 {
		t.Errorf("ratio = %v", got)
	}
	for _, b := range []float64{0, math.NaN(), math.Inf(1)} {
		if got := ratio(1, b); !math.IsNaN(got) {
			t.Errorf("ratio(1, %v) = %v", b, got)
		}
	}
}

func TestRatiosAreOfOneRound(t *testing.T) {
	run := func(round int, s float64, finished bool) Run {
		return Run{Round: round, ElapsedS: s, Finished: finished}
	}
	a := []Run{run(0, 10, true), run(1, 20, true), run(2, 60, true), run(3, 1, true)}
	b := []Run{run(2, 20, true), run(0, 5, true), run(1, 10, true), run(3, 1, false)}
	if got, want := paired(a, b, elapsedOf), []float64{2, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("paired = %v, want %v", got, want)
	}
}

func TestEveryToolIsFirstInSomeRound(t *testing.T) {
	tools := []string{"a", "b", "c"}
	for round, want := range [][]string{{"a", "b", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"a", "b", "c"}} {
		if got := rotate(tools, round); !slices.Equal(got, want) {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
}

// A transaction counts for the throughput of the window in which it ends, and for the waits of
// every window that it overlaps.
func TestWindowOfAForeground(t *testing.T) {
	const second = 1_000_000
	trace := []transaction{
		{at: 1 * second, took: 2 * second},                // ends in the window
		{at: 4 * second, took: second / 10},               // inside
		{at: 4 * second, took: second / 10, failed: true}, // inside, rolled back
		{at: 6 * second, took: 3 * second},                // ends after it
		{at: 20 * second, took: 5 * second},               // unrelated
		{at: 0, took: second},                             // ended before
		{at: 6*second + second/2, took: second / 4},       // inside
	}
	got := summarise(trace, 2*second, 7*second)
	if got.TPS != 3.0/5 {
		t.Errorf("TPS = %v, want 3 transactions in 5 s", got.TPS)
	}
	if got.Failed != 1 {
		t.Errorf("Failed = %d, want 1", got.Failed)
	}
	if got.LongestMS != 3000 {
		t.Errorf("LongestMS = %v, want 3000", got.LongestMS)
	}
}
