package forecast

import (
	"iter"
	"math"
	"time"
)

// Sample is the rate of some time.
type Sample struct {
	Over   time.Duration
	Rate   float64
	Weight float64 // 1 counts fully
}

// leastMemory is the shortest memory, in samples.
const leastMemory = 8

// Mean returns the mean rate of samples, and their number. The newest sample is the first. A sample
// counts by its length, and less if it is older than the memory.
func Mean(samples iter.Seq[Sample], memory time.Duration) (rate float64, known int) {
	var sum, seconds, age float64
	span := memory.Seconds()
	for s := range samples {
		over := s.Over.Seconds()
		span = max(span, leastMemory*over)
		weight := s.Weight * over * math.Exp(-age/span)
		age += over
		sum += weight * s.Rate
		seconds += weight
		known++
	}
	if seconds == 0 {
		return 0, known
	}
	return sum / seconds, known
}
