package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"midstream/internal/engine/event"
	"midstream/internal/face/web"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a-token-of-the-test-0123456789"

// hostile is a text that would be more than text in a page.
const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'`

// site is the pages of one run, with a history that the test writes.
type site struct {
	t      *testing.T
	url    string
	server *web.Server
	writer *history.Writer
	runs   *web.Runs
	run    *web.Run
	asked  chan string // commands that came to the run
}

func open(t *testing.T, mounted map[string]http.Handler) *site {
	t.Helper()
	s := &site{t: t, runs: &web.Runs{}, asked: make(chan string, 10)}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	door := web.Door{Listen: "127.0.0.1:0", TokenFile: file}
	if err := door.Check(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.server, err = door.Open(s.runs.Source(), mounted); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.server.Close)
	s.url = s.server.URL()
	return s
}

// begin begins the run, which says of its table and its statement what would be more than text in a page.
func (s *site) begin() {
	s.t.Helper()
	told := record.Run{
		Table:   "shop.orders" + hostile,
		Alter:   "ADD COLUMN n INT COMMENT '" + hostile + "'",
		Server:  "db1:3306",
		User:    "ann",
		Process: 7,
	}
	var err error
	if s.writer, err = history.Begin(s.t.TempDir(), told, time.Now()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.writer.Close() })
	s.run = s.runs.Begin(told, s.writer.Path(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			s.asked <- r.URL.Path
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(socket.Status{
			Phase:     "copy",
			State:     "blocked",
			Why:       "by " + hostile,
			CopyShare: "30%",
			Progress: record.Of(
				event.Progress{
					Phase:      event.PhaseCopy,
					At:         time.Now(),
					RowsCopied: 1500,
					RowsTotal:  3000,
					Fraction:   .5,
					CopyRate:   52_100,
					ETA:        time.Minute,
					Slowdown:   -1,
					ReplicaLag: -1,
				},
			),
			Blocked: record.Of(
				event.Blocked{
					At:       time.Now(),
					Blockers: []event.Blocker{{ConnectionID: 77, User: "app", Why: hostile, Age: time.Minute, Changed: -1}},
				},
			),
		})
	}))
}

// ask sends a request, with what the last word changes, and returns its status and text.
func (s *site) ask(method, path, body string, change func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(text)
}

func withToken(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
func asBrowser(r *http.Request) { r.Header.Set("Accept", "text/html,*/*;q=0.8") }

func (s *site) wants(status int, method, path string, change func(*http.Request), texts ...string) string {
	s.t.Helper()
	response, text := s.ask(method, path, "", change)
	if response.StatusCode != status {
		s.t.Errorf("%s %s: %d instead of %d\n%s", method, path, response.StatusCode, status, text)
	}
	for _, want := range texts {
		if !strings.Contains(text, want) {
			s.t.Errorf("%s %s: no %q in\n%s", method, path, want, text)
		}
	}
	return text
}

// Nothing but the login is told to who has no token, or another one.
func TestOnlyWithTheToken(t *testing.T) {
	s := open(
		t,
		map[string]http.Handler{
			"GET /metrics": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "numbers") }),
		},
	)
	s.begin()
	for _, path := range []string{"/", "/changes/run", "/parts/changes", "/parts/changes/run/blockers", "/v1/changes", "/v1/changes/run", "/v1/changes/run/events", "/v1/changes/run/report.html",
		"/v1/changes/run/status", "/metrics", "/nothing"} {
		for name, change := range map[string]func(*http.Request){
			"no token": nil, "another": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+"x") },
			"an empty one": func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
			"one of another session": func(r *http.Request) {
				for _, name := range []string{"midstream", "midstream-" + r.URL.Port()} {
					r.AddCookie(&http.Cookie{Name: name, Value: token})
				}
			},
			"in the address": func(r *http.Request) { r.URL.RawQuery = "token=" + token },
		} {
			if response, text := s.ask(
				"GET",
				path,
				"",
				change,
			); response.StatusCode != http.StatusUnauthorized || strings.Contains(text, "shop.orders") ||
				!strings.Contains(text, "--token-file") {
				t.Errorf("%s with %s: %s\n%s", path, name, response.Status, text)
			}
		}
	}
	s.wants(401, "POST", "/v1/changes/run/abort", nil)
	if response, _ := s.ask(
		"GET",
		"/changes/run",
		"",
		asBrowser,
	); response.StatusCode != http.StatusSeeOther ||
		response.Header.Get("Location") != "/login?to=%2Fchanges%2Frun" {
		t.Errorf("a browser: %s to %s", response.Status, response.Header.Get("Location"))
	}
	s.wants(200, "GET", "/healthz", nil, "ok")
	s.wants(200, "GET", "/login", nil, "Token")
	s.wants(200, "GET", "/static/uplot.js", nil)
	s.wants(200, "GET", "/metrics", withToken, "numbers")
	s.wants(200, "GET", "/v1/changes/run", withToken, "db1:3306")
	s.wants(404, "GET", "/v1/changes/other", withToken, "no such change: other")
	s.wants(404, "POST", "/v1/changes", withToken)
}

