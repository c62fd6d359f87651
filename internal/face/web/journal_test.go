package web

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"midstream/internal/face/summary"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/reach"
)

// TestL9_TheJournalIsOurs: texts of people stay texts in the journal, in the start of a change and in the commands of its page.
func TestL9_TheJournalIsOurs(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>` + "\x1b]0;owned\x07\u202e'"
	at := time.Date(2026, 12, 1, 19, 0, 0, 0, time.UTC)
	e := audit.Entry{ID: 7, At: at, Action: "reject", Who: hostile, From: hostile, Change: "a", Server: hostile, Table: hostile, State: "withdrawn", Why: hostile, Detail: hostile}
	j := journal{asked: url.Values{"who": {hostile}, "change": {hostile}}}
	for range onAPage {
		j.Entries = append(j.Entries, noted{Entry: e, By: summary.EntryWho(e), On: hostile, More: summary.EntryMore(e)})
	}
	c := queue.Change{ID: "a", Server: "main", Table: "a." + hostile, State: queue.StateProposed, NotBefore: &at, Window: hostile, Priority: -3, Options: map[string]string{"copy-window": hostile}}
	s := &Server{source: Source{Queue: true, Reach: func() reach.Flags { return reach.Flags("").Sockets("/tmp/a b") }}}
	page := struct {
		queue.Change
		Queue    bool
		Commands []command
	}{c, true, s.commands(c)}
	for name, shown := range map[string]struct {
		data  any
		wants []string
	}{
		"audit.html": {j, []string{"2026-12-01 19:00:00", "reject", "withdrawn", "/audit?before=7&amp;change=", "older"}},
		"journal":    {j, []string{`href="/changes/a"`}},
		"change.html": {page, []string{"not before 2026-12-01 19:00 UTC; begins only ", "copies only ", "priority -3", "midstream pause --control-dir=&#39;/tmp/a b&#39; ",
			"<code data-service>midstream approve  a</code>", "midstream submit  --undo=a"}},
	} {
		w := httptest.NewRecorder()
		show(w, name, 200, shown.data)
		text := w.Body.String()
		for _, bad := range []string{"<script>alert", "<img src", "\x1b", "\x07", "\u202e"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q:\n%s", name, bad, text)
			}
		}
		for _, want := range shown.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%s", name, want, text)
			}
		}
	}
}
