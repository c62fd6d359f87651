package throttle

import (
	"context"
	"math"
	"sync"
	"time"
)

// Share bounds the part of a worker's time that may be work, as an operator sets it. It is safe for
// concurrent use.
type Share struct {
	mu      sync.Mutex
	part    float64
	changed chan struct{} // replaced when the part changes
}

// NewShare returns a bound of 0 (no work) to 1 (no bound).
func NewShare(part float64) *Share { return &Share{part: part, changed: make(chan struct{})} }

// Set changes the bound, also for goroutines that already wait.
func (s *Share) Set(part float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = part
	close(s.changed)
	s.changed = make(chan struct{})
}

// Gate blocks, after work that took so long and ended at a time, until the work is no more than its part.
func (s *Share) Gate(ctx context.Context, took time.Duration, ended time.Time) error {
	return rest(ctx, took, math.MaxInt64, ended, func() (float64, <-chan struct{}) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.part, s.changed
	})
}

// rest blocks, after work that took so long and ended at a time, until the work is no more than a
// part of the time. It blocks for most at the longest. part returns that part now, and a channel
// that is closed when it changes.
func rest(ctx context.Context, took, most time.Duration, ended time.Time, part func() (float64, <-chan struct{})) error {
	for {
		now, changed := part()
		var rested <-chan time.Time // never, if nothing may be worked
		if now > 0 {
			left := most
			if all := float64(took)/now - float64(took); all < float64(most) { // a tiny part needs more than a Duration can be
				left = time.Duration(all)
			}
			if left -= time.Since(ended); left <= 0 {
				return nil
			}
			rested = time.After(left)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-rested:
			return nil
		case <-changed:
		}
	}
}
