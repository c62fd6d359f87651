package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"midstream/internal/engine/lock"
)

// The reasons why a run is not prepared.
var (
	// ErrGivenBack means that a run had its lock, and has given it back without a swap.
	ErrGivenBack = errors.New("the lock was given back")
	// ErrLate means that a run did not get its lock in the time of the round.
	ErrLate = errors.New("the lock was not free in the time of the round")
	// ErrBusy means that the run is still at work on another round.
	ErrBusy = errors.New("the run is still at work on another round")
	// ErrClosed means that the run does not wait before a swap by a lock of its own.
	ErrClosed = errors.New("the run does not wait before its swap")
)

// Prepared is a lock that is held with all changes applied.
type Prepared struct {
	Round int
	// Hold is the time from the request for the round until the lock is given back.
	Hold time.Duration
	// Until is when the lock is given back.
	Until time.Time
}

// Barrier is one run's part in rounds. It is safe for concurrent use.
type Barrier struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when anything changes
	open    bool          // the run comes here before its swap
	round   int           // the one that was asked for last
	asked   time.Time
	ends    time.Time // the end of the round; zero if there is none
	working bool      // an attempt of the round is at work
	until   time.Time // T; zero unless the run is prepared
	decided bool      // the commit has come
	why     error     // why the last round has ended
}

// New returns a barrier that is closed.
func New() *Barrier { return &Barrier{changed: make(chan struct{})} }

// Open lets rounds be asked for, until shut is called.
func (b *Barrier) Open() (shut func()) {
	b.set(func() { b.open = true })
	return func() { b.set(func() { b.open, b.ends, b.why = false, time.Time{}, ErrClosed }) }
}

// set changes the barrier.
func (b *Barrier) set(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
	b.change()
}

// change announces a change. REQUIRES: mu is held.
func (b *Barrier) change() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Ask begins a round that lasts for a time. It may be asked for again. It fails with ErrClosed or ErrBusy.
func (b *Barrier) Ask(round int, hold time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case !b.open:
		return ErrClosed
	case b.round == round && now.Before(b.ends):
		return nil
	case b.working:
		return fmt.Errorf("%w: %d", ErrBusy, b.round)
	}
	b.round, b.asked, b.ends, b.decided, b.why = round, now, now.Add(hold), false, nil
	b.change()
	return nil
}

// Wait waits until the run is prepared. It fails with the reason why it is not, such as ErrLate.
func (b *Barrier) Wait(ctx context.Context, round int) (Prepared, error) {
	for {
		b.mu.Lock()
		at, held := b.prepared()
		ends, why, changed, now := b.ends, b.why, b.changed, time.Now()
		other := b.round != round
		b.mu.Unlock()
		switch {
		case other:
			return Prepared{}, ErrBusy
		case held:
			return at, nil
		case ends.IsZero():
			return Prepared{}, cmp.Or(why, ErrGivenBack)
		case !now.Before(ends):
			return Prepared{}, ErrLate
		}
		select {
		case <-ctx.Done():
			return Prepared{}, context.Cause(ctx)
		case <-changed:
		case <-time.After(time.Until(ends)):
		}
	}
}

// prepared is the lock that is held; held is false without one. REQUIRES: mu is held.
func (b *Barrier) prepared() (at Prepared, held bool) {
	if b.until.IsZero() {
		return Prepared{}, false
	}
	return Prepared{Round: b.round, Hold: b.until.Sub(b.asked), Until: b.until}, true
}

// Now is the round that the run takes part in, 0 for none, and the lock that it holds for it.
func (b *Barrier) Now() (round int, at Prepared, held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, held = b.prepared(); b.working || time.Now().Before(b.ends) {
		round = b.round
	}
	return round, at, held
}

// Wants reports whether a round lets a held run ask for its lock.
func (b *Barrier) Wants() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.ends)
}

// Begin reports whether a round lets a held run make an attempt, which then has begun.
func (b *Barrier) Begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.working = time.Now().Before(b.ends)
	return b.working
}

// Pass is called under the lock, with all changes applied. It returns at once if no round has asked for the attempt. Otherwise it
// calls prepared, and waits for the commit. It fails with ErrGivenBack at the given time, at the end of the round, and after Withdraw.
func (b *Barrier) Pass(ctx context.Context, until time.Time, prepared func(Prepared)) error {
	b.mu.Lock()
	if !b.working || b.decided {
		b.mu.Unlock()
		return nil
	}
	if b.ends.Before(until) { // it is zero after Withdraw
		until = b.ends
	}
	if !time.Now().Before(until) {
		b.mu.Unlock()
		return fmt.Errorf("%w: the time of the round is over", ErrGivenBack)
	}
	b.until = until
	b.change()
	at, _ := b.prepared()
	b.mu.Unlock()
	prepared(at)
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		b.mu.Lock()
		var err error
		passed := b.decided
		switch {
		case passed:
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case b.ends.IsZero():
			err = fmt.Errorf("%w as asked", ErrGivenBack)
		case !time.Now().Before(until):
			err = fmt.Errorf("%w: no commit came within %s", ErrGivenBack, at.Hold.Round(time.Millisecond))
		}
		changed := b.changed
		if err != nil {
			b.until = time.Time{} // a commit comes too late now
		}
		b.mu.Unlock()
		if passed || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-changed:
		}
	}
}

// Decide takes the commit. It reports whether the run has its lock, and renames at once.
func (b *Barrier) Decide() (held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.decided = true
	b.change()
	return b.working && !b.until.IsZero()
}

// Withdraw ends a round: a lock is given back. It reports whether there was a round.
func (b *Barrier) Withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	is := b.working || time.Now().Before(b.ends)
	b.ends, b.decided, b.why = time.Time{}, false, fmt.Errorf("%w as asked", ErrGivenBack)
	b.change()
	return is
}

// Own returns the error of an attempt so that it counts as one of a round, if it was.
func (b *Barrier) Own(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil || !b.working || b.decided {
		return err
	}
	return fmt.Errorf("round %d: %w: %w", b.round, lock.ErrRound, err)
}

// End takes what became of an attempt. A round ends with its attempt.
func (b *Barrier) End(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.working {
		return
	}
	b.working, b.decided = false, false
	b.until, b.ends, b.why = time.Time{}, time.Time{}, err
	b.change()
}
