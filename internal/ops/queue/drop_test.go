package queue

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestEndedChangesAreDropped: only changes that ended long ago are dropped, and none that another change needs. The journal stays, and a
// service that is opened again finds the same.
func TestEndedChangesAreDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	store := file(t, path)
	s := queue(t, store)
	s.cfg.KeepEnded = time.Hour
	submit := func(id string, after ...string) {
		t.Helper()
		if _, _, err := s.Submit(t.Context(), Submission{ID: id, Server: "db1", Statement: "DROP TABLE shop." + id, After: after}, anyone); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(id string, state State, ago time.Duration) {
		t.Helper()
		changed, at := *s.find(id), time.Now().Add(-ago)
		changed.State, changed.Ended = state, &at
		if err := s.replace(t.Context(), &changed); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"old", "new", "needed", "failed"} {
		submit(id)
	}
	submit("waits", "needed")
	ends("old", StateDone, 2*time.Hour)
	ends("failed", StateFailed, 3*time.Hour)
	ends("needed", StateDone, 2*time.Hour)
	ends("new", StateDone, time.Minute)
	last := s.last()
	if err := s.dropEnded(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"needed", "new", "waits"}
	is := func(s *Service) {
		t.Helper()
		var ids []string
		for _, c := range s.Changes() {
			ids = append(ids, c.ID)
		}
		if slices.Sort(ids); !slices.Equal(ids, want) {
			t.Errorf("the changes are %v, want %v", ids, want)
		}
	}
	is(s)
	if list, err := s.Audit(t.Context(), AuditQuestion{Change: "old"}); err != nil || len(list) == 0 {
		t.Errorf("the journal has nothing of a change that was dropped: %v", err)
	}
	if s.last() != last {
		t.Errorf("the last number is %d, and was %d", s.last(), last)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s = queue(t, file(t, path))
	is(s)
	submit("old") // the id is free again
}

// TestU1_AnIdThatAnUndoNamesIsNotFree: a change stays as long as its undo stays, which can be taken back itself. Otherwise another change
// with its id would look undone, and no one could take it back.
func TestU1_AnIdThatAnUndoNamesIsNotFree(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	s.cfg.KeepEnded = time.Hour
	ended := func(id, undoes string, state State, ago time.Duration, after ...string) {
		t.Helper()
		at := time.Now().Add(-ago)
		e := &entry{Sequence: s.last() + 1, Change: Change{ID: id, Server: "db1", Table: "shop.t", Undoes: undoes, State: state, Ended: &at, After: after}}
		if err := s.replace(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	ended("a", "", StateDone, 3*time.Hour)
	ended("b", "", StateDone, 3*time.Hour)
	ended("a-undo", "a", StateDone, time.Minute)
	ended("first", "", StateDone, 3*time.Hour)
	ended("failed", "", StateFailed, time.Minute, "first") // it may run again
	ended("early", "", StateDone, 3*time.Hour)
	ended("late", "", StateDone, time.Minute, "early") // it may not
	ended("c", "", StateDone, 3*time.Hour)
	ended("c-undo", "c", StateDone, 2*time.Hour)
	if err := s.dropEnded(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range s.Changes() {
		ids = append(ids, c.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"a", "a-undo", "failed", "first", "late"}) {
		t.Errorf("the changes are %v", ids)
	}
}
