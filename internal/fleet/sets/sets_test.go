package sets_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/sets"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// ofTwo has two servers, whose changes need an approval if approve has one. Nothing is begun.
func ofTwo(t *testing.T, folder string, approve map[string]bool) *sets.Service {
	t.Helper()
	s, _, _ := ofTwoOver(t, folder, approve)
	return s
}

// unheard is a store whose answers are lost for a while.
type unheard struct {
	queue.Store
	lost atomic.Bool
}

func (u *unheard) Put(ctx context.Context, rows ...queue.Row) error {
	if err := u.Store.Put(ctx, rows...); err != nil || !u.lost.Load() {
		return err
	}
	return errors.New("the answer is lost")
}

// ofTwoOver is ofTwo with its store, and what ends both.
func ofTwoOver(t *testing.T, folder string, approve map[string]bool) (s *sets.Service, store *unheard, end func()) {
	t.Helper()
	opened, err := queue.OpenFile(filepath.Join(folder, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	store = &unheard{Store: opened}
	q := queueOf(t, store, folder, approve)
	s, err = sets.Open(t.Context(), sets.Config{
		Queue: q, Every: 5 * time.Millisecond, Note: func(text string) { t.Log(text) },
		Plan: func(context.Context, rollout.Set, queue.Server) fleetplan.Answer {
			return fleetplan.Answer{Outcome: fleetplan.Fits, Fingerprint: "f"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { q.Close(); store.Close() })
	t.Cleanup(end)
	return s, store, end
}

// queueOf is the queue of two servers on a store.
func queueOf(t *testing.T, store queue.Store, folder string, approve map[string]bool) *queue.Service {
	t.Helper()
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
	return q
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

// TestWhatWasAnsweredWithAnErrorDoesNotComeBack: the store may have a set or a request although its answer was lost. The next service does
// not begin it; a set may be submitted again.
func TestWhatWasAnsweredWithAnErrorDoesNotComeBack(t *testing.T) {
	folder, approve := t.TempDir(), map[string]bool{"b": true}
	s, store, end := ofTwoOver(t, folder, approve)
	other := strings.Replace(shop, "id: note", "id: other", 1)
	if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: shop}, by("Ada")); err != nil {
		t.Fatal(err)
	}
	store.lost.Store(true)
	if _, err := s.Ask(t.Context(), "note", "approve", sets.Ask{}, by("Bert")); err == nil {
		t.Error("the approval is taken")
	}
	if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: other}, by("Ada")); err == nil {
		t.Error("the set is taken")
	}
	store.lost.Store(false)
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	s.Run(ctx)
	end()

	s, _, _ = ofTwoOver(t, folder, approve)
	if v, err := s.Get("note"); err != nil || v.State != "proposed" || v.ApprovedBy != "" {
		t.Errorf("an approval has come back: %s, %q, %v", v.State, v.ApprovedBy, err)
	}
	if v, err := s.Get("other"); err != nil || v.State != "cancelled" || !strings.Contains(v.Why, "with an error, because the store") {
		t.Errorf("a set has come back: %s, %q, %v", v.State, v.Why, err)
	}
	if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: other + "undo: 24h\n"}, by("Ada")); status(err) != http.StatusConflict {
		t.Errorf("another set has its id: %v", err)
	}
	if v, fresh, err := s.Submit(t.Context(), sets.SetFile{Text: other}, by("Ada")); err != nil || !fresh || v.State != "proposed" {
		t.Errorf("%s %t %v", v.State, fresh, err)
	}
	if _, fresh, err := s.Submit(t.Context(), sets.SetFile{Text: other}, by("Ada")); err != nil || fresh {
		t.Errorf("it is taken twice: %v", err)
	}
}

