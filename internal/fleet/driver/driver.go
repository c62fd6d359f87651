package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"midstream/internal/fleet/rollout"
)

// ErrStale is the error of a Store if another driver has stored a state in between.
var ErrStale = errors.New("another driver has stored a newer state of the set")

// Store keeps the state of one set.
type Store interface {
	// Load returns the state and its revision.
	Load(ctx context.Context) (rollout.State, uint64, error)
	// Save replaces the state of a revision, durably, and returns the new revision. It fails with ErrStale if the
	// revision is not the newest one. If its answer is lost, the state may be stored.
	Save(ctx context.Context, state rollout.State, revision uint64) (uint64, error)
}

// Fleet is the world of a set: its members, and what persons ask for.
type Fleet interface {
	// Facts returns what is known now. The requests are those with a number above state.Handled.
	Facts(ctx context.Context, state rollout.State) (rollout.Facts, error)
	// Do sends an order to its member, or reports the end of the set. It may be called again with the same order, and for several
	// members at once. Of a barrier it does not wait until the member is prepared.
	Do(ctx context.Context, action rollout.Action) error
}

// Driver drives one set.
type Driver struct {
	Set   rollout.Set
	Store Store
	Fleet Fleet
	// Every is the time between two steps. Defaults to 2 s.
	Every time.Duration
	// Resend is the number of steps after which orders without a report are sent again. Defaults to 15.
	Resend int
	// Trouble hears of errors that the next step may overcome. It may be nil.
	Trouble func(error)

	state    rollout.State
	revision uint64
	loaded   bool
	steps    int
}

// Run drives the set until it has ended and its end was reported, or until ctx ends. It returns ErrStale if
// another driver has taken over.
func (d *Driver) Run(ctx context.Context) error {
	every := d.Every
	if every == 0 {
		every = 2 * time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		ended, err := d.Step(ctx)
		switch {
		case errors.Is(err, ErrStale):
			return err
		case err != nil && d.Trouble != nil && ctx.Err() == nil:
			d.Trouble(err)
		case ended && err == nil:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		case <-d.Soon():
		}
	}
}

// soonAgain is the time between two steps while members of a barrier hold their locks.
const soonAgain = 5 * time.Millisecond

// Soon tells when another step is due before its usual time: while a round of a barrier is under way. Otherwise it is nil.
func (d *Driver) Soon() <-chan time.Time {
	if !slices.ContainsFunc(d.state.Waves, func(w rollout.WaveState) bool { return w.Preparing }) {
		return nil
	}
	return time.After(soonAgain)
}

// Step is one turn. It reports whether the set has ended, and its end was reported. After an error the state is
// loaded again, because it may be stored or not; orders that were not sent are pending.
func (d *Driver) Step(ctx context.Context) (ended bool, err error) {
	defer func() {
		if err != nil {
			d.loaded = false
		}
	}()
	var orders []rollout.Action
	if !d.loaded {
		if d.state, d.revision, err = d.Store.Load(ctx); err != nil {
			return false, fmt.Errorf("load the state of set %s: %w", d.Set.ID, err)
		}
		d.loaded, d.steps = true, 0
		orders = d.state.Pending()
	} else if d.steps%cmp.Or(d.Resend, 15) == 0 {
		orders = d.state.Pending()
	}
	d.steps++
	facts, err := d.Fleet.Facts(ctx, d.state)
	if err != nil {
		return false, fmt.Errorf("collect the facts of set %s: %w", d.Set.ID, err)
	}
	next, actions := rollout.Next(d.Set, d.state, facts)
	if changed(d.state, next) {
		if d.revision, err = d.Store.Save(ctx, next, d.revision); err != nil {
			return false, fmt.Errorf("store the state of set %s: %w", d.Set.ID, err)
		}
	}
	d.state = next
	return d.act(ctx, newest(next, append(orders, actions...)))
}

// act sends orders. One that fails does not hold up the others. Those of a barrier go side by side: meanwhile tables are locked.
func (d *Driver) act(ctx context.Context, actions []rollout.Action) (ended bool, err error) {
	errs := make([]error, len(actions))
	send := func(i int) {
		if err := d.Fleet.Do(ctx, actions[i]); err != nil {
			errs[i] = fmt.Errorf("%s of %s: %w", actions[i].Verb, actions[i].Key(), err)
		}
	}
	var sending sync.WaitGroup
	for i, a := range actions {
		if a.Verb.OfBarrier() {
			sending.Go(func() { send(i) })
			continue
		}
		send(i)
		ended = ended || a.Verb == rollout.VerbFinish && errs[i] == nil
	}
	sending.Wait()
	return ended, errors.Join(errs...)
}

// changed reports whether there is something to store. The time alone is not: after a kill the elapsed time is
// counted from the state that was stored last.
func changed(before, after rollout.State) bool {
	before.Now = after.Now
	return !reflect.DeepEqual(before, after)
}

// newest leaves out orders that the new state has replaced or knows to be obeyed, and repeated ones.
func newest(s rollout.State, actions []rollout.Action) (kept []rollout.Action) {
	pending := map[string]bool{}
	for _, a := range s.Pending() {
		pending[a.Key()] = true
	}
	for _, a := range actions {
		if pending[a.Key()] {
			kept = append(kept, a)
			delete(pending, a.Key())
		}
	}
	return kept
}
