package summary

import (
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/session"
)

// TestWhatAnInterruptSays: the texts say that the tables may be swapped once they may be.
func TestWhatAnInterruptSays(t *testing.T) {
	name := schema.Name{Schema: "shop", Table: "orders"}
	p := &plan.Plan{Source: &schema.Table{Name: name}, Names: plan.NamesOf(name)}
	var s session.Stand
	for _, c := range []struct {
		event           event.Event
		first, left     string
		maybe, finished bool
	}{
		{event.PhaseEntered{Phase: event.PhaseCopy}, "removing what the run created", "shop.orders is unchanged; ", false, false},
		{event.PhaseEntered{Phase: event.PhaseCutover}, "removing what the run created", "unchanged or completely altered", true, false},
		{event.PhaseEntered{Phase: event.PhaseCatchUp}, "removing what the run created", "shop.orders is unchanged; ", false, false},
		{event.SwapDone{}, "already swapped, so the run finishes", "was altered", false, true},
		{event.PhaseEntered{Phase: event.PhaseCleanup}, "already swapped, so the run finishes", "was altered", false, true},
	} {
		s.Listen(c.event)
		phase, swapped := s.Now()
		i := OfInterrupt(p, phase, swapped, false, false)
		if !strings.Contains(i.First, c.first) || !strings.Contains(i.Left, c.left) {
			t.Errorf("%T: %q, %q", c.event, i.First, i.Left)
		}
		if strings.Contains(i.Left, "or completely") != c.maybe || strings.Contains(i.First, "removing") == c.finished {
			t.Errorf("%T: %q, %q", c.event, i.First, i.Left)
		}
	}
	p.Back = &plan.Back{Old: &schema.Table{Name: name.Sibling("orders_old")}}
	for follows, want := range map[bool]string{false: "giving up this attempt to undo", true: "following shop.orders no longer; its undo stays open"} {
		if i := OfInterrupt(p, event.PhaseHold, false, follows, false); !strings.Contains(i.First, want) {
			t.Errorf("%q", i.First)
		}
	}
}
