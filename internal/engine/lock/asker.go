package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/units"
	"midstream/internal/mysql/dbconn"
)

// MaxBackoff bounds the wait between two requests. DefaultBackoff is the first such wait.
const (
	MaxBackoff     = 10 * time.Second
	DefaultBackoff = 250 * time.Millisecond
)

// Terms define how the lock is asked for.
type Terms struct {
	// SeesNobody means that this server does not show the sessions that hold the lock. Then only
	// the budget bounds the effect of a request.
	SeesNobody bool
	Wait       time.Duration // budget of one request
	// Backoff is the pause after the first request that was withdrawn; it doubles after each one.
	Backoff time.Duration
	// Longest bounds the growth of Backoff; 0 means MaxBackoff.
	Longest time.Duration
	// GiveUp bounds the time that is spent waiting for other sessions; 0 for no bound.
	GiveUp time.Duration
	// Most bounds the requests that are withdrawn after long work, 0 for no bound.
	Most int
	// Kills define which sessions may be killed if they block the lock for too long.
	Kills Kills
}

// Turn decides when requests may be made. Run calls its methods in this order for each request.
type Turn interface {
	// Wait returns when the next request may be made, and for how long it might not.
	Wait(ctx context.Context) (held time.Duration, err error)
	// Ready reports whether a request is of use now. Until then no session is killed for it.
	Ready() bool
	// Prepare does what precedes a request, when nothing blocks it. It returns false if something does after all.
	Prepare(ctx context.Context) (bool, error)
	// Begin reports whether a request may be made at this moment, and if so it has begun.
	Begin() bool
	// End takes what became of the request that has begun. An error of its own ends Run.
	End(ctx context.Context, last Outcome, err error) error
}

// AnyTime is the Turn of requests that may be made at any time.
type AnyTime struct{}

// Wait returns at once.
func (AnyTime) Wait(context.Context) (time.Duration, error) { return 0, nil }

// Ready returns true.
func (AnyTime) Ready() bool { return true }

// Prepare does nothing.
func (AnyTime) Prepare(context.Context) (bool, error) { return true, nil }

// Begin returns true.
func (AnyTime) Begin() bool { return true }

// End does nothing.
func (AnyTime) End(context.Context, Outcome, error) error { return nil }

// Lookout finds the sessions that a request would wait for. Watcher is one.
type Lookout interface {
	// Blockers returns the sessions that have blocked the lock for longer than a time.
	Blockers(ctx context.Context, longer time.Duration) ([]event.Blocker, error)
}

// Asker asks for a lock as often as it takes.
type Asker struct {
	Pool    *dbconn.Pool
	Lookout Lookout
	// Terms are read again and again: they may change.
	Terms func() Terms
	// Turn defaults to AnyTime.
	Turn Turn
	Emit event.Listener
	// For names the purpose of an attempt, in messages about sessions that failed under the lock.
	For string
}

// ErrGivenUp means that the maximum number of requests was withdrawn. Nothing has happened.
var ErrGivenUp = errors.New("another session blocked it each time")

// ErrRound means that a request was made in a round that others conduct, and the round has ended without a swap. It does not count
// as a request, and the turn decides when the next one is made.
var ErrRound = errors.New("no swap in this round")

// undone is an ErrGivenUp after an attempt that had the lock.
type undone struct {
	attempts int
	last     error // of the last attempt
}

func (u *undone) Error() string {
	if u.attempts == 1 {
		return fmt.Sprintf("the attempt failed: %v", u.last)
	}
	return fmt.Sprintf("%d attempts failed, the last one because %v", u.attempts, u.last)
}

func (u *undone) Unwrap() []error { return []error{ErrGivenUp, u.last} }

// ErrTooLong means that the maximum time was spent waiting for other sessions. Nothing has
// happened.
var ErrTooLong = errors.New("the server did not grant the lock")

// Run makes requests until one is done, and never while it sees a session that blocks the lock. It
// returns their number and the last one's outcome. request makes one, within a budget for the wait:
// it is Request, Guarded or Bounded on a session of its own, or an attempt of the swap.
//
//	wait for the turn -> wait until nothing blocks it -> prepare -> request -> back off, and again
func (a *Asker) Run(
	ctx context.Context,
	request func(ctx context.Context, budget time.Duration) (Outcome, error),
) (attempts int, last Outcome, err error) {
	w := waiting{Asker: a, turn: a.Turn, teller: NewTeller(a.Emit), killer: NewKiller(a.Pool, a.Terms().Kills, a.Emit), began: time.Now()}
	if w.turn == nil {
		w.turn = AnyTime{}
	}
	var backoff time.Duration
	for attempts = 1; ; attempts++ {
		if err := w.begin(ctx); err != nil {
			return attempts - 1, last, err
		}
		last, err = request(ctx, a.Terms().Wait)
		if err == nil || last.Granted {
			a.Emit(event.LockAttempt{Number: attempts, Granted: last.Granted, Waited: last.Waited, At: time.Now()})
		}
		if ended := w.turn.End(ctx, last, err); err == nil {
			err = ended
		}
		if err != nil || last.Done() {
			return attempts, last, err
		}
		w.began = w.began.Add(last.Took - last.Waited)
		if errors.Is(last.Undone, ErrRound) {
			attempts--
			continue
		}
		terms := a.Terms()
		if terms.Most > 0 && attempts >= terms.Most {
			if last.Undone != nil {
				return attempts, last, &undone{attempts, last.Undone}
			}
			return attempts, last, fmt.Errorf("%w (%d times)", ErrGivenUp, attempts)
		}
		backoff = min(max(2*backoff, terms.Backoff), cmp.Or(terms.Longest, MaxBackoff))
		a.Emit(event.Note{At: time.Now(), Text: a.failed(attempts, last) + "; nothing was changed, trying again in " + units.Span(backoff)})
		if err := dbconn.Sleep(ctx, backoff); err != nil {
			return attempts, last, err
		}
	}
}

