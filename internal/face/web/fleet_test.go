package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/face/web"
	"midstream/internal/fleet/rollout"
	"midstream/internal/lab/fleetlab"
	"midstream/internal/ops/queue"
)

// fleetSite serves the pages of a simulated fleet.
func fleetSite(t *testing.T, api *fleetlab.API) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := web.Door{Listen: "127.0.0.1:0", TokenFile: path}.Open(web.Source{API: api.Handler(), Queue: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return &site{t: t, url: server.URL()}
}

// lacks fails for texts that a page has.
func lacks(t *testing.T, page, text string, texts ...string) {
	t.Helper()
	for _, bad := range texts {
		if strings.Contains(text, bad) {
			t.Errorf("%s has %q", page, bad)
		}
	}
}

const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>` + "\x1b]0;owned\x07\u202e'"

// TestPagesOfAFleet: the pages of a set show each state of the real core at 12 and at 500 members: what failed and why, the limits, the
// waves, and the requests that a person may make. Texts of servers and people stay texts.
func TestPagesOfAFleet(t *testing.T) {
	for _, n := range []int{12, 500} {
		f, err := fleetlab.Shop(t.Context(), n, evil)
		if err != nil {
			t.Fatal(err)
		}
		s := fleetSite(t, &fleetlab.API{Fleets: []*fleetlab.Fleet{f}, Servers: []queue.ServerInfo{{Name: "a", Labels: map[string]string{"note": evil}}}})
		id := f.State().Set
		page := "/sets/" + id
		s.wants(http.StatusSeeOther, "GET", page, func(r *http.Request) { r.Header.Set("Accept", "text/html") })
		s.wants(http.StatusOK, "GET", page, withToken, "to approve</span>", "soaked 30 min", `data-ask="POST /v1/sets/`+id+`/approve" data-wave="canary"`, `data-role="approve"`)
		f.Ask(rollout.Request{Ask: rollout.AskApprove, Wave: "canary", By: "bert"})
		second := func(s rollout.State) bool { return s.Waves[1].Phase == rollout.WaveRunning && s.Swaps > 1 }
		if _, err := f.Until(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		s.wants(http.StatusOK, "GET", page, withToken, "copy now", "at most 2 on a host", "approved by bert")
		if _, err := f.Until(t.Context(), func(s rollout.State) bool { return s.Phase == rollout.PhaseStopped }); err != nil {
			t.Fatal(err)
		}
		failed := f.Names(rollout.StepFailed)
		for _, path := range []string{page, "/parts" + page} {
			text := s.wants(http.StatusOK, "GET", path, withToken, "stopped</span>", "2 failed; 2 stop the set", "kept for 24 h", "value too long",
				`data-ask="POST /v1/sets/`+id+`/again" data-server="`+failed[0]+`"`, "/skip", "/cancel", "/undo", "failed 2</h3>", `href="/changes/`+id+"%2F"+failed[0])
			lacks(t, path, text, "<script>alert", "<img src", "\x1b", "\x07", "\u202e")
			if got := strings.Count(text, `<li class="`); got != n {
				t.Errorf("%d of %d servers are shown", got, n)
			}
		}
		s.wants(http.StatusOK, "GET", "/sets", withToken, "stopped</span>", `href="`+page+`"`, "2 failed")
		lacks(t, "/servers", s.wants(http.StatusOK, "GET", "/servers", withToken, "note="), "<script>alert", "<img src", "\x1b", "\u202e")
		for _, server := range failed {
			f.Ask(rollout.Request{Ask: rollout.AskSkip, Server: server, By: "bert"})
		}
		if _, err := f.Until(t.Context(), func(s rollout.State) bool { return s.Phase.Ended() }); err != nil {
			t.Fatal(err)
		}
		s.wants(http.StatusOK, "GET", page, withToken, "finished</span>", "servers; without it: 2.")
	}
}

// TestPageOfServers: the page has labels, freezes, and what is wrong with the inventory; the filter chooses by names and labels.
func TestPageOfServers(t *testing.T) {
	api := &fleetlab.API{Inventory: queue.Inventory{Source: "folder /etc/x", Error: "gone " + evil, Left: []string{"old" + evil},
		Problems: []queue.ServerProblem{{Server: "b", Error: "bad " + evil}}, Notes: []string{"note " + evil}}}
	for name, labels := range fleetlab.Servers(600) {
		api.Servers = append(api.Servers, queue.ServerInfo{Name: name, Labels: labels, Limit: 1, Problem: map[string]string{"shard-0007": "odd " + evil}[name]})
	}
	s := fleetSite(t, api)
	text := s.wants(http.StatusOK, "GET", "/servers", withToken, "cannot be read", "bad &#34;", "100 more servers", `data-ask="POST /v1/freezes" data-server="all"`)
	lacks(t, "/servers", text, "<script>alert", "<img src", "\x1b", "\u202e")
	s.wants(http.StatusOK, "GET", "/servers?text=shard%3D0007", withToken, "shard-0007", "its entry is wrong: odd")
	lacks(t, "/fleet/plan", s.wants(http.StatusOK, "GET", "/fleet/plan?selector=%22%3E%3Cscript%3Ealert", withToken, "plan-fleet"), "<script>alert")
	response, answer := s.ask("POST", "/v1/freezes", `{"server":"shard-0007","reason":"fair"}`, withToken)
	if response.StatusCode != http.StatusOK {
		t.Errorf("%d %s", response.StatusCode, answer)
	}
	s.wants(http.StatusOK, "GET", "/parts/servers?text=shard-0007", withToken, "frozen</span>", "by ann: fair", `data-ask="DELETE /v1/freezes/shard-0007"`)
	if asked := api.Asked(); len(asked) != 1 || !strings.HasPrefix(asked[0], "POST /v1/freezes ") {
		t.Error(asked)
	}
}
