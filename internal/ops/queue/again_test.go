package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// ended is a change a whose run has ended so.
func ended(t *testing.T, s *Service, outcome string, code int) *entry {
	t.Helper()
	running(t, s)
	text, err := json.Marshal(record.Result{Head: record.HeadOf(record.NameResult, time.Now()), Outcome: outcome, ExitCode: code, Error: "too bad"})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.folder("a"), stdoutFile), fmt.Appendf(nil, "%s\n", text), 0o600)
	}
	if err := errors.Join(err, s.step(t.Context())); err != nil {
		t.Fatal(err)
	}
	return s.find("a")
}

// TestAgainUnderTheSameID: a change that is over and not done waits again, with its earlier attempt; one that is done, waits or runs
// does not. The number of the attempt makes a request one that a script may repeat.
func TestAgainUnderTheSameID(t *testing.T) {
	for _, of := range []struct {
		outcome string
		code    int
		how     string
	}{
		{"failed", 1, againRestarts}, {"refused", 11, againBegins}, {"busy", 20, againBegins}, {"aborted", 12, againRestarts},
		{"stopped", 16, againResumes}, {"swap_unknown", 14, againResumes}, {"left_at_once", 130, againResumes}, {"done", 0, ""},
	} {
		path := filepath.Join(t.TempDir(), "s.db")
		store := file(t, path)
		s := queue(t, store)
		before := ended(t, s, of.outcome, of.code)
		if c, _ := s.Change("a"); c.Again != of.how || c.Attempt != 1 || c.Attempts == nil || len(c.Attempts) > 0 {
			t.Errorf("%s: %+v", of.outcome, c)
		}
		var c Change
		var problem socket.Problem
		if of.how == "" {
			if status := call(t, s, "POST", "/v1/changes/a/again", AgainRequest{}, &problem); status != http.StatusConflict || problem.Detail != "it is done" {
				t.Errorf("%d, %+v", status, problem)
			}
			continue
		}
		for n, want := range []int{http.StatusCreated, http.StatusOK} {
			status := call(t, s, "POST", "/v1/changes/a/again", AgainRequest{Attempt: 2, By: "Ada"}, &c)
			if status != want || c.State != StateWaiting || c.Attempt != 2 || len(c.Attempts) != 1 || c.AgainBy != "Ada from 192.0.2.1" {
				t.Fatalf("%s, %d: %d %+v", of.outcome, n, status, c)
			}
		}
		if was := c.Attempts[0]; was.Number != 1 || was.State != before.State || was.Why != "too bad" || *was.ExitCode != of.code || was.Ended == nil {
			t.Errorf("%+v", was)
		}
		if c.ExitCode != nil || c.Ended != nil || c.Began != nil || c.Process != 0 || c.Next != "" || c.Why != "" || c.Submitted != before.Submitted {
			t.Errorf("%+v", c)
		}
		if status := call(t, s, "POST", "/v1/changes/a/again", AgainRequest{}, &problem); status != http.StatusConflict ||
			problem.Detail != "it is waiting already, as attempt 2" {
			t.Errorf("%d, %+v", status, problem)
		}
		if status := call(t, s, "POST", "/v1/changes/a/again", AgainRequest{Attempt: 4}, &problem); status != http.StatusConflict {
			t.Errorf("%d, %+v", status, problem)
		}
		store.Close() // the store has it, and the next service goes on
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = queue(t, file(t, path))
		if c, _ := s.Change("a"); c.State != StateWaiting || c.Attempt != 2 || len(c.Attempts) != 1 {
			t.Errorf("%+v", c)
		}
		if w, err := s.Withdraw(t.Context(), "a", "", anyone); err != nil || !strings.Contains(w.Next, "cleanup") || w.Again != againBegins {
			t.Errorf("%+v, %v", w, err)
		}
	}
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	running(t, s)
	var problem socket.Problem
	if status := call(t, s, "POST", "/v1/changes/a/again", AgainRequest{}, &problem); status != http.StatusConflict || problem.Detail != "it is running" {
		t.Errorf("%d, %+v", status, problem)
	}
	if status := call(t, s, "POST", "/v1/changes/b/again", AgainRequest{}, &problem); status != http.StatusNotFound {
		t.Errorf("%d, %+v", status, problem)
	}
}

// TestL7_AnAttemptIsNotSettledByTheOneBefore: a service that is killed between the store and the process of a second attempt
// finds the output of the first one. Its result is not that of the second.
func TestL7_AnAttemptIsNotSettledByTheOneBefore(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	ended(t, s, "failed", 1)
	if _, _, err := s.Again(t.Context(), "a", AgainRequest{}, anyone); err != nil {
		t.Fatal(err)
	}
	e := s.find("a")
	if err := s.makeRoom(e); err != nil {
		t.Fatal(err)
	}
	killed, now := *e, time.Now().UTC() // what begin writes before it starts a process
	killed.State, killed.Began, killed.Place = StateRunning, &now, s.place
	if err := errors.Join(s.replace(t.Context(), &killed), s.stepOf(t.Context(), "a", StateRunning, s.watch)); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change("a"); c.State != StateWaiting || c.Attempt != 2 {
		t.Errorf("%+v", c)
	}
}

// TestAgainTakesALaterTurn: another attempt comes after the changes of the table that were submitted since, and never waits for one that
// waits for it. A change that was to come after it has failed, and runs again after it.
func TestAgainTakesALaterTurn(t *testing.T) {
	s := queue(t, file(t, filepath.Join(t.TempDir(), "s.db")))
	ended(t, s, "failed", 1)
	a := s.find("a")
	if _, _, err := s.Submit(t.Context(), Submission{ID: "other", Server: a.Server, Statement: a.Statement}, anyone); err != nil {
		t.Fatal(err)
	}
	after := &entry{Tables: a.Tables, Sequence: s.last() + 1, Change: Change{ID: "b", Server: a.Server, Table: a.Table, Statement: a.Statement,
		After: []string{"a"}, State: StateWaiting}}
	if err := s.replace(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Again(t.Context(), "a", AgainRequest{}, anyone); err != nil {
		t.Fatal(err)
	}
	b, _ := s.Change("b")
	if why := s.waitsFor(s.find("a")); !strings.HasPrefix(why, "other, which was submitted earlier") || b.State != StateFailed {
		t.Errorf("%q, %+v", why, b)
	}
	if _, _, err := s.Again(t.Context(), "b", AgainRequest{}, anyone); err != nil {
		t.Errorf("it may wait for the one that runs again: %v", err)
	}
	if why := s.waitsFor(s.find("b")); why != "it waits for change a" {
		t.Error(why)
	}
}

// TestAgainThatTheStoreDoesNotAnswer: an attempt whose request was answered with an error does not run.
func TestAgainThatTheStoreDoesNotAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	inner := file(t, path)
	u := &unheard{inner, false}
	s := queue(t, u)
	ended(t, s, "failed", 1)
	u.lost = true
	if _, _, err := s.Again(t.Context(), "a", AgainRequest{}, anyone); err == nil {
		t.Fatal("no error")
	}
	u.lost = false
	if err := s.step(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Change("a"); c.State != StateWithdrawn || c.Attempt != 2 || !strings.Contains(c.Next, "--again") {
		t.Errorf("%+v", c)
	}
}
