package throttle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/window"
)

// passes reports whether a gate is open.
func passes(t *testing.T, wait func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	return wait(ctx) == nil
}

// Work waits while a gate is closed, and gets the reason. A gate that can't be measured is closed.
// If nothing measures the gates, all are closed.
func TestGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, broken, lagging atomic.Bool
		look := func(is *atomic.Bool, err error) func(context.Context) (string, error) {
			return func(context.Context) (string, error) {
				if is.Load() {
					return "it is so", err
				}
				return "", nil
			}
		}
		var mu sync.Mutex
		var heard []event.Throttled
		told := func() []event.Throttled {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(heard)
		}
		g := NewGates([]Sensor{
			{Name: "busy", Every: time.Second, Look: look(&busy, nil)},
			{Name: "broken", Every: time.Second, Look: look(&broken, errors.New("out of order"))},
			{Name: "lag", Every: time.Second, Apply: true, Look: look(&lagging, nil)},
		}, func(e event.Event) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, e.(event.Throttled))
		})
		passes := func(wait func(context.Context) error) bool { return passes(t, wait) }
		if passes(g.Copy) {
			t.Error("open before anybody has looked")
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		step := func() { time.Sleep(1200 * time.Millisecond); synctest.Wait() }
		step()
		if !passes(g.Copy) || !passes(g.Apply) || len(told()) != 0 {
			t.Error("closed without a reason")
		}
		busy.Store(true)
		step()
		if passes(g.Copy) || !passes(g.Apply) || len(told()) != 1 || told()[0].Gates[0].Name != "busy" || told()[0].Gates[0].Why != "it is so" {
			t.Errorf("one is closed: %+v", told())
		}
		broken.Store(true)
		lagging.Store(true)
		step()
		if c := g.Closed(); passes(g.Apply) || len(c) != 3 || !strings.Contains(c[1].Why+c[2].Why, "cannot check broken: out of order") {
			t.Errorf("three are closed: %+v", c)
		}
		before := len(told())
		time.Sleep(3 * tellAgain)
		synctest.Wait()
		if len(told()) < before+2 {
			t.Errorf("reported %d times in %s", len(told())-before, 3*tellAgain)
		}
		passed := make(chan error, 1)
		go func() { passed <- g.Copy(t.Context()) }()
		busy.Store(false)
		broken.Store(false)
		lagging.Store(false)
		if err := <-passed; err != nil {
			t.Error(err)
		}
		step()
		if last := told()[len(told())-1]; len(last.Gates) != 0 {
			t.Errorf("at last %+v", last)
		}
		busy.Store(true)
		step()
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if passes(g.Copy) || passes(g.Apply) {
			t.Error("the gate is open, although nothing measures it")
		}
	})
}

// If two sensors have one name, such as two files, an open one doesn't open the other's gate.
func TestSensorsOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told int
		look := func(why string) func(context.Context) (string, error) {
			return func(context.Context) (string, error) { return why, nil }
		}
		g := NewGates([]Sensor{
			{Name: "file", Every: time.Second, Apply: true, Look: look("one is there")},
			{Name: "file", Every: time.Second, Look: look("")},
			{Name: "file", Every: time.Second, Look: look("three is there")},
		}, func(event.Event) { told++ })
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if passes(t, g.Copy) || passes(t, g.Apply) || len(g.Closed()) != 2 {
				t.Fatalf("closed are %+v", g.Closed())
			}
		}
		if told != 1 {
			t.Errorf("reported %d times", told)
		}
		end()
		<-ended
	})
}

