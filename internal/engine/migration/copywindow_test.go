package migration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// hoursAround is a window of this moment, and hoursAfter one that opens in two hours.
func hoursAround() string { return hoursFrom(-time.Hour) }
func hoursAfter() string  { return hoursFrom(2 * time.Hour) }

func hoursFrom(later time.Duration) string {
	begin := time.Now().UTC().Add(later)
	return fmt.Sprintf("%s-%s UTC", begin.Format("15:04"), begin.Add(2*time.Hour).Format("15:04"))
}

// windowed is a run whose copy window a test changes.
type windowed struct {
	*bench
	control *operator.Control
	run     *running
}

// windowed starts an ALTER of table t, slowly enough to change the window during the row copy.
func (b *bench) windowed(clauses string, listeners ...func(*windowed) event.Listener) *windowed {
	b.Helper()
	ctx := b.ctx()
	pool, err := b.open(ctx)
	if err != nil {
		b.Fatal(err)
	}
	p, err := b.plan(pool, clauses, plan.Options{Names: b.wish})
	if err != nil {
		b.Fatal(err)
	}
	w := &windowed{bench: b, control: b.control(), run: &running{done: make(chan struct{})}}
	all := []event.Listener{b.told.listen}
	for _, l := range listeners {
		all = append(all, l(w))
	}
	go func() {
		defer close(w.run.done)
		defer pool.Close()
		w.run.result, w.run.err = migration.New(pool, b.binlogServer(), p, b.cfg, w.control, event.Tee(all...)).Run(ctx)
	}()
	b.Cleanup(func() { <-w.run.done })
	return w
}

// set changes the window.
func (w *windowed) set(hours string) {
	if err := w.control.Set(w.ctx(), map[string]string{"copy-window": hours}); err != nil {
		w.Error(err)
	}
}

// waits returns when the run waits for its copy window, and does not work on the table.
func (w *windowed) waits() event.Progress {
	w.Helper()
	for {
		p, gates, at := w.control.Standing()
		if at && len(gates) == 1 && gates[0].Name == "copy-window" && strings.Contains(gates[0].Why, "the copy window opens ") {
			return p
		}
		select {
		case <-w.run.done:
			w.Fatalf("the run ended: %v", w.run.err)
		case <-w.ctx().Done():
			w.Fatalf("the run does not wait: %+v %+v", p, gates)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// follows fails unless changes are captured and applied while no row is copied or compared.
func (w *windowed) follows() {
	w.Helper()
	ctx := w.ctx()
	var began event.Progress
	for still := 0; ; {
		p := w.waits()
		switch {
		case p.RowsCopied != began.RowsCopied || p.Verified != began.Verified:
			if still > 0 {
				w.Fatalf("it copies or compares rows while the window is closed: %+v, then %+v", began, p)
			}
			began = p // the chunk that was under way
		case p.Captured > began.Captured+100 && p.Applied > began.Applied+20:
			return
		case p.At.Sub(began.At) > time.Second:
			still++
		}
		select {
		case <-ctx.Done():
			w.Fatalf("changes are not applied while the window is closed: %+v, then %+v", began, p)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestL6_CopyWindow: rows are copied and compared only in the window. It closes in the middle of the
// copy, and as the comparison begins. Changes go on being applied, and the table is right at the end.
func TestL6_CopyWindow(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 6000, ledger.Options{Rate: 200})
		b.cfg.RowCopy.MaxRows = 100
		b.settings.RowCopy.Workers, b.settings.Rest = 1, 0.97
		b.start(l)
		var closed sync.Once
		w := b.windowed(alter, func(w *windowed) event.Listener {
			return func(e event.Event) {
				if p, is := e.(event.Progress); is && p.Phase == event.PhaseCopy && p.ETA >= 0 {
					closed.Do(func() { w.set(hoursAfter()) })
				}
			}
		}, func(w *windowed) event.Listener {
			return onPhase(event.PhaseVerify, func() { w.set(hoursAfter()) })
		})
		b.awaited("a closed window", func(e event.Event) bool {
			throttled, is := e.(event.Throttled)
			return is && len(throttled.Gates) == 1 && throttled.Gates[0].Name == "copy-window"
		})
		w.follows()
		if p := w.waits(); p.Phase != event.PhaseCopy || p.Fraction >= 1 {
			b.Errorf("the row copy is at %+v", p)
		} else if p.ETA < time.Hour || p.ETA > 3*time.Hour {
			b.Errorf("the time left is %s, and the window opens in two hours", p.ETA)
		}
		w.set(hoursAround())
		b.awaited("the comparison", entered(event.PhaseVerify))
		w.follows()
		w.set("")
		result := w.run.wait(b)
		b.mustMatchLedger(l)
		if result.Verified == 0 || result.Captured == 0 || !result.Swapped {
			b.Errorf("%+v", result)
		}
	})
}

// TestL9_ResumeObeysTheCopyWindow: a run that was killed outside of its window waits for it again, and
// follows the changes.
func TestL9_ResumeObeysTheCopyWindow(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 6000, ledger.Options{Rate: 100})
		b.start(l)
		copied := b.child(alter, "", nil, append(slowly, "--copy-window="+hoursAround())...)
		copied.await(phaseLine(event.PhaseCopy)) // before, it has nothing to resume
		copied.kill()
		copied.wait()
		waiting := b.child(alter, "", nil, append(slowly, "--copy-window="+hoursAfter())...)
		waiting.await(`"copy-window"`)
		waiting.await("resuming an earlier run")
		waiting.kill()
		waiting.wait()
		last := b.child(alter, "", nil, "--copy-window="+hoursAround(), "--drop-old")
		last.mustEnd()
		b.mustMatchLedger(l)
	})
}
