package session

import (
	"fmt"
	"sync"
	"time"

	"midstream/internal/engine/event"
)

// Display shows the events of one migration. It is called by one goroutine.
type Display interface {
	Show(e event.Event)
	// Close shows what is still to be shown and leaves the terminal as it was.
	Close()
	// Abandon leaves the terminal as it was, at once and from any goroutine.
	Abandon()
}

// Relay takes events from the engine without ever making it wait, and hands them to a
// display one after the other. Of progress only the newest waits.
type Relay struct {
	display Display

	mu     sync.Mutex
	queue  []event.Event
	closed bool
	wake   chan struct{}
	done   chan struct{}
}

// flushPatience is how long Close waits for an output that nobody reads.
const flushPatience = 3 * time.Second

// NewRelay begins to hand events to a display.
func NewRelay(d Display) *Relay {
	r := &Relay{display: d, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go r.run()
	return r
}

// Listen is an event.Listener.
func (r *Relay) Listen(e event.Event) {
	if _, is := e.(event.ChunkCopied); is {
		return // no display shows single chunks
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if n := len(r.queue); n > 0 {
		_, newer := e.(event.Progress)
		_, older := r.queue[n-1].(event.Progress)
		if newer && older {
			r.queue = r.queue[:n-1]
		}
	}
	r.queue = append(r.queue, e)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Relay) run() {
	defer close(r.done)
	for {
		r.mu.Lock()
		queue, closed := r.queue, r.closed
		r.queue = nil
		r.mu.Unlock()
		for _, e := range queue {
			r.display.Show(e)
		}
		if len(queue) > 0 {
			continue
		}
		if closed {
			r.display.Close()
			return
		}
		<-r.wake
	}
}

// Close returns when everything is shown, or nobody seems to look, and says whether it is.
func (r *Relay) Close() (shown bool) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	select {
	case <-r.done:
		return true
	case <-time.After(flushPatience):
		return false
	}
}

// errUntaken says that what was to be written is not: a pipe that nobody reads, a disk that does not answer.
var errUntaken = fmt.Errorf("no program has read the output for %s", flushPatience)