// The copy window closes and opens the gate of the row copy within a moment, and leaves apply alone.
// The clock of the test begins at midnight UTC.
func TestCopyWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hours, err := window.Parse("00:00-01:00; 22:00-24:00 UTC")
		if err != nil {
			t.Fatal(err)
		}
		var told int
		g := NewGates([]Sensor{CopyWindow(hours)}, func(event.Event) { told++ })
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		began := time.Now()
		for _, c := range []struct {
			at   time.Duration
			open bool
			why  string
		}{
			{time.Second, true, ""},
			{time.Hour - time.Second, true, ""},
			{time.Hour + 300*time.Millisecond, false, "the copy window opens Sat 22:00 UTC (in 21 h 0 min)"},
			{18*time.Hour + 48*time.Minute, false, "the copy window opens Sat 22:00 UTC (in 3 h 12 min)"},
			{22*time.Hour - time.Second, false, "the copy window opens Sat 22:00 UTC (in 1 min)"},
			{22*time.Hour + 300*time.Millisecond, true, ""},
			{25*time.Hour - time.Second, true, ""},
			{25*time.Hour + 300*time.Millisecond, false, "the copy window opens Sun 22:00 UTC (in 21 h 0 min)"},
		} {
			time.Sleep(c.at - time.Since(began))
			synctest.Wait()
			why := ""
			if closed := g.Closed(); len(closed) > 0 {
				why = closed[0].Why
			}
			if why != c.why || passes(t, g.Copy) != c.open || !passes(t, g.Apply) {
				t.Errorf("after %s: %q, want %q", c.at, why, c.why)
			}
		}
		if told < 21*59 || told > 21*60+10 {
			t.Errorf("%d reports in 21 hours", told)
		}
		g.Replace([]Sensor{CopyWindow(window.Window{})}) // as midstream set does
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !passes(t, g.Copy) {
			t.Errorf("without a window: %+v", g.Closed())
		}
		end()
		<-ended
	})
}

// A critical state ends the measuring with an error.
func TestCriticalEnds(t *testing.T) {
	g := NewGates(
		[]Sensor{{Name: "critical", Every: time.Second, Look: func(context.Context) (string, error) { return "", ErrCritical }}},
		event.Discard,
	)
	if err := g.Run(t.Context()); !errors.Is(err, ErrCritical) {
		t.Error(err)
	}
}

// A gate opens again only below half of its bound.
func TestBounded(t *testing.T) {
	now := 0.0
	look := Bounded(10, func(context.Context) (float64, error) { return now, nil }, func(now, most float64) string { return "closed" })
	for i, c := range []struct {
		now    float64
		closed bool
	}{{10, false}, {10.1, true}, {6, true}, {5.1, true}, {5, false}, {9, false}, {11, true}} {
		now = c.now
		if why, err := look(t.Context()); err != nil || (why != "") != c.closed {
			t.Errorf("look %d at %g: %q, %v", i, c.now, why, err)
		}
	}
}

// The first heartbeat that a replica lacks shows how far the replica is behind.
func TestBehind(t *testing.T) {
	var b Beats
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	if b.Behind(0, start) != 0 {
		t.Error("behind nothing")
	}
	for n := range uint64(100) {
		b.Wrote(7+n, at(time.Duration(n)*50*time.Millisecond))
	}
	now := at(5 * time.Second) // the last was written at 4.95 s
	for number, want := range map[uint64]time.Duration{106: 0, 200: 0, 105: 50 * time.Millisecond, 86: time.Second,
		7: 4950 * time.Millisecond, 0: 5 * time.Second} {
		if got := b.Behind(number, now); got != want {
			t.Errorf("with heartbeat %d it is %s behind, want %s", number, got, want)
		}
	}
	for n := range uint64(3 * mostBeats) {
		b.Wrote(107+n, now)
	}
	if len(b.times) > mostBeats || b.Behind(106+3*mostBeats, now) != 0 {
		t.Errorf("%d are remembered", len(b.times))
	}
}

func TestParseLimits(t *testing.T) {
	limits, err := ParseLimits("Threads_running=50, Innodb_row_lock_current_waits=3")
	if err != nil || len(limits) != 2 || limits[1] != (Limit{"Innodb_row_lock_current_waits", 3}) {
		t.Errorf("%v, %v", limits, err)
	}
	for _, wrong := range []string{"", "Threads_running", "Threads_running=many", "=3", "Threads_running=-1"} {
		if _, err := ParseLimits(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
