package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// ErrNone says that there is no such history.
var ErrNone = errors.New("no history of such a run")

// ErrNotOne says that a file is no history.
var ErrNotOne = errors.New("not the history of a run")

// Story is what a run has told.
type Story struct {
	Run    record.Run
	Plan   *record.Plan // the last one; nil before there is one
	Events []event.Event
	Result *record.Result // nil while the run is at work, or if it was killed
	// Earlier are the runs whose work it went on with, the oldest first. Their events are among Events.
	Earlier []Entry
	// Together are the other runs of the group, whose tables were to be swapped in the same step, by the names of the tables.
	Together []*Story
}

// Read reads a history, as far as it has come.
func Read(path string) (*Story, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a history: %w", err)
	}
	defer file.Close()
	s := &Story{}
	lines := bufio.NewReaderSize(file, 1<<16)
	for first := true; ; first = false {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // what there is of a last line is being written
			if first {
				return nil, fmt.Errorf("read %s: %w", path, ErrNotOne)
			}
			return s, nil
		}
		if err == nil {
			err = s.take(line, first)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
}

func (s *Story) take(line []byte, first bool) error {
	var head record.Head
	if err := json.Unmarshal(line, &head); err != nil || first && head.Event != record.NameRun {
		return ErrNotOne
	}
	switch head.Event {
	case record.NameRun:
		return json.Unmarshal(line, &s.Run)
	case record.NamePlan:
		s.Plan = &record.Plan{}
		return json.Unmarshal(line, s.Plan)
	}
	e, result, err := record.Read(line)
	if e != nil {
		s.Events = append(s.Events, e)
	}
	if result != nil {
		s.Result = result
	}
	return err
}

// Whole reads a history, and before it those of the runs whose work it went on with, and those of the other runs of its group, as far as
// they are in its folder.
func Whole(path string) (*Story, error) {
	story, err := alone(path)
	if err != nil || story.Run.Group == "" {
		return story, err
	}
	entries, err := List(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Run.Group != story.Run.Group || e.Run.Host != story.Run.Host || e.Run.ID == story.Run.ID {
			continue
		}
		other, err := alone(e.Path)
		if err != nil {
			return nil, err
		}
		story.Together = append(story.Together, other)
	}
	slices.SortFunc(story.Together, func(a, b *Story) int { return strings.Compare(a.Run.Table, b.Run.Table) })
	return story, nil
}

// alone reads a history without those of its group.
func alone(path string) (*Story, error) {
	story, err := Read(path)
	if err != nil {
		return nil, err
	}
	first := story
	var entries []Entry // the newest first
	for first.wentOn() {
		if entries == nil {
			if entries, err = List(filepath.Dir(path)); err != nil {
				return nil, err
			}
		}
		i := slices.IndexFunc(entries, func(e Entry) bool {
			return e.Run.ID < first.bound() && sameChange(e.Run, first.Run) && e.Run.ID != story.Run.ID &&
				!slices.ContainsFunc(story.Earlier, func(other Entry) bool { return other.Run.ID == e.Run.ID })
		})
		if i < 0 {
			break
		}
		entry := entries[i]
		if first, err = Read(entry.Path); err != nil {
			return nil, err
		}
		story.Earlier = append([]Entry{entry}, story.Earlier...)
		story.Events = append(first.Events, story.Events...)
	}
	return story, nil
}

// sameChange says that two runs were to do the same: only then one goes on with the other's work.
func sameChange(a, b record.Run) bool {
	return a.Table == b.Table && a.Alter == b.Alter && a.Server == b.Server && a.Rehearsal == b.Rehearsal
}

// wentOn says that a run went on with the work of one that was before it, and not with its own, after a pause. If a
// checkpoint is younger than its use, the clock was set back, and the checkpoint is of a run before.
func (s *Story) wentOn() bool {
	began, err := time.Parse(record.RFC3339, s.Run.At)
	resumed := s.resumed()
	return err == nil && resumed != nil && (resumed.Taken.Before(began) || setBack(resumed))
}

