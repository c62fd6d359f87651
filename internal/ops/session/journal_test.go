package session

import (
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// untaken takes the first write, and no other before it is released: a pipe that nobody reads, a disk that is gone.
type untaken struct {
	mu      sync.Mutex
	writes  int
	release chan struct{}
}

func (s *untaken) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.writes++
	first := s.writes == 1
	s.mu.Unlock()
	if !first {
		<-s.release
	}
	return len(p), nil
}

// inTime fails unless something is done within a second or so more than the patience with an output
// that nobody takes.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(flushPatience + 2*time.Second):
		t.Fatalf("%s waits", what)
	}
}

// TestTheRunNeverWaitsForItsLog: a log that nobody takes (a full pipe, a disk that does not answer)
// holds the run up neither while it is at work, perhaps under a lock, nor at its end; which tells
// of it.
func TestTheRunNeverWaitsForItsLog(t *testing.T) {
	t.Parallel()
	out := &untaken{release: make(chan struct{})}
	defer close(out.release)
	j, err := openJournal("-", false, out, record.Run{Table: "a.b"}, func(event.Event) string { return "a note" })
	if err != nil {
		t.Fatal(err)
	}
	inTime(t, "the run", func() {
		for range 100 {
			j.relay.Listen(event.Note{Text: "a note", At: time.Now()})
		}
	})
	inTime(t, "the end of the run", func() {
		if err := j.end(record.Result{Outcome: "done"}); err == nil {
			t.Error("nothing is told of a log that nobody has taken")
		}
	})
}

// TestTheEndNeverWaitsForItsHistory: nor does the end of the run wait for a history whose disk does not answer.
func TestTheEndNeverWaitsForItsHistory(t *testing.T) {
	t.Parallel()
	writer, err := history.Begin(t.TempDir(), record.Run{Table: "a.b"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	disk := &stuck{goOn: make(chan struct{})}
	defer close(disk.goOn)
	k := chronicle{NewRelay(disk), writer}
	k.listen(event.Note{Text: "a note", At: time.Now()})
	inTime(t, "the end of the run", func() {
		if _, err := k.end(record.Result{Outcome: "done"}); err == nil {
			t.Error("nothing is told of a history that was not kept")
		}
	})
}
