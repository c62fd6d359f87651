//go:build browser

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"midstream/internal/ops/queue"
)

// as logs out, and in with the token of a person.
func (b *browser) as(p *people, name string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.home, name))
	if err != nil {
		b.t.Fatal(err)
	}
	b.does("log out", chromedp.Navigate(b.url+"/login"), chromedp.WaitVisible("#token"))
	b.does("log in as "+name, chromedp.SendKeys("#token", strings.TrimSpace(string(text))+kb.Enter), chromedp.WaitVisible("#changes"))
	b.sees("#me", name)
}

// hidden fails if a person sees what needs a role that the person lacks.
func (b *browser) hidden(selector string) {
	b.t.Helper()
	b.until(selector+" is hidden", "document.documentElement.dataset.lacks && !document.querySelector("+`"`+selector+`"`+")?.checkVisibility()")
}

// TestBrowserPeople: a change waits for the approval of another person, who approves it at its page and releases it when it is ready. Each
// person sees only what the roles permit.
func TestBrowserPeople(t *testing.T) {
	p := peopled(t, 300, map[string]string{"ann": "submit", "ben": "approve,operate", "eve": "see"})
	p.serve("--approve")
	p.does("ann", "submit", "ALTER TABLE "+p.name+" ADD COLUMN c INT", "--server=main", "--id=a", held[0], held[1], held[2])
	b := beginBrowser(t, p.url)
	b.as(p, "ann")
	b.does("open", chromedp.Navigate(b.url+"/changes/a"))
	b.sees("#state", "proposed")
	b.hidden("#approval")
	b.as(p, "eve")
	b.hidden("a[href='/new']")
	b.as(p, "ben")
	b.sees("#changes .counts", "proposed 1")
	b.pictures("people-list")
	b.does("open", chromedp.Navigate(b.url+"/changes/a"), chromedp.WaitVisible("#approval"))
	b.sees("#state", "proposed")
	b.pictures("people-proposed")
	b.does("approve", chromedp.Click(`[data-decide="approve"]`))
	b.sees("#state", "ready")
	b.sees("#head", "verified ")
	b.pictures("people-ready")
	b.does("look at the list", chromedp.Navigate(b.url))
	b.sees("#changes .counts", "ready 1")
	b.as(p, "eve")
	b.does("open", chromedp.Navigate(b.url+"/changes/a"))
	b.sees("#state", "ready")
	b.hidden("#controls")
	b.as(p, "ben")
	b.does("open", chromedp.Navigate(b.url+"/changes/a"))
	b.sees("#state", "ready")
	b.cutsOver()
	p.sees("ben", "a", func(c queue.Change) bool { return c.State == queue.StateDone })
	for len(b.problems) > 0 {
		t.Errorf("the browser reports: %s", <-b.problems)
	}
}
