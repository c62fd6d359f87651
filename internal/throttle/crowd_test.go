package throttle

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// What is allowed follows the mean of the last looks, and some work may always be done.
func TestCrowdGivesWay(t *testing.T) {
	c := NewCrowd(nil, 3)
	for i, look := range []struct {
		busy int
		want float64
	}{
		{0, 3}, {17, 1.8}, {7, 2.2}, // means 0, 8.5, 8
		{100, 0.6}, {100, 0.6}, {100, 0.6}, {0, 0.6}, {0, 0.6}, {0, 0.6}, {0, 0.6}, {0, 3},
	} {
		c.saw(look.busy)
		if got := c.Allowed(); math.Abs(got-look.want) > 1e-9 {
			t.Errorf("after look %d %g workers are allowed, want %g", i, got, look.want)
		}
	}
}

// A worker without a share holds still until the server has room, or its context ends.
func TestCrowdGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCrowd(nil, 2)
		if err := c.Gate(t.Context(), 1, time.Hour); err != nil {
			t.Error(err)
		}
		c.saw(100)
		ended := errors.New("ended")
		ctx, end := context.WithCancelCause(t.Context())
		passed := make(chan error, 2)
		go func() { passed <- c.Gate(t.Context(), 1, time.Second) }()
		go func() { passed <- c.Gate(ctx, 1, time.Second) }()
		time.Sleep(time.Hour) // by the bubble's clock: no timer lets them through
		if len(passed) > 0 {
			t.Fatal("the second worker goes on while the server is busy")
		}
		end(ended)
		if err := <-passed; !errors.Is(err, ended) {
			t.Errorf("gate returned %v, want the cause of its context", err)
		}
		for range looks {
			c.saw(0)
		}
		if err := <-passed; err != nil {
			t.Error(err)
		}
	})
}

// A worker with a share rests in proportion to its work, and less once there is room.
func TestCrowdRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCrowd(nil, 2)
		c.saw(100) // one worker, 0.6 of the time
		begun := time.Now()
		if err := c.Gate(t.Context(), 0, 600*time.Millisecond); err != nil {
			t.Error(err)
		}
		if rested := time.Since(begun); (rested - 400*time.Millisecond).Abs() > time.Microsecond {
			t.Errorf("the worker rested %s after 600 ms of work, want 400 ms", rested)
		}
		begun = time.Now()
		time.AfterFunc(time.Second, func() {
			for range looks {
				c.saw(0)
			}
		})
		if err := c.Gate(t.Context(), 0, time.Hour); err != nil {
			t.Error(err)
		}
		if rested := time.Since(begun); rested != time.Second {
			t.Errorf("the worker rested %s, want until there was room", rested)
		}
	})
}
