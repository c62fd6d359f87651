package web

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"midstream/internal/ops/groups"
	"midstream/internal/ops/queue"
)

// list holds what the page of all changes shows.
type list struct {
	Queue   bool
	Changes []listed
	Servers []queue.ServerInfo
	States  []tally
	Freezes []queue.Freeze
	Page    int
	Pages   int
	Total   int
	All     int    // without the choice of a state
	At      string // the server's time, by which the page counts ages
	asked   url.Values
}

// listed is a change in the list.
type listed struct {
	queue.Listed
	Head headline
	Mood string
}

// tally is a state, with the number of its changes.
type tally struct {
	State string
	Count int
	Is    bool // it was chosen
}

// filters are the parameters of the list.
var filters = []string{"state", "server", "text", "page"}

// State, Server and Text are what was chosen.
func (l list) State() string  { return l.asked.Get("state") }
func (l list) Server() string { return l.asked.Get("server") }
func (l list) Text() string   { return l.asked.Get("text") }

// Filtered reports whether the list leaves out changes.
func (l list) Filtered() bool { return l.State() != "" || l.Server() != "" || l.Text() != "" }

// With is the address of the list with another value of a parameter, from its first page.
func (l list) With(name string, value any) string {
	to := url.Values{}
	for _, filter := range filters {
		if text := l.asked.Get(filter); text != "" && filter != name && filter != "page" {
			to.Set(filter, text)
		}
	}
	switch v := value.(type) {
	case string:
		if v != "" {
			to.Set(name, v)
		}
	case int:
		if v > 1 {
			to.Set(name, strconv.Itoa(v))
		}
	}
	if len(to) == 0 {
		return "/"
	}
	return "/?" + to.Encode()
}

// Before and After are the numbers of the neighbouring pages.
func (l list) Before() int { return l.Page - 1 }
func (l list) After() int  { return l.Page + 1 }

// changes asks for a page of the list.
func (s *Server) changes(r *http.Request) (l list, err error) {
	l = list{Queue: s.source.Queue, Page: 1, Pages: 1, At: time.Now().UTC().Format(time.RFC3339Nano), asked: url.Values{}}
	if !s.source.Queue { // the runs of one process
		var runs []queue.Change
		err = s.ask(r.Context(), "/v1/changes", &runs)
		for i := range runs {
			l.Changes = append(l.Changes, listedOf(queue.Listed{Change: runs[len(runs)-1-i]}))
		}
		return l, err
	}
	for _, name := range filters {
		if text := strings.TrimSpace(r.URL.Query().Get(name)); text != "" {
			l.asked.Set(name, text)
		}
	}
	var page queue.Listing
	if err = s.ask(r.Context(), "/v1/list?"+l.asked.Encode(), &page); err != nil {
		return l, err
	}
	for _, c := range page.Changes {
		l.Changes = append(l.Changes, listedOf(c))
	}
	l.Page, l.Pages, l.Total, l.Freezes = page.Page, page.Pages, page.Total, page.Freezes
	for _, state := range []string{"running", queue.FilterReady, "proposed", "waiting", "done", "failed", "aborted", "withdrawn", "unknown"} {
		n := page.Counts[state]
		if state != queue.FilterReady { // they run
			l.All += n
		}
		if n > 0 || state == l.State() {
			l.States = append(l.States, tally{state, n, state == l.State()})
		}
	}
	return l, err
}

// listedOf adds the headline of a change: of one that runs, that of its run.
func listedOf(c queue.Listed) listed {
	l := listed{c, headline{Word: string(c.State)}, moodOf(c.State)}
	switch {
	case c.Run != nil:
		var ready time.Time
		if c.Ready != nil {
			ready = c.Ready.Since
		}
		l.Head = headlineOf(groups.ChangeStatus{Status: *c.Run}, ready)
		if c.Run.State != "running" {
			l.Mood = "warn"
		}
		if l.Why = ""; c.Run.State == "held" && l.Head.Word != "held" {
			l.Why = "Waits " + heldUntil(c.Run.Why)
		}
	case c.Position == 1:
		l.Head.text("next for %s", c.Server)
	case c.Position > 1:
		l.Head.text("number %d for %s", c.Position, c.Server)
	}
	l.Why = capital(l.Why)
	return l
}

func (s *Server) listPage(w http.ResponseWriter, r *http.Request) {
	l, err := s.changes(r)
	if err == nil && s.source.Queue {
		err = s.ask(r.Context(), "/v1/servers", &l.Servers)
	}
	switch {
	case err != nil:
		fail(w, r, err)
	case !s.source.Queue && len(l.Changes) == 1:
		http.Redirect(w, r, "/changes/"+url.PathEscape(l.Changes[0].ID), http.StatusSeeOther)
	default:
		show(w, "list.html", http.StatusOK, l)
	}
}

func (s *Server) listPart(w http.ResponseWriter, r *http.Request) {
	l, err := s.changes(r)
	if err != nil {
		fail(w, r, err)
		return
	}
	show(w, "changes", http.StatusOK, l)
}

// newPage has the form for a change.
func (s *Server) newPage(w http.ResponseWriter, r *http.Request) {
	form := struct {
		Servers []queue.ServerInfo
		Server  string // chosen
		Options []string
		Joins   string // what stands between the parts of an option, as JSON; first without a group, then with one
		ID      string // of the change that the form submits: a second time it is the same one
	}{Server: r.URL.Query().Get("server"), Options: queue.Options(), ID: strings.ToLower(rand.Text()[:10])}
	joins, err := json.Marshal([]any{queue.Joins(false), queue.Joins(true)})
	form.Joins = string(joins)
	if err = cmp.Or(err, s.ask(r.Context(), "/v1/servers", &form.Servers)); err != nil {
		fail(w, r, err)
		return
	}
	show(w, "new.html", http.StatusOK, form)
}
