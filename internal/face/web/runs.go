package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"midstream/internal/mysql/escape"
	"midstream/internal/ops/access"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// Runs are the runs of one process, one after the other, which midstream run --listen shows. Its zero
// value has none yet. It is safe for concurrent use.
type Runs struct {
	mu   sync.Mutex
	runs []*Run
}

// Run is one of them.
type Run struct {
	of      *Runs
	change  queue.Change
	control http.Handler // answers as its socket does
	over    bool
	reach   reach.Flags
}

// Begin adds a run with its history and what answers for it, as under /v1/ of its socket. The first
// has the id run, the next run-2.
func (r *Runs) Begin(told record.Run, history string, answers http.Handler) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := "run"
	if n := len(r.runs); n > 0 {
		id = fmt.Sprintf("run-%d", n+1)
	}
	began := time.Now().UTC()
	run := &Run{
		of:      r,
		control: answers,
		reach:   told.Reach,
		change: queue.Change{
			ID:          id,
			Server:      told.Server,
			Table:       told.Table,
			Tables:      []string{told.Table},
			Statement:   told.Alter,
			Options:     map[string]string{},
			After:       []string{},
			State:       queue.StateRunning,
			Submitted:   began,
			SubmittedBy: told.User,
			Began:       &began,
			Process:     os.Getpid(),
			History:     history,
		},
	}
	r.runs = append(r.runs, run)
	return run
}

// End records the end of a run. Its history is complete by then.
func (r *Run) End(result record.Result) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	now := time.Now().UTC()
	r.change.State, r.change.Why, r.change.Next = queue.StateOf(result.Outcome), endText(&result), result.Next
	r.change.Ended, r.change.ExitCode = &now, &result.ExitCode
	r.over = true
}

// Source returns the runs for the pages.
func (r *Runs) Source() Source {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/changes", func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		list := []queue.Change{}
		for _, run := range r.runs {
			list = append(list, run.change)
		}
		r.mu.Unlock()
		answer(w, list)
	})
	mux.HandleFunc("GET /v1/changes/{id}", func(w http.ResponseWriter, q *http.Request) {
		if run := r.find(w, q); run != nil {
			answer(w, run.change)
		}
	})
	mux.HandleFunc("/v1/changes/{id}/{operation}", func(w http.ResponseWriter, q *http.Request) {
		run := r.find(w, q)
		switch {
		case run == nil:
		case run.over:
			refuse(w, q, http.StatusConflict, "the run of "+run.change.Table+" takes no commands", "it has ended", "read its report")
		default:
			on := q.Clone(q.Context())
			on.URL.Path = "/v1/" + q.PathValue("operation")
			run.control.ServeHTTP(w, on)
		}
	})
	mux.HandleFunc("GET /v1/me", func(w http.ResponseWriter, q *http.Request) { answer(w, access.Of(q.Context())) })
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, q *http.Request) {
		refuse(
			w, q, http.StatusNotFound, "there is nothing at "+q.URL.Path, "this process serves only its own runs",
			"use midstream serve for a queue",
		)
	})
	return Source{API: mux, Reach: r.reach, Histories: func(_ context.Context, id string) ([]string, bool, error) {
		if run := r.get(id); run != nil {
			return []string{run.change.History}, run.over, nil
		}
		return nil, true, unknown(id)
	}}
}

// Metrics gives Prometheus the metrics of the newest run.
func (r *Runs) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		var newest Run
		if n := len(r.runs); n > 0 {
			newest = *r.runs[n-1]
		}
		r.mu.Unlock()
		if newest.control == nil || newest.over {
			refuse(w, q, http.StatusServiceUnavailable, "there are no metrics", "no run is at work", "try again when a run is at work")
			return
		}
		newest.control.ServeHTTP(w, q)
	})
}

// reach returns the flags that reach the runs.
func (r *Runs) reach() reach.Flags {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.runs) == 0 {
		return ""
	}
	return r.runs[len(r.runs)-1].reach
}

// get returns a copy of a run; nil if there is none.
func (r *Runs) get(id string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		if run.change.ID == id {
			copied := *run
			return &copied
		}
	}
	return nil
}

// find returns the run of a request. If there is none, it answers the request and returns nil.
func (r *Runs) find(w http.ResponseWriter, q *http.Request) *Run {
	run := r.get(q.PathValue("id"))
	if run == nil {
		fail(w, q, unknown(q.PathValue("id")))
	}
	return run
}

func unknown(id string) *socket.Problem {
	return &socket.Problem{Status: http.StatusNotFound, Title: "no such change: " + id, Next: "/v1/changes lists all changes"}
}

func answer(w http.ResponseWriter, told any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(escape.Writer(w)).Encode(told) // who asked may be gone
}
