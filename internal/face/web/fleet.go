package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"midstream/internal/face/humanize"
	"midstream/internal/fleet/selector"
	"midstream/internal/fleet/sets"
	"midstream/internal/ops/queue"
)

// mostRows bounds the rows of a page: people look for the others by a filter.
const mostRows = 500

// fleetServers is what the page of servers shows.
type fleetServers struct {
	Text      string // which servers: a text in their names or labels
	Servers   []fleetServer
	Total     int
	More      int // servers that are not shown
	Inventory queue.Inventory
	All       *queue.Freeze // of every server
}

// fleetServer is a server with its freeze.
type fleetServer struct {
	queue.ServerInfo
	Own *queue.Freeze
}

// LabelText are the labels, for people.
func (s fleetServer) LabelText() string { return selector.FormatLabels(s.Labels) }

func (s *Server) servers(r *http.Request) (f fleetServers, err error) {
	var all []queue.ServerInfo
	var freezes []queue.Freeze
	for _, one := range []struct {
		path string
		to   any
	}{{"/v1/servers", &all}, {"/v1/inventory", &f.Inventory}, {"/v1/freezes", &freezes}} {
		if err = s.ask(r.Context(), one.path, one.to); err != nil {
			return f, err
		}
	}
	own := map[string]*queue.Freeze{}
	for i := range freezes {
		own[freezes[i].Server] = &freezes[i]
	}
	f.Text, f.Total, f.All = strings.TrimSpace(r.URL.Query().Get("text")), len(all), own[queue.EveryServer]
	for _, one := range all {
		server := fleetServer{one, own[one.Name]}
		switch has := strings.Contains(strings.ToLower(one.Name+" "+server.LabelText()), strings.ToLower(f.Text)); {
		case has && len(f.Servers) < mostRows:
			f.Servers = append(f.Servers, server)
		case has:
			f.More++
		}
	}
	return f, nil
}

// setPage is what the page of a change set shows.
type setPage struct {
	sets.View
	Troubles []sets.Member // members that need a person, or wait after a failure
	More     int           // of these that are not shown
	Failed   int           // members that count for the stop rule
	Freezes  []queue.Freeze
	Groups   [][]memberGroup // by wave
}

// memberGroup are the members of a wave in one state.
type memberGroup struct {
	State   string
	Members []sets.Member
}

// memberStates are in the order of a page: what needs a person comes first.
var memberStates = []string{"failed", "stuck", "unknown", "retrying", "started", "ready", "released", "undoing", "planned", "done", "applied", "skipped",
	"withdrawn", "undone"}

// setOf arranges a set for its page.
func setOf(v sets.View, freezes []queue.Freeze) setPage {
	p := setPage{View: v, Freezes: freezes, Groups: make([][]memberGroup, len(v.Waves))}
	at := map[string]int{}
	for i, w := range v.Waves {
		at[w.Name] = i
	}
	for _, m := range v.Members {
		if m.Failed {
			p.Failed++
		}
		trouble := slices.Contains([]string{"failed", "stuck", "unknown", "retrying"}, m.State) || m.Gone && m.State == "planned" || m.Misfit()
		switch {
		case trouble && len(p.Troubles) < mostRows/5:
			p.Troubles = append(p.Troubles, m)
		case trouble:
			p.More++
		}
		i, known := at[m.Wave]
		if !known {
			continue
		}
		g := slices.IndexFunc(p.Groups[i], func(g memberGroup) bool { return g.State == m.State })
		if g < 0 {
			g = len(p.Groups[i])
			p.Groups[i] = append(p.Groups[i], memberGroup{State: m.State})
		}
		p.Groups[i][g].Members = append(p.Groups[i][g].Members, m)
	}
	for _, groups := range p.Groups {
		slices.SortStableFunc(groups, func(a, b memberGroup) int {
			return cmp.Compare(slices.Index(memberStates, a.State), slices.Index(memberStates, b.State))
		})
	}
	slices.SortStableFunc(p.Troubles, func(a, b sets.Member) int {
		return cmp.Compare(slices.Index(memberStates, a.State), slices.Index(memberStates, b.State))
	})
	return p
}

// Asks are the requests that are about a wave, or about the set ("").
func (p setPage) Asks(wave string) (list []sets.Request) {
	for _, r := range p.Requests {
		if r.Wave == wave && r.Ask != "again" && r.Ask != "skip" {
			list = append(list, r)
		}
		ready := slices.ContainsFunc(p.Waves, func(w sets.Wave) bool { return w.Name == wave && w.Ready() })
		if r.Ask == "release" && r.Wave == "" && ready { // of a set, and so of each wave
			list = append(list, sets.Request{Ask: r.Ask, Wave: wave, Role: r.Role})
		}
	}
	return list
}

// Role is the role that a request for a member needs.
func (p setPage) Role(ask string) string {
	for _, r := range p.Requests {
		if r.Ask == ask {
			return r.Role
		}
	}
	return "operate"
}

