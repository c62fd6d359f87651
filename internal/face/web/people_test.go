package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/face/web"
	"midstream/internal/ops/access"
)

// TestWhoIsLoggedIn: a session has the name and roles of its token, or the name that was typed for the single token. A token that leaves
// the file ends its sessions.
func TestWhoIsLoggedIn(t *testing.T) {
	folder := t.TempDir()
	single, tokens := filepath.Join(folder, "token"), filepath.Join(folder, "tokens")
	ann, line, err := access.Make("ann", []access.Role{access.Submit})
	if err == nil {
		err = access.Add(tokens, line)
	}
	if err == nil {
		err = os.WriteFile(single, []byte(token+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.Door{Listen: "127.0.0.1:0", TokenFile: single, Tokens: tokens}.Open((&web.Runs{}).Source(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s := &site{t: t, url: server.URL()}
	login := func(token, name string) *http.Cookie {
		t.Helper()
		form := url.Values{"token": {token}, "name": {name}}.Encode()
		response, text := s.ask("POST", "/login", form, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") })
		if len(response.Cookies()) != 1 {
			t.Fatalf("%d\n%s", response.StatusCode, text)
		}
		return response.Cookies()[0]
	}
	me := func(change func(*http.Request)) (p access.Person, status int) {
		t.Helper()
		response, text := s.ask("GET", "/v1/me", "", change)
		if response.StatusCode == http.StatusOK {
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
		}
		return p, response.StatusCode
	}
	cookie := login(ann, "bob")
	if p, _ := me(func(r *http.Request) { r.AddCookie(cookie) }); p.Name != "ann" || !p.Named || p.May(access.Operate) || !p.May(access.Submit) {
		t.Errorf("%+v", p)
	}
	typed := login(token, " carol\x1b ")
	if p, _ := me(func(r *http.Request) { r.AddCookie(typed) }); p.Name != "carol" || p.Named || !p.May(access.Operate) {
		t.Errorf("%+v", p)
	}
	bearer := func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+ann)
		r.Header.Set(access.Header, "bob")
	}
	if p, _ := me(bearer); p.Name != "ann" {
		t.Errorf("%+v", p)
	}
	if err := os.WriteFile(tokens, []byte("# empty\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*http.Request){bearer, func(r *http.Request) { r.AddCookie(cookie) }} {
		if _, status := me(change); status != http.StatusUnauthorized {
			t.Errorf("%d", status)
		}
	}
	if _, status := me(func(r *http.Request) { r.AddCookie(typed) }); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	only, err := web.Door{Listen: "127.0.0.1:0", Tokens: tokens, Folder: folder}.Open((&web.Runs{}).Source(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(only.Close)
	s.url = only.URL()
	if _, status := me(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }); status != http.StatusUnauthorized {
		t.Errorf("the single token opens without --token-file: %d", status)
	}
	if _, text := s.ask("GET", "/login", "", nil); strings.Contains(text, "Your name") {
		t.Error(text)
	}
}
