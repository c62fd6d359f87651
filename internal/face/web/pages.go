package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/face/report"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
	"midstream/internal/ops/history"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

//go:embed assets
var embedded embed.FS

// pages are read when the first is shown.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("pages").Funcs(template.FuncMap{
		"path":      func(id string) string { return "/changes/" + url.PathEscape(id) },
		"api":       func(id string) string { return "/v1/changes/" + url.PathEscape(id) },
		"oneLine":   func(text string) string { return humanize.OneLine(text, 160) },
		"name":      func(table string) string { return schema.NameOf(table).String() },
		"moment":    moment,
		"mood":      moodOf,
		"age":       func(since time.Time) string { return humanize.Age(time.Since(since)) },
		"options":   optionsText,
		"join":      strings.Join,
		"start":     summary.StartOf,
		"shell":     schema.Shell,
		"plural":    humanize.Plural[int],
		"setPath":   func(id string) string { return "/sets/" + url.PathEscape(id) },
		"fleetMood": fleetMood, "countsText": countsText, "soakText": soakText, "sentence": sentence, "swapText": swapText, "askOf": askOf,
		// truncates reports whether a statement empties a table.
		"truncates": func(statement string) bool {
			word, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
			return strings.EqualFold(word, "TRUNCATE")
		},
	}).ParseFS(embedded, "assets/pages/*.html"))
})

// show writes a page.
func show(w http.ResponseWriter, name string, status int, data any) {
	var text bytes.Buffer
	if err := pages().ExecuteTemplate(&text, name, data); err != nil {
		http.Error(w, "cannot make the page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, escape.Text(text.String())) // who asked may be gone
}

// moment is a time for people, in UTC as in reports; "" for none.
func moment(at *time.Time) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}

// capital is a reason that begins a line.
func capital(why string) string {
	if rest, is := strings.CutPrefix(why, "it "); is {
		return "It " + rest
	}
	return why
}

// moodOf is the color of a state.
func moodOf(state queue.State) string {
	switch state {
	case queue.StateDone, queue.StateRunning:
		return "good"
	case queue.StateFailed, queue.StateUnknown:
		return "bad"
	}
	return "warn"
}

func optionsText(options map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		list = append(list, "--"+name+"="+options[name])
	}
	return list
}

func (s *Server) changePage(w http.ResponseWriter, r *http.Request) {
	var c queue.Change
	if err := s.ask(r.Context(), "/v1/changes/"+url.PathEscape(r.PathValue("id")), &c); err != nil {
		fail(w, r, err)
		return
	}
	if c.Why = capital(c.Why); c.State == queue.StateProposed {
		c.Next = "" // the page has buttons
	}
	show(w, "change.html", http.StatusOK, struct {
		queue.Change
		Queue    bool
		Commands []command
	}{c, s.source.Queue, s.commands(c)})
}

// blockersPart shows the sessions that hold the table's locks or wait for one.
func (s *Server) blockersPart(w http.ResponseWriter, r *http.Request) {
	var found struct {
		Table            string
		Tables           []string
		Holding, Waiting []record.Blocker
	}
	if err := s.ask(r.Context(), "/v1/changes/"+url.PathEscape(r.PathValue("id"))+"/blockers", &found); err != nil {
		fail(w, r, err)
		return
	}
	data := struct {
		Table            string
		Holding, Waiting []string
		Remedy           string
	}{Table: queue.Change{Table: found.Table, Tables: found.Tables, Together: len(found.Tables) > 1}.Named()}
	var holding []event.Blocker
	for _, b := range found.Holding {
		holding = append(holding, b.Blocker())
		data.Holding = append(data.Holding, humanize.Blocker(b.Blocker()))
	}
	for _, b := range found.Waiting {
		data.Waiting = append(data.Waiting, humanize.Blocker(b.Blocker()))
	}
	data.Remedy = humanize.Remedy(found.Table, holding)
	show(w, "blockers", http.StatusOK, data)
}

// loginTo is the login that leads back to a page.
func loginTo(page string) string {
	if page == "/" {
		return "/login"
	}
	return "/login?to=" + url.QueryEscape(page)
}

// inside is the page that a login leads to. It is one of ours, whatever the client sent.
func inside(to string) string {
	if id, is := strings.CutPrefix(to, "/changes/"); is {
		return "/changes/" + url.PathEscape(id)
	}
	if id, is := strings.CutPrefix(to, "/sets/"); is {
		return "/sets/" + url.PathEscape(id)
	}
	if to == "/new" || to == "/servers" || to == "/sets" {
		return to
	}
	return "/"
}

// loginForm is what the page of the login shows.
type loginForm struct {
	To, Wrong string
	// Single means that there is a token without a name, so a person may type one. Tokens means that there are tokens with names.
	Single, Tokens bool
}

func (s *Server) loginForm(to, wrong string) loginForm {
	return loginForm{To: inside(to), Wrong: wrong, Single: s.gate.token != nil, Tokens: s.gate.book != nil}
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	show(w, "login.html", http.StatusOK, s.loginForm(r.URL.Query().Get("to"), ""))
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	form := s.loginForm(r.PostFormValue("to"), "Wrong token.")
	token, name := access.DigestOf(strings.TrimSpace(r.PostFormValue("token"))), access.Stated(r.PostFormValue("name"))
	if _, known := s.gate.find(token, name); !known {
		show(w, "login.html", http.StatusUnauthorized, form)
		return
	}
	s.gate.enter(w, token, name)
	http.Redirect(w, r, form.To, http.StatusSeeOther)
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.gate.leave(w, r)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// form is one of a report.
type form struct {
	name, kind string
	write      func(*report.Report, io.Writer) error
}

var forms = []form{
	{"html", "text/html; charset=utf-8", (*report.Report).HTML},
	{"json", "application/json", (*report.Report).JSON},
	{"md", "text/markdown; charset=utf-8", (*report.Report).Markdown},
}

// reportPolicy allows the scripts of a report's page, by their digests, and nothing else. The page cannot reach its server.
var reportPolicy = sync.OnceValue(func() string {
	policy := "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-scripts allow-modals; frame-ancestors 'none'; script-src"
	for _, script := range report.Scripts() {
		digest := sha256.Sum256([]byte(script))
		policy += " 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	}
	return policy
})

// report answers with the report of a change so far.
func (s *Server) report(f form) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		paths, _, err := s.source.Histories(r.Context(), r.PathValue("id"))
		if err == nil && len(paths) == 0 {
			err = &socket.Problem{
				Status: http.StatusNotFound,
				Title:  "no report",
				Detail: "the run has written no history yet",
				Next:   "wait until it has started",
			}
		}
		var story *history.Story
		if err == nil {
			story, err = history.Whole(paths[0]) // with those of its group
		}
		if err != nil {
			fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Content-Security-Policy", reportPolicy())
		_ = f.write(report.Of(story), w) // who asked may be gone
	}
}
