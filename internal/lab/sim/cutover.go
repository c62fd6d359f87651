package sim

import (
	"context"
	"errors"
	"time"
)

// cutOver is the cut-over's part of migration: attempts until one ends in the swap.
func (c *client) cutOver(p *process) {
	w := c.w
	for {
		for range w.rng.IntN(1 + w.opts.Calm) {
			if !w.quiet {
				p.pause()
			}
		}
		p.wait(c.caughtUp)
		c.applyStop = true
		p.wait(func() bool { return len(c.batches) == 0 })
		w.lockAsked = true
		w.passed.Attempts++
		w.note("asks for the lock", w.passed.Attempts)
		if c.attempt(p) && (w.quiet || w.roll(20)) {
			w.finished = true
			return
		}
		w.note("releases the lock", w.passed.Attempts)
		w.lockAsked, c.applyStop = false, false
		c.wake++
		p.pause()
	}
}

// attempt is cutover.Attempt up to the swap: it says whether the swap may follow.
func (c *client) attempt(p *process) bool {
	w := c.w
	if patient := !c.overrun(); !patient {
		p.pause()
	} else {
		p.wait(w.unlocked)
	}
	if !w.unlocked() {
		return false
	}
	if w.defect != NoFence {
		if err := c.capture.Fence(&patience{c: c, p: p}); err != nil {
			return false
		}
	}
	if w.defect == LockReveals {
		c.backlog.Reveal(c.backlog.Seal())
	} else {
		c.capture.RevealAll()
	}
	c.ledger.revealedAll()
	for worker := range w.opts.Appliers {
		for c.takeAndSync(p, worker) > 0 {
			if c.overrun() {
				return false
			}
		}
	}
	left := c.backlog.Len() + c.capture.Prepared()
	if w.defect == SwapPrepared {
		left = c.backlog.Len()
	}
	if left > 0 {
		return false
	}
	w.passed.Drains++
	c.lawSwap()
	return true
}

// caughtUp as in migration: the lock is asked for only then. Capture's delay is
// counted in groups here. That no XA transaction is prepared is not asked for: one may
// be so a moment later.
func (c *client) caughtUp() bool {
	return c.backlog.Len() <= c.w.opts.Limit/2 && len(c.w.groups)-c.reader.group < 30
}

// unlocked says that nobody stands in the way of the lock: every transaction that wrote
// to source or shadow has left the engine, since it holds the metadata lock up to then.
func (w *world) unlocked() bool {
	if len(w.open) > 0 {
		return false
	}
	for i := w.visible; i < len(w.groups); i++ {
		if w.groups[i].touches {
			return false
		}
	}
	return true
}

// overrun says that the budget of the attempt is used up.
func (c *client) overrun() bool { return !c.w.quiet && c.w.roll(c.w.opts.Overrun) }

// patience is a context under which the world goes on while somebody waits for a
// heartbeat to come back, for a while.
type patience struct {
	c    *client
	p    *process
	over bool
}

var (
	errOverrun = errors.New("the budget of the attempt is used up")
	closed     = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
)

// Done returns when a heartbeat has come back, and the channel that Fence waits for
// beside this one is closed; or when the budget is used up.
func (t *patience) Done() <-chan struct{} {
	beats, deadline := t.c.beats, t.c.w.steps+500
	t.p.wait(func() bool { return t.c.beats != beats || t.c.w.steps > deadline })
	if t.c.beats != beats {
		return nil
	}
	t.over = true
	return closed
}

func (t *patience) Err() error {
	if t.over {
		return errOverrun
	}
	return nil
}

func (t *patience) Deadline() (time.Time, bool) { return time.Time{}, false }
func (t *patience) Value(any) any               { return nil }

var _ context.Context = (*patience)(nil)
