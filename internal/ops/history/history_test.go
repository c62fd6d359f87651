package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/ops/record"
)

func begin(t *testing.T, folder, table string, began time.Time) *Writer {
	t.Helper()
	w, err := Begin(folder, record.Run{Table: table, Alter: "ADD COLUMN n INT", Server: "db1:3306", Process: 7}, began)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// What a run tells is read as it was told, but for most of its progress; of what comes after
// progress, the last one before it is kept.
func TestStoryIsKept(t *testing.T) {
	folder, began := filepath.Join(t.TempDir(), "a", "b"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := begin(t, folder, "shop.orders", began)
	w.Write(record.Plan{Head: record.HeadOf(record.NamePlan, began), Table: "shop.orders", Method: "shadow"})
	w.Show(event.PhaseEntered{Phase: event.PhaseCopy, At: began})
	for i := range 40 {
		w.Show(
			event.Progress{
				Phase:      event.PhaseCopy,
				At:         began.Add(time.Duration(i) * 500 * time.Millisecond),
				RowsCopied: int64(i),
				ReplicaLag: -1,
			},
		)
	}
	w.Show(event.LockAttempt{Number: 1, Granted: true, Waited: time.Millisecond, At: began.Add(20 * time.Second)})
	if entries, err := List(folder); err != nil || len(entries) != 1 || entries[0].Result != nil {
		t.Errorf("while it is at work: %+v, %v", entries, err)
	}
	w.Write(record.Result{Head: record.HeadOf(record.NameResult, began.Add(time.Minute)), Outcome: "done", Swapped: true})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	story, err := Read(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	if story.Run.Table != "shop.orders" || story.Run.ID != "20260102T030405.000Z-shop.orders-7" || story.Plan == nil ||
		story.Plan.Method != "shadow" ||
		story.Result == nil ||
		story.Result.Outcome != "done" {
		t.Errorf("story %+v", story)
	}
	var kept []event.Progress
	for _, e := range story.Events {
		if p, is := e.(event.Progress); is {
			kept = append(kept, p)
		}
	}
	if len(kept) < 19 || len(kept) > 22 || kept[len(kept)-1].RowsCopied != 39 || kept[0].ReplicaLag >= 0 {
		t.Errorf("%d records of progress were kept, the last of %+v", len(kept), kept[len(kept)-1])
	}
	if last, is := story.Events[len(story.Events)-1].(event.LockAttempt); !is || !last.Granted {
		t.Errorf("the last event is %+v", story.Events[len(story.Events)-1])
	}
}

// A run of a week takes a few megabytes.
func TestProgressIsThinned(t *testing.T) {
	began := time.Now()
	w := begin(t, t.TempDir(), "shop.orders", began)
	for at := time.Duration(0); at < 7*24*time.Hour; at += 500 * time.Millisecond {
		w.Show(event.Progress{At: began.Add(at), RowsCopied: int64(at)})
	}
	info, err := os.Stat(w.Path())
	if err != nil || info.Size() > 8<<20 || info.Size() < 1<<20 {
		t.Errorf("it is of %d bytes (%v)", info.Size(), err)
	}
}

// TestWhatComesAgainAndAgainIsThinned: nor do the other things that may come all the time make it
// larger, and what was so at last is told.
func TestWhatComesAgainAndAgainIsThinned(t *testing.T) {
	began := time.Now()
	w := begin(t, t.TempDir(), "shop.orders", began)
	gate := []event.Gate{{Name: "max-load", Why: "Threads_running is 80; at most 50", Since: began}}
	var at time.Duration
	for n := 0; at < 7*24*time.Hour; n++ {
		at += 500 * time.Millisecond
		w.Show(event.Progress{At: began.Add(at), RowsCopied: int64(at)})
		w.Show(event.Retry{What: "chunk", Cause: "Deadlock found when trying to get lock; try restarting transaction", At: began.Add(at)})
		w.Show(
			event.Blocked{
				Blockers: []event.Blocker{{ConnectionID: uint64(n), User: "app", Statement: strings.Repeat("x", 300)}},
				At:       began.Add(at),
			},
		)
		w.Show(event.Throttled{Gates: gate[:n%2], At: began.Add(at)})
	}
	w.Show(event.Throttled{Gates: gate, At: began.Add(at)})
	w.Show(event.Throttled{At: began.Add(at)})
	w.Show(event.PhaseEntered{Phase: event.PhaseCutover, At: began.Add(at)})
	info, err := os.Stat(w.Path())
	if err != nil || info.Size() > 24<<20 {
		t.Errorf("it is of %d MB (%v)", info.Size()>>20, err)
	}
	story, err := Read(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	var newest event.Throttled
	last := began
	for _, e := range story.Events {
		now := at
		switch e := e.(type) {
		case event.Throttled:
			newest, now = e, e.At.Sub(began)
		case event.Blocked:
			now = e.At.Sub(began)
		case event.Progress:
			now = e.At.Sub(began)
		case event.Retry:
			now = e.At.Sub(began)
		}
		if began.Add(now).Before(last) {
			t.Fatalf("%+v comes after what was later", e)
		}
		last = began.Add(now)
	}
	if len(newest.Gates) != 0 {
		t.Errorf("it waits still: %+v", newest)
	}
}

// Of a run that went on with others the whole is told: theirs, as far as they were to do the same,
// and were before it.
func TestWhole(t *testing.T) {
	folder, began := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var paths []string
	run := func(table string, at, checkpoint time.Duration, outcome string) {
		w := begin(t, folder, table, began.Add(at))
		if checkpoint >= 0 {
			w.Show(event.Resumed{Rows: 7, Taken: began.Add(checkpoint), Text: "going on", At: began.Add(at)})
		}
		w.Show(event.Note{Text: table + at.String(), At: began.Add(at)})
		if outcome != "" {
			w.Write(record.Result{Head: record.HeadOf(record.NameResult, began.Add(at)), Outcome: outcome})
		}
		paths = append(paths, w.Path())
	}
	run("shop.orders", 0, -1, "done")
	run("shop.orders", time.Minute, -1, "")                          // killed
	run("shop.orders", 2*time.Minute, time.Minute, "stopped")        // went on
	run("shop.others", 3*time.Minute, -1, "")                        // another table's
	run("shop.orders", 4*time.Minute, 2*time.Minute, "done")         // went on
	run("shop.orders", 5*time.Minute, 5*time.Minute+time.Second, "") // went on with its own, after a pause
	run("shop.strange", 6*time.Minute, time.Minute, "done")          // the other's history is not here
	for i, want := range map[int]string{1: "", 2: "1m0s", 4: "1m0s 2m0s", 5: "", 6: ""} {
		story, err := Whole(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		var earlier []string
		for _, e := range story.Earlier {
			for n, path := range paths {
				if path == e.Path {
					earlier = append(earlier, (time.Duration(n) * time.Minute).String())
				}
			}
		}
		if got := strings.Join(earlier, " "); got != want {
			t.Errorf("run %d went on with %q, want %q", i, got, want)
		}
		var notes []string
		for _, e := range story.Events {
			if n, is := e.(event.Note); is {
				notes = append(notes, strings.TrimPrefix(n.Text, story.Run.Table))
			}
		}
		if got := strings.TrimSpace(want + " " + (time.Duration(i) * time.Minute).String()); strings.Join(notes, " ") != got {
			t.Errorf("run %d tells %q, want %q", i, notes, got)
		}
	}
}

// TestWholeWithAClockSetBack: the run before is found, although the clock gave it a later time.
func TestWholeWithAClockSetBack(t *testing.T) {
	folder, began := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begin(t, folder, "shop.orders", began.Add(-2*time.Hour)) // another, long before
	former := begin(t, folder, "shop.orders", began)
	begin(t, folder, "shop.orders", began.Add(2*time.Hour)) // and one that came afterwards
	w := begin(t, folder, "shop.orders", began.Add(-time.Hour))
	w.Show(event.Resumed{Rows: 7, Taken: began.Add(time.Minute), Text: "going on", At: began.Add(-time.Hour + time.Second)})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	story, err := Whole(w.Path())
	if err != nil || len(story.Earlier) != 1 || story.Earlier[0].Path != former.Path() {
		t.Errorf("%+v, %v", story, err)
	}
}

func TestFind(t *testing.T) {
	folder, began := t.TempDir(), time.Now()
	first := begin(t, folder, "shop.orders", began)
	second := begin(t, folder, "shop.orders", began) // at the same moment
	other := begin(t, folder, "shop.größe/../x", began.Add(time.Second))
	for word, want := range map[string]*Writer{"": other, "shop.orders": second, "shop.größe/../x": other, first.Path(): first,
		strings.TrimSuffix(filepath.Base(first.Path()), ".jsonl"): first} {
		if got, err := Find(folder, word); err != nil || got != want.Path() {
			t.Errorf("Find(%q) is %s, %v; want %s", word, got, err, want.Path())
		}
	}
	if _, err := Find(folder, "shop.nothing"); !errors.Is(err, ErrNone) {
		t.Errorf("of another table: %v", err)
	}
	if _, err := Find(filepath.Join(folder, "none"), ""); !errors.Is(err, ErrNone) {
		t.Errorf("in no folder: %v", err)
	}
}

// What is no history, or not a whole one, is told or passed over, and never a crash.
func TestStrangeFiles(t *testing.T) {
	folder := t.TempDir()
	w := begin(t, folder, "shop.orders", time.Now())
	w.Show(event.Note{Text: "a note", At: time.Now()})
	whole, err := os.ReadFile(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(filepath.Join(folder, "cut.jsonl"), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		story, err := Read(filepath.Join(folder, "cut.jsonl"))
		if wholeLine := strings.Contains(string(whole[:n]), "\n"); wholeLine != (err == nil) || !wholeLine && !errors.Is(err, ErrNotOne) {
			t.Errorf("cut at %d: %+v, %v", n, story, err)
		}
		if _, err := List(folder); err != nil {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "cut.jsonl"), []byte("{\"event\":\"note\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(filepath.Join(folder, "cut.jsonl")); !errors.Is(err, ErrNotOne) {
		t.Errorf("of something else: %v", err)
	}
}

// A history that a later version has written is read: what this one does not know it passes over.
func TestLaterVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "later.jsonl")
	lines := []string{
		`{"event":"run","at":"2026-01-02T03:04:05.000Z","id":"x","table":"shop.orders","weather":{"rain":true}}`,
		`{"event":"weather","at":"2026-01-02T03:04:06.000Z","rain":[1,2]}`,
		`{"event":"note","at":"2026-01-02T03:04:07.000Z","text":"a note","colour":"red"}`,
		`{"event":"phase","at":"2026-01-02T03:04:08.000Z","phase":"polish"}`,
		`{"event":"result","at":"2026-01-02T03:04:09.000Z","outcome":"polished","exit_code":77,"left":"a table","tables":[{"table":"a.b","gloss":9}]}`,
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	story, err := Read(path)
	if err != nil || story.Run.Table != "shop.orders" || len(story.Events) != 2 || story.Result == nil ||
		story.Result.Outcome != "polished" ||
		story.Result.Left != "a table" {
		t.Errorf("it is %+v, %v", story, err)
	}
	if entries, err := List(filepath.Dir(path)); err != nil || len(entries) != 1 || entries[0].Result == nil {
		t.Errorf("the list is %+v, %v", entries, err)
	}
}

// A full disk ends the history, and is told at its end.
func TestUnwritable(t *testing.T) {
	if _, err := Begin("/dev/null/runs", record.Run{}, time.Now()); err == nil {
		t.Error("a history in no folder")
	}
	w := begin(t, t.TempDir(), "shop.orders", time.Now())
	w.file.Close()
	w.Show(event.Note{Text: "lost", At: time.Now()})
	if err := w.Close(); err == nil {
		t.Error("nothing is told of what was not written")
	}
}

// TestAFullDiskTearsNoHistory: lines that a full disk refuses are missing, a part of a line is
// removed, and a later result is read.
func TestAFullDiskTearsNoHistory(t *testing.T) {
	w := begin(t, t.TempDir(), "shop.orders", time.Now())
	disk := w.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	w.file = full
	w.Show(event.Note{Text: "lost", At: time.Now()})
	w.file = disk
	if _, err := disk.WriteString(`{"event":"no`); err != nil { // so much had room
		t.Fatal(err)
	}
	w.torn = true
	w.Show(event.Note{Text: "kept", At: time.Now()})
	w.Write(record.Result{Head: record.HeadOf(record.NameResult, time.Now()), Outcome: "done"})
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("nothing is told of what was not written: %v", err)
	}
	story, err := Read(w.Path())
	if err != nil || story.Result == nil || len(story.Events) != 1 || story.Events[0].(event.Note).Text != "kept" {
		t.Errorf("%+v, %v", story, err)
	}
}