// A login opens a session, which its end closes; the token is in no answer.
func TestLogin(t *testing.T) {
	s := open(t, nil)
	s.begin()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(path string, form url.Values) (int, string, http.Header) {
		response, err := client.PostForm(s.url+path, form)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || strings.Contains(string(text), token) {
			t.Errorf("%s: %v, %s", path, err, text)
		}
		return response.StatusCode, string(text), response.Header
	}
	if status, text, _ := post(
		"/login",
		url.Values{"token": {"wrong"}, "to": {"/changes/run"}},
	); status != http.StatusUnauthorized ||
		!strings.Contains(text, "Wrong token") {
		t.Errorf("another token: %d\n%s", status, text)
	}
	status, text, _ := post("/login", url.Values{"token": {token}, "to": {"/changes/run"}})
	if status != http.StatusOK || !strings.Contains(text, `data-api="/v1/changes/run"`) {
		t.Fatalf("the token: %d\n%s", status, text)
	}
	response, _ := s.ask(
		"POST", "/login", "token="+token+"&to=https://evil.example/",
		func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
	)
	cookie := response.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, token) ||
		response.Header.Get("Location") != "/" {
		t.Errorf("%v, to %s", cookie, response.Header.Get("Location"))
	}
	kept := jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.url, "http://"), Path: "/"})
	session := func(r *http.Request) { r.AddCookie(kept[0]) }
	s.wants(200, "GET", "/v1/changes", session)
	if status, _, _ := post("/logout", nil); status != http.StatusOK {
		t.Errorf("log out: %d", status)
	}
	s.wants(401, "GET", "/v1/changes", session)
}

// On plain HTTP beyond this machine a browser sends no Sec-Fetch-Site: the form's Origin tells,
// which it only names (and not null) by our Referrer-Policy.
func TestLoginOverPlainHTTP(t *testing.T) {
	s := open(t, nil)
	response, _ := s.ask("GET", "/login", "", asBrowser)
	if policy := response.Header.Get("Referrer-Policy"); policy != "same-origin" {
		t.Errorf("with the policy %q the Origin of a form is null", policy)
	}
	if response, text := s.ask("POST", "/login", "token="+token, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", s.url)
	}); response.StatusCode != http.StatusSeeOther {
		t.Errorf("%s\n%s", response.Status, text)
	}
}

// A body that curl -d sends is JSON for the API, with a token. A form of a page with a session is none.
func TestCurlSendsJSON(t *testing.T) {
	s := open(t, map[string]http.Handler{
		"POST /v1/kind": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Content-Type")) }),
	})
	curl := func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }
	if _, text := s.ask("POST", "/v1/kind", "{}", func(r *http.Request) { curl(r); withToken(r) }); text != "application/json" {
		t.Errorf("with a token: %s", text)
	}
	response, _ := s.ask("POST", "/login", "token="+token, curl)
	if len(response.Cookies()) == 0 {
		t.Fatal(response.Status)
	}
	session := func(r *http.Request) { curl(r); r.AddCookie(response.Cookies()[0]) }
	if _, text := s.ask("POST", "/v1/kind", "{}", session); text != "application/x-www-form-urlencoded" {
		t.Errorf("with a session: %s", text)
	}
}

// The page of another site does nothing, though the browser may send the session's cookie; nor does
// a name that leads here.
func TestOtherSites(t *testing.T) {
	s := open(t, nil)
	s.begin()
	for name, change := range map[string]func(*http.Request){
		"another site":   func(r *http.Request) { withToken(r); r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port":   func(r *http.Request) { withToken(r); r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another origin": func(r *http.Request) { withToken(r); r.Header.Set("Origin", "http://evil.example") },
	} {
		if response, text := s.ask("POST", "/v1/changes/run/abort", "{}", change); response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s\n%s", name, response.Status, text)
		}
		s.wants(403, "POST", "/login", change)
	}
	if len(s.asked) > 0 {
		t.Errorf("the run was told %s", <-s.asked)
	}
	s.wants(200, "POST", "/v1/changes/run/pause", func(r *http.Request) { withToken(r); r.Header.Set("Sec-Fetch-Site", "same-origin") })
	if told := <-s.asked; told != "/v1/pause" {
		t.Errorf("the run was told %s", told)
	}
	for _, host := range []string{"evil.example", "evil.example:8385", "127.0.0.1.evil.example"} {
		s.wants(421, "GET", "/v1/changes", func(r *http.Request) { withToken(r); r.Host = host }, "this machine only")
		s.wants(421, "GET", "/login", func(r *http.Request) { r.Host = host })
	}
	for _, host := range []string{"localhost:1", "127.0.0.1", "[::1]:9"} {
		s.wants(200, "GET", "/v1/changes", func(r *http.Request) { withToken(r); r.Host = host })
	}
}