// TestASetThatWasAnsweredWithAnErrorDoesNotComeBackAfterAKill: the service is killed before the store answers again. The next one does not
// begin the set, and neither does the one after it.
func TestASetThatWasAnsweredWithAnErrorDoesNotComeBackAfterAKill(t *testing.T) {
	folder := t.TempDir()
	s, store, end := ofTwoOver(t, folder, nil)
	store.lost.Store(true)
	if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: shop}, by("Ada")); err == nil {
		t.Error("the set is taken")
	}
	end()
	for _, runs := range []bool{false, true, true} {
		s, _, end = ofTwoOver(t, folder, nil)
		if runs {
			ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			s.Run(ctx)
			stop()
		}
		if v, err := s.Get("note"); err != nil || v.State != "cancelled" || !strings.Contains(v.Why, "with an error, because the store") {
			t.Errorf("the set has come back: %s, %q, %v", v.State, v.Why, err)
		}
		end()
	}
	s, _, _ = ofTwoOver(t, folder, nil)
	if v, fresh, err := s.Submit(t.Context(), sets.SetFile{Text: shop}, by("Ada")); err != nil || !fresh || v.State != "checking" {
		t.Errorf("%s %t %v", v.State, fresh, err)
	}
}

// TestAFittingPlanIsRenewed: a member that waits for its turn is planned again, so that a table which was changed by hand since then fails
// before its change begins. One whose table another run has does not fail.
func TestAFittingPlanIsRenewed(t *testing.T) {
	store, err := queue.OpenFile(filepath.Join(t.TempDir(), "q.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q := queueOf(t, store, t.TempDir(), nil)
	t.Cleanup(func() { q.Close() })
	var drifted, busy atomic.Bool
	var plans atomic.Int64
	s, err := sets.Open(t.Context(), sets.Config{
		Queue: q, Every: 5 * time.Millisecond, Renew: time.Millisecond, Note: func(text string) { t.Log(text) },
		Plan: func(_ context.Context, _ rollout.Set, server queue.Server) fleetplan.Answer {
			a := fleetplan.Answer{Outcome: fleetplan.Fits, Fingerprint: "f"}
			plans.Add(1)
			switch {
			case server.Name == "b" && busy.Load():
				return fleetplan.Answer{Outcome: fleetplan.Refused, ExitCode: record.CodeBusy, Error: "another run works on the table"}
			case server.Name == "b" && drifted.Load():
				a.Fingerprint = "g"
			}
			return a
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { s.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	now := time.Now().UTC()
	later := fmt.Sprintf("start: {window: \"%s-%s UTC\"}\n", now.Add(2*time.Hour).Format("15:04"), now.Add(3*time.Hour).Format("15:04"))
	if _, _, err = s.Submit(t.Context(), sets.SetFile{Text: shop + later}, by("Ada")); err != nil {
		t.Fatal(err)
	}
	becomes := func(state string, is func(sets.View) bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			v, err := s.Get("note")
			if err != nil || time.Now().After(end) {
				t.Fatalf("no %s: %+v %v", state, v, err)
			}
			if v.State == state && is(v) {
				return
			}
		}
	}
	becomes("running", func(v sets.View) bool { return v.Counts["planned"] == 2 })
	busy.Store(true) // that is no failure: the queue would wait for it
	for from := plans.Load(); plans.Load() < from+10; time.Sleep(time.Millisecond) {
	}
	becomes("running", func(v sets.View) bool { return v.Counts["planned"] == 2 })
	busy.Store(false)
	drifted.Store(true)
	becomes("stopped", func(v sets.View) bool {
		return v.Counts["planned"] == 1 && v.Members[1].State == "failed" && strings.Contains(v.Members[1].Why, "defined in another way")
	})
}

// TestASetHasOneStatement: a set for a group of tables is refused before anything is planned, also with a barrier.
func TestASetHasOneStatement(t *testing.T) {
	s := ofTwo(t, t.TempDir(), nil)
	for _, swap := range []string{"", "swap: {when: barrier}\n"} {
		group := strings.Replace(shop, "ADD COLUMN c INT", "ADD COLUMN c INT; ALTER TABLE shop.items ADD COLUMN c INT", 1) + swap
		_, _, err := s.Submit(t.Context(), sets.SetFile{Text: group}, by("Ada"))
		var p *socket.Problem
		if !errors.As(err, &p) || p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Detail, "the set has several statements") {
			t.Errorf("%q: %v", swap, err)
		}
	}
	one := strings.Replace(shop, "ADD COLUMN c INT", `"ADD COLUMN c INT COMMENT 'a; b';"`, 1)
	one = strings.Replace(one, `statement: ALTER TABLE shop.orders "`, `statement: "ALTER TABLE shop.orders `, 1)
	if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: one}, by("Ada")); err != nil {
		t.Error(err)
	}
}

// TestAnUndoWithoutApprovalIsForWhoOperates: a set whose servers need approvals is not taken back by a person who may only submit, because
// no one approves that.
func TestAnUndoWithoutApprovalIsForWhoOperates(t *testing.T) {
	ann := queue.Asker{Person: access.Person{Name: "ann", Roles: []access.Role{access.Submit}, Named: true}, From: "here"}
	for _, approve := range []map[string]bool{nil, {"b": true}} {
		s := ofTwo(t, t.TempDir(), approve)
		if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: shop + "undo: 24h\n"}, ann); err != nil {
			t.Fatal(err)
		}
		if approve != nil {
			if _, err := s.Ask(t.Context(), "note", "approve", sets.Ask{}, by("Bert")); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.Ask(t.Context(), "note", "undo", sets.Ask{}, ann)
		if problem := queue.ProblemOf(err); (problem.Status == http.StatusForbidden) != (approve != nil) {
			t.Errorf("%v: %+v", approve, problem)
		}
		if _, err = s.Ask(t.Context(), "note", "undo", sets.Ask{}, by("Ops")); status(err) != http.StatusConflict { // it has not begun
			t.Errorf("%v: %v", approve, err)
		}
	}
}

// TestASetNamesTheSetThatItWaitsFor: a gated set one of whose members waits for that of another set says which one. The two may wait for
// each other, and then a person must cancel one.
func TestASetNamesTheSetThatItWaitsFor(t *testing.T) {
	store, err := queue.OpenFile(filepath.Join(t.TempDir(), "q.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q := queueOf(t, store, t.TempDir(), nil)
	t.Cleanup(func() { q.Close() })
	o := queue.Order{Set: "other", Server: "b", Number: 1, Verb: queue.OrderStart, Attempt: 1, Statement: "ALTER TABLE shop.orders DROP COLUMN d", By: "Eve"}
	if _, err := q.Order(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s, err := sets.Open(t.Context(), sets.Config{Queue: q, Every: 5 * time.Millisecond, Note: func(text string) { t.Log(text) },
		Plan: func(context.Context, rollout.Set, queue.Server) fleetplan.Answer {
			return fleetplan.Answer{Outcome: fleetplan.Fits, Fingerprint: "f"}
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { s.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	if _, _, err = s.Submit(t.Context(), sets.SetFile{Text: shop + "swap: {when: wave_ready}\n"}, by("Ada")); err != nil {
		t.Fatal(err)
	}
	why := func() string {
		v, err := s.Get("note")
		if err != nil {
			t.Fatal(err)
		}
		return v.Why
	}
	for end := time.Now().Add(10 * time.Second); !strings.Contains(why(), "b waits for the same table of set other"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it waits for something else: %q", why())
		}
	}
	o.Number, o.Verb = 2, queue.OrderAbort
	if _, err := q.Order(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); strings.Contains(why(), "other"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it still waits: %q", why())
		}
	}
}

// TestASetIsDrivenOnce: a set whose id another driver uses for members of this queue is not taken, and the members of a set that was taken
// obey no request from outside.
func TestASetIsDrivenOnce(t *testing.T) {
	store, err := queue.OpenFile(filepath.Join(t.TempDir(), "q.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q := queueOf(t, store, t.TempDir(), nil)
	t.Cleanup(func() { q.Close() })
	o := queue.Order{Set: "note", Server: "a", Number: 1, Verb: queue.OrderStart, Attempt: 1, Statement: "ALTER TABLE shop.orders DROP COLUMN d", By: "Eve"}
	if _, err := q.Order(queue.WithPerson(t.Context(), "other"), o); err != nil {
		t.Fatal(err)
	}
	s, _ := sets.Open(t.Context(), sets.Config{Queue: q, Note: func(text string) { t.Log(text) }})
	if _, _, err := s.Submit(t.Context(), sets.SetFile{Text: shop}, by("Ada")); status(err) != http.StatusConflict {
		t.Errorf("%v", err)
	}
}
