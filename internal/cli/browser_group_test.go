//go:build browser

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestBrowserGroup: a group is submitted at the page as one change. The page shows each table and the sums, its buttons act on all
// tables, and it ends with one report.
func TestBrowserGroup(t *testing.T) {
	q := twoTables(t, 30_000)
	q.serve()
	token, err := os.ReadFile(filepath.Join(q.home, ".local", "state", "midstream", "token"))
	if err != nil {
		t.Fatal(err)
	}
	b := beginBrowser(t, q.url)
	b.enter(strings.TrimSpace(string(token)), "")
	other := q.database() + ".u"
	b.does("fill the form", chromedp.Navigate(b.url+"/new"), chromedp.SendKeys("#statement", "ALTER TABLE "+q.name+" ADD COLUMN c INT; ALTER TABLE "+other+" ADD COLUMN c INT"),
		chromedp.SendKeys("#options", "hold\ncopy-share=2%\nchunk-time=10ms\nworkers=1\nkey="+q.name+": PRIMARY\nkey="+other+": PRIMARY"))
	b.does("ask for the plan without the box", chromedp.WaitEnabled("#preview"), chromedp.Click("#preview"))
	b.sees("#said", "no plan was made")
	b.does("ask for the plan", chromedp.Click("#together"), chromedp.Click("#preview"), chromedp.WaitVisible("#plan"))
	b.sees("#plan", "One swap of 2 tables")
	b.pictures("group-form")
	b.does("submit", chromedp.WaitEnabled("#send"), chromedp.Click("#send"), chromedp.WaitVisible("#change"))

	row := func(n int) string { return fmt.Sprintf("#member-rows tr:nth-child(%d)", n) }
	b.sees("#named", q.name+", "+other)
	b.sees(row(1), q.name)
	b.sees(row(2), other)
	b.until("rows are copied", fmt.Sprintf("/[1-9][0-9]* %%/.test(document.querySelector(%q)?.textContent)", row(1)))
	b.does("see plots", chromedp.WaitVisible(".u-over"))
	b.does("pause", chromedp.Click(`[data-tell="pause"]`))
	b.sees("#said", "the run is paused")
	for n := range 2 {
		b.sees(row(n+1), "paused")
	}
	b.sees("#state", "paused")
	b.pictures("group-live")
	b.does("ask who is there", chromedp.Click("#look"))
	b.sees("#blockers", q.name+", "+other)
	b.does("resume", chromedp.Click(`[data-tell="resume"]`))
	b.sees("#said", "resumed")
	b.does("let it run", chromedp.SetValue("#share", "100"), chromedp.Click("#throttle button"))
	b.sees("#said", "no limit any more")
	b.sees("#state", "ready")
	b.does("open anew", chromedp.Reload(), chromedp.WaitVisible("#phases li"))
	var steps, plans []string
	const texts = "[...document.querySelectorAll(%q)].map(e => e.textContent)"
	b.does("read the steps", chromedp.Evaluate(fmt.Sprintf(texts, "#phases li"), &steps), chromedp.Evaluate(fmt.Sprintf(texts, "#plan > h2"), &plans))
	if twice := slices.Compact(slices.Sorted(slices.Values(steps))); len(twice) != len(steps) {
		t.Errorf("the steps are %q", steps)
	}
	if slices.Sort(plans); !slices.Equal(plans, []string{q.name, other}) {
		t.Errorf("the plans are of %q", plans)
	}
	b.cutsOver()
	b.sees("#state", "done")
	b.pictures("group-finished")
	contains(t, b.text("#ended"), "All tables were swapped in one step")
	contains(t, b.text("#events"), q.name+": ", other+": ", "swapped")
	b.does("look at the list", chromedp.Navigate(b.url), chromedp.WaitVisible("#changes .state"))
	b.sees("#changes", q.name+", "+other)
	q.bothHave("id,a,b,c")
}
