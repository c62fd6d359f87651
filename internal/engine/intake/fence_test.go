package intake

import (
	"context"
	"errors"
	"testing"
	"time"
)

// idle is a reader that receives nothing.
type idle struct{ reader }

func (idle) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (idle) Fence(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestU4_AnAbortWaitsForNoChangeThatNobodyReads: the syncs that are in flight as an undo is aborted ask whether the change of a key is
// still to come. Nothing reads it any more, and each of them waited for some seconds.
func TestU4_AnAbortWaitsForNoChangeThatNobodyReads(t *testing.T) {
	in := &Intake{reader: idle{}}
	in.reading, in.end = context.WithCancel(t.Context())
	running, abort := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- in.Run(running) }()
	asked := make(chan error, 1)
	go func() { asked <- in.Fence(t.Context()) }()
	select {
	case err := <-asked:
		t.Fatalf("while changes are read, the fence ends with %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	abort()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-asked; !errors.Is(err, errEnded) {
		t.Errorf("the fence ends with %v", err)
	}
	if err := in.Fence(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("the next fence ends with %v", err)
	}
}
