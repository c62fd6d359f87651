package queue

import (
	"fmt"
	"testing"
	"time"

	"midstream/internal/mysql/schema"
	"midstream/internal/ops/socket"
)

// TestAListOfTenThousandChanges has pages, filters, counts and the places of the changes that wait, and takes a moment.
func TestAListOfTenThousandChanges(t *testing.T) {
	s := &Service{
		board: newBoard(), stands: map[string]socket.Status{}, noted: map[string]string{}, awaits: map[string]string{},
		paths: map[string][]string{},
	}
	s.cfg.Folder = t.TempDir()
	at := time.Now()
	for i := range 10_000 {
		state, over := StateDone, at.Add(time.Duration(i)*time.Second)
		e := &entry{Change: Change{ID: fmt.Sprintf("c-%d", i), Server: []string{"main", "other"}[i%2], Statement: "ALTER TABLE Shop.Orders ADD a INT", SubmittedBy: "ann"}}
		switch {
		case i%1000 == 7:
			state = StateRunning
			s.stands[e.ID] = socket.Status{Phase: "copy", State: "running"}
		case i >= 9000:
			state = StateWaiting
		case i%10 == 3:
			state = StateFailed
		}
		if e.State, e.Sequence, e.Tables = state, uint64(i+1), []schema.Name{{Schema: "shop", Table: fmt.Sprintf("t%d", i)}}; state.Over() {
			e.Ended = &over
		}
		s.board.set(e)
	}
	began := time.Now()
	first := s.List(ListQuestion{})
	if took := time.Since(began); took > time.Second {
		t.Errorf("the first page took %s", took)
	}
	if len(first.Changes) != 50 || first.Total != 10_000 || first.Pages != 200 || first.Changes[0].ID != "c-7" || first.Changes[0].Run == nil {
		t.Errorf("%d of %d on %d pages, first %s", len(first.Changes), first.Total, first.Pages, first.Changes[0].ID)
	}
	if next := first.Changes[10]; next.State != StateWaiting || next.Position != 1 || first.Changes[12].Position != 2 {
		t.Errorf("the next change is %s, %d", next.ID, next.Position)
	}
	if c := first.Counts; c["running"] != 10 || c["waiting"] != 999 || c["failed"] != 900 || c["done"] != 8091 {
		t.Errorf("%v", c)
	}
	failed := s.List(ListQuestion{State: "failed", Server: "other", Page: 99, Per: 20})
	if failed.Total != 900 || failed.Page != 45 || failed.Changes[19].ID != "c-3" || failed.Counts["running"] != 10 {
		t.Errorf("%d on page %d, last %s, %v", failed.Total, failed.Page, failed.Changes[19].ID, failed.Counts)
	}
	for text, want := range map[string]int{"C-99": 111, "SHOP.T9999": 1, "shop.orders": 10_000, "ANN": 10_000, "bob": 0} {
		if got := s.List(ListQuestion{Text: text}); got.Total != want || len(got.Changes) > 50 {
			t.Errorf("%q finds %d instead of %d", text, got.Total, want)
		}
	}
}
