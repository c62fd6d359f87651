package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// room is the size of the file for a result, in bytes. It is written before the run begins, so that
// a disk that becomes full loses no result.
const room = 64 << 10

// makeRoom writes the file for a change's result, and lists the histories that are in its folder
// already. They belong to runs whose work this one may resume. Each later one is its own, whatever
// the clock says.
func (s *Service) makeRoom(e *entry) error {
	names, err := s.histories(e.ID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.paths, e.ID)
	s.mu.Unlock()
	folder := s.folder(e.ID)
	if err := writeWhole(filepath.Join(folder, earlierFile), []byte(strings.Join(names, "\n"))); err != nil {
		return err
	}
	return writeWhole(filepath.Join(folder, resultFile), make([]byte, room))
}

// writeWhole writes a file through a draft. After a failure, the file has its old content or does not exist.
func writeWhole(path string, text []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)) // 0600
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // after the rename, there is none
	_, err = draft.Write(text)
	if err == nil {
		err = draft.Sync()
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), path)
}

// result returns the result of a run; nil if the run wrote none. An error means that it cannot be read now.
func (s *Service) result(e *entry, history string) (*record.Result, error) {
	text, err := os.ReadFile(filepath.Join(s.folder(e.ID), resultFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the result of change %s: %w", e.ID, err)
	}
	line, _, whole := bytes.Cut(text, []byte("\n"))
	if result := resultIn(line); whole && result != nil {
		return result, nil
	}
	// An earlier version of this program may have begun the run.
	if history != "" {
		result, err := resultOf(history)
		if result != nil || err != nil {
			return result, err
		}
	}
	// A run that could not connect has no history.
	text, err = os.ReadFile(filepath.Join(s.folder(e.ID), stdoutFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the result of change %s: %w", e.ID, err)
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	return resultIn(text[bytes.LastIndexByte(text, '\n')+1:]), nil
}

// resultIn reads a line; nil if it is no result.
func resultIn(line []byte) *record.Result {
	var result record.Result
	if json.Unmarshal(line, &result) != nil || result.Event != record.NameResult {
		return nil
	}
	return &result
}

// resultOf reads the result in a history; nil if there is none, or the file is no history.
func resultOf(path string) (*record.Result, error) {
	story, err := history.Read(path)
	var failed *fs.PathError
	switch {
	case err == nil:
		return story.Result, nil
	case errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return nil, nil
}

// moment is how the names of histories begin.
const moment = "20060102T150405.000Z"

// histories returns the names of the histories in a change's folder, sorted.
func (s *Service) histories(id string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.folder(id), historyPart))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the history of change %s: %w", id, err)
	}
	var names []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".jsonl" {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// historyOf returns the path of a change's history on this machine; "" for none. An error means
// that the folder cannot be read now.
func (s *Service) historyOf(e *entry) (string, error) {
	if e.Began == nil {
		return "", nil
	}
	s.mu.RLock()
	path := s.paths[e.ID]
	s.mu.RUnlock()
	if _, err := os.Lstat(path); path != "" && err == nil {
		return path, nil
	}
	names, err := s.histories(e.ID)
	if err != nil || len(names) == 0 {
		return "", err
	}
	name, err := s.ownOf(e, names)
	if name == "" || err != nil {
		return "", err
	}
	path = filepath.Join(s.folder(e.ID), historyPart, name)
	s.mu.Lock()
	s.paths[e.ID] = path
	s.mu.Unlock()
	return path, nil
}

// ownOf returns the history that a change's own run wrote; "" for none.
func (s *Service) ownOf(e *entry, names []string) (string, error) {
	earlier, err := os.ReadFile(filepath.Join(s.folder(e.ID), earlierFile))
	if err == nil {
		others := strings.Split(string(earlier), "\n")
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
		if len(names) == 0 {
			return "", nil
		}
		return slices.Max(names), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for the history of change %s: %w", e.ID, err)
	}
	// An earlier version of this program, or another machine, has begun the run. The name of a
	// history has its time and process.
	if newest := slices.Max(names); newest >= e.Began.UTC().Format(moment) {
		return newest, nil
	}
	for _, name := range slices.Backward(names) {
		if e.Process > 0 && strings.HasSuffix(name, fmt.Sprintf("-%d.jsonl", e.Process)) {
			return name, nil
		}
	}
	return "", nil
}

// inherit gives a change the histories of those with whose work it may go on, for its report: of
// the same statement, if they were not done.
func (s *Service) inherit(e *entry) error {
	folder := filepath.Join(s.folder(e.ID), historyPart)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, former := range s.all() {
		if former.ID == e.ID || former.Server != e.Server || former.Statement != e.Statement || former.State == StateDone {
			continue
		}
		path, err := s.historyOf(former)
		if err != nil {
			return err
		}
		if path == "" {
			continue
		}
		if err := os.Link(path, filepath.Join(folder, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// History returns the path of a change's history on this machine, "" where there is none yet, and
// whether nothing more will come to it. That of a run on another machine is taken from the store.
func (s *Service) History(ctx context.Context, id string) (path string, over bool, err error) {
	e := s.find(id)
	if e == nil {
		return "", true, unknown(id)
	}
	over = e.State.Over()
	if path, err = s.historyOf(e); path != "" || !over || err != nil {
		return path, over, err
	}
	text, err := s.store.History(ctx, id)
	if err != nil || text == nil || e.Began == nil {
		return "", over, err
	}
	path = filepath.Join(s.folder(id), historyPart, e.Began.UTC().Format(moment)+"-"+id+".jsonl")
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = writeWhole(path, text)
	}
	return path, over, err
}
