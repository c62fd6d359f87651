package intake

import (
	"context"
	"errors"
	"testing"
	"time"
)

// idle is a reader that receives nothing.
type idle struct {
	reader
	fails error
}

func (r idle) Run(ctx context.Context) error {
	<-ctx.Done()
	return r.fails
}

func (idle) Fence(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestU4_AnAbortWaitsForNoChangeThatNobodyReads: the syncs that are in flight as an undo is aborted ask whether the change of a key is
// still to come. Nothing reads it any more, and each of them waited for some seconds.
func TestU4_AnAbortWaitsForNoChangeThatNobodyReads(t *testing.T) {
	in := &Intake{reader: idle{}}
	in.reading, in.end = context.WithCancelCause(t.Context())
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

// TestL9_AFenceFailsWithWhatEndedTheReading: the reading ends with an error, and a sync that waits for a change is the first to fail. Its
// error is that of the reading, by which the run decides whether it keeps its work.
func TestL9_AFenceFailsWithWhatEndedTheReading(t *testing.T) {
	lost := errors.New("another server answers")
	in := &Intake{reader: idle{fails: lost}}
	in.reading, in.end = context.WithCancelCause(t.Context())
	running, end := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { asked <- in.Fence(t.Context()) }()
	end()
	if err := in.Run(running); !errors.Is(err, lost) {
		t.Error(err)
	}
	if err := <-asked; !errors.Is(err, lost) {
		t.Errorf("the fence ends with %v", err)
	}
}
