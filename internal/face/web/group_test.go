package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// TestTheEventsOfAGroup: a reader gets the records of all tables in the order of their times, each with its table, and the progress of
// all of them. After a break it gets those that it has not, once each.
func TestTheEventsOfAGroup(t *testing.T) {
	folder, began := t.TempDir(), time.Now().Add(-time.Minute).UTC()
	var paths []string
	for i, table := range []string{"shop.a", "shop.b"} {
		w, err := history.Begin(folder, record.Run{Table: table, Group: "g"}, began)
		if err != nil {
			t.Fatal(err)
		}
		at := func(n int) time.Time { return began.Add(time.Duration(2*n+i) * time.Second) }
		w.Show(event.PhaseEntered{Phase: event.PhaseCopy, At: at(1)})
		w.Show(event.Progress{Phase: event.PhaseCopy, At: at(2), RowsCopied: 10, RowsTotal: 100, Fraction: .1, ReplicaLag: -1})
		w.Show(event.Note{Text: "a note", At: at(3)})
		w.Write(record.Result{Head: record.HeadOf(record.NameResult, at(4)), Outcome: "done", Swapped: true, Attempts: 1, LockHeldMS: 12})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, w.Path())
	}
	s := &Server{
		closing: make(chan struct{}), gate: newGate("a token of a test", nil, "1", false),
		source: Source{Histories: func(context.Context, string) ([]string, bool, error) { return paths, true, nil }},
	}
	read := func(after string) (ids []string, text string) {
		request := httptest.NewRequest(http.MethodGet, "/v1/changes/g/events", nil)
		request.Header.Set("Last-Event-ID", after)
		answer := httptest.NewRecorder()
		s.events(answer, request)
		text = answer.Body.String()
		for line := range strings.Lines(text) {
			if id, is := strings.CutPrefix(line, "id: "); is {
				ids = append(ids, strings.TrimSpace(id))
			}
		}
		return ids, text
	}
	all, text := read("")
	if want := []string{"1.0", "1.1", "2.1", "2.2", "3.2", "3.3", "4.3", "4.4", "5.4", "5.5"}; !slices.Equal(all, want) {
		t.Errorf("the ids are %q", all)
	}
	for _, want := range []string{
		`"told":"shop.a: 2/5 copy: copying rows and applying changes","member":"shop.a","step":"2/5 copy`, `"told":"shop.b: a note"`,
		`"rows_copied":20,"rows_total":200,"fraction":0.1`, "event: end\n", "All tables were swapped in one step: 1 attempt",
		`scrolls`, // on a phone
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Count(text, "held for") != 1 {
		t.Errorf("the swap is not there once:\n%s", text)
	}
	for i, id := range all {
		if rest, _ := read(id); !slices.Equal(rest, all[i+1:]) {
			t.Errorf("after %s come %q", id, rest)
		}
	}
	if rest, _ := read("nonsense"); !slices.Equal(rest, all) {
		t.Errorf("after nonsense come %q", rest)
	}
}