// LimitText are the limits and how much of them is used.
func (p setPage) LimitText() string {
	text := fmt.Sprintf("%d copy now", p.Work)
	if p.Limits.All > 0 {
		text = fmt.Sprintf("%d of %d copy now", p.Work, p.Limits.All)
	}
	for _, one := range []struct {
		label string
		most  int
	}{{"host", p.Limits.PerHost}, {"cell", p.Limits.PerCell}} {
		if one.most > 0 {
			used, where := p.used(one.label)
			text += fmt.Sprintf("; at most %d on a %s", one.most, one.label)
			if used > 0 {
				text += fmt.Sprintf(" (%d on %s)", used, where)
			}
		}
	}
	return text
}

// UndoText is how long an undo is kept, for people; "" for never.
func (p setPage) UndoText() string {
	if kept, err := time.ParseDuration(p.Undo); err == nil && kept > 0 {
		return humanize.About(kept)
	}
	return p.Undo
}

// used is the largest number of members at work with one value of a label.
func (p setPage) used(label string) (most int, where string) {
	counts := map[string]int{}
	for _, m := range p.Members {
		if value := m.Labels[label]; m.Working && value != "" {
			if counts[value]++; counts[value] > most || counts[value] == most && value < where {
				most, where = counts[value], value
			}
		}
	}
	return most, where
}

// countsText names the members of each state, such as 3 failed, 10 done.
func countsText(counts map[string]int) string {
	var parts []string
	for _, state := range memberStates {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

// soakText is how much of a soak has passed.
func soakText(w sets.Wave) string {
	all, passed := time.Duration(w.SoakMS)*time.Millisecond, time.Duration(w.SoakedMS)*time.Millisecond
	switch {
	case all == 0:
		return ""
	case w.State == "soaking":
		return fmt.Sprintf("soaked %s of %s", humanize.Age(passed), humanize.Age(all))
	case w.State == "to approve" || w.State == "passed":
		return "soaked " + humanize.Age(all)
	}
	return "then soaks " + humanize.Age(all)
}

// fleetMood is the color of the state of a set, a wave or a member.
func fleetMood(state string) string {
	switch state {
	case "running", "finished", "passed", "done", "applied", "started", "ready", "released", "undone", "soaking":
		return "good"
	case "stopped", "failed", "stuck", "unknown":
		return "bad"
	case "planned", "waiting", "skipped", "withdrawn", "cancelled":
		return "idle"
	}
	return "warn"
}

// sentence begins a question of the page.
func sentence(ask string) string {
	switch ask {
	case "again":
		return "Run again"
	case "undo":
		return "Take back"
	}
	return strings.ToUpper(ask[:1]) + ask[1:]
}

// swapText is what a member's swap waits for.
func swapText(when string) string {
	switch when {
	case "wave_ready":
		return "when the wave is ready"
	case "released":
		return "when a person releases it"
	case "barrier":
		return "all of a wave at once"
	}
	return "as soon as a server is ready"
}

// asked is a request with its set, for a button.
type asked struct {
	ID      string
	Request sets.Request
}

func askOf(id string, r sets.Request) asked { return asked{id, r} }

func (s *Server) sets(r *http.Request) (list []sets.View, err error) {
	err = s.ask(r.Context(), "/v1/sets", &list)
	slices.SortStableFunc(list, func(a, b sets.View) int { return b.Submitted.Compare(a.Submitted) })
	return list, err
}

func (s *Server) set(r *http.Request) (p setPage, err error) {
	var v sets.View
	var freezes []queue.Freeze
	if err = s.ask(r.Context(), "/v1/sets/"+url.PathEscape(r.PathValue("id")), &v); err == nil {
		err = s.ask(r.Context(), "/v1/freezes", &freezes)
	}
	return setOf(v, freezes), err
}

// fleetPages are the pages about many servers, with the part that a page reads again.
func (s *Server) fleetPages(mux *http.ServeMux) {
	page := func(pattern, name string, data func(*http.Request) (any, error)) {
		for prefix, template := range map[string]string{"": name + ".html", "/parts": name} {
			mux.HandleFunc("GET "+prefix+pattern, func(w http.ResponseWriter, r *http.Request) {
				what, err := data(r)
				if err != nil {
					fail(w, r, err)
					return
				}
				show(w, template, http.StatusOK, what)
			})
		}
	}
	page("/servers", "servers", func(r *http.Request) (any, error) { return s.servers(r) })
	page("/fleet/plan", "fleetplan", func(r *http.Request) (any, error) {
		return struct{ Selector string }{r.URL.Query().Get("selector")}, nil
	})
	page("/sets", "sets", func(r *http.Request) (any, error) { return s.sets(r) })
	page("/sets/{id}", "set", func(r *http.Request) (any, error) { return s.set(r) })
}
