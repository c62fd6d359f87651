package queue

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/ops/socket"
)

// TestAChangeBeginsAtItsTime: a change does not begin before its time or outside of its window, and is checked when it has come.
func TestAChangeBeginsAtItsTime(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	soon := time.Now().Add(time.Hour).UTC()
	var c Change
	asked := Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders", NotBefore: &soon}
	if status := call(t, s, "POST", "/v1/changes", asked, &c); status != http.StatusCreated || !strings.HasPrefix(c.Why, "it begins not before ") {
		t.Errorf("%d %+v", status, c)
	}
	if status := call(t, s, "POST", "/v1/changes", asked, &c); status != http.StatusOK {
		t.Errorf("%d %+v", status, c)
	}
	later := soon.Add(time.Hour)
	asked.NotBefore = &later
	if status := call(t, s, "POST", "/v1/changes", asked, &c); status != http.StatusConflict {
		t.Errorf("%d %+v", status, c)
	}
	if err := s.step(t.Context()); err != nil || s.find("a").State != StateWaiting {
		t.Errorf("%+v, %v", s.find("a"), err)
	}
	if next := s.pending.tries["a"].next; !next.Equal(soon) {
		t.Errorf("it is checked at %s", next)
	}
	e := entry{Change: Change{Window: "Tue-Thu 09:00-16:00 Europe/Berlin"}}
	for text, open := range map[string]bool{"2026-11-24T08:30:00Z": true, "2026-11-24T15:30:00Z": false, "2026-11-27T12:00:00Z": false} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if why, next := e.tooEarly(at); (why == "") != open || !open && !next.After(at) {
			t.Errorf("%s: %q, %s", text, why, next)
		}
	}
	var problem socket.Problem
	asked = Submission{Server: "db1", Statement: "DROP TABLE shop.items", Window: "sometimes"}
	if status := call(t, s, "POST", "/v1/changes", asked, &problem); status != http.StatusUnprocessableEntity {
		t.Errorf("%d %+v", status, problem)
	}
}

// TestAnUrgentChangeBeginsFirst: of the changes that may begin, the one with the higher priority is checked first.
func TestAnUrgentChangeBeginsFirst(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	for id, priority := range map[string]int{"1": 0, "2": 5, "3": -1, "4": 5} {
		e := &entry{Sequence: uint64(id[0]), Change: Change{ID: id, Server: "db1", State: StateWaiting, Priority: priority}}
		s.board.set(e)
	}
	if order := s.byPriority([]string{"1", "2", "3", "4"}); strings.Join(order, "") != "2413" {
		t.Errorf("%q", order)
	}
}