// setBack reports that the clock was set back between a checkpoint and its use, by more than a usual correction.
func setBack(r *event.Resumed) bool { return r.Taken.Sub(r.At) > 2*time.Second }

// resumed returns the run's first event of that kind; nil for none.
func (s *Story) resumed() *event.Resumed {
	for _, e := range s.Events {
		if resumed, is := e.(event.Resumed); is {
			return &resumed
		}
	}
	return nil
}

// bound returns a text that sorts after the IDs of all runs before this one. It is the run's own
// ID, unless the clock was set back. IDs begin with the time.
func (s *Story) bound() string {
	if resumed := s.resumed(); resumed != nil && setBack(resumed) {
		return resumed.Taken.UTC().Format(moment) + "~"
	}
	return s.Run.ID
}

// Entry is a run of a list.
type Entry struct {
	Path    string
	Run     record.Run
	Result  *record.Result // nil while the run is at work, or if it was killed
	settled time.Time      // when this machine has last noted what became of its undo; zero: never
}

// Known is when this machine has last known something of a run that has ended; zero if its history does not say.
func (e Entry) Known() time.Time {
	if !e.settled.IsZero() || e.Result == nil {
		return e.settled
	}
	at, _ := time.Parse(record.RFC3339, e.Result.At)
	return at
}

// Of reports whether the run is on the table that a word means, with or without backticks.
func (e Entry) Of(word string) bool {
	return e.Run.Table == word || schema.NameOf(e.Run.Table) == schema.NameOf(word)
}

// Words are the tables of runs and the ids of the runs, as a shell may offer them: without tables that it could not complete.
func Words(entries []Entry) []string {
	var tables, ids []string
	for _, e := range entries {
		ids = append(ids, e.Run.ID)
		if !slices.Contains(tables, e.Run.Table) && escape.Line(e.Run.Table) == e.Run.Table {
			tables = append(tables, e.Run.Table)
		}
	}
	return append(tables, ids...)
}

// List returns the runs of a folder, the newest first. Files that are no histories are passed over.
func List(folder string) ([]Entry, error) {
	names, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for histories: %w", err)
	}
	var entries []Entry
	for _, name := range names {
		path := filepath.Join(folder, name.Name())
		if filepath.Ext(path) != suffix {
			continue
		}
		if entry, err := glance(path); err == nil {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(b.Run.ID, a.Run.ID) })
	return entries, nil
}

// tail is what holds a result: with thousands of tables it is longer, and is then not told by a list.
const tail = 1 << 20

// glance reads the first line, and the last.
func glance(path string) (Entry, error) {
	entry := Entry{Path: path}
	file, err := os.Open(path)
	if err != nil {
		return entry, err
	}
	defer file.Close()
	first, err := bufio.NewReader(file).ReadBytes('\n')
	if err != nil {
		return entry, err
	}
	if err := json.Unmarshal(first, &entry.Run); err != nil || entry.Run.Event != record.NameRun {
		return entry, ErrNotOne
	}
	info, err := file.Stat()
	if err != nil {
		return entry, err
	}
	end := make([]byte, min(tail, info.Size()))
	if _, err := file.ReadAt(end, info.Size()-int64(len(end))); err != nil {
		return entry, err
	}
	end = bytes.TrimSuffix(end, []byte("\n"))
	end = end[bytes.LastIndexByte(end, '\n')+1:]
	var result record.Result
	if json.Unmarshal(end, &result) == nil && result.Event == record.NameResult {
		entry.Result = &result
	}
	return entry, nil
}

// Find returns the history that a word means: the ID of a run, a path, a table's newest run, or
// with "" the newest one.
func Find(folder, word string) (path string, err error) {
	if strings.HasSuffix(word, suffix) {
		return word, nil
	}
	entries, err := List(folder)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if word == "" || e.Run.ID == word || e.Of(word) {
			return e.Path, nil
		}
	}
	return "", fmt.Errorf("%w: %s", ErrNone, strings.TrimSpace(word+" in "+folder))
}
