package pulse_test

import (
	"context"
	"errors"
	"testing"

	"midstream/internal/engine/pulse"
)

// TestL6_AFenceIsAHeartbeatThatBeginsAfterIt: a heartbeat that is on its way when a fence is asked
// for does not end the wait. The fence's own heartbeat is written at once.
func TestL6_AFenceIsAHeartbeatThatBeginsAfterIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := pulse.New(7)
	onItsWay := p.Next()
	fence := p.Ask()
	if onItsWay != 8 || fence != 9 {
		t.Fatalf("heartbeat %d is on its way, and the fence is heartbeat %d", onItsWay, fence)
	}
	p.Back(onItsWay)
	beating := make(chan error, 1)
	go func() {
		beating <- p.Run(ctx, 1<<62, func(context.Context) error { // the interval alone would never end
			p.Back(p.Next())
			return nil
		})
	}()
	if err := p.Wait(ctx, 0, func() bool { return p.Last() >= fence }); err != nil {
		t.Fatal(err)
	}
	again := p.Ask()
	if err := p.Wait(ctx, 0, func() bool { return p.Last() >= again }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-beating; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestFreeze: a frozen reader waits until it is unfrozen, or until its context ends.
func TestFreeze(t *testing.T) {
	p := pulse.New(0)
	if err := p.WaitUnfrozen(t.Context()); err != nil || p.Frozen() {
		t.Fatalf("frozen from the beginning: %v", err)
	}
	p.Freeze()
	p.Freeze()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.WaitUnfrozen(ctx); !errors.Is(err, context.Canceled) || !p.Frozen() {
		t.Errorf("a frozen reader continues: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- p.WaitUnfrozen(t.Context()) }()
	p.Unfreeze()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
