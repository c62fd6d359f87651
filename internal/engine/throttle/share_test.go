package throttle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"midstream/internal/engine/event"
)

// Work takes no more than its share of the time, even if the share changes during the work.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShare(0.25)
		waits := func() time.Duration {
			began := time.Now()
			if err := s.Gate(t.Context(), time.Second, began); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if d := waits(); d != 3*time.Second {
			t.Errorf("a quarter: %s", d)
		}
		s.Set(0)
		go func() { time.Sleep(time.Hour); s.Set(0.5) }()
		if d := waits(); d != time.Hour {
			t.Errorf("nothing, then a half: %s", d)
		}
		s.Set(1)
		if d := waits(); d != 0 {
			t.Errorf("all: %s", d)
		}
	})
}

// A gate that an operator closed holds copy and apply until the operator opens it, whatever the
// sensors report and whatever replaces them. New sensors count at once, and the old ones no longer.
func TestGatesByHandAndAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []event.Throttled
		sensor := func(name, why string) Sensor {
			return Sensor{Name: name, Every: time.Second, Look: func(context.Context) (string, error) { return why, nil }}
		}
		g := NewGates([]Sensor{sensor("old", "busy")}, func(e event.Event) { told = append(told, e.(event.Throttled)) })
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		step := func() { time.Sleep(1200 * time.Millisecond); synctest.Wait() }
		step()
		if passes(t, g.Copy) || !passes(t, g.Apply) {
			t.Error("the sensor does not count")
		}
		g.Replace(nil)
		step()
		if !passes(t, g.Copy) {
			t.Errorf("the sensor that was replaced counts: %+v", g.Closed())
		}
		g.Close("paused", "paused by somebody")
		g.Replace([]Sensor{sensor("new", "")})
		step()
		if passes(t, g.Copy) || passes(t, g.Apply) || told[len(told)-1].Gates[0].Why != "paused by somebody" {
			t.Errorf("not closed by hand: %+v", told)
		}
		g.Open("paused")
		step()
		if !passes(t, g.Copy) || !passes(t, g.Apply) || len(told[len(told)-1].Gates) != 0 {
			t.Errorf("not opened by hand: %+v", told)
		}
		broken := errors.New("too much")
		g.Replace(
			[]Sensor{
				{
					Name:  "critical",
					Every: time.Second,
					Look:  func(context.Context) (string, error) { return "", errors.Join(ErrCritical, broken) },
				},
			},
		)
		if err := <-ended; !errors.Is(err, broken) {
			t.Errorf("a critical gate that came later: %v", err)
		}
		end()
	})
}

// TestATinyShareIsNoFullSpeed: the rest that belongs to a tiny share is longer than a Duration can be.
func TestATinyShareIsNoFullSpeed(t *testing.T) {
	for _, part := range []float64{1e-9, 1e-13, 1e-300} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := NewShare(part).Gate(ctx, 250*time.Millisecond, time.Now()); err == nil {
				t.Errorf("with a share of %g the next work began within an hour", part)
			}
		})
	}
}
