package queue

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/ops/access"
	"midstream/internal/ops/socket"
)

// TestFourEyes: a change waits until another person with the role approves it, also after a restart; it is in no one's way until then, and
// takes its turn when it is approved. The author's own consent does not count, whatever letters the name has.
func TestFourEyes(t *testing.T) {
	store := file(t, filepath.Join(t.TempDir(), "q.db"))
	s := queue(t, store)
	s.cfg.Approve = map[string]bool{"db1": true}
	ann, bob := tokenOf("ann", access.Submit, access.Approve), tokenOf("bob", access.Submit, access.Approve)
	propose := func(who access.Person, id, server, statement string, after ...string) Change {
		t.Helper()
		var c Change
		asked := Submission{ID: id, Server: server, Statement: statement, After: after, By: "someone else"}
		if status := callAs(t, s, who, "POST", "/v1/changes", asked, &c); status != http.StatusCreated {
			t.Fatalf("%d %+v", status, c)
		}
		return c
	}
	a := propose(ann, "a", "db1", "DROP TABLE shop.orders")
	if a.State != StateProposed || !strings.Contains(a.Why, "a person who is not ann") || !strings.Contains(a.Next, "midstream approve") {
		t.Errorf("%+v", a)
	}
	if other := propose(ann, "o", "db2", "DROP TABLE shop.orders"); other.State != StateWaiting {
		t.Errorf("%+v", other)
	}
	propose(bob, "b", "db1", "DROP TABLE shop.orders")
	propose(bob, "c", "db1", "DROP TABLE shop.items", "a")
	var problem socket.Problem
	for _, who := range []access.Person{ann, tokenOf("ANN", access.Approve), access.Everyone("Ann"), access.Everyone("")} {
		if status := callAs(t, s, who, "POST", "/v1/changes/a/approve", struct{}{}, &problem); status == http.StatusOK {
			t.Errorf("%+v approved it", who)
		}
	}
	var c Change
	if status := callAs(t, s, ann, "POST", "/v1/changes/b/approve", struct{}{}, &c); status != http.StatusOK || c.State != StateWaiting ||
		!strings.HasPrefix(c.Approval.By, "ann from ") {
		t.Errorf("%d %+v", status, c)
	}
	if e := s.find("b"); s.waitsFor(e) != "" { // a was submitted earlier, and is not approved
		t.Errorf("it waits for %s", s.waitsFor(e))
	}
	if e := s.find("c"); e.State != StateProposed {
		t.Errorf("%+v", e)
	}
	again := queue(t, store)
	if e := again.find("a"); e.State != StateProposed || len(again.allWaiting()) != 2 {
		t.Errorf("%+v, %q", e, again.allWaiting())
	}
	if status := callAs(t, s, bob, "POST", "/v1/changes/a/approve", struct{}{}, &c); status != http.StatusOK || c.State != StateWaiting {
		t.Errorf("%d %+v", status, c)
	}
	if e := s.find("a"); !strings.Contains(s.waitsFor(e), "b, which was submitted earlier") {
		t.Errorf("it waits for %q", s.waitsFor(e))
	}
	if status := callAs(t, s, ann, "POST", "/v1/changes/c/reject", Rejection{}, &problem); status != http.StatusUnprocessableEntity {
		t.Errorf("%d %+v", status, problem)
	}
	if status := callAs(t, s, ann, "POST", "/v1/changes/c/reject", Rejection{"not on a Friday"}, &c); status != http.StatusOK ||
		c.State != StateWithdrawn || !strings.HasPrefix(c.Why, "rejected by ann from ") || !strings.HasSuffix(c.Why, ": not on a Friday") {
		t.Errorf("%d %+v", status, c)
	}
	if status := callAs(t, s, bob, "POST", "/v1/changes/c/again", AgainRequest{}, &c); status != http.StatusCreated || c.State != StateProposed {
		t.Errorf("%d %+v", status, c)
	}
	if status := callAs(t, s, bob, "DELETE", "/v1/changes/c?reason=later", nil, &c); status != http.StatusOK || !strings.HasSuffix(c.Why, "approved: later") {
		t.Errorf("%d %+v", status, c)
	}
	if status := callAs(t, s, access.Everyone(""), "POST", "/v1/changes", Submission{Server: "db1", Statement: "DROP TABLE shop.x"}, &problem); status != http.StatusUnprocessableEntity {
		t.Errorf("%d %+v", status, problem)
	}
}

// TestAnApprovalOutlivesAnAttempt: a change that was approved and has failed runs again without another approval.
func TestAnApprovalOutlivesAnAttempt(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "q.db")))
	e := ended(t, s, "failed", 1)
	s.cfg.Approve = map[string]bool{EveryServer: true}
	approved := *e
	approved.Author, approved.Approval = "ann", &Approval{By: "bob from here"}
	if err := s.replace(t.Context(), &approved); err != nil {
		t.Fatal(err)
	}
	if c, _, err := s.Again(t.Context(), e.ID, AgainRequest{}, anyone); err != nil || c.State != StateWaiting || c.Approval == nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAnApprovalThatWasAnsweredWithAnErrorDoesNotComeBack: the store may have it all the same. The change waits for another one, also after
// a restart.
func TestAnApprovalThatWasAnsweredWithAnErrorDoesNotComeBack(t *testing.T) {
	store := &unheard{Store: file(t, filepath.Join(t.TempDir(), "q.db"))}
	s := queue(t, store)
	s.cfg.Approve = map[string]bool{"db1": true}
	asked := Submission{ID: "a", Server: "db1", Statement: "DROP TABLE shop.orders"}
	if _, _, err := s.Submit(t.Context(), asked, Asker{Person: tokenOf("ann", access.Submit)}); err != nil {
		t.Fatal(err)
	}
	bob := Asker{Person: tokenOf("bob", access.Approve)}
	store.lost = true
	if _, err := s.Approve(t.Context(), "a", bob); err == nil {
		t.Error("it is approved")
	}
	store.lost = false
	if err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := queue(t, store)
	if e := again.find("a"); e.State != StateProposed || e.Approval != nil {
		t.Errorf("%s %+v", e.State, e.Approval)
	}
	if c, err := again.Approve(t.Context(), "a", bob); err != nil || c.State != StateWaiting {
		t.Errorf("%s %v", c.State, err)
	}
}
