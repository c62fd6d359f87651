package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/window"
	"midstream/internal/mysql/schema"
)

// When defines when the table may be changed. The zero value means as soon as possible.
type When struct {
	Window window.Window
	// Gone is the path of a file that must not be there; "" for none.
	Gone string
	// Hold has the run wait until Control.CutOver.
	Hold bool
	// Follow means that a held undo follows its table: only midstream undo releases it.
	Follow bool
	// Park has an undo copy the rows that the old definition refuses to a table of their own.
	Park bool
}

// lookEvery is how often a run that is held looks whether it may go on.
const lookEvery = 200 * time.Millisecond

// Permission is how a run, or a statement, waits until it may change a table.
type Permission struct {
	Control *Control
	Table   schema.Name
	Swaps   bool // else only a pause holds it
	Copies  bool // it also waits for the copy window: the server copies or builds
	// Next is the phase in which the table is changed.
	Next  event.Phase
	Enter func(event.Phase)
	Note  func(text string)
}

// WhyNot returns why the table must not be changed now; "" if it may.
func (h Permission) WhyNot(now time.Time) (string, error) {
	if why := h.Control.pausedBy(); why != "" {
		return why, nil
	}
	if !h.Swaps {
		return "", nil
	}
	when, waived := h.Control.when()
	if when.Hold && !h.Control.barrier.Wants() {
		return "until " + when.releasedBy(h.Table), nil
	}
	if h.Copies {
		if why := h.Control.Settings().Throttle.copiesLater(now); why != "" {
			return why, nil
		}
	}
	if waived {
		return "", nil
	}
	return when.Closed(now)
}

// releasedBy is the command that ends the hold of a table.
func (when When) releasedBy(table schema.Name) string {
	if when.Follow {
		return "midstream undo  " + table.Argument()
	}
	return "midstream cutover  " + table.Argument()
}

// copiesLater returns why the server must not copy rows now; "" if it may.
func (t Throttle) copiesLater(now time.Time) string {
	if t.CopyWindow.Open(now) {
		return ""
	}
	return fmt.Sprintf("the copy window %s opens at %s", t.CopyWindow, t.CopyWindow.Clock(now, t.CopyWindow.Next(now)))
}

// Closed returns why the window or the file forbids changing the table now; "" if they allow it.
func (when When) Closed(now time.Time) (string, error) {
	if !when.Window.Open(now) {
		return fmt.Sprintf("the window %s opens at %s", when.Window, when.Window.Clock(now, when.Window.Next(now))), nil
	}
	if when.Gone == "" {
		return "", nil
	}
	_, err := os.Stat(when.Gone)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for the file that holds the run: %w", err)
	}
	return fmt.Sprintf("the file %s exists", when.Gone), nil
}

// Wait waits until the table may be changed, and reports whether it had to wait. Once nothing of the run's own forbids it, Wait asks
// the others (Asked). It calls meanwhile from time to time, if that is not nil.
func (h Permission) Wait(ctx context.Context, meanwhile func(context.Context) error) (waited bool, err error) {
	var told string
	h.Control.waitsToCopy(h.Copies)
	defer h.Control.waitsToCopy(false)
	defer h.Control.others.answer("")
	asking := &questions{of: h}
	for {
		changed := h.Control.Changing()
		why, err := h.WhyNot(time.Now())
		if err == nil && why == "" {
			why, err = asking.ask(ctx)
		}
		if err != nil || why == "" {
			return told != "", err
		}
		if told == "" {
			h.Enter(event.PhaseHold)
		}
		if why != told {
			if why != h.Control.pausedBy() { // the command that pauses is an event of its own
				h.Note(h.step() + "on hold: " + why)
			}
			told = why
		}
		select { // a release counts at once
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case <-changed:
			asking.again()
		case <-time.After(lookEvery):
		}
		if meanwhile == nil {
			continue
		}
		if err := meanwhile(ctx); err != nil {
			return true, err
		}
	}
}

// step is the step of the run in which it waits, as a text begins that a display numbers; "" if the steps have no number.
func (h Permission) step() string {
	if h.Next == event.PhaseNative {
		return ""
	}
	return "cut over: "
}

// Turn decides when the server's own statement may be made (lock.Turn).
type Turn struct {
	lock.AnyTime
	Permission
	Last bool // this one changes the table
}

// Wait returns when the statement may be made.
func (t Turn) Wait(ctx context.Context) (held time.Duration, err error) {
	began := time.Now()
	waited, err := t.Permission.Wait(ctx, nil)
	if !waited {
		return 0, err
	}
	t.Enter(event.PhaseNative)
	return time.Since(began), err
}

// Begin reports whether the statement may be made now.
func (t Turn) Begin() bool { return t.Control.BeginNative(t.Swaps) }

// End records what has become of it.
func (t Turn) End(_ context.Context, last lock.Outcome, err error) error {
	t.Control.EndNative(err == nil && last.Done() && t.Last)
	return nil
}