// failed describes a failed request before the next one is made.
func (a *Asker) failed(number int, last Outcome) string {
	if last.Undone != nil {
		return fmt.Sprintf("attempt %d to %s: %v", number, a.For, last.Undone)
	}
	return fmt.Sprintf("request %d for the lock was withdrawn after %s", number, units.Span(last.Took))
}

// waiting is the time before an Asker's requests.
type waiting struct {
	*Asker
	turn   Turn
	teller *Teller
	killer *Killer
	// began moves on by the time that allowed no request, and by the time that the server worked.
	began time.Time
}

// staleAfter is how long Prepare may take before the server is asked again what blocks the request.
const staleAfter = time.Second

// begin waits until a request has begun: it may be made, and nothing blocks it. It fails with ErrTooLong.
func (w *waiting) begin(ctx context.Context) error {
	for {
		if err := w.clear(ctx); err != nil {
			return err
		}
		started := time.Now()
		clear, err := w.turn.Prepare(ctx)
		took := time.Since(started)
		w.began = w.began.Add(took)
		if err == nil && clear && took >= staleAfter {
			clear, err = w.stillClear(ctx)
		}
		if err != nil || clear && w.turn.Begin() {
			return err
		}
	}
}

// clear waits until the turn comes and nothing blocks the request.
func (w *waiting) clear(ctx context.Context) error {
	for {
		held, err := w.turn.Wait(ctx)
		if err != nil {
			return err
		}
		if held > 0 {
			w.began = w.began.Add(held)
			w.killer.Forget()
			w.teller.Forget()
		}
		terms := w.Terms()
		if terms.GiveUp > 0 && time.Since(w.began) > terms.GiveUp {
			return fmt.Errorf("%w within %s", ErrTooLong, terms.GiveUp)
		}
		blockers, known, err := w.look(ctx, terms)
		if err != nil {
			return err
		}
		ready := w.turn.Ready()
		if known && len(blockers) == 0 && ready {
			return nil
		}
		var due func(*event.Blocked)
		if ready { // else none is killed yet
			w.killer.Change(terms.Kills)
			due = w.killer.Due
		}
		w.teller.Tell(blockers, due)
		if ready {
			if err := w.killer.Saw(ctx, blockers); err != nil {
				return err
			}
		}
		if err := dbconn.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// look asks the server what blocks a request. known is false if the query was stopped by another session.
func (w *waiting) look(ctx context.Context, terms Terms) (blockers []event.Blocker, known bool, err error) {
	if terms.SeesNobody {
		return nil, true, nil
	}
	blockers, err = w.Lookout.Blockers(ctx, terms.Wait/2)
	if dbconn.Contended(err) {
		return nil, false, nil
	}
	return blockers, err == nil, err
}

// stillClear reports whether nothing has come to block the request.
func (w *waiting) stillClear(ctx context.Context) (bool, error) {
	blockers, known, err := w.look(ctx, w.Terms())
	return known && len(blockers) == 0 && w.turn.Ready(), err
}

// Teller emits the sessions that block the lock: when they change, and again while they stay.
type Teller struct {
	emit event.Listener
	// since is the time of the first blocker; zero means that there is none.
	since time.Time
	told  time.Time
	of    string
}

// NewTeller returns a teller.
func NewTeller(emit event.Listener) *Teller { return &Teller{emit: emit} }

// These times are how often the operator sees blockers that stay, and blockers that come and go.
const (
	tellAgain = 10 * time.Second
	tellOther = time.Second
)

// Forget starts the time again.
func (t *Teller) Forget() { t.of, t.since = "", time.Time{} }

// Tell takes the sessions that block the lock now. due adds to the event what is going to be killed; nil if nothing is.
func (t *Teller) Tell(blockers []event.Blocker, due func(*event.Blocked)) {
	if len(blockers) == 0 {
		t.Forget()
		return
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	now := time.Now()
	e := event.Blocked{Blockers: blockers, Waiting: now.Sub(t.since), At: now}
	if due != nil {
		due(&e)
	}
	ids := fmt.Sprint(e.KillAfter, ": ")
	for _, b := range blockers {
		ids += fmt.Sprint(b.ConnectionID, " ")
	}
	if since := time.Since(t.told); since < tellOther || ids == t.of && since < tellAgain {
		return
	}
	t.told, t.of = now, ids
	t.emit(e)
}
