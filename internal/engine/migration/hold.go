package migration

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
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

// holding is how a run, or a statement, waits until it may change a table.
type holding struct {
	control *Control
	table   schema.Name
	swaps   bool // else only a pause holds it
	enter   func(event.Phase)
	note    func(text string)
}

func (r *run) holding() holding {
	return holding{control: r.control, table: r.plan.Source.Name, swaps: r.plan.Purpose == plan.Altering, enter: r.enter, note: r.note}
}

// back says why the table must not be changed now; "" if it may.
func (h holding) back(now time.Time) (string, error) {
	if why := h.control.pausedBy(); why != "" {
		return why, nil
	}
	if !h.swaps {
		return "", nil
	}
	when, waived := h.control.when()
	if when.Hold {
		return "until midstream cutover " + h.table.Argument(), nil
	}
	if waived {
		return "", nil
	}
	return when.closed(now)
}

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

// wait waits until the table may be changed, if it must not be now, and says whether it has waited. meanwhile
// is called from time to time; nil for nothing.
func (h holding) wait(ctx context.Context, meanwhile func(context.Context) error) (waited bool, err error) {
	var told string
	for {
		why, err := h.back(time.Now())
		if err != nil || why == "" {
			return told != "", err
		}
		if told == "" {
			h.enter(event.PhaseHold)
		}
		if why != told {
			h.note("held: " + why)
			told = why
		}
		if err := dbconn.Sleep(ctx, lookEvery); err != nil {
			return true, err
		}
		if meanwhile == nil {
			continue
		}
		if err := meanwhile(ctx); err != nil {
			return true, err
		}
	}
}

// turn says when the server's own statement may be made (lock.Turn).
type turn struct {
	holding
	last bool // it is the one that changes the table for good
}

// Wait returns when the statement may be made.
func (t turn) Wait(ctx context.Context) (held time.Duration, err error) {
	began := time.Now()
	waited, err := t.wait(ctx, nil)
	if !waited {
		return 0, err
	}
	t.enter(event.PhaseNative)
	return time.Since(began), err
}

// Begin says whether it may be made at this moment.
func (t turn) Begin() bool { return t.control.beginNative(t.swaps) }

// End says what has become of it.
func (t turn) End(granted bool) { t.control.endNative(granted && t.last) }

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
