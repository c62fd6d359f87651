package session

import (
	"slices"
	"sync"

	"midstream/internal/engine/event"
)

// refused are the rows that a run refuses, by reason, as it has reported them last. It is safe for concurrent use.
type refused struct {
	mu       sync.Mutex
	findings []event.Finding
}

// listen is an event.Listener.
func (r *refused) listen(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case event.PhaseEntered:
		switch e.Phase {
		case event.PhaseCheck, event.PhasePrescan, event.PhaseCatchUp: // it looks for them again
			r.findings = nil
		}
	case event.Finding:
		if e.Refused {
			r.findings = append(r.findings, e)
		}
	}
}

func (r *refused) all() []event.Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.findings)
}
