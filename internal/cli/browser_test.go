//go:build browser

package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"midstream/internal/cli/exit"
)

// make browser runs this file; it needs a Chromium, and fails where there is none.
var (
	images = flag.String("images", "", "folder for the pictures of the documentation; none are made without one")
	looks  = flag.String("looks", "", "folder for pictures of every state, wide and narrow, light and dark; none are made without one")
)

// pictured are the pages whose pictures the documentation has.
var pictured = []string{"list", "live", "blocked", "finished", "undo"}

// browser is a headless Chromium at the pages of a queue.
type browser struct {
	t        *testing.T
	ctx      context.Context
	url      string
	begun    time.Time
	problems chan string // what it has complained about
}

func beginBrowser(t *testing.T, url string) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("there is no Chromium: apt-get install chromium, or leave make browser out")
	}
	profile, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // processes of the browser may write a moment longer than its first one lives
		until(t, func() string { return profile + " is not empty" }, func() bool { return os.RemoveAll(profile) == nil })
	})
	options := append(
		chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(profile), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(patience),
	)
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, end := chromedp.NewContext(allocated)
	ctx, late := context.WithTimeout(ctx, 6*patience)
	t.Cleanup(func() { late(); end(); stop() })
	b := &browser{t: t, ctx: ctx, url: url, begun: time.Now(), problems: make(chan string, 100)}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.problems <- e.ExceptionDetails.Error()
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && !strings.Contains(e.Entry.Text, "401") { // the wrong token
				b.problems <- e.Entry.Text
			}
		}
	})
	if err := chromedp.Run(ctx, log.Enable()); err != nil { // the browser lives as long as the context of its first step
		t.Fatalf("begin: %v", err)
	}
	return b
}

// does takes a step, and logs what the page shows if the step fails.
func (b *browser) does(what string, actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.within(patience, actions...); err != nil {
		var text string
		if mute := b.within(10*time.Second, chromedp.Evaluate("location.href + '\\n' + document.body.innerText", &text)); mute != nil {
			text = "the page doesn't answer either: " + mute.Error()
		}
		b.t.Fatalf("%s: %v\n%s", what, err, text)
	}
	b.tell(what)
}

// tell logs a step that is done, with the seconds since the first.
func (b *browser) tell(what string) {
	b.t.Helper()
	b.t.Logf("%6.1f s: %s", time.Since(b.begun).Seconds(), what)
}

func (b *browser) within(bound time.Duration, actions ...chromedp.Action) error {
	ctx, end := context.WithTimeout(b.ctx, bound)
	defer end()
	return chromedp.Run(ctx, actions...)
}

// until waits until an expression of the page is true; the page may change meanwhile.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var is bool
		err := chromedp.Run(b.ctx, chromedp.Evaluate("!!("+expression+")", &is))
		if err == nil && is {
			b.tell(what)
			return
		}
		if time.Now().After(end) {
			b.does("wait until "+what, chromedp.ActionFunc(func(context.Context) error { return errors.Join(err, errors.New("never")) }))
		}
	}
}

func (b *browser) text(selector string) (text string) {
	b.t.Helper()
	b.does("read "+selector, chromedp.TextContent(selector, &text, chromedp.ByQuery))
	return text
}

// sees waits until the text stands in a place.
func (b *browser) sees(selector, text string) {
	b.t.Helper()
	b.until(selector+" has "+text, fmt.Sprintf("document.querySelector(%q)?.textContent.includes(%q)", selector, text))
}

