package operator

import (
	"cmp"
	"context"
	"errors"
	"time"

	"midstream/internal/engine/barrier"
	"midstream/internal/engine/window"
)

// Round is how a Control takes part in a swap that runs on several servers make together (barrier.Barrier).
type Round struct{ *Control }

// Prepare has a held run ask for its lock, and waits until it has it with all changes applied. The run gives the lock back by itself at
// the time that is returned, at most hold after the call and at most Lock.Work after the grant. It may be called again for the same round.
// It fails with *NotNow, and then no lock is held for the round.
func (r Round) Prepare(ctx context.Context, round int, hold time.Duration) (barrier.Prepared, error) {
	const what = "the run is not prepared"
	if err := r.mayPrepare(what); err != nil {
		return barrier.Prepared{}, err
	}
	err := r.barrier.Ask(round, hold)
	var at barrier.Prepared
	if err == nil {
		r.mu.Lock()
		r.change()
		r.mu.Unlock()
		at, err = r.barrier.Wait(ctx, round)
	}
	switch {
	case errors.Is(err, barrier.ErrClosed):
		err = &NotNow{what, "the run is not held before a swap: it copies or compares, or the server itself changes the table", "midstream status  shows its phase"}
	case errors.Is(err, barrier.ErrLate):
		err = &NotNow{what, err.Error(), "midstream blockers  lists the sessions that hold the lock; another round may succeed"}
	case err != nil && ctx.Err() == nil:
		err = &NotNow{what, err.Error(), "nothing: the run is held as before, and another round may succeed"}
	}
	return at, err
}

// mayPrepare fails with *NotNow if the run does not wait for a release only.
func (r Round) mayPrepare(what string) error {
	if err := r.swapless(what); err != nil {
		return err
	}
	if paused := r.pausedOne(); paused != "" {
		return &NotNow{what, "the run is paused", paused}
	}
	r.mu.Lock()
	when, swapped := r.settings.When, r.swapped
	r.mu.Unlock()
	closed, err := when.Closed(time.Now())
	switch {
	case err != nil:
		return err
	case swapped:
		return &NotNow{what, "the tables are swapped", "nothing: the run finishes by itself"}
	case !when.Hold:
		return &NotNow{what, cmp.Or(closed, "nothing holds the swap"), "midstream hold  holds it"}
	case closed != "":
		return &NotNow{what, closed, "prepare it when the swap is permitted"}
	}
	return nil
}

// Commit takes the decision of a round: the run swaps, at once if it is prepared. Otherwise the decision is final all the same: the run
// asks for its lock again, alone, and without regard to a window. held reports whether it had its lock. It fails with *NotNow, also while
// the file of a freeze exists: then the decision is to be given again.
func (r Round) Commit(ctx context.Context) (held bool, err error) {
	const what = "there is no swap to commit"
	if err := r.swapless(what); err != nil {
		return false, err
	}
	r.partners.taking.Lock()
	defer r.partners.taking.Unlock()
	r.mu.Lock()
	swapped := r.swapped
	r.mu.Unlock()
	if swapped {
		return false, &NotNow{What: what, Why: "the tables are swapped", Next: "nothing: the run finishes by itself"}
	}
	when, _ := r.when()
	frozen := when
	frozen.Window = window.Window{}
	if closed, err := frozen.Closed(time.Now()); err != nil {
		return false, err
	} else if closed != "" {
		return false, &NotNow{What: what, Why: closed, Next: "give the decision again once the file is gone"}
	}
	when.Hold = false
	r.setWhen(when, true)
	r.share()
	return r.barrier.Decide(), ctx.Err()
}

// Barrier is where the run of a Control waits under its lock.
func (r Round) Barrier() *barrier.Barrier { return r.barrier }
