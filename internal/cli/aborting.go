package cli

import (
	"errors"
	"fmt"
	"time"

	"midstream/internal/event"
	"midstream/internal/migration"
	"midstream/internal/plan"
)

// errLeftAtOnce is the end of a run at a second Ctrl-C.
var errLeftAtOnce = errors.New("left at once")

// onInterrupt tells the operator what the first and the second Ctrl-C of a run do.
func (c *change) onInterrupt(p *plan.Plan, r *relay, d display) (undo func()) {
	first := c.app.Interrupts.OnFirst(func() {
		r.listen(event.Note{At: time.Now(), Text: "interrupted: aborting and removing what the run created; " +
			"once more leaves at once"})
	})
	second := c.app.Interrupts.OnSecond(func() {
		d.abandon()
		err := &coded{code: exitAtOnce, err: errLeftAtOnce, next: "midstream cleanup " + p.Source.Name.Argument(),
			left: fmt.Sprintf("%s is as it was, or swapped, and nothing between; %s and %s may be left",
				p.Source.Name, p.Names.Shadow, p.Names.State)}
		if c.output.json {
			quickly(func() { (&jsonLines{out: c.app.Stdout}).write(resultOf(migration.Result{}, err, exitAtOnce)) })
		}
		fmt.Fprint(c.app.Stderr, complaint(err, exitAtOnce))
	})
	return func() { first(); second() }
}

// quickly does what may have to wait for somebody who reads, and goes on without it after a
// moment.
func quickly(do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(200 * time.Millisecond):
	}
}
