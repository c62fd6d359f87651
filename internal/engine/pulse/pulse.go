// Package pulse provides the parts that all readers of the source's changes share: heartbeats, and
// the freeze for a swap.
//
// Next numbers a heartbeat, the reader commits it, and Back proves it when it has come back. A
// fence is a heartbeat that begins after a moment. Ask returns its number and makes the reader
// write it at once. Wait returns when it has come back.
package pulse

import (
	"context"
	"sync"
	"time"
)

// Pulse numbers heartbeats and freezes their reader. It is safe for concurrent use.
type Pulse struct {
	asked chan struct{} // asks Run for a heartbeat at once

	mu    sync.Mutex
	begun uint64 // the youngest heartbeat that was begun
	back  uint64 // the youngest heartbeat that came back
	// changed is closed and replaced when the state may have changed.
	changed chan struct{}
	frozen  chan struct{} // nil, or closed by Unfreeze
}

// New returns a pulse. Its first heartbeat follows the last one of an earlier run; 0 if there was
// none.
func New(last uint64) *Pulse {
	return &Pulse{begun: last, back: last, asked: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Run calls beat at once, then each interval and whenever a heartbeat is asked for, until the
// context ends or beat fails.
func (p *Pulse) Run(ctx context.Context, interval time.Duration, beat func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := beat(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		case <-p.asked:
		}
	}
}

// Next begins a heartbeat and returns its number.
func (p *Pulse) Next() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	return p.begun
}

// Back records that heartbeat n and all before it came back, and wakes all waiting goroutines.
func (p *Pulse) Back(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.back = max(p.back, n)
	p.wake()
}

// Last is the number of the youngest heartbeat that came back.
func (p *Pulse) Last() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.back
}

// Ask asks for a heartbeat at once. It returns the number of the first heartbeat that begins after
// the call.
func (p *Pulse) Ask() uint64 {
	p.mu.Lock()
	n := p.begun + 1 // not a heartbeat already begun
	p.mu.Unlock()
	select {
	case p.asked <- struct{}{}:
	default:
	}
	return n
}

// Wake has Wait check its condition again.
func (p *Pulse) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

// wake wakes all waiting goroutines. REQUIRES: mu is held.
func (p *Pulse) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Wait returns when the condition is true. It checks it after Back and Wake, and at each poll if
// poll is not 0.
func (p *Pulse) Wait(ctx context.Context, poll time.Duration, is func() bool) error {
	var tick <-chan time.Time
	if poll > 0 {
		ticker := time.NewTicker(poll)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		p.mu.Lock()
		changed := p.changed // before the check, to miss no change
		p.mu.Unlock()
		if is() {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-tick:
		}
	}
}

// Freeze makes the reader stop at WaitUnfrozen. It may be called again before Unfreeze.
func (p *Pulse) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Unfreeze ends Freeze.
func (p *Pulse) Unfreeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// Frozen reports whether the reader must stop.
func (p *Pulse) Frozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen != nil
}

// WaitUnfrozen returns when the reader may go on.
func (p *Pulse) WaitUnfrozen(ctx context.Context) error {
	p.mu.Lock()
	frozen := p.frozen
	p.mu.Unlock()
	if frozen == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-frozen:
		return nil
	}
}
