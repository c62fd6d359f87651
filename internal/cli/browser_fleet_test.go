//go:build browser

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"midstream/internal/face/web"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/rollout"
	"midstream/internal/lab/fleetlab"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/record"
)

// mixedPlan is a plan with several outcomes and a definition that differs.
func mixedPlan(text string) fleetplan.Report {
	var answers []fleetplan.Answer
	for i := range 42 {
		a := fleetplan.Answer{Server: fmt.Sprintf("shard-%04d", i), Outcome: fleetplan.Fits, Method: "instant", LeastMS: 100, MostMS: 300}
		a.Define([]string{"`a` int", "`b` int"})
		switch i {
		case 7, 8:
			a.Outcome, a.Error, a.Next = fleetplan.Refused, "no room "+text, "free the disk"
			a.Problems = []record.Risk{{Code: "disk", What: "no room " + text}}
		case 9:
			a.Define([]string{"`a` int", "`b` bigint"})
		}
		answers = append(answers, a)
	}
	return fleetplan.Of(fleetplan.Asked{Statement: "ALTER TABLE shop.orders ADD COLUMN note INT", Selector: "app=shop", Notes: []string{"note " + text}}, answers, time.Second)
}

// TestBrowserFleet: the page of a set follows the real core over 12 and over 500 simulated members: a person approves, looks at what
// failed, skips, freezes and takes back. The texts of servers stay texts, and no page is cut off.
func TestBrowserFleet(t *testing.T) {
	const evil = `<img src=x onerror=alert(2)>` + "\u202e'"
	api := &fleetlab.API{Inventory: queue.Inventory{Source: "folder /etc/midstream/servers", Problems: []queue.ServerProblem{{Server: "shard-0003", Error: "labels: " + evil}}}}
	for _, n := range []int{12, 500} {
		f, err := fleetlab.Shop(t.Context(), n, evil)
		if err != nil {
			t.Fatal(err)
		}
		api.Fleets = append(api.Fleets, f)
	}
	for i, m := range api.Fleets[0].State().Members {
		api.Servers = append(api.Servers, queue.ServerInfo{Name: m.Server, Labels: m.Labels, Limit: 1, Running: i % 2})
	}
	const token = "0123456789abcdef0123456789abcdef"
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := web.Door{Listen: "127.0.0.1:0", TokenFile: path}.Open(web.Source{API: api.Handler(), Queue: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b := beginBrowser(t, server.URL())
	b.does("log in", chromedp.Navigate(b.url+"/login?to=/sets"), chromedp.WaitVisible("#token"), chromedp.SendKeys("#token", token+kb.Enter),
		chromedp.WaitVisible("#part .state"))
	b.pictures("fleet-sets")
	b.does("look at the servers", chromedp.Navigate(b.url+"/servers"), chromedp.WaitVisible("#part .label-text"))
	b.pictures("fleet-servers")
	b.does("freeze one", chromedp.Click(`[data-ask="POST /v1/freezes"][data-server="shard-0002"]`), chromedp.WaitVisible("#question"))
	b.does("without a reason", chromedp.Click("#yes"))
	b.until("the question stays", "document.querySelector('#question').open")
	b.does("with one", chromedp.SendKeys("#reason", "the fair"), chromedp.Click("#yes"))
	b.sees("#part", "by ann: the fair")
	b.does("end that", chromedp.Click(`[data-ask="DELETE /v1/freezes/shard-0002"]`), chromedp.WaitVisible("#question"), chromedp.Click("#yes"))
	b.until("it has ended", "!document.querySelector('#part').textContent.includes('the fair')")
	api.Plan = mixedPlan(evil)
	b.does("plan", chromedp.Navigate(b.url+"/fleet/plan?selector=app%3Dshop"), chromedp.WaitVisible("#statement"),
		chromedp.SendKeys("#statement", "ALTER TABLE shop.orders ADD COLUMN note INT"), chromedp.Click("#check"), chromedp.Click("#ask-plan"),
		chromedp.WaitVisible("#answer"))
	contains(t, b.text("#answer"), "Not yet: of 42 servers, 2 cannot be changed, 1 with another definition", "instant", "and 34 more", "no room "+strings.TrimSuffix(evil, "\u202e'"),
		"lacks `b` int", "has   `b` "+"bigint", "Next: free the disk")
	b.until("texts are texts", "document.querySelectorAll('main img').length === 0")
	b.pictures("fleet-plan")
	for _, f := range api.Fleets {
		n := len(f.State().Members)
		b.does("open", chromedp.Navigate(fmt.Sprintf("%s/sets/orders-note-%d", b.url, n)), chromedp.WaitVisible(".waves"))
		b.pictures(fmt.Sprintf("fleet-approve-%d", n))
		b.does("ask to approve by the keyboard, and think better of it", chromedp.Focus(`[data-ask$="/approve"]`), chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible("#question"))
		contains(t, b.text("#question"), "Approve wave canary?")
		b.pictures(fmt.Sprintf("fleet-question-%d", n))
		b.does("think better of it", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#question"))
		b.does("approve", chromedp.Click(`[data-ask$="/approve"]`), chromedp.WaitVisible("#question"), chromedp.Click("#yes"))
		b.sees(".waves > li:nth-child(1)", "approved by bert")
		if _, err := f.Until(t.Context(), func(s rollout.State) bool { return s.Swaps > n/8 }); err != nil {
			t.Fatal(err)
		}
		b.sees("#state", "running")
		b.sees(".tiles", "copy now")
		b.pictures(fmt.Sprintf("fleet-running-%d", n))
		if _, err := f.Until(t.Context(), func(s rollout.State) bool { return s.Phase == rollout.PhaseStopped }); err != nil {
			t.Fatal(err)
		}
		b.sees("#state", "stopped")
		contains(t, b.text("#part"), "value too long", "2 failed; 2 stop the set", "<img src=x onerror=alert(2)>")
		b.until("texts are texts", "document.querySelectorAll('main img').length === 0")
		b.pictures(fmt.Sprintf("fleet-stopped-%d", n))
		for _, name := range f.Names(rollout.StepFailed) {
			b.does("skip "+name, chromedp.Click(`[data-ask$="/skip"][data-server="`+name+`"]`), chromedp.WaitVisible("#question"),
				chromedp.SendKeys("#reason", "later"), chromedp.Click("#yes"))
			b.until("it is skipped", `!document.querySelector('[data-ask$="/skip"][data-server="`+name+`"]')`)
		}
		if _, err := f.Until(t.Context(), func(s rollout.State) bool { return s.Phase.Ended() }); err != nil {
			t.Fatal(err)
		}
		b.sees("#state", "finished")
		b.pictures(fmt.Sprintf("fleet-finished-%d", n))
		b.does("take it back", chromedp.Click(`[data-ask$="/undo"]`), chromedp.WaitVisible("#question"), chromedp.Click("#yes"))
		b.sees("#state", "undoing")
	}
	if asked := strings.Join(api.Asked(), "\n"); !strings.Contains(asked, `/approve {"wave":"canary"}`) || !strings.Contains(asked, `"reason":"later"`) {
		t.Error(asked)
	}
	for len(b.problems) > 0 {
		t.Errorf("the browser says: %s", <-b.problems)
	}
}
