package hook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// script writes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func parse(t *testing.T, text string) Hook {
	t.Helper()
	h, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestParse: what is no hook is refused, and a URL's secret is not repeated.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"on-end": ErrBad.Error(), "on-end=": ErrBad.Error(), "after-all=/bin/true": "unknown moment after-all; the moments are before-copy", "on-end=/nowhere/x": "as a program",
		"on-end=/etc/passwd": "as a program", "on-end=http://": "cannot read the URL",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := parse(t, "on-end=https://user:word@chat.example/T0/secret").String(); got != "on-end=https://chat.example" {
		t.Error(got)
	}
}

// TestProgram: it gets the document and the variables but no password, need not read, and is killed
// with its children in time.
func TestProgram(t *testing.T) {
	t.Setenv("MYSQL_PWD", "sesame")
	out := filepath.Join(t.TempDir(), "out")
	d := Document{Moment: OnEnd, Run: record.Run{Table: "a.b", Alter: strings.Repeat("x", 1<<20) + "\x00"}, Outcome: "done"}
	h := parse(t, "on-end="+script(t, "cat > "+out+"; env >> "+out))
	if err := h.call(t.Context(), d, time.Minute); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var got Document
	if err := json.NewDecoder(
		strings.NewReader(string(text)),
	).Decode(
		&got,
	); err != nil || got.Run.Alter != d.Run.Alter ||
		got.Moment != OnEnd {
		t.Errorf("%v: %.100s", err, text)
	}
	if !strings.Contains(string(text), "\nMIDSTREAM_TABLE=a.b\n") || !strings.Contains(string(text), "\nMIDSTREAM_OUTCOME=done\n") ||
		strings.Contains(string(text), "sesame") {
		t.Errorf("the environment is %.3000s", text[1<<20:])
	}
	for text, want := range map[string]string{
		"exec /bin/true": "", "echo first; echo second >&2; exit 3": "exit status 3: first; second", "kill -SEGV $$": "signal: segmentation fault",
		"sleep 60 & exit 0": "", // others that it leaves behind hold nobody up
	} {
		err := parse(t, "on-end="+script(t, text)).call(t.Context(), d, time.Minute)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	child := filepath.Join(t.TempDir(), "child")
	err = parse(t, "on-end="+script(t, "sleep 600 & echo $! > "+child+"; wait")).call(t.Context(), d, 3*time.Second)
	if err == nil || !strings.Contains(err.Error(), "longer than 3s (--hook-timeout)") {
		t.Error(err)
	}
	number, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(number)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !history.Gone(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("its child is alive")
		}
	}
}

// TestURL: the document is the body of a POST; what is no success fails without the URL's secret,
// and redirects stay with their host.
func TestURL(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host is asked") }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body))
		switch r.URL.Path {
		case "/secret/no":
			http.Error(w, "not now", http.StatusConflict)
		case "/secret/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/secret/round":
			http.Redirect(w, r, "/secret/round", http.StatusTemporaryRedirect)
		case "/secret/near":
			http.Redirect(w, r, "/secret/yes", http.StatusTemporaryRedirect)
		case "/secret/login":
			http.Redirect(w, r, "/secret/yes", http.StatusFound)
		}
	}))
	d := Document{Moment: OnEnd}
	for path, want := range map[string]string{"/yes": "", "/near": "", "/no": "the answer is 409 Conflict: not now", "/away": errElsewhere.Error(), "/login": errUnsaid.Error(), "/round": errTooOften.Error()} {
		err := parse(t, "on-end="+s.URL+"/secret"+path).call(t.Context(), d, time.Minute)
		if want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, g := range got {
		if !strings.HasPrefix(g, "POST /secret/") || !strings.Contains(g, ` application/json {"moment":"on-end"`) {
			t.Error(g)
		}
	}
	s.Close()
	if err := parse(t, "on-end="+s.URL+"/secret").call(t.Context(), d, time.Minute); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody is there: %v", err)
	}
}

// TestRunNeverWaits: hooks that stand still hold nobody up, those that find no room are counted,
// and at the end all are ended in time.
func TestRunNeverWaits(t *testing.T) {
	var mu sync.Mutex
	var notes []string
	h := Begin(
		t.Context(), Calls{List: []Hook{parse(t, "on-command="+script(t, "exec sleep 600"))}, Timeout: time.Second}, record.Run{},
		func(why string) { t.Errorf("the run is ended: %s", why) },
		func(text string) { mu.Lock(); defer mu.Unlock(); notes = append(notes, text) },
	)
	for range 2 * queueLength {
		h.Listen(event.Controlled{}) // at once
	}
	h.End(record.Result{}, "")
	h.Listen(event.Controlled{}) // comes too late, and is nobody's
	all := strings.Join(notes, "\n")
	for _, want := range []string{"longer than 1s (--hook-timeout)", "hooks were not called 3", "hooks were killed, because they took longer than 2s"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not told:\n%s", want, all)
		}
	}
}

// TestBefore: the run waits; a failure ends it, and nothing happens before that; an end by somebody
// else ends the hook.
func TestBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var why string
	h := Begin(
		ctx, Calls{List: []Hook{parse(t, "before-copy="+script(t, "echo no; exit 1"))}, Timeout: time.Minute}, record.Run{},
		func(w string) { why = w; cancel() }, func(string) {},
	)
	h.Listen(event.PhaseEntered{Phase: event.PhaseCopy})
	if ctx.Err() == nil || !strings.Contains(why, "the hook before-copy=") || !strings.Contains(why, "exit status 1: no") {
		t.Error(why)
	}
	h.End(record.Result{}, "")

	ctx, cancel = context.WithCancel(t.Context())
	h = Begin(
		ctx, Calls{List: []Hook{parse(t, "before-cutover="+script(t, "exec sleep 600"))}, Timeout: time.Hour, Veto: VetoEnds}, record.Run{},
		func(w string) { t.Error(w) }, func(string) {},
	)
	go cancel()
	if why, err := h.WhyNot(ctx, event.PhaseCutover); why != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", why, err)
	}
	h.End(record.Result{}, "")
}

// TestBeforeEachWay: where the server's own statement has come to nothing, what said yes to that is
// asked again before the swap, and once.
func TestBeforeEachWay(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	calls := Calls{List: []Hook{parse(t, "before-cutover="+script(t, "echo $MIDSTREAM_PHASE >> "+out))}, Timeout: time.Minute}
	h := Begin(t.Context(), calls, record.Run{}, func(w string) { t.Error(w) }, func(string) {})
	defer h.End(record.Result{}, "")
	for _, phase := range []event.Phase{event.PhaseNative, event.PhaseNative, event.PhaseCutover, event.PhaseCutover} {
		if why, err := h.WhyNot(t.Context(), phase); why != "" || err != nil {
			t.Errorf("%s: %q, %v", phase, why, err)
		}
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "native\ncutover\n" {
		t.Errorf("asked before %q, %v", text, err)
	}
}

// TestOnUndoUnfit: the first unfit row of an undo is a moment.
func TestOnUndoUnfit(t *testing.T) {
	var way tracker
	if got := way.moments(event.UnfitFound{Key: "1"}); !slices.Equal(got, []Moment{OnUndoUnfit}) {
		t.Errorf("the moments are %v", got)
	}
}
