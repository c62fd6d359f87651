package sets_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/sets"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// ofTwo has two servers, whose changes need an approval if approve has one. Nothing is begun.
func ofTwo(t *testing.T, folder string, approve map[string]bool) *sets.Service {
	t.Helper()
	store, err := queue.OpenFile(filepath.Join(folder, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), queue.Config{
		Executable: "/nowhere", Folder: folder, ControlFolder: filepath.Join(t.TempDir(), "c"), Limit: 1, Approve: approve,
		Servers: []queue.Server{{Name: "a", Labels: map[string]string{"app": "shop"}}, {Name: "b", Labels: map[string]string{"app": "shop"}}},
		Read: func(string, []string, string) ([]schema.Name, error) {
			return []schema.Name{{Schema: "shop", Table: "orders"}}, nil
		},
		Note: func(text string) { t.Log(text) },
	}, store)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sets.Open(t.Context(), sets.Config{
		Queue: q, Note: func(text string) { t.Log(text) },
		Plan: func(context.Context, rollout.Set, queue.Server) fleetplan.Answer {
			return fleetplan.Answer{Outcome: fleetplan.Fits, Fingerprint: "f"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close(); store.Close() })
	return s
}

func by(name string) queue.Asker { return queue.Asker{Person: access.Everyone(name), From: "here"} }

// status is that of an error.
func status(err error) int {
	var p *socket.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

const shop = "id: note\nstatement: ALTER TABLE shop.orders ADD COLUMN c INT\nselector: app=shop\nwaves:\n  - {name: all}\n"

// TestASubmissionIsTakenOnce: the same rules again are the same set, also after a restart, and other rules need another id.
func TestASubmissionIsTakenOnce(t *testing.T) {
	s := ofTwo(t, t.TempDir(), nil)
	v, fresh, err := s.Submit(t.Context(), sets.SetFile{Text: shop}, by("Ada"))
	if err != nil || !fresh || v.Size != 2 || v.State != "checking" || v.Author != "Ada" {
		t.Fatalf("%+v %t %v", v, fresh, err)
	}
	if _, fresh, err = s.Submit(t.Context(), sets.SetFile{Text: "# the same\n" + shop}, by("Bert")); fresh || err != nil {
		t.Errorf("%t %v", fresh, err)
	}
	if _, _, err = s.Submit(t.Context(), sets.SetFile{Text: shop + "undo: 24h\n"}, by("Ada")); status(err) != http.StatusConflict {
		t.Errorf("%v", err)
	}
	for _, text := range []string{"nonsense", "id: x\n", shop + "files: [a.sql]\n"} {
		if _, _, err = s.Submit(t.Context(), sets.SetFile{Text: text}, by("Ada")); status(err) != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err = s.Ask(t.Context(), "note", "undo", sets.Ask{}, by("Ada")); status(err) != http.StatusConflict {
		t.Errorf("%v", err)
	}
	if _, err = s.Get("other"); status(err) != http.StatusNotFound {
		t.Errorf("%v", err)
	}
}

// TestAnAuthorDoesNotApprove: a set whose servers need an approval waits for another person.
func TestAnAuthorDoesNotApprove(t *testing.T) {
	s := ofTwo(t, t.TempDir(), map[string]bool{"b": true})
	v, _, err := s.Submit(t.Context(), sets.SetFile{Text: shop}, by("Ada"))
	if err != nil || v.State != "proposed" || len(v.Requests) != 3 {
		t.Fatalf("%+v %v", v, err)
	}
	if _, err = s.Ask(t.Context(), "note", "approve", sets.Ask{}, by("ada")); status(err) != http.StatusForbidden {
		t.Errorf("%v", err)
	}
	if _, err = s.Ask(t.Context(), "note", "skip", sets.Ask{Server: "a"}, by("Bert")); status(err) != http.StatusConflict {
		t.Errorf("%v", err)
	}
	if v, err = s.Ask(t.Context(), "note", "approve", sets.Ask{}, by("Bert")); err != nil || v.State != "checking" || v.ApprovedBy != "Bert from here" {
		t.Errorf("%+v %v", v, err)
	}
}
