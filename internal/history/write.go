package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"midstream/internal/event"
	"midstream/internal/record"
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

// Writer keeps what one run tells. It is safe for concurrent use. After the first failure nothing more is written.
type Writer struct {
	path string

	mu       sync.Mutex
	file     *os.File
	err      error
	began    time.Time
	progress time.Time // of the last one that was kept
	newest   event.Event
}

// strange is what the name of a file shall not have.
var strange = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// Begin makes the file of a run in a folder, which it makes too. It sets the run's ID.
func Begin(folder string, run record.Run, began time.Time) (*Writer, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of histories: %w", err)
	}
	name := fmt.Sprintf("%s-%.80s-%d", began.UTC().Format("20060102T150405.000Z"), strange.ReplaceAllString(run.Table, "_"), run.Process)
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
			return nil, fmt.Errorf("make the history of a run: %w", err)
		}
		run.Head = record.HeadOf(record.NameRun, began)
		w := &Writer{path: path, file: file, began: began}
		w.Write(run)
		return w, nil
	}
}

// Path is where the history is.
func (w *Writer) Path() string { return w.path }

// Show keeps an event. Of progress, not all is kept.
func (w *Writer) Show(e event.Event) {
	if p, is := e.(event.Progress); is {
		w.mu.Lock()
		w.newest = nil
		if p.At.Sub(w.progress) < between(p.At.Sub(w.began)) {
			w.newest = e
			w.mu.Unlock()
			return
		}
		w.progress = p.At
		w.mu.Unlock()
	} else {
		w.last()
	}
	if told := record.Of(e); told != nil {
		w.Write(told)
	}
}

// between is the time between two records of progress that are kept.
func between(elapsed time.Duration) time.Duration {
	return max(900*time.Millisecond, elapsed/600)
}

// last keeps the progress that something else comes after.
func (w *Writer) last() {
	w.mu.Lock()
	newest := w.newest
	w.newest = nil
	w.mu.Unlock()
	if newest != nil {
		w.Write(record.Of(newest))
	}
}

// Write keeps a record.
func (w *Writer) Write(told any) {
	line, err := json.Marshal(told)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil || w.err != nil {
		return
	}
	if err == nil {
		_, err = w.file.Write(append(line, '\n')) // at once: who looks sees whole lines
	}
	w.err = err
}

// Close ends the history. It fails if not all could be kept.
func (w *Writer) Close() error {
	w.last()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return w.err
	}
	err := errors.Join(w.err, w.file.Close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("keep the history of the run: %w", err)
	}
	return nil
}
