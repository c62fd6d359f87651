//go:build browser

package cli

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"midstream/internal/ops/queue"
)

// axe is axe-core, which finds what keeps people from a page who do not see, hear or point as others do (testdata/axe).
var axe = sync.OnceValues(func() (string, error) {
	file, err := os.Open(filepath.Join("testdata", "axe", "axe.min.js.gz"))
	if err != nil {
		return "", err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(unpacked)
	return string(text), err
})

// accessible fails for each violation that axe finds.
func (b *browser) accessible(look string) {
	b.t.Helper()
	script, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	var found []string
	await := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	b.does("run axe", chromedp.Evaluate("if (!window.axe) {"+script+"}; 1", nil), chromedp.Evaluate(
		`axe.run().then(r => r.violations.map(v => v.id + ": " + v.help + "\n" + v.nodes.map(n => "   " + n.html).join("\n")))`, &found, await,
	))
	for _, violation := range found {
		b.t.Errorf("%s: %s", look, violation)
	}
}

// fits fails if the page is wider than the screen, if a badge has two lines, or if a text is cut off or leaves its box.
func (b *browser) fits(look string, width int64) {
	b.t.Helper()
	b.until(look+" fits", fmt.Sprintf("document.documentElement.scrollWidth <= %d", width))
	var bad []string
	b.does("measure "+look, chromedp.Evaluate(`(() => {
		const bad = [], seen = e => e.checkVisibility() && e.getClientRects().length;
		for (const e of document.querySelectorAll(".state, .age, .phases li, .count"))
			if (seen(e) && e.getBoundingClientRect().height > 1.9 * parseFloat(getComputedStyle(e).lineHeight))
				bad.push("two lines: " + e.outerHTML.slice(0, 200));
		for (const e of document.querySelectorAll(".scrolls:has(.cards)"))
			if (innerWidth < 600 && seen(e) && e.scrollWidth > e.clientWidth + 1) bad.push("its rows are cut off: " + e.outerHTML.slice(0, 200));
		for (const e of document.querySelectorAll("main *"))
			if (seen(e) && !e.closest(".scrolls, pre, .plots, textarea, select, input, dialog") && e.getBoundingClientRect().right > innerWidth + 1)
				bad.push("leaves the screen: " + e.outerHTML.slice(0, 200));
		return bad;
	})()`, &bad))
	for _, text := range bad {
		b.t.Errorf("%s: %s", look, text)
	}
}

// cutsOver asks for the cut-over, thinks better of it, and asks again.
func (b *browser) cutsOver() {
	b.t.Helper()
	b.does("ask for the cut-over", chromedp.Click("#cut"), chromedp.WaitVisible("#cut-question"))
	b.does("think better of it", chromedp.Click(`#cut-question [value="no"]`), chromedp.WaitNotVisible("#cut-question"))
	b.sees("#state", "ready")
	b.does("ask again", chromedp.Click("#cut"), chromedp.WaitVisible("#cut-question"))
	b.does("cut over", chromedp.Click(`#cut-question [value="yes"]`), chromedp.WaitVisible("#ended"))
}

// TestBrowserStates: each state of a run has its headline, with ages that count, and a page that fits.
func TestBrowserStates(t *testing.T) {
	q := toQueue(t, 60_000)
	q.serve()
	token, err := os.ReadFile(filepath.Join(q.home, ".local", "state", "midstream", "token"))
	if err != nil {
		t.Fatal(err)
	}
	b := beginBrowser(t, q.url)
	b.does("open", chromedp.Navigate(b.url), chromedp.WaitVisible("#token"))
	b.pictures("login")
	b.enter(strings.TrimSpace(string(token)), "ann")
	b.pictures("empty")
	q.submit("blocked", q.name+" ADD COLUMN note VARCHAR(40)", "--option=hold", "--option=method=shadow", "--option=copy-share=5%", "--option=chunk-time=10ms")
	b.does("open", chromedp.Navigate(b.url+"/changes/blocked"))
	b.until("all steps are there", "document.querySelectorAll('#phases li').length === 5")
	b.until("it copies", "/^[1-9][0-9]?\\s% copied/.test(document.querySelector('#head').textContent)")
	b.pictures("copying")
	b.does("open the settings", chromedp.Click("#settings summary"), chromedp.WaitVisible("#set-lock-wait"))
	b.pictures("settings")
	b.does("change one", chromedp.SetValue("#set-lock-wait", "350ms"), chromedp.Click("#setting-form button"))
	b.sees("#set-said", `lock-wait is "350ms"`)
	b.does("give a bad one", chromedp.SetValue("#set-lock-wait", "a minute"), chromedp.WaitEnabled("#setting-form button"), chromedp.Click("#setting-form button"))
	b.sees("#set-said", "lock-wait=a minute is refused; nothing was changed")
	<-b.problems // of the answer 422
	b.does("close the settings", chromedp.Click("#settings summary"))
	b.does("pause", chromedp.Click(`[data-tell="pause"]`))
	b.sees("#state", "paused")
	b.sees("#head", " by ann")
	b.until("no rate of the past is shown", `!/rate|time left/.test(document.querySelector("#tiles").textContent)`)
	b.counts("#head .age")
	b.pictures("paused")
	b.does("resume", chromedp.Click(`[data-tell="resume"]`))
	b.does("let it run", chromedp.SetValue("#share", "100"), chromedp.Click("#throttle button"))
	b.sees("#state", "ready")
	b.sees("#head", "verified ")
	b.counts("#head .age")
	b.pictures("ready")

	reader := q.transaction("SELECT COUNT(*) FROM " + q.name)
	b.does("ask for the cut-over", chromedp.Click("#cut"), chromedp.WaitVisible("#cut-question"))
	b.pictures("question")
	b.does("cut over", chromedp.Click(`#cut-question [value="yes"]`))
	b.sees("#state", "blocked")
	b.does("see the blocker", chromedp.WaitVisible("#blocking-list button"))
	b.counts("#head .age")
	b.counts("#blocking-list .age")
	b.pictures("blocked")
	b.does("kill it, first", chromedp.Click("#blocking-list button"), chromedp.WaitVisible("#kill-question"))
	contains(t, b.text("#kill-question"), "root", "SELECT COUNT(*)")
	b.pictures("kill")
	b.does("think better of it", chromedp.Click(`#kill-question [value="no"]`), chromedp.WaitNotVisible("#kill-question"))
	b.does("kill it", chromedp.Click("#blocking-list button"), chromedp.Click(`#kill-question [value="yes"]`), chromedp.WaitVisible("#ended"))
	b.sees("#state", "done")
	b.sees("#head", "swapped, locked for")
	contains(t, b.text("#events"), "killed")
	b.pictures("swapped")
	if err := reader(); err == nil {
		t.Error("the session that blocked the swap lives")
	}
	q.submit("refused", q.name+" ADD COLUMN note VARCHAR(40)")
	b.listed(q)
	b.does("open", chromedp.Navigate(b.url+"/changes/refused"))
	b.sees("#state", "failed")
	b.pictures("failed")
	b.lists(q)
	for len(b.problems) > 0 {
		t.Errorf("the browser reports: %s", <-b.problems)
	}
}

// listed: the list has counts, a filter and the progress of what runs; the form has the usual options as fields.
func (b *browser) listed(q *queueing) {
	b.t.Helper()
	q.becomes("refused", queue.StateFailed)
	q.submit("runs", q.database()+".u ADD COLUMN c INT", "--option=hold")
	q.submit("waits", q.database()+".u ADD COLUMN d INT")
	b.does("look at the list", chromedp.Navigate(b.url), chromedp.WaitVisible("#changes .state"))
	b.sees("#changes .counts", "running 1")
	b.sees("#changes", "next for main")
	b.until("it shows what the run does", "/^(held|ready)$/.test(document.querySelector('#changes .state').textContent)")
	b.pictures("list")
	b.does("filter by state", chromedp.Click(`.counts a[href="/?state=failed"]`))
	b.until("it has the failed change only", "location.search && document.readyState === 'complete' && document.querySelectorAll('#changes tbody tr').length === 1")
	b.does("find a text", chromedp.SendKeys("#text", "REFUSED"), chromedp.Click("#filter button"))
	b.until("both filters hold", "location.search === '?state=failed&text=REFUSED' && document.querySelectorAll('#changes tbody tr').length === 1")
	b.does("find nothing", chromedp.Navigate(b.url+"/?text=%3Cimg%20src%3Dx%3E"))
	b.sees("#changes", "No change matches")
	b.does("go to the form", chromedp.Navigate(b.url), chromedp.Click(`a[href="/new"]`), chromedp.WaitVisible("#statement"))
	b.does("plan what would be refused", chromedp.SendKeys("#statement", "ALTER TABLE "+q.name+" ADD COLUMN note INT"), chromedp.Click("#preview"), chromedp.WaitVisible("#plan"))
	b.sees("#said", "Cannot run this change now")
	b.until("the button has a warning, and the hint is gone", `document.querySelector("#send.danger").textContent === "Submit anyway" && document.querySelector("#first").hidden`)
	b.does("begin again", chromedp.Navigate(b.url+"/new"), chromedp.WaitEnabled("#preview"))
	b.does("fill it", chromedp.SendKeys("#statement", "ALTER TABLE "+q.name+" ADD COLUMN e INT COMMENT 'five'"), chromedp.Click("#o-drop"),
		chromedp.SetValue("#not-before", "2026-01-02T03:04"), chromedp.SendKeys("#begin-window", "00:00-24:00"), chromedp.SendKeys("#priority", "7"),
		chromedp.SendKeys("#o-window", "02:00-04:00"), chromedp.SendKeys("#o-slow", "7%"), chromedp.Click("#preview"), chromedp.WaitVisible("#plan"))
	b.pictures("form")
	b.does("see the command", chromedp.Click("#submit details:last-of-type summary"))
	b.sees("#as-command", "midstream submit --service="+b.url+" --server=main --option=drop-old=true ")
	contains(b.t, b.text("#as-command"), "--option=cutover-window=02:00-04:00 --option=max-slowdown=7% --not-before=2026-01-02T", "Z --window=00:00-24:00 --priority=7 'ALTER TABLE ", `'\''five'`)
	b.does("submit it", chromedp.WaitEnabled("#send"), chromedp.Click("#send"), chromedp.WaitVisible("#change"))
	contains(b.t, b.text("main"), "--cutover-window=02:00-04:00", "--drop-old=true", "--max-slowdown=7%",
		"not before 2026-01-02 ", "begins only 00:00-24:00; cuts over only 02:00-04:00; priority 7")
	b.journals()
	var made string
	b.does("find the change", chromedp.Evaluate("location.pathname.split('/').pop()", &made))
	for _, id := range []string{"runs", made} {
		q.reaches(id, func(c queue.Change) bool {
			if c.State == queue.StateRunning {
				_, _ = q.http("POST", "/v1/changes/"+id+"/cutover", `{"now":true}`)
			}
			return c.State == queue.StateDone
		})
	}
	q.becomes("waits", queue.StateDone)
}

// lists: directly under the error of rows that do not fit, the page has their keys and the statement that selects them.
func (b *browser) lists(q *queueing) {
	b.t.Helper()
	executing(b.t, q.i, q.database())("INSERT INTO u (a, b) VALUES (7, 'one'), (7, 'two')")
	q.submit("unfit", q.database()+".u ADD UNIQUE KEY once (a)")
	q.becomes("unfit", queue.StateFailed)
	b.does("open", chromedp.Navigate(b.url+"/changes/unfit"), chromedp.WaitVisible("#ended"))
	b.sees("#state", "failed")
	b.until("the list follows the error", `(() => {
		const [error, list] = document.querySelectorAll("#ended > h2.bad + pre, #ended > h2.bad + pre + pre");
		return list?.textContent.includes("SELECT") && list.getBoundingClientRect().bottom < 900;
	})()`)
	b.pictures("unfit")
}

// copies presses a button that copies the command before it.
func (b *browser) copies(place, command string) {
	b.t.Helper()
	b.until("the command is "+command, fmt.Sprintf("document.querySelector(%q)?.previousElementSibling.textContent.includes(%q)", place, command))
	b.does("copy it", chromedp.Click(place))
	b.until("it is copied or selected", fmt.Sprintf("document.querySelector(%q).textContent !== 'Copy'", place))
}

// journals: the page of a change has who did what to it, and the commands that do what its buttons do.
func (b *browser) journals() {
	b.t.Helper()
	b.does("open the journal of the change", chromedp.Click("#journal summary"), chromedp.WaitVisible("#journal-list li"))
	b.sees("#journal-list", "submit")
	b.does("see the commands", chromedp.Click("#commands summary"), chromedp.WaitVisible("#commands dd"))
	contains(b.t, b.text("#commands"), "midstream withdraw --service="+b.url+" ", "midstream pause --control-dir=", "midstream submit --service="+b.url+" --undo=")
	b.copies("#commands .copy", "midstream pause --control-dir=")
	b.pictures("commands")
	var page string
	b.does("remember the page", chromedp.Location(&page))
	b.does("go to the journal", chromedp.Navigate(b.url), chromedp.Click(`a[href="/audit"]`), chromedp.WaitVisible(".journal li"))
	contains(b.t, b.text("main"), "midstream audit --service="+b.url, "submit", "kill")
	b.pictures("audit")
	b.does("filter", chromedp.SendKeys("#of-change", "blocked"), chromedp.Click(`[name="states"]`), chromedp.Click("form[role=search] button"))
	b.until("it has the change", "location.search.includes('change=blocked') && document.querySelector('.journal').textContent.includes('running') && !document.querySelector('.journal').textContent.includes('refused (')")
	b.does("go back", chromedp.Navigate(page), chromedp.WaitVisible("#change"))
}

// counts waits until an age is another one.
func (b *browser) counts(selector string) {
	b.t.Helper()
	last := b.text(selector)
	b.until(selector+" counts", fmt.Sprintf("document.querySelector(%q)?.textContent !== %q", selector, last))
}

// transaction opens a transaction, and returns what uses it once more.
func (q *queueing) transaction(statement string) func() error {
	q.t.Helper()
	db := q.i.Open(q.t, q.database())
	conn, err := db.Conn(context.Background())
	if err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(func() { conn.Close() })
	for _, text := range []string{"BEGIN", statement} {
		if _, err := conn.ExecContext(context.Background(), text); err != nil {
			q.t.Fatal(err)
		}
	}
	return func() error { _, err := conn.ExecContext(context.Background(), "SELECT 1"); return err }
}
