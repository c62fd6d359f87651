package session

import (
	"sync"

	"midstream/internal/engine/event"
)

// Stand is how far a run has come, as its events tell. It is safe for concurrent use.
type Stand struct {
	mu      sync.Mutex
	phase   event.Phase
	swapped bool
}

// Listen is an event.Listener.
func (s *Stand) Listen(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case event.PhaseEntered:
		s.phase = e.Phase
	case event.SwapDone:
		s.swapped = true
	}
}

// Now returns the phase, and whether the tables are swapped.
func (s *Stand) Now() (phase event.Phase, swapped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase, s.swapped
}
