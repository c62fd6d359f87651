package cli

import (
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// TestWhatAnInterruptSays: that the tables may be swapped is said once they may be.
func TestWhatAnInterruptSays(t *testing.T) {
	name := schema.Name{Schema: "shop", Table: "orders"}
	p := &plan.Plan{Source: &schema.Table{Name: name}, Names: plan.NamesOf(name)}
	var s session.Stand
	for _, c := range []struct {
		event           event.Event
		aborting, left  string
		maybe, finished bool
	}{
		{event.PhaseEntered{Phase: event.PhaseCopy}, "removing what the run created", "shop.orders is as it was; ", false, false},
		{event.PhaseEntered{Phase: event.PhaseCutover}, "removing what the run created", "as it was, or swapped", true, false},
		{event.PhaseEntered{Phase: event.PhaseCatchUp}, "removing what the run created", "shop.orders is as it was; ", false, false},
		{event.SwapDone{}, "swapped already; the run finishes", "has its new schema", false, true},
		{event.PhaseEntered{Phase: event.PhaseCleanup}, "swapped already; the run finishes", "has its new schema", false, true},
	} {
		s.Listen(c.event)
		contains(t, aborting(&s, p), c.aborting)
		contains(t, left(&s, p), c.left)
		if strings.Contains(left(&s, p), "or swapped") != c.maybe || strings.Contains(aborting(&s, p), "removing") == c.finished {
			t.Errorf("%T: %s, %s", c.event, aborting(&s, p), left(&s, p))
		}
	}
}
