package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Source is where an inventory comes from: a Folder or a Command.
type Source interface {
	fmt.Stringer
	// read reads the servers. It fails with errSame if their hash is the known one.
	read(ctx context.Context, known string) (Inventory, error)
}

// Read reads a source once. Its error means that nothing could be read; what is wrong with single servers is in the inventory.
func Read(ctx context.Context, source Source) (Inventory, error) {
	inventory, err := source.read(ctx, "")
	if err != nil {
		return inventory, fmt.Errorf("%s: %w", source, err)
	}
	return inventory, nil
}

// Change is what another reading has found. Joined, Left and Altered are names.
type Change struct {
	Joined, Left, Altered []string
	Problems              []Problem // that are new, or other ones than before
	Err                   error     // of the source: the servers stay as they were
}

// None reports whether nothing has changed.
func (c Change) None() bool {
	return len(c.Joined) == 0 && len(c.Left) == 0 && len(c.Altered) == 0 && len(c.Problems) == 0 && c.Err == nil
}

// Watched is an inventory that is read again. It is safe for concurrent use.
type Watched struct {
	source Source

	mu     sync.Mutex
	now    Inventory
	failed string // the last error of the source, "" for none
}

// Watch reads a source for the first time.
func Watch(ctx context.Context, source Source) (*Watched, error) {
	now, err := Read(ctx, source)
	return &Watched{source: source, now: now}, err
}

// Now is the inventory as it was last read.
func (w *Watched) Now() Inventory {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Again reads the source again. A server that has become wrong stays as it was, with a problem; if the source itself fails, all
// stay. The same error of a source is reported once.
func (w *Watched) Again(ctx context.Context) Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	next, err := w.source.read(ctx, w.now.hash)
	switch {
	case errors.Is(err, errSame):
		w.failed = ""
		return Change{}
	case err != nil && err.Error() == w.failed, ctx.Err() != nil:
		return Change{}
	case err != nil:
		w.failed = err.Error()
		return Change{Err: fmt.Errorf("%s: %w", w.source, err)}
	}
	w.failed = ""
	c := Change{}
	for _, p := range next.Problems {
		if old, was := find(w.now.Servers, p.Name); was {
			next.Servers = append(next.Servers, old)
		}
		if !slices.ContainsFunc(w.now.Problems, func(old Problem) bool { return old.Error() == p.Error() }) {
			c.Problems = append(c.Problems, p)
		}
	}
	next.sort()
	for _, s := range next.Servers {
		switch old, was := find(w.now.Servers, s.Name); {
		case !was:
			c.Joined = append(c.Joined, s.Name)
		case !s.equal(old):
			c.Altered = append(c.Altered, s.Name)
		}
	}
	for _, s := range w.now.Servers {
		if _, is := find(next.Servers, s.Name); !is {
			c.Left = append(c.Left, s.Name)
		}
	}
	w.now = next
	return c
}

// Failed is the last error of the source; "" if it was read.
func (w *Watched) Failed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// find finds a server by its name, in a sorted list.
func find(servers []Server, name string) (Server, bool) {
	i, found := slices.BinarySearchFunc(servers, name, func(s Server, name string) int { return strings.Compare(s.Name, name) })
	if !found {
		return Server{}, false
	}
	return servers[i], true
}
