package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/dbconn"
)

// MaxBackoff bounds the wait between two requests.
const MaxBackoff = 10 * time.Second

// Terms say how a lock is asked for.
type Terms struct {
	// SeesNobody says that this server does not show who holds the lock: then the budget alone bounds
	// what a request does.
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
}

// Turn says when requests may be made.
type Turn interface {
	// Wait returns when the next one may be, and how long that was not so.
	Wait(ctx context.Context) (held time.Duration, err error)
	// Begin says whether one may be made at this moment, and if so it has begun. End ends it.
	Begin() bool
	End(granted bool)
}

// Asker asks for a lock as often as it takes.
type Asker struct {
	Pool    *dbconn.Pool
	Watcher *Watcher // finds those who hold the lock
	// Terms are read again and again: they may change.
	Terms func() Terms
	// Turn is nil where requests may be made at any time.
	Turn Turn
	Emit event.Listener
}

// ErrGivenUp says that as many requests were withdrawn as may be. Nothing has happened.
var ErrGivenUp = errors.New("somebody was in its way each time")

// ErrTooLong says that others were waited for as long as may be. Nothing has happened.
var ErrTooLong = errors.New("the lock could not be had")

// Run makes requests until one is granted, never while somebody is seen to hold the lock, and
// returns their number and the last one's outcome. request is Request or Guarded on a session of
// its own, with a budget.
func (a *Asker) Run(
	ctx context.Context,
	request func(ctx context.Context, budget time.Duration) (Outcome, error),
) (attempts int, last Outcome, err error) {
	w := waiting{Asker: a, teller: NewTeller(a.Emit), killer: NewKiller(a.Pool, a.Terms().Kills, a.Emit), began: time.Now()}
	var backoff time.Duration
	for attempts = 1; ; attempts++ {
		if err := w.begin(ctx); err != nil {
			return attempts - 1, last, err
		}
		last, err = request(ctx, a.Terms().Wait)
		if a.Turn != nil {
			a.Turn.End(err == nil && last.Granted)
		}
		if err != nil {
			return attempts, last, err
		}
		w.began = w.began.Add(last.Took - last.Waited)
		terms := a.Terms()
		backoff = min(max(2*backoff, terms.Backoff), cmp.Or(terms.Longest, MaxBackoff))
		a.Emit(event.LockAttempt{Number: attempts, Granted: last.Granted, Waited: last.Waited, At: time.Now()})
		switch {
		case last.Granted:
			return attempts, last, nil
		case terms.Most > 0 && attempts >= terms.Most:
			return attempts, last, fmt.Errorf("%w (%d times)", ErrGivenUp, attempts)
		}
		a.Emit(event.Note{At: time.Now(), Text: fmt.Sprintf("request %d was withdrawn after %s; nothing has happened, trying again in %s",
			attempts, last.Took.Round(time.Millisecond), backoff)})
		select {
		case <-ctx.Done():
			return attempts, last, context.Cause(ctx)
		case <-time.After(backoff):
		}
	}
}

// waiting is the time before an Asker's requests.
type waiting struct {
	*Asker
	teller *Teller
	killer *Killer
	began  time.Time // later by the time in which none might be made, and in which the server worked
}

// begin waits until a request may be made, and nobody is seen to hold the lock. It fails with ErrTooLong.
func (w *waiting) begin(ctx context.Context) error {
	for {
		if err := w.clear(ctx); err != nil || w.Turn == nil || w.Turn.Begin() {
			return err
		}
	}
}

// clear waits until nobody is seen to hold the lock.
func (w *waiting) clear(ctx context.Context) error {
	for {
		if w.Turn != nil {
			held, err := w.Turn.Wait(ctx)
			if err != nil {
				return err
			}
			if held > 0 {
				w.began = w.began.Add(held)
				w.killer.Forget()
				w.teller.Forget()
			}
		}
		terms := w.Terms()
		if terms.GiveUp > 0 && time.Since(w.began) > terms.GiveUp {
			return fmt.Errorf("%w, within %s", ErrTooLong, terms.GiveUp)
		}
		if terms.SeesNobody {
			return nil
		}
		blockers, err := w.Watcher.Blockers(ctx, terms.Wait/2)
		if err != nil && !dbconn.Contended(err) { // else somebody stopped the query
			return err
		}
		w.teller.Tell(blockers)
		if err == nil && len(blockers) == 0 {
			return nil
		}
		w.killer.Change(terms.Kills)
		if err := w.killer.Saw(ctx, blockers); err != nil {
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
	since time.Time // there has been somebody in the way; zero: there is nobody
	told  time.Time
	of    string
}

// NewTeller returns a teller.
func NewTeller(emit event.Listener) *Teller { return &Teller{emit: emit} }

// How often the operator is told of blockers that stay, and of those who come and go.
const (
	tellAgain = 10 * time.Second
	tellOther = time.Second
)

// Forget has the time begin anew.
func (t *Teller) Forget() { t.of, t.since = "", time.Time{} }

// Tell takes those who are in the way now.
func (t *Teller) Tell(blockers []event.Blocker) {
	if len(blockers) == 0 {
		t.Forget()
		return
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	var ids string
	for _, b := range blockers {
		ids += fmt.Sprint(b.ConnectionID, " ")
	}
	if since := time.Since(t.told); since < tellOther || ids == t.of && since < tellAgain {
		return
	}
	t.told, t.of = time.Now(), ids
	t.emit(event.Blocked{Blockers: blockers, Waiting: time.Since(t.since), At: time.Now()})
}
