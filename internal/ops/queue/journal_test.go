package queue

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/ops/access"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/socket"
)

// TestL8_TheJournalHasWhoDidWhat: each action has an entry with the person, also one that fails at the run; what is refused has
// none. Pages leave out nothing, and a service that is started again continues the numbers. Both stores are the same.
func TestL8_TheJournalHasWhoDidWhat(t *testing.T) {
	t.Run("file", func(t *testing.T) { journals(t, file(t, filepath.Join(t.TempDir(), "q.db"))) })
	t.Run("table", func(t *testing.T) {
		store := newDatabase(t, "9.7").mustOpen()
		t.Cleanup(func() { closes(t, store) })
		journals(t, store)
	})
}

func journals(t *testing.T, store Store) {
	s := queue(t, store)
	ann, ops := tokenOf("ann", access.Submit), tokenOf("ops", access.Operate)
	for _, id := range []string{"a", "b"} {
		callAs(t, s, ann, "POST", "/v1/changes", Submission{ID: id, Server: "db1", Statement: "DROP TABLE shop.orders", By: "x"}, new(Change))
	}
	callAs(t, s, ann, "POST", "/v1/changes/a/abort", struct{}{}, new(socket.Problem))
	callAs(t, s, ann, "POST", "/v1/changes", Submission{ID: "c", Server: "db1", Statement: "nonsense"}, new(socket.Problem))
	callAs(t, s, ops, "POST", "/v1/changes/a/throttle", socket.ThrottleCommand{Share: "1%"}, new(socket.Problem))
	callAs(t, s, ops, "DELETE", "/v1/changes/b?reason=no", nil, new(Change))
	spell := func(list []audit.Entry) string {
		var lines []string
		for _, e := range list {
			if e.At.IsZero() || e.From == "" && e.Action != "" {
				t.Errorf("%+v", e)
			}
			short := strings.TrimSpace(e.Error[:min(len(e.Error), 9)])
			lines = append(lines, strings.Join([]string{e.Action, e.Who, e.Change, e.State, e.Detail, short}, "|"))
		}
		return strings.Join(lines, "\n")
	}
	want := "withdraw|ops|b|withdrawn|no|\nthrottle|ops|a||{\"share\":\"1%\"}|a cannot\n" +
		"throttle|ops|a||{\"share\":\"1%\"}|\nsubmit|ann|b|waiting||\nsubmit|ann|a|waiting||"
	var all []audit.Entry
	if callAs(t, s, ops, "GET", "/v1/audit", nil, &all); spell(all) != want {
		t.Errorf("\n%s", spell(all))
	}
	var paged []audit.Entry
	for before := uint64(0); ; {
		page, err := s.Audit(t.Context(), AuditQuestion{Before: before, Most: 2})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		paged, before = append(paged, page...), page[len(page)-1].ID
	}
	if spell(paged) != want {
		t.Errorf("\n%s", spell(paged))
	}
	if only, _ := s.Audit(t.Context(), AuditQuestion{Change: "b", Who: "ANN"}); spell(only) != "submit|ann|b|waiting||" {
		t.Errorf("\n%s", spell(only))
	}
	again := queue(t, store)
	if n := len(again.Changes()); n != 2 {
		t.Errorf("%d changes", n)
	}
	callAs(t, again, ops, "DELETE", "/v1/changes/a", nil, new(Change))
	if list, _ := again.Audit(t.Context(), AuditQuestion{}); len(list) != 6 || list[0].ID != all[0].ID+1 || list[0].Change != "a" {
		t.Errorf("\n%s", spell(list))
	}
}

// TestL5_AStreamMissesNothing: a reader that comes back with the number of its last event gets what happened since, also from a
// service that was started again, and then what happens, in both forms.
func TestL5_AStreamMissesNothing(t *testing.T) {
	store := file(t, filepath.Join(t.TempDir(), "q.db"))
	submit := func(s *Service, id string) {
		asked := Submission{ID: id, Server: "db1", Statement: "DROP TABLE shop.orders"}
		callAs(t, s, tokenOf("ann", access.Submit), "POST", "/v1/changes", asked, new(Change))
	}
	s := queue(t, store)
	submit(s, "a")
	submit(s, "b")
	s = queue(t, store)
	server := httptest.NewServer(s.Stream())
	t.Cleanup(server.Close)
	for _, accept := range []string{"application/x-ndjson", "text/event-stream"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", accept)
		request.Header.Set("Last-Event-ID", "1")
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(response.Body)
		next := func() (e audit.Entry) {
			t.Helper()
			for lines.Scan() {
				text := strings.TrimPrefix(lines.Text(), "data: ")
				if strings.HasPrefix(text, "{") {
					if err := json.Unmarshal([]byte(text), &e); err != nil {
						t.Fatal(err)
					}
					return e
				}
			}
			t.Fatal("the stream ended: ", lines.Err())
			return e
		}
		if e := next(); e.ID != 2 || e.Change != "b" || e.State != "waiting" {
			t.Errorf("%s: %+v", accept, e)
		}
		if accept == "application/x-ndjson" {
			submit(s, "c")
		}
		if e := next(); e.ID != 3 || e.Change != "c" || e.Who != "ann" {
			t.Errorf("%s: %+v", accept, e)
		}
		cancel()
		response.Body.Close()
	}
}
