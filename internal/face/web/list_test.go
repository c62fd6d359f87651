package web

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestL9_TheListIsOurs: texts of servers, people and addresses stay texts in the list, its filters and its headlines.
func TestL9_TheListIsOurs(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>` + "\x1b]0;owned\x07\u202e'"
	session := event.Blocker{User: hostile, Host: hostile, Command: hostile, Why: hostile, Statement: hostile}
	b := event.Blocked{At: time.Now(), Blockers: []event.Blocker{session}}
	run := &socket.Status{State: "blocked", Phase: "cutover", Blocked: record.Of(b)}
	since := time.Now()
	paused := &socket.Status{State: "paused", PausedBy: hostile, Since: &since}
	change := queue.Change{ID: hostile, Server: hostile, Table: "a." + hostile, Statement: hostile, SubmittedBy: hostile, Why: hostile, State: queue.StateRunning}
	l := list{
		Queue: true, Page: 2, Pages: 3, Total: 150, All: 150, States: []tally{{"running", 2, true}}, Servers: []queue.ServerInfo{{Name: hostile}, {Name: "b"}},
		Changes: []listed{listedOf(queue.Listed{Change: change, Run: run}), listedOf(queue.Listed{Change: change, Run: paused})},
		asked:   url.Values{"text": {hostile}, "server": {hostile}, "state": {"running"}},
	}
	for _, name := range []string{"list.html", "changes"} {
		w := httptest.NewRecorder()
		show(w, name, 200, l)
		text := w.Body.String()
		for _, bad := range []string{"<script>alert", "<img src", "\x1b", "\x07", "\u202e"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q:\n%s", name, bad, text)
			}
		}
		for _, want := range []string{"blocked</span>", "paused</span>", `data-since="`, "page 2 of 3, 150 changes", "page=3", "text=%22%3E%3Cscript"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%s", name, want, text)
			}
		}
	}
}
