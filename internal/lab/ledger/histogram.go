package ledger

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets whose width is at most 1/16 of their value,
// from one microsecond to hours. The zero Histogram is empty.
type Histogram struct {
	counts [16 * 36]uint32
	total  uint64
}

// bucket is linear below 16 us, then 16 buckets for each power of two.
func bucket(us uint64) int {
	if us < 16 {
		return int(us)
	}
	exponent := bits.Len64(us) - 5
	return min(16*(exponent+1)+int(us>>exponent)-16, 16*36-1)
}

// bucketEnd is the greatest number of microseconds in a bucket.
func bucketEnd(bucket int) uint64 {
	if bucket < 16 {
		return uint64(bucket)
	}
	exponent := bucket/16 - 1
	return uint64(bucket%16+17)<<exponent - 1
}

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)/time.Microsecond))]++
	h.total++
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
}

// Count is the number of durations counted.
func (h *Histogram) Count() uint64 { return h.total }

// Percentile returns the duration that p percent of the durations do not exceed,
// rounded up to the end of its bucket.
func (h *Histogram) Percentile(p float64) time.Duration {
	rank := uint64(p / 100 * float64(h.total))
	if rank < h.total && float64(rank) < p/100*float64(h.total) {
		rank++
	}
	var seen uint64
	for i, n := range h.counts {
		seen += uint64(n)
		if n > 0 && seen >= max(rank, 1) {
			return time.Duration(bucketEnd(i)) * time.Microsecond
		}
	}
	return 0
}
