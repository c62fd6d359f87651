package lock

import (
	"time"

	"midstream/internal/engine/event"
)

// Tally counts the sessions that block the lock. It is for one goroutine.
type Tally struct {
	sessions map[uint64]bool
	// since is the time of the last sample, if it found a blocker.
	since   time.Time
	blocked time.Duration
	waited  time.Duration // of the last request
}

// Saw adds the sessions that block the lock now.
func (t *Tally) Saw(blockers []event.Blocker, now time.Time) {
	if !t.since.IsZero() {
		t.blocked += now.Sub(t.since)
	}
	if t.since = now; len(blockers) == 0 {
		t.since = time.Time{}
	}
	if t.sessions == nil {
		t.sessions = map[uint64]bool{}
	}
	for _, b := range blockers {
		t.sessions[b.ConnectionID] = true
	}
}

// Read returns how long the last request has waited, how many sessions blocked the lock, and for
// how long.
func (t *Tally) Read() (waited time.Duration, sessions int, blocked time.Duration) {
	return t.waited, len(t.sessions), t.blocked
}

// Asked takes how long a request has waited.
func (t *Tally) Asked(waited time.Duration) { t.waited = waited }
