package main

import (
	"math"
	"slices"
)

// median returns the middle of the values, or the mean of the middle two; NaN if there is none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// percentile returns the smallest value that p percent of the values do not exceed (nearest rank);
// NaN if there is none.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// highest returns the greatest value; NaN if there is none.
func highest(values []float64) float64 { return percentile(values, 100) }

// lowest returns the least value; NaN if there is none.
func lowest(values []float64) float64 { return percentile(values, 0) }

// ratio returns a/b; NaN if that is not a number.
func ratio(a, b float64) float64 {
	if b == 0 || math.IsInf(b, 0) {
		return math.NaN()
	}
	return a / b
}

// paired returns the ratio of a figure of two sets of runs, round by round. The runs of a round are
// only minutes apart. The speed of a virtual machine drifts more from one round to the next than
// tools differ.
func paired(a, b []Run, of func(Run) float64) []float64 {
	var ratios []float64
	for _, x := range a {
		for _, y := range b {
			if r := ratio(of(x), of(y)); x.Round == y.Round && !math.IsNaN(r) {
				ratios = append(ratios, r)
			}
		}
	}
	return ratios
}

// collect returns the result of of for each of the items, without NaN.
func collect[T any](items []T, of func(T) float64) []float64 {
	var values []float64
	for _, item := range items {
		if v := of(item); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// rotate returns the items in the order of a round: each round begins with the next item.
func rotate[T any](items []T, round int) []T {
	if len(items) == 0 {
		return nil
	}
	n := round % len(items)
	return append(slices.Clone(items[n:]), items[:n]...)
}
