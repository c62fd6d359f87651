package plan_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// TestTheSwapOfAGroupCostsTheSum: the files and statements of all tables count, measured ones as measured. Tables of the group are not
// among the others that the swap locks. A sum above --lock-work is refused.
func TestTheSwapOfAGroupCostsTheSum(t *testing.T) {
	a, b, c := schema.Name{Schema: "s", Table: "a"}, schema.Name{Schema: "s", Table: "b"}, schema.Name{Schema: "s", Table: "c"}
	of := func(name schema.Name, keys ...schema.ForeignKey) *plan.Plan {
		return &plan.Plan{Source: &schema.Table{Name: name}, Foreign: keys}
	}
	key := schema.ForeignKey{Child: a, Parent: c}
	plans := []*plan.Plan{of(a, key, key), of(b, schema.ForeignKey{Child: b, Parent: c}, schema.ForeignKey{Child: b, Parent: a})}

	g := plan.SwapOf(plans, 250*time.Millisecond)
	if g.Files != 4 || g.Statements() != 3*4 || g.Takes() != 124*time.Millisecond || !g.Assumed || !g.Fits() || g.Refusal() != nil ||
		schema.List(g.Tables) != "s.a, s.b" || schema.List(g.Others) != "s.c" {
		t.Errorf("the swap is %+v", g)
	}
	plans[1].Swap = &plan.Swap{Shape: plan.Shape{Files: 200}, Rename: 200 * time.Millisecond}
	g = plan.SwapOf(plans, 250*time.Millisecond)
	refused := g.Refusal()
	if g.Files != 202 || g.Statements() != 6 || g.Fits() || refused == nil {
		t.Fatalf("the swap is %+v", g)
	}
	for _, want := range []string{"s.a, s.b", "202 files", "6 statements", "--lock-work allows 250 ms", "--lock-work=600ms"} {
		if !strings.Contains(refused.Error(), want) {
			t.Errorf("%q is missing in %s", want, refused)
		}
	}
	if plan.SwapOf(plans, 600*time.Millisecond).Refusal() != nil {
		t.Error("a swap that fits is refused")
	}
}
