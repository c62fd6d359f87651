package operator

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Partners are the controls of runs that swap in one step, and of one run if it is alone. When the tables may be changed is the same for
// all of them: a command to one of them about that holds for all. The zero value has none yet.
type Partners struct {
	// taking is held while a command takes effect: no two change the controls at once.
	taking sync.Mutex

	mu       sync.Mutex
	controls []*Control
}

// Join makes a control one of the partners. It takes over when the tables may be changed, if others are there. REQUIRES: the control is
// used by nobody yet.
func (p *Partners) Join(c *Control) {
	p.taking.Lock()
	defer p.taking.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.controls) > 0 {
		first := p.controls[0]
		first.mu.Lock()
		c.settings.When, c.waived = first.settings.When, first.waived
		first.mu.Unlock()
	}
	p.controls = append(p.controls, c)
	c.partners = p
}

// all are the controls of now.
func (p *Partners) all() []*Control {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.controls)
}

// share gives the others when the tables may be changed, and returns what takes that back.
func (c *Control) share() (undo func()) {
	now, waived := c.when()
	var undos []func()
	for _, other := range c.partners.all() {
		if other == c {
			continue
		}
		was, before := other.when()
		other.setWhen(now, waived)
		undos = append(undos, func() { other.setWhen(was, before) })
	}
	return func() {
		for _, undo := range undos {
			undo()
		}
	}
}

func (c *Control) setWhen(when When, waived bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings.When, c.waived = when, waived
	c.change()
}

// tooLate is TooLate of all partners.
func (c *Control) tooLate(ctx context.Context, what string) error {
	for _, each := range c.partners.all() {
		if err := each.TooLate(ctx, what); err != nil {
			return err
		}
	}
	return nil
}

// pausedOne returns why a pause keeps the swap, with the command that ends it; "" if none does. REQUIRES: no control's mu is held.
func (c *Control) pausedOne() string {
	all := c.partners.all()
	for _, each := range all {
		switch p := each.Paused(); {
		case p == nil:
		case len(all) == 1:
			return "the run is paused by " + p.By + ": midstream resume"
		default:
			return fmt.Sprintf("the run on %s is paused by %s: midstream resume  %s", each.Table, p.By, each.Table.Argument())
		}
	}
	return ""
}
