package migration

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"midstream/internal/cutover"
	"midstream/internal/event"
	"midstream/internal/plan"
)

// When says when the table may be changed. The zero value is as soon as it can be.
type When struct {
	Window cutover.Window
	// Gone is the path of a file that must not be there; "" for none.
	Gone string
	// Hold has the run wait until Control.CutOver.
	Hold bool
}

// lookEvery is how often a run that is held looks whether it may go on.
const lookEvery = 200 * time.Millisecond

// anew is how long a held run waits at least before it compares the tables again; with a large table it
// waits for ten times as long as that takes.
const anew = 10 * time.Minute

// heldBack says why the table must not be changed now; "" if it may.
func (r *run) heldBack(now time.Time) (string, error) {
	if why := r.control.pausedBy(); why != "" {
		return why, nil
	}
	if r.plan.Purpose != plan.Altering {
		return "", nil
	}
	when, waived := r.control.when()
	if when.Hold {
		return "until " + r.letGo(), nil
	}
	if waived {
		return "", nil
	}
	return when.closed(now)
}

// letGo is the command that ends a hold.
func (r *run) letGo() string { return "midstream cutover " + r.plan.Source.Name.Argument() }

// closed says why the window or the file doesn't let the table be changed now; "" if they do.
func (when When) closed(now time.Time) (string, error) {
	if !when.Window.Open(now) {
		return fmt.Sprintf("the window %s opens at %s", when.Window, when.Window.Next(now).Format("Mon 15:04 MST")), nil
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
	return fmt.Sprintf("the file %s is there", when.Gone), nil
}

// hold waits until the table may be changed, if it must not be now, and says whether it has waited. meanwhile
// is called from time to time.
func (r *run) hold(ctx context.Context, meanwhile func(context.Context) error) (waited bool, err error) {
	var told string
	for {
		why, err := r.heldBack(time.Now())
		if err != nil || why == "" {
			return told != "", err
		}
		if told == "" {
			r.enter(event.PhaseHold)
		}
		if why != told {
			r.note("held: " + why)
			told = why
		}
		if err := sleep(ctx, lookEvery); err != nil {
			return true, err
		}
		if err := meanwhile(ctx); err != nil {
			return true, err
		}
	}
}

// verifyAgain compares the tables again after a while: what is swapped in the end was compared
// not long before.
func (r *run) verifyAgain(ctx context.Context) error {
	if r.cfg.NoVerify || time.Since(r.verified) < max(anew, 10*r.timing.verify) {
		return nil
	}
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.enter(event.PhaseHold)
	return nil
}
