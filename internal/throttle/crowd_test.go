package throttle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// The number of workers follows the mean of the last looks, and one may always work.
func TestCrowdGivesWay(t *testing.T) {
	c := NewCrowd(nil, 4)
	for i, look := range []struct{ busy, want int }{
		{0, 4}, {5, 4}, {19, 3}, {24, 2}, {12, 2}, // mean 12
		{100, 1}, {100, 1}, {100, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 4},
	} {
		c.saw(look.busy)
		if got := c.Allowed(); got != look.want {
			t.Errorf("after look %d %d workers are allowed, want %d", i, got, look.want)
		}
	}
}

// A worker that holds still goes on when the server has room, or its context ends.
func TestCrowdGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCrowd(nil, 2)
		c.saw(100)
		if err := c.Gate(t.Context(), 0); err != nil {
			t.Error(err)
		}
		ended := errors.New("ended")
		ctx, end := context.WithCancelCause(t.Context())
		passed := make(chan error, 2)
		go func() { passed <- c.Gate(t.Context(), 1) }()
		go func() { passed <- c.Gate(ctx, 1) }()
		synctest.Wait()
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
