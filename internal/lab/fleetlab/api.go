package fleetlab

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/sets"
	"midstream/internal/ops/access"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// API answers about fleets as midstream serve does, as far as the pages ask. It is safe for concurrent use.
type API struct {
	Fleets    []*Fleet
	Servers   []queue.ServerInfo
	Inventory queue.Inventory
	Plan      any // the answer to a fleet plan

	mu      sync.Mutex
	freezes []queue.Freeze
	asked   []string
}

// Asked are the requests that have changed something, such as POST /v1/sets/a/approve {"wave":"b"}.
func (a *API) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.asked...)
}

// Handler answers.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, answer func(r *http.Request) any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { reply(w, answer(r)) })
	}
	get("/v1/me", func(r *http.Request) any { return access.Of(r.Context()) })
	get("/v1/list", func(*http.Request) any { return queue.Listing{Page: 1, Pages: 1} })
	get("/v1/servers", func(*http.Request) any { return a.Servers })
	get("/v1/inventory", func(*http.Request) any { return a.Inventory })
	get("/v1/freezes", func(*http.Request) any {
		a.mu.Lock()
		defer a.mu.Unlock()
		return append([]queue.Freeze{}, a.freezes...)
	})
	get("/v1/sets", func(*http.Request) any {
		var list []sets.View
		for _, f := range a.Fleets {
			v := f.View()
			v.Members = nil
			list = append(list, v)
		}
		return list
	})
	get("/v1/sets/{id}", func(r *http.Request) any {
		if f := a.find(r); f != nil {
			return f.View()
		}
		return &socket.Problem{Status: http.StatusNotFound, Title: "no such set", Detail: "there is no set " + r.PathValue("id"), Next: "midstream fleet sets"}
	})
	mux.HandleFunc("POST /v1/sets/{id}/{ask}", a.ask)
	mux.HandleFunc("POST /v1/fleet/plan", func(w http.ResponseWriter, r *http.Request) {
		var asked queue.FleetQuestion
		a.note(r, &asked)
		reply(w, a.Plan)
	})
	mux.HandleFunc("POST /v1/freezes", func(w http.ResponseWriter, r *http.Request) {
		var asked queue.FreezeRequest
		a.note(r, &asked)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.freezes = append(a.freezes, queue.Freeze{Server: asked.Server, Reason: asked.Reason, By: "ann", Since: time.Now()})
		reply(w, a.freezes)
	})
	mux.HandleFunc("DELETE /v1/freezes/{server}", func(w http.ResponseWriter, r *http.Request) {
		a.note(r, &struct{}{})
		a.mu.Lock()
		defer a.mu.Unlock()
		a.freezes = nil
		reply(w, a.freezes)
	})
	return mux
}

func (a *API) find(r *http.Request) *Fleet {
	for _, f := range a.Fleets {
		if f.rules.ID == r.PathValue("id") {
			return f
		}
	}
	return nil
}

// ask hands a request over to the set, which decides at once.
func (a *API) ask(w http.ResponseWriter, r *http.Request) {
	var asked sets.Ask
	a.note(r, &asked)
	f := a.find(r)
	if f == nil {
		http.NotFound(w, r)
		return
	}
	f.Ask(rollout.Request{Ask: rollout.Ask(r.PathValue("ask")), Wave: asked.Wave, Server: asked.Server, By: "bert"})
	if _, err := f.Step(context.WithoutCancel(r.Context()), time.Second); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if s := f.State(); len(s.Answers) > 0 && s.Answers[len(s.Answers)-1].Refused != "" {
		reply(w, &socket.Problem{Status: http.StatusConflict, Title: "nothing was done", Detail: s.Answers[len(s.Answers)-1].Refused})
		return
	}
	reply(w, f.View())
}

// note keeps what was asked for.
func (a *API) note(r *http.Request, body any) {
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(body) != nil {
		return
	}
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path+" "+string(text))
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	if p, is := answer.(*socket.Problem); is {
		w.WriteHeader(p.Status)
	}
	_ = json.NewEncoder(w).Encode(answer) // who asked may be gone
}
