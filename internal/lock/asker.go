package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/dbconn"
	"midstream/internal/event"
)

// MaxBackoff bounds the wait between two requests.
const MaxBackoff = 10 * time.Second

// Asker asks for a lock as often as it takes.
type Asker struct {
	Pool *dbconn.Pool
	// Watcher finds those who hold the lock. SeesNobody says that this server does not show them:
	// then the budget alone bounds what a request does.
	Watcher    *Watcher
	SeesNobody bool
	Wait       time.Duration // budget of one request
	Backoff    time.Duration // after the first request that was withdrawn; doubles
	Longest    time.Duration // up to which it doubles; 0: MaxBackoff
	// GiveUp bounds the time in which others are waited for, 0 for no bound.
	GiveUp time.Duration
	// Most bounds the requests that are withdrawn after long work, 0 for no bound.
	Most int
	// Kills say who is ended that is in the way for too long.
	Kills Kills
	Emit  event.Listener
}

// ErrGivenUp says that as many requests were withdrawn as may be. Nothing has happened.
var ErrGivenUp = errors.New("somebody was in its way each time")

// ErrTooLong says that others were waited for as long as may be. Nothing has happened.
var ErrTooLong = errors.New("the lock could not be had")

// Run makes requests until one is granted, never while somebody is seen to hold the lock, and
// returns their number and the last one's outcome. request is Request or Guarded on a session of
// its own.
func (a *Asker) Run(ctx context.Context, request func(context.Context) (Outcome, error)) (attempts int, last Outcome, err error) {
	teller, killer := NewTeller(a.Emit), NewKiller(a.Pool, a.Kills, a.Emit)
	backoff, began := a.Backoff, time.Now()
	for attempts = 1; ; attempts++ {
		if err := a.clear(ctx, began, teller, killer); err != nil {
			return attempts - 1, last, err
		}
		if last, err = request(ctx); err != nil {
			return attempts, last, err
		}
		a.Emit(event.LockAttempt{Number: attempts, Granted: last.Granted, Waited: last.Waited, At: time.Now()})
		switch {
		case last.Granted:
			return attempts, last, nil
		case a.Most > 0 && attempts >= a.Most:
			return attempts, last, fmt.Errorf("%w (%d times)", ErrGivenUp, attempts)
		}
		a.Emit(event.Note{At: time.Now(), Text: fmt.Sprintf("request %d was withdrawn after %s; nothing has happened, trying again in %s",
			attempts, last.Took.Round(time.Millisecond), backoff)})
		select {
		case <-ctx.Done():
			return attempts, last, context.Cause(ctx)
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, cmp.Or(a.Longest, MaxBackoff))
	}
}

// clear waits until nobody is seen to hold the lock. It fails with ErrTooLong.
func (a *Asker) clear(ctx context.Context, began time.Time, teller *Teller, killer *Killer) error {
	if a.SeesNobody {
		return nil
	}
	for {
		blockers, err := a.Watcher.Blockers(ctx, a.Wait/2)
		if err != nil && !dbconn.Contended(err) { // else somebody stopped the query
			return err
		}
		teller.Tell(blockers)
		if err == nil && len(blockers) == 0 {
			return nil
		}
		if a.GiveUp > 0 && time.Since(began) > a.GiveUp {
			return fmt.Errorf("%w, within %s", ErrTooLong, a.GiveUp)
		}
		if err := killer.Saw(ctx, blockers); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// Teller emits who is in the way when that changes, and again while they stay.
type Teller struct {
	emit  event.Listener
	since time.Time
	told  time.Time
	of    string
}

// NewTeller returns a teller; waiting begins now.
func NewTeller(emit event.Listener) *Teller { return &Teller{emit: emit, since: time.Now()} }

// tellAgain is how often the operator is told of blockers that stay.
const tellAgain = 10 * time.Second

// Tell takes those who are in the way now.
func (t *Teller) Tell(blockers []event.Blocker) {
	if len(blockers) == 0 {
		t.of = ""
		return
	}
	var ids string
	for _, b := range blockers {
		ids += fmt.Sprint(b.ConnectionID, " ")
	}
	if ids == t.of && time.Since(t.told) < tellAgain {
		return
	}
	t.told, t.of = time.Now(), ids
	t.emit(event.Blocked{Blockers: blockers, Waiting: time.Since(t.since), At: time.Now()})
}
