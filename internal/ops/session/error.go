package session

import (
	"context"
	"errors"

	"midstream/internal/engine/failure"
)

// ErrInterrupted is the cause of a context once the operator wants to stop.
var ErrInterrupted = errors.New("interrupted")

// ErrGone is the end of a change that can't resume from its own work.
var ErrGone = errors.New("the kept work of this run is gone: another run has finished it, or an operator has removed it")

// Aborted is the end of a change that somebody has asked for.
type Aborted struct {
	By   string
	Keep bool // its work
}

func (a *Aborted) Error() string {
	if a.Keep {
		return failure.ErrKeep.Error() + " by " + a.By
	}
	return "aborted by " + a.By
}

// Is matches ErrInterrupted, and failure.ErrKeep where the work is kept.
func (a *Aborted) Is(err error) bool {
	return err == ErrInterrupted || a.Keep && err == failure.ErrKeep
}

// Keeping is a context that ends as ctx does, but has the run keep its work if a signal has ended it and keeps returns true then.
func Keeping(ctx context.Context, keeps func() bool) (kept context.Context, undo func()) {
	kept, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		var command *Aborted
		if errors.As(cause, &command) || !keeps() {
			cancel(cause)
			return
		}
		by := "a signal"
		var signal *Signal
		if errors.As(cause, &signal) {
			by = signal.Name
		}
		cancel(&Aborted{By: by, Keep: true})
	})
	return kept, func() { stop(); cancel(nil) }
}

// halt is the end of an attempt that is to be resumed.
type halt struct{ by string }

func (h *halt) Error() string     { return failure.ErrKeep.Error() + " by " + h.by }
func (h *halt) Is(err error) bool { return err == failure.ErrKeep }

// Outcome is what an Error has made of the change.
type Outcome int

// The outcomes.
const (
	Unusable  Outcome = iota // a file or folder that was named can't be used; nothing was begun
	Unread                   // the server could not be read; nothing was begun
	Kept                     // the work is kept
	Removed                  // the work was removed
	Unremoved                // the work could not be removed
	Refused                  // the change is not one that was asked for; nothing was begun
)

// Error is an end that no attempt has reported by itself.
type Error struct {
	Outcome Outcome
	Err     error
	// Left is what is left on the server, and Next what to do; both may be "".
	Left, Next string
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// unusable is the error of a file or folder that was named.
func unusable(err error, next string) error {
	return &Error{Outcome: Unusable, Err: err, Left: "nothing was written", Next: next}
}

// Remains is what is left on the server; "" where that is not known.
func (e *Error) Remains() string { return e.Left }

// unread is the error of a server that could not be read.
func unread(err error) error { return &Error{Outcome: Unread, Err: err} }
