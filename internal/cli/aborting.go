package cli

import (
	"fmt"
	"time"

	"midstream/internal/event"
	"midstream/internal/plan"
)

// onInterrupt tells the operator what the first and the second Ctrl-C of a run do.
func (a *app) onInterrupt(p *plan.Plan, r *relay, d display) (undo func()) {
	first := a.Interrupts.OnFirst(func() {
		r.listen(event.Note{At: time.Now(), Text: "interrupted: aborting and removing what the run created; " +
			"once more leaves at once"})
	})
	second := a.Interrupts.OnSecond(func() {
		d.abandon()
		fmt.Fprintf(a.Stderr, "midstream: left at once.\n  left:  %s is as it was, or swapped, and nothing between; %s and %s may be left.\n"+
			"  next:  midstream cleanup %[1]s\n", p.Source.Name, p.Names.Shadow, p.Names.State)
	})
	return func() { first(); second() }
}
