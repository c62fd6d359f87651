package report

import (
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
)

// waits is how long a run has waited for persons and other sessions, which no plan can predict.
type waits struct {
	held, blocked, shut time.Duration
}

// waitsOf adds up the waits of a run that began at a time, without those of earlier runs: its holds, the blocks of its cut-over, and the
// times in which a gate held the row copy up.
func waitsOf(events []event.Event, began time.Time) (w waits) {
	var hold, gate time.Time
	var block time.Duration
	for _, e := range events {
		switch e := e.(type) {
		case event.PhaseEntered:
			if e.At.Before(began) {
				continue
			}
			if !hold.IsZero() {
				w.held += max(0, e.At.Sub(hold))
			}
			if hold = (time.Time{}); e.Phase == event.PhaseHold {
				hold = e.At
			}
		case event.Blocked:
			if e.At.Before(began) {
				continue
			}
			if e.Waiting < block { // another block
				w.blocked += block
			}
			block = e.Waiting
		case event.Throttled:
			if e.At.Before(began) {
				continue
			}
			if !gate.IsZero() {
				w.shut += max(0, e.At.Sub(gate))
			}
			if gate = (time.Time{}); len(e.Gates) > 0 {
				gate = e.At
			}
		}
	}
	w.blocked += block
	return w
}

// leastWait is the shortest wait that is worth a word.
const leastWait = time.Second

// in divides a duration into work and waits; "" if no wait is worth a word.
func (w waits) in(lasted time.Duration) string {
	var parts []string
	sum := time.Duration(0)
	for _, wait := range []struct {
		name string
		took time.Duration
	}{{"held", w.held}, {"blocked", w.blocked}, {"gates closed", w.shut}} {
		if wait.took >= leastWait {
			parts, sum = append(parts, wait.name+" "+humanize.Span(wait.took)), sum+wait.took
		}
	}
	if len(parts) == 0 || sum > lasted {
		return ""
	}
	return humanize.Span(lasted-sum) + " of work, " + humanize.Span(sum) + " of waiting (" + strings.Join(parts, ", ") + ")"
}
