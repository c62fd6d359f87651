package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
)

// progressLogged is how often progress stands in a log.
const progressLogged = time.Minute

// journal is the log of a run: what people are told, with the fields of the record of
// docs/events.md. It is written by a goroutine of its own: the run never waits for it. It is a
// Display.
type journal struct {
	relay  *Relay
	log    *slog.Logger
	json   bool
	line   func(event.Event) string
	out    *lastError
	file   *os.File  // nil where it is not Midstream's
	logged time.Time // the last progress
}

// lastError keeps the error of the last write that has failed: a log tells nobody of its own.
type lastError struct {
	io.Writer
	mu  sync.Mutex
	err error
}

func (l *lastError) Write(p []byte) (int, error) {
	n, err := l.Writer.Write(p)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = err
	}
	return n, err
}

// openJournal appends to a file; - is out. line is what people are told of an event, "" for nothing.
func openJournal(path string, asJSON bool, out io.Writer, run record.Run, line func(event.Event) string) (*journal, error) {
	j := &journal{out: &lastError{Writer: out}, json: asJSON, line: line}
	if path != "-" {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("write the log: %w", err)
		}
		j.file, j.out.Writer = file, escape.Writer(file)
	}
	var handler slog.Handler = slog.NewTextHandler(j.out, nil)
	if j.json {
		handler = slog.NewJSONHandler(j.out, nil)
	}
	j.log = slog.New(handler).With("table", run.Table, "server", run.Server)
	j.log.Info("run begins", "alter", run.Alter, "rehearsal", run.Rehearsal, "process", os.Getpid())
	j.relay = NewRelay(j)
	return j, nil
}

// Show writes an event.
func (j *journal) Show(e event.Event) {
	level := slog.LevelInfo
	switch e := e.(type) {
	case event.Progress:
		if e.At.Sub(j.logged) < progressLogged {
			return
		}
		j.logged = e.At
	case event.Throttled:
		if len(e.Gates) > 0 {
			level = slog.LevelWarn
		}
	case event.Blocked, event.Killed, event.Finding, event.UnfitFound, event.Parked:
		level = slog.LevelWarn
	case event.Mismatch:
		level = slog.LevelError
	}
	text := j.line(e)
	if text == "" {
		return
	}
	j.write(level, text, record.Of(e))
}

// Close does nothing: the result comes behind.
func (j *journal) Close() {}

// Abandon does nothing.
func (j *journal) Abandon() {}

// write writes a line with the fields of a record.
func (j *journal) write(level slog.Level, text string, told any) {
	var fields map[string]json.RawMessage
	encoded, err := json.Marshal(told)
	if err == nil {
		err = json.Unmarshal(encoded, &fields)
	}
	if err != nil {
		fields = nil // it never is: records are plain
	}
	var attributes []any
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var word string
		switch {
		case name == "at" || name == "text" || string(fields[name]) == "null": // are there already; not known
		case json.Unmarshal(fields[name], &word) == nil:
			attributes = append(attributes, slog.String(name, word))
		case !j.json:
			attributes = append(attributes, slog.String(name, string(fields[name]))) // which a []byte would be quoted as
		default:
			attributes = append(attributes, slog.Any(name, fields[name]))
		}
	}
	j.log.Log(context.Background(), level, strings.Join(strings.Fields(text), " "), attributes...)
}

// end writes the result. Its error is what was not written.
func (j *journal) end(result record.Result) error {
	if !j.relay.Close() {
		return errUntaken
	}
	level, text := slog.LevelInfo, "run ends: "+result.Outcome
	if result.ExitCode != 0 {
		level, text = slog.LevelError, text+": "+result.Error
	}
	j.write(level, text, result)
	if j.file != nil {
		_ = j.file.Close() // what was not written, writes have told
	}
	j.out.mu.Lock()
	defer j.out.mu.Unlock()
	return j.out.err
}
