package operator

import (
	"context"
	"time"
)

// Soak is the wait between the two acts of a drop.
type Soak struct{ *Control }

// Wait waits as long as why returns a reason, or until an operator waives it (CutOver with now). It calls why
// at once, and then at these intervals. REQUIRES: no run is at work.
func (c Soak) Wait(ctx context.Context, every time.Duration, why func(context.Context) (string, error)) (waived bool, err error) {
	c.mu.Lock()
	c.swapped, c.waived, c.soaks = false, false, true // the first act has changed the table
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.soaks = false
		c.mu.Unlock()
		c.others.answer("")
	}()
	for {
		changed := c.Changing()
		if _, waived := c.when(); waived {
			return true, nil
		}
		reason, err := why(ctx)
		if err != nil || reason == "" {
			return false, err
		}
		c.others.answer(reason)
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-changed:
		case <-time.After(every):
		}
	}
}

// On reports whether the run waits so now.
func (c Soak) On() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.soaks
}
