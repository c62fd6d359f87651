package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/record"
)

// Folder returns where the histories of this user are, unless somebody says another folder; "" if the user has none.
func Folder(getenv func(string) string, home string) string {
	if state := getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "midstream", "runs")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "state", "midstream", "runs")
}

const suffix = ".jsonl"

// moment is how the names of histories begin.
const moment = "20060102T150405.000Z"

// Writer keeps what one run tells. It is safe for concurrent use. If a line cannot be written, it
// is missing, and its part is removed before the next line.
type Writer struct {
	path  string
	reach reach.Flags

	mu    sync.Mutex
	file  *os.File
	err   error // the first one
	size  int64 // of what was written whole
	torn  bool  // the file has a part of a line too
	began time.Time
	often map[string]*often // by the names of their records
}

// often is a kind of events that come again and again while something lasts, of which not all are kept.
type often struct {
	free   int         // so many more are kept, whenever they come
	kept   time.Time   // when the last one came that is
	newest event.Event // that came after it; nil for none
}

// freely is how many events of a kind are kept before they are thinned: most runs have fewer.
const freely = 1000

// comesOften says which kind of events that come again and again one is, "" for none, and when it came.
func comesOften(e event.Event) (kind string, at time.Time) {
	switch e := e.(type) {
	case event.Progress:
		return record.NameProgress, e.At
	case event.Retry:
		return record.NameRetry, e.At
	case event.Blocked:
		return record.NameBlocked, e.At
	case event.Throttled:
		return record.NameThrottled, e.At
	}
	return "", time.Time{}
}

// strange is what the name of a file shall not have.
var strange = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// Begin makes the file of a run in a folder, which it makes too. It sets the run's ID.
func Begin(folder string, run record.Run, began time.Time) (*Writer, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of histories: %w", err)
	}
	name := fmt.Sprintf("%s-%.80s-%d", began.UTC().Format(moment), strange.ReplaceAllString(run.Table, "_"), run.Process)
	for n := 1; ; n++ {
		run.ID = name
		if n > 1 { // two runs of one process at one moment
			run.ID = fmt.Sprintf("%s-%d", name, n)
		}
		path := filepath.Join(folder, run.ID+suffix)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 100 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create the history of a run: %w", err)
		}
		run.Head = record.HeadOf(record.NameRun, began)
		w := &Writer{path: path, reach: run.Reach, file: file, began: began, often: map[string]*often{record.NameProgress: {},
			record.NameRetry: {free: freely}, record.NameBlocked: {free: freely}, record.NameThrottled: {free: freely}}}
		if w.Write(run); w.err != nil { // a history must begin with it
			err := w.Close()
			_ = os.Remove(path)
			return nil, err
		}
		return w, nil
	}
}

// Path is where the history is.
func (w *Writer) Path() string { return w.path }

// Show keeps an event. Of what comes again and again, not all is kept.
func (w *Writer) Show(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind, at := comesOften(e); kind != "" {
		o := w.often[kind]
		if o.free == 0 && at.Sub(o.kept) < between(at.Sub(w.began)) {
			o.newest = e
			return
		}
		o.free, o.kept, o.newest = max(0, o.free-1), at, nil
	}
	if told := record.Of(e); told != nil {
		w.last()
		w.write(told)
	}
}

// between is the time between two events of a kind that are kept.
func between(elapsed time.Duration) time.Duration {
	return max(900*time.Millisecond, elapsed/600)
}

// last keeps the newest of each kind, that something else comes after. REQUIRES: mu is held.
func (w *Writer) last() {
	var newest []event.Event
	for _, o := range w.often {
		if o.newest != nil {
			newest = append(newest, o.newest)
			_, o.kept = comesOften(o.newest)
			o.newest = nil
		}
	}
	slices.SortFunc(newest, func(a, b event.Event) int {
		_, before := comesOften(a)
		_, after := comesOften(b)
		return before.Compare(after)
	})
	for _, e := range newest {
		w.write(record.Of(e))
	}
}

// Write keeps a record.
func (w *Writer) Write(told any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last()
	w.write(told)
}

// write writes a record. REQUIRES: mu is held.
func (w *Writer) write(told any) {
	if w.file == nil {
		return
	}
	line, err := json.Marshal(told)
	if err == nil {
		err = w.add([]byte(escape.Text(w.reach.JSON(string(line))) + "\n")) // at once: who looks sees whole lines
	}
	if w.err == nil {
		w.err = err
	}
}

// add adds a line, or nothing.
func (w *Writer) add(line []byte) error {
	if w.torn {
		if err := w.file.Truncate(w.size); err != nil {
			return err
		}
		w.torn = false
	}
	n, err := w.file.Write(line)
	if err != nil {
		w.torn = n > 0
		return err
	}
	w.size += int64(n)
	return nil
}

// Close ends the history. It fails if not all could be kept.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return w.err
	}
	w.last()
	err := errors.Join(w.err, w.file.Close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("keep the history of the run: %w", err)
	}
	return nil
}
