package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"midstream/internal/face/summary"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/audit"
)

// onAPage is how many entries of the journal a page has.
const onAPage = 100

// journal holds what the page of the journal shows, or the part of a change's page that has the entries of the change.
type journal struct {
	Entries []noted
	Part    bool
	asked   url.Values
}

// noted is an entry for people.
type noted struct {
	audit.Entry
	By, On, More string
}

// Who and Change are what was chosen.
func (j journal) Who() string    { return j.asked.Get("who") }
func (j journal) Change() string { return j.asked.Get("change") }

// States reports whether the page also has what became of changes.
func (j journal) States() bool { return j.asked.Get("states") == "true" }

// Older is the address of the next page; "" if this one is the last.
func (j journal) Older() string {
	if len(j.Entries) < onAPage {
		return ""
	}
	to := url.Values{"before": {strconv.FormatUint(j.Entries[len(j.Entries)-1].ID, 10)}}
	for _, name := range []string{"who", "change", "states"} {
		if text := j.asked.Get(name); text != "" {
			to.Set(name, text)
		}
	}
	return "/audit?" + to.Encode()
}

// journalOf asks for a part of the journal.
func (s *Server) journalOf(r *http.Request, asked url.Values) (journal, error) {
	j := journal{asked: asked}
	asked.Set("most", strconv.Itoa(onAPage))
	var entries []audit.Entry
	if err := s.ask(r.Context(), "/v1/audit?"+asked.Encode(), &entries); err != nil {
		return j, err
	}
	for _, e := range entries {
		n := noted{Entry: e, By: summary.EntryWho(e), More: strings.TrimPrefix(summary.EntryMore(e), ": ")}
		if e.Who != "" && !e.Named {
			n.By += " (the name was stated)"
		}
		if e.Table != "" {
			n.On = schema.NameOf(e.Table).String() + " on " + e.Server
		}
		j.Entries = append(j.Entries, n)
	}
	return j, nil
}

// journalPage shows who did what, the newest first.
func (s *Server) journalPage(w http.ResponseWriter, r *http.Request) {
	asked := url.Values{}
	for _, name := range []string{"who", "change", "states", "before"} {
		if text := strings.TrimSpace(r.URL.Query().Get(name)); text != "" {
			asked.Set(name, text)
		}
	}
	j, err := s.journalOf(r, asked)
	if err != nil {
		fail(w, r, err)
		return
	}
	show(w, "audit.html", http.StatusOK, j)
}

// journalPart shows who did what to a change, and what became of it.
func (s *Server) journalPart(w http.ResponseWriter, r *http.Request) {
	j, err := s.journalOf(r, url.Values{"change": {r.PathValue("id")}, "states": {"true"}})
	if err != nil {
		fail(w, r, err)
		return
	}
	j.Part = true
	show(w, "journal", http.StatusOK, j)
}

// Word is what was done, or the state that was reached.
func (n noted) Word() string { return cmp.Or(n.Action, n.State) }