// pictures looks at a page on a desk and on a phone, by day and at night. It must fit, with badges on one line, and axe must find no
// violation.
func (b *browser) pictures(name string) {
	b.t.Helper()
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			height, look := int64(1300), fmt.Sprintf("%s-%d-%s", name, width, scheme)
			if width < 600 {
				height = 844
			}
			var shot []byte
			b.does("look at "+look, chromedp.EmulateViewport(width, height),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.Evaluate("scrollTo(0, 0)", nil), chromedp.Sleep(300*time.Millisecond)) // plots are drawn again
			b.fits(look, width)
			b.accessible(look)
			b.does("take a picture", chromedp.ActionFunc(func(ctx context.Context) (err error) {
				shot, err = cdp.CaptureScreenshot().Do(ctx)
				return err
			}))
			folders := []string{*looks}
			if width > 600 == (scheme == "light") && slices.Contains(pictured, name) {
				folders = append(folders, *images)
			}
			for _, folder := range folders {
				if folder == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(folder, look+".png"), small(b.t, shot), 0o644); err != nil {
					b.t.Fatal(err)
				}
			}
		}
	}
	b.does("look", chromedp.EmulateViewport(1280, 1000), emulation.SetEmulatedMedia())
}

// small is a picture in its 256 most frequent colors.
func small(t *testing.T, text []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.Color]int{}
	bounds := from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[from.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	to := image.NewPaletted(bounds, color.Palette(colors[:min(256, len(colors))]))
	nearest := map[color.Color]uint8{}
	for c := range counts {
		nearest[c] = uint8(to.Palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.SetColorIndex(x, y, nearest[from.At(x, y)])
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// enter logs in, after a try with another token. The name may be empty.
func (b *browser) enter(token, name string) {
	b.t.Helper()
	b.does(
		"open", chromedp.Navigate(b.url), chromedp.WaitVisible("#token"),
		chromedp.SendKeys("#token", "another token that is none"+kb.Enter),
	)
	b.sees("#wrong", "Wrong token")
	b.does("log in", chromedp.SendKeys("#name", name), chromedp.SendKeys("#token", token+kb.Enter), chromedp.WaitVisible("#changes"))
}

// waitsForItsScript opens the page anew, with a script that comes late, as from a slow line or
// disk: what needs it can't be pressed before it is there.
func (b *browser) waitsForItsScript() {
	b.t.Helper()
	comes := make(chan struct{})
	chromedp.ListenTarget(b.ctx, func(event any) {
		if e, is := event.(*fetch.EventRequestPaused); is {
			go func() {
				<-comes
				_ = chromedp.Run(b.ctx, fetch.ContinueRequest(e.RequestID))
			}()
		}
	})
	b.does(
		"open anew", network.SetCacheDisabled(true),
		fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*/static/app.js"}}),
		chromedp.Evaluate("window.before = true; location.assign('/new')", nil),
	)
	b.until("the page is there", "!window.before && document.querySelector('#plan')")
	var closed bool
	b.does("look at it", chromedp.Evaluate("document.getElementById('preview').disabled", &closed))
	if !closed {
		b.t.Error("a plan can be asked for before the script is there that asks for it")
	}
	close(comes)
	b.until("the script is there", "!document.getElementById('preview').disabled")
	b.does("open anew", fetch.Disable(), network.SetCacheDisabled(false), chromedp.Navigate(b.url+"/new"))
}

// submit asks for the plan of a change, and submits it then.
func (b *browser) submit(statement, options string) {
	b.t.Helper()
	var closed bool
	if !strings.Contains(options, "hold") {
		b.t.Fatal("the box for the hold is what the test ticks")
	}
	options = strings.TrimPrefix(options, "hold\n")
	b.does(
		"fill the form", chromedp.Navigate(b.url+"/new"), chromedp.SendKeys("#statement", statement), chromedp.SendKeys("#options", options), chromedp.Click("#o-hold"),
		chromedp.SendKeys("#by", "ann"), chromedp.Evaluate("document.getElementById('send').disabled", &closed),
	)
	b.does("ask for the plan", chromedp.WaitEnabled("#preview"), chromedp.Click("#preview"), chromedp.WaitVisible("#plan"))
	contains(b.t, b.text("#plan"), "copy to a new table", "Time ", "submit the change")
	if !closed {
		b.t.Error("what was not shown can be submitted")
	}
	b.pictures("form")
	b.does("submit", chromedp.WaitEnabled("#send"), chromedp.Click("#send"), chromedp.WaitVisible("#change"))
}

// TestBrowser: a change is submitted at the page, followed, paused, goes on, held, cut over, and
// its report read, while somebody writes.
func TestBrowser(t *testing.T) {
	q := toQueue(t, 120_000)
	q.serve()
	token, err := os.ReadFile(filepath.Join(q.home, ".local", "state", "midstream", "token"))
	if err != nil {
		t.Fatal(err)
	}
	b := beginBrowser(t, q.url)
	b.enter(strings.TrimSpace(string(token)), "")
	b.waitsForItsScript()
	// The copy must last until somebody lets it run: at 8 % of the time it was over before the numbers were looked at again.
	b.submit("ALTER TABLE "+q.name+" ADD COLUMN note VARCHAR(40), ADD INDEX (note)", "hold\nmethod=shadow\ncopy-share=1%\nchunk-time=10ms\nundo=1h")

	b.does("see it begin", chromedp.WaitVisible("#bar"), chromedp.WaitVisible(".u-over"))
	contains(t, b.text("#plan"), "Plan", "copy to a new table")
	const copied = "document.querySelector('#tiles dd')?.textContent"
	moves := func(since string) (now string) {
		b.until("the numbers move", fmt.Sprintf("%s && !%s.startsWith('0 ') && %s !== %q", copied, copied, copied, since))
		return b.text("#tiles dd")
	}
	moves(moves(moves("")))

	b.does("pause", chromedp.Click(`[data-tell="pause"]`))
	b.sees("#said", "the run is paused")
	b.sees("#state", "paused")
	q.awaitProgressOfPause()
	still := q.copied()
	b.does("ask who is there", chromedp.Click("#look"))
	b.sees("#blockers", q.name)
	b.does(
		"ask for an end by the keyboard, and think better of it", chromedp.Focus("#abort"),
		chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#question"), chromedp.KeyEvent(kb.Escape),
		chromedp.WaitNotVisible("#question"),
	)
	if now := q.copied(); now != still {
		t.Errorf("%d rows were copied, and then %d, while it was paused", still, now)
	}
	b.noticesSilence(q)
	b.does("resume", chromedp.Click(`[data-tell="resume"]`))
	b.sees("#state", "running")
	b.throttled(q)
	moves(moves(b.text("#tiles dd")))
	b.pictures("live")
	b.until("a page that is open for two weeks keeps what a screen shows, the newest included", `(() => {
		const s = new MidstreamPlots.Story();
		for (let i = 0; i < 14 * 86400; i++) s.take({ event: "progress", at: new Date(i * 1000).toISOString(), backlog_keys: i });
		const n = s.times.length;
		return n < 20000 && n > 2000 && s.times[n - 1] === 14 * 86400 - 1 && s.columns.backlog.length === n
			&& s.columns.backlog[n - 1] === s.times[n - 1] && s.times[n - 1] - s.times[n - 2] < 2000;
	})()`)

	b.does("let it run", chromedp.SetValue("#share", "100"), chromedp.Click("#throttle button"))
	b.sees("#said", "no limit any more")
	b.sees("#state", "ready")
	b.sees("#head", "to cut over")
	b.cutsOver()
	b.sees("#state", "done")
	contains(t, b.text("#ended"), "Predicted and actual", "Left on the server", "Phases")
	contains(t, b.text("#events"), "swapped", "granted", "result")
	b.takesBack(q)
	b.copies("#next .copy", "midstream submit --service="+q.url+" --undo=")
	b.pictures("finished")
	b.does("read the report", chromedp.Click("#report"), chromedp.WaitVisible("#plots .u-over")) // its own script drew them
	contains(t, b.text("body"), "Predicted and actual")
	b.does("look at the list", chromedp.Navigate(b.url), chromedp.WaitVisible("#changes .state"))
	b.sees("#changes", "done")
	b.pictures("list")
	if got := q.query(
		"SELECT COUNT(*) FROM information_schema.columns WHERE CONCAT(table_schema, '.', table_name) = '" + q.name + "' AND column_name = 'note'",
	); got != "1" {
		t.Errorf("the column: %s", got)
	}
	if code, _, stderr := midstream(t, append(append([]string{"undo"}, flagsTo(t, q.i)...), "--end", q.name)...); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for len(b.problems) > 0 {
		t.Errorf("the browser says: %s", <-b.problems)
	}
}

// takesBack: the page of a change that is done shows its undo. The question names what is lost, and can be answered by the
// keyboard with no. The undo has a page of its own, and its undo is the redo.
func (b *browser) takesBack(q *queueing) {
	b.t.Helper()
	b.sees("#undo-text", "open until")
	contains(b.t, b.text("#undo-text"), "rows not checked")
	b.does(
		"ask for the undo by the keyboard, and think better of it", chromedp.WaitEnabled("#undo-ask"), chromedp.Focus("#undo-ask"),
		chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#undo-question"),
	)
	contains(b.t, b.text("#undo-question"), "Undo this change of", "gives up the values of column note", "rows were not checked")
	b.pictures("undo")
	b.does("think better of it", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#undo-question"))
	var done string
	b.does("remember the page", chromedp.Location(&done))
	b.does(
		"undo", chromedp.Click("#undo-ask"), chromedp.WaitVisible("#undo-question"), chromedp.Click(`#undo-question [value="yes"]`),
	)
	b.until("the undo has a page of its own", "location.pathname.endsWith('-undo')")
	b.sees("#state", "done")
	b.sees("#undo-name", "Redo")
	b.sees("#undo-text", "redo: open until")
	const column = "SELECT COUNT(*) FROM information_schema.columns WHERE column_name = 'note' AND CONCAT(table_schema, '.', table_name) = '"
	if got := q.query(column + q.name + "'"); got != "0" {
		b.t.Errorf("after the undo, %s columns are there", got)
	}
	b.pictures("undone")
	b.does("redo", chromedp.WaitEnabled("#undo-ask"), chromedp.Click("#undo-ask"), chromedp.WaitVisible("#undo-question"))
	contains(b.t, b.text("#undo-question"), "Redo this change of")
	b.does("redo", chromedp.Click(`#undo-question [value="yes"]`))
	b.until("the redo has a page of its own", "location.pathname.endsWith('-undo-2')")
	b.sees("#state", "done")
	b.sees("#undo-text", "open until")
	b.does("look at the first change again", chromedp.Navigate(done))
	b.sees("#undo-text", "has made it again")
	b.does("wait for its result", chromedp.WaitVisible("#ended"), chromedp.WaitVisible(".u-over"))
}

// noticesSilence: serve stands still, and its connections stay open. The page says that nothing
// comes, and comes back by itself.
func (b *browser) noticesSilence(q *queueing) {
	b.t.Helper()
	signal := func(s syscall.Signal) {
		if err := q.daemon.cmd.Process.Signal(s); err != nil {
			b.t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	b.sees("#connection", "No data for ")
	signal(syscall.SIGCONT)
	b.until(
		"the page is back",
		"document.querySelector('#connection')?.hidden && document.querySelector('#state')?.textContent === 'paused' && document.querySelector('#tiles dd')",
	)
	b.does("be there", chromedp.WaitVisible(`[data-tell="resume"]`))
}

// copied is how many rows the run of the queue has copied.
func (q *queueing) copied() int64 { return q.progress().RowsCopied }

// throttled has the run wait for a moment, which the plots show.
func (b *browser) throttled(q *queueing) {
	b.t.Helper()
	var id string
	b.does("find the change", chromedp.Evaluate("document.getElementById('change').dataset.api", &id))
	set := func(value string) {
		if status, text := q.http("POST", id+"/set", `{"settings":{"max-load":"`+value+`"}}`); status != http.StatusOK {
			b.t.Fatalf("%d %s", status, text)
		}
	}
	set("Threads_connected=1")
	b.sees("#waits", "Threads_connected")
	set("")
	b.until("it goes on", "document.querySelector('#waits').children.length === 0")
}
