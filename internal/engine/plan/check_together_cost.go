package plan

import (
	"fmt"
	"slices"
	"time"

	"midstream/internal/mysql/schema"
)

// GroupSwap is what the one swap of several tables costs: the sums of all plans.
type GroupSwap struct {
	Tables []schema.Name // that are swapped
	Others []schema.Name // that the swap locks too: those at the other ends of foreign keys
	Swap
	Work time.Duration // what --lock-work allows
}

// SwapOf is the swap of the plans of a group.
func SwapOf(plans []*Plan, work time.Duration) GroupSwap {
	g := GroupSwap{Work: work}
	for _, p := range plans {
		g.Tables = append(g.Tables, p.Source.Name)
	}
	for _, p := range plans {
		for _, other := range p.Others() {
			if !slices.Contains(g.Tables, other) && !slices.Contains(g.Others, other) {
				g.Others = append(g.Others, other)
			}
		}
		one := p.ShapeOf(1, 1).Assumed()
		if p.Swap != nil {
			one = *p.Swap
		}
		g.Files, g.Declared, g.Settled = g.Files+one.Files, g.Declared+one.Declared, g.Settled+one.Settled
		g.Rename, g.Declare, g.Settle = g.Rename+one.Rename, g.Declare+one.Declare, g.Settle+one.Settle
		g.Assumed = g.Assumed || one.Assumed
	}
	return g
}

// Statements are those about foreign keys and triggers under the lock.
func (g GroupSwap) Statements() int { return g.Declared + g.Settled }

// Takes is how long the server works under the lock.
func (g GroupSwap) Takes() time.Duration { return g.Rename + g.Declare + g.Settle }

// Fits reports whether that fits --lock-work.
func (g GroupSwap) Fits() bool { return g.Takes() <= g.Work }

// Text describes the work under the lock.
func (g GroupSwap) Text() string {
	known := "measured"
	if g.Assumed {
		known = "assumed"
	}
	text := fmt.Sprintf("%d files are renamed", g.Files)
	if n := g.Statements(); n > 0 {
		text += fmt.Sprintf(", and %d statements change foreign keys and triggers", n)
	}
	return fmt.Sprintf("%s: that takes about %s (%s), and --lock-work allows %s", text, round(g.Takes()), known, round(g.Work))
}

// Refusal refuses a swap that takes longer than --lock-work; nil for one that fits.
func (g GroupSwap) Refusal() *Refused {
	if g.Fits() {
		return nil
	}
	fix := "Change fewer tables together"
	if wish := wishedWork(g.Takes()); wish <= longestWork {
		fix += fmt.Sprintf(", or allow more, if queries may wait that long: --lock-work=%s", wish)
	}
	return &Refused{Table: schema.List(g.Tables), Blocking: []Risk{{
		Code: CodeSwap, Blocking: true, What: fmt.Sprintf("in the one swap of %d tables, %s", len(g.Tables), g.Text()),
		Why: "all queries of all these tables wait for it, and the server cannot stop a RENAME that it has started", Fix: fix,
	}}}
}
