package session

import (
	"sync"
	"testing"

	"midstream/internal/engine/event"
)

// stuck is a display that shows nothing until it is told to go on.
type stuck struct {
	goOn  chan struct{}
	mu    sync.Mutex
	shown []event.Event
}

func (s *stuck) Show(e event.Event) {
	<-s.goOn
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = append(s.shown, e)
}
func (s *stuck) Close()   {}
func (s *stuck) Abandon() {}

// TestRelayNeverHoldsUpTheEngine: while the display is stuck events are taken, of
// progress only the newest, and none of the others is lost.
func TestRelayNeverHoldsUpTheEngine(t *testing.T) {
	s := &stuck{goOn: make(chan struct{})}
	r := NewRelay(s)
	for i := range 1000 {
		r.Listen(event.Progress{RowsCopied: int64(i)})
		r.Listen(event.ChunkCopied{})
		if i == 500 {
			r.Listen(event.Note{Text: "half"})
		}
	}
	close(s.goOn)
	r.Close()
	notes, progress := 0, 0
	for _, e := range s.shown {
		switch e.(type) {
		case event.Note:
			notes++
		case event.Progress:
			progress++
		default:
			t.Errorf("%+v", e)
		}
	}
	if notes != 1 || progress > 3 || s.shown[len(s.shown)-1].(event.Progress).RowsCopied != 999 {
		t.Errorf("%d notes, %d of progress: %+v", notes, progress, s.shown)
	}
	r.Listen(event.Note{}) // after the end: nothing
}
