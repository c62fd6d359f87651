package session

import (
	"testing"

	"midstream/internal/engine/event"
)

// TestCommandsInEventsReachTheServer: displays, histories, logs, hooks and control sockets get the same text.
func TestCommandsInEventsReachTheServer(t *testing.T) {
	s := &Session{options: Options{Reach: "--host=db1"}}
	const text, want = "remove it with: midstream cleanup  shop.orders", "remove it with: midstream cleanup --host=db1 shop.orders"
	if got := s.reaching(event.Note{Text: text}).(event.Note).Text; got != want {
		t.Error(got)
	}
	if got := s.reaching(event.Resumed{Text: text}).(event.Resumed).Text; got != want {
		t.Error(got)
	}
	if got := s.reaching(event.Retry{Cause: text}); got != (event.Retry{Cause: text}) { // of the server
		t.Error(got)
	}
}
