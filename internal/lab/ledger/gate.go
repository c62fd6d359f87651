package ledger

import (
	"context"
	"sync"
)

// gate lets transactions in, unless it is closed. The zero gate is open.
type gate struct {
	mu     sync.Mutex
	inside int
	opened chan struct{} // non-nil while closed; closed by open
	empty  chan struct{} // non-nil while somebody waits for the last to leave
}

// enter waits until the gate is open; it returns false if stop came first.
func (g *gate) enter(stop <-chan struct{}) bool {
	for {
		g.mu.Lock()
		opened := g.opened
		if opened == nil {
			g.inside++
			g.mu.Unlock()
			return true
		}
		g.mu.Unlock()
		select {
		case <-opened:
		case <-stop:
			return false
		}
	}
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// close closes the gate and waits until nobody is inside. It stays closed if ctx ends
// first.
func (g *gate) close(ctx context.Context) error {
	g.mu.Lock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
	if g.inside == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// quiet says that the gate is closed and nobody is inside.
func (g *gate) quiet() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened != nil && g.inside == 0
}
