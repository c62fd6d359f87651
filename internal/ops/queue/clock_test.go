package queue

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// TestAClockThatIsSetBackHidesNothing: the time in a history's name does not decide whose it is. A
// history that seems older than its change is found, and the history of an earlier run that seems
// younger is not taken for it.
func TestAClockThatIsSetBackHidesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := queue(t, file(t, path))
	now := time.Now()
	write := func(id string, at time.Time, outcome string) string {
		t.Helper()
		w, err := history.Begin(filepath.Join(s.folder(id), historyPart), record.Run{Table: "shop.orders", Process: 1 << 30}, at)
		if err == nil {
			w.Write(record.Result{Head: record.HeadOf(record.NameResult, at), Outcome: outcome})
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return w.Path()
	}
	former := *running(t, s)
	former.end(StateUnknown, "", "")
	if err := errors.Join(s.makeRoom(&former), s.replace(t.Context(), &former)); err != nil {
		t.Fatal(err)
	}
	ofFormer := write("a", now.Add(time.Hour), "swap_unknown") // before the clock was set back

	if _, _, err := s.Submit(t.Context(), Submission{ID: "b", Server: "db1", Statement: "DROP TABLE shop.orders"}, anyone); err != nil {
		t.Fatal(err)
	}
	e := *s.find("b")
	e.State, e.Place, e.Began, e.Process = StateRunning, s.place, &now, 1<<30
	if err := errors.Join(
		os.MkdirAll(s.folder("b"), 0o700),
		s.inherit(&e),
		s.makeRoom(&e),
		os.Remove(filepath.Join(s.folder("b"), resultFile)),
		s.replace(t.Context(), &e),
	); err != nil {
		t.Fatal(err)
	}
	if own, err := first(s.found(&e)); own != "" || err != nil {
		t.Errorf("%s is taken for its own, %v", own, err)
	}
	own := write("b", now.Add(-time.Hour), "done") // and once more
	if found, err := first(s.found(&e)); found != own || err != nil {
		t.Errorf("%s instead of %s, %v", found, own, err)
	}
	if err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, _ := s.Change("b")
	if c.State != StateDone || c.History != own {
		t.Errorf("%+v", c)
	}
	if a, _ := s.Change("a"); a.History != ofFormer {
		t.Errorf("%+v", a)
	}
	if list := s.Changes(); list[0].ID != "a" || list[1].ID != "b" {
		t.Errorf("another order: %+v", list)
	}
}

// TestAHistoryOfAnEarlierVersion: an earlier version lists no histories. The number of the process
// then decides which one is the run's own.
func TestAHistoryOfAnEarlierVersion(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	e := *running(t, s)
	e.Process = 1 << 30
	w, err := history.Begin(
		filepath.Join(s.folder("a"), historyPart), record.Run{Table: "shop.orders", Process: e.Process},
		e.Began.Add(-time.Hour),
	)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if path, err := first(s.found(&e)); path != w.Path() || err != nil {
		t.Errorf("%s, %v", path, err)
	}
}

// first is the only path; "" for none.
func first(paths []string, err error) (string, error) {
	if len(paths) == 0 {
		return "", err
	}
	return paths[0], err
}
