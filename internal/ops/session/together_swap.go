package session

import (
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// swapOfAll is what is known about the one swap of a group.
type swapOfAll struct {
	mu    sync.Mutex
	plans map[schema.Name]*plan.Plan
	work  time.Duration
	shown int // plans
}

// Swaps takes the plan of a table. With the last one, it fails with a *plan.Refused if the swap of all would take longer than the work
// under the lock may. A check or a rehearsal is not refused for that.
func (t *Together) Swaps(p *plan.Plan, work time.Duration) error {
	if t == nil || len(t.Names) < 2 {
		return nil
	}
	t.swap.mu.Lock()
	defer t.swap.mu.Unlock()
	if t.swap.plans == nil {
		t.swap.plans = map[schema.Name]*plan.Plan{}
	}
	t.swap.plans[p.Source.Name], t.swap.work = p, work
	cost := t.swap.cost(len(t.Names))
	if cost == nil || t.End == StateChecked || p.Purpose.Rehearses() {
		return nil
	}
	if refused := cost.Refusal(); refused != nil {
		return refused
	}
	return nil
}

// Shown notes that a plan was shown. After the last one it returns what the swap of all costs, and else nil.
func (t *Together) Shown() *plan.GroupSwap {
	if t == nil || t.End == StateChecked { // which swaps nothing
		return nil
	}
	t.swap.mu.Lock()
	defer t.swap.mu.Unlock()
	if t.swap.shown++; t.swap.shown != len(t.Names) {
		return nil
	}
	return t.swap.cost(len(t.Names))
}

// cost is nil until all plans are known, and for a table that is alone.
func (s *swapOfAll) cost(tables int) *plan.GroupSwap {
	if len(s.plans) < max(2, tables) {
		return nil
	}
	var all []*plan.Plan
	for _, p := range s.plans {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *plan.Plan) int { return strings.Compare(a.Source.Name.Dotted(), b.Source.Name.Dotted()) })
	cost := plan.SwapOf(all, s.work)
	return &cost
}