// What pages and answers say to browsers.
func TestHeaders(t *testing.T) {
	s := open(t, nil)
	s.begin()
	for _, path := range []string{"/changes/run", "/login", "/v1/changes", "/nothing"} {
		response, _ := s.ask("GET", path, "", withToken)
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin"} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s of %s: %q", name, path, got)
			}
		}
		policy := response.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'; script-src 'self'; style-src 'self'") ||
			!strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("policy of %s: %s", path, policy)
		}
	}
	response, text := s.ask("GET", "/v1/changes/run/report.html", "", withToken)
	if policy := response.Header.Get(
		"Content-Security-Policy",
	); strings.Count(policy, "'sha256-") != strings.Count(text, "<script>") || !strings.Contains(policy, "sandbox allow-scripts") ||
		strings.Contains(policy, "allow-same-origin") {
		t.Errorf("policy of a report: %s", policy)
	}
}

// Nothing that a server or a person has said is more than text.
func TestTextsAreHarmless(t *testing.T) {
	s := open(t, nil)
	s.begin()
	s.writer.Write(
		record.Plan{
			Head:   record.HeadOf(record.NamePlan, time.Now()),
			Table:  "shop.orders",
			Method: "shadow",
			Why:    hostile,
			Risks:  []record.Risk{{What: hostile}},
		},
	)
	s.writer.Show(event.Note{Text: hostile, At: time.Now()})
	result := record.Result{
		Head:    record.HeadOf(record.NameResult, time.Now()),
		Outcome: "failed",
		Error:   hostile,
		Left:    hostile,
		Next:    hostile,
	}
	s.writer.Write(result)
	s.run.End(result)
	for _, path := range []string{"/changes/run", "/parts/changes", "/v1/changes/run/report.html"} {
		text := s.wants(200, "GET", path, withToken)
		for _, bad := range []string{"<script>alert", "<img src=x", "'alert"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s:\n%s", path, bad, text)
			}
		}
	}
	var seen []string
	for _, e := range s.follow("").all() {
		var told struct{ Told, HTML string }
		if err := json.Unmarshal([]byte(e.data), &told); err != nil {
			t.Fatalf("%v: %s", err, e.data)
		}
		if strings.Contains(told.HTML, "<script>alert") || strings.Contains(told.HTML, "<img src") || strings.Contains(e.data, "\n") {
			t.Errorf("%s has %s", e.name, told.HTML)
		}
		seen = append(seen, e.name)
	}
	if got := strings.Join(seen, " "); got != "run plan note result end" {
		t.Errorf("events: %s", got)
	}
}

// Close ends streams of runs that go on, and leaves nobody waiting.
func TestClose(t *testing.T) {
	s := open(t, nil)
	s.begin()
	readers := []*following{s.follow(""), s.follow("")}
	for _, r := range readers {
		r.await("run")
	}
	s.server.Close()
	for _, r := range readers {
		for _, e := range r.all() {
			if e.name == "end" {
				t.Error("a run that goes on has ended")
			}
		}
	}
}

// Who can be reached from elsewhere must have said so.
func TestDoor(t *testing.T) {
	for _, c := range []struct {
		door web.Door
		want string
	}{
		{web.Door{}, ""},
		{web.Door{Listen: "127.0.0.1:0"}, ""},
		{web.Door{Listen: "localhost:80"}, ""},
		{web.Door{Listen: "[::1]:80"}, ""},
		{web.Door{Listen: "127.0.0.1"}, "must be an address with a port"},
		{web.Door{Listen: ":80", TokenFile: "t"}, "--insecure-http"},
		{web.Door{Listen: "0.0.0.0:80", InsecureHTTP: true}, "--token-file"},
		{web.Door{Listen: "db1:80", TokenFile: "t", InsecureHTTP: true}, ""},
		{web.Door{Listen: "db1:80", TokenFile: "t", Certificate: "c", Key: "k"}, ""},
		{web.Door{Listen: "127.0.0.1:80", Key: "k"}, "must be set together"},
		{web.Door{TokenFile: "t"}, "no effect without --listen"},
	} {
		err := c.door.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c.door, err)
		}
	}
	folder := filepath.Join(t.TempDir(), "kept")
	var runs web.Runs
	for range 2 {
		s, err := web.Door{Listen: "127.0.0.1:0", Folder: folder}.Open(runs.Source(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	info, err := os.Stat(filepath.Join(folder, "token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	short := filepath.Join(folder, "short")
	if err := os.WriteFile(short, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (web.Door{Listen: "127.0.0.1:0", TokenFile: short}).Open(
		runs.Source(),
		nil,
	); err == nil || !strings.Contains(err.Error(), "6 characters") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("a short token: %v", err)
	}
}

// A reader that has gone is noticed, and nobody waits for it.
func TestReaderGone(t *testing.T) {
	s := open(t, nil)
	s.begin()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/changes/run/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	withToken(r)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	response.Body.Close()
	s.server.Close() // and goleak: the goroutine has ended
}
