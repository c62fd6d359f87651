package forecast

import "math"

// Guesses of Calendar.Sensitivity (bench/results: 1,000,000 rows next to 20 %, 34 % and 100 % of a
// server's peak).
const (
	Gentle    = 10.0 // with a limit
	FullSpeed = 1.5
)

// learner learns how much a load slows work, from the hours that a run has seen.
type learner struct {
	guess float64
	hours map[float64]kept // by load
}

const (
	// leastSeen is the time in seconds from which an hour counts.
	leastSeen = 120
	// noisy is the standard error of the logarithm of the rate of an hour.
	noisy = 0.15
	// unsureGuess is that of the guess.
	unsureGuess = 1.0
)

func (l *learner) observe(k kept) {
	if l.hours == nil {
		l.hours = map[float64]kept{}
	}
	l.hours[k.load] = l.hours[k.load].with(k)
}

// fit returns the sensitivity that explains the rates best.
func (l *learner) fit() float64 {
	seen := 0
	for _, k := range l.hours {
		if k.over >= leastSeen && k.done > 0 {
			seen++
		}
	}
	if seen < 2 {
		return l.guess
	}
	best, least := l.guess, math.Inf(1)
	for step := -12; step <= 12; step++ {
		factor := math.Pow(1.25, float64(step))
		miss := l.miss(l.guess*factor) + math.Pow(math.Log(factor)/unsureGuess, 2)
		if miss < least {
			best, least = l.guess*factor, miss
		}
	}
	return best
}

// miss is how badly a sensitivity explains the rates.
func (l *learner) miss(sensitivity float64) float64 {
	var weights, sum, squares float64
	for load, k := range l.hours {
		if k.over < leastSeen || k.done <= 0 {
			continue
		}
		weight := min(1, k.over/1800) / (noisy * noisy)
		x := math.Log(k.done/k.over) + math.Log1p(sensitivity*load)
		weights, sum, squares = weights+weight, sum+weight*x, squares+weight*x*x
	}
	if weights == 0 {
		return 0
	}
	return squares - sum*sum/weights
}
