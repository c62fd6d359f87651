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

	"midstream/internal/ops/groups"
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
	// It may have the result of an earlier attempt.
	if err := os.Remove(filepath.Join(folder, stdoutFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
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

// result returns the result of a run; nil if the run wrote none. An error means that it cannot be read now. A history of a group has
// only the result of one table.
func (s *Service) result(e *entry, histories []string) (*record.Result, error) {
	text, err := os.ReadFile(filepath.Join(s.folder(e.ID), resultFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the result of change %s: %w", e.ID, err)
	}
	line, _, whole := bytes.Cut(text, []byte("\n"))
	if result := resultIn(line); whole && result != nil {
		return result, nil
	}
	// An earlier version of this program may have begun the run.
	if len(histories) > 0 && !e.Together && len(e.Files) == 0 {
		result, err := resultOf(histories[0])
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

// historiesOf returns the paths of a change's histories on this machine: one, or of a group those of all tables; none before they are
// there. An error means that the folder cannot be read now.
func (s *Service) historiesOf(e *entry) ([]string, error) {
	paths, err := s.found(e)
	if len(e.Files) > 0 && !e.State.Over() && len(paths) > 1 { // that of the table at work
		return []string{slices.MaxFunc(paths, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })}, err
	}
	if e.Together && len(paths) < len(e.Tables) && !e.State.Over() {
		return nil, err
	}
	return paths, err
}

// found returns the paths of the histories that are there, by the names of their tables.
func (s *Service) found(e *entry) ([]string, error) {
	if e.Began == nil {
		return nil, nil
	}
	s.mu.RLock()
	paths := s.paths[e.ID]
	s.mu.RUnlock()
	if len(paths) == len(e.members()) && !slices.ContainsFunc(paths, isMissing) {
		return paths, nil
	}
	names, err := s.histories(e.ID)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	folder := filepath.Join(s.folder(e.ID), historyPart)
	if e.Together || len(e.Files) > 0 {
		var others []string
		if others, err = s.earlier(e); err == nil || errors.Is(err, fs.ErrNotExist) {
			paths, err = groups.Newest(folder, others)
		}
	} else {
		var name string
		if name, err = s.ownOf(e, names); name != "" {
			paths = []string{filepath.Join(folder, name)}
		}
	}
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	s.mu.Lock()
	s.paths[e.ID] = paths
	s.mu.Unlock()
	return paths, nil
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// earlier returns the names of the histories in a change's folder that are not its own.
func (s *Service) earlier(e *entry) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(s.folder(e.ID), earlierFile))
	if err != nil {
		return nil, fmt.Errorf("look for the history of change %s: %w", e.ID, err)
	}
	return strings.Split(string(text), "\n"), nil
}

// ownOf returns the history that a change's own run wrote; "" for none.
func (s *Service) ownOf(e *entry, names []string) (string, error) {
	others, err := s.earlier(e)
	if err == nil {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
		if len(names) == 0 {
			return "", nil
		}
		return slices.Max(names), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
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
		same := former.Server == e.Server && former.Statement == e.Statement && slices.Equal(former.Texts, e.Texts) &&
			former.Together == e.Together
		if former.ID == e.ID || !same || former.State == StateDone {
			continue
		}
		paths, err := s.found(former)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.Link(path, filepath.Join(folder, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// Histories returns the paths of a change's histories on this machine, none where there is none yet, and whether nothing more will come
// to them. Those of a run on another machine are taken from the store.
func (s *Service) Histories(ctx context.Context, id string) (paths []string, over bool, err error) {
	e := s.find(id)
	if e == nil {
		return nil, true, unknown(id)
	}
	over = e.State.Over()
	if paths, err = s.historiesOf(e); len(paths) > 0 || !over || err != nil {
		return paths, over, err
	}
	text, err := s.store.History(ctx, id)
	if err != nil || text == nil || e.Began == nil || max(1, e.Told) != e.number() {
		return nil, over, err
	}
	stem := filepath.Join(s.folder(id), historyPart, e.Began.UTC().Format(moment)+"-"+id)
	if err = os.MkdirAll(filepath.Dir(stem), 0o700); err != nil {
		return nil, over, err
	}
	for i, one := range groups.Split(text) {
		path := stem + ".jsonl"
		if i > 0 {
			path = fmt.Sprintf("%s-%d.jsonl", stem, i+1)
		}
		if err = writeWhole(path, one); err != nil {
			return nil, over, err
		}
		paths = append(paths, path)
	}
	return paths, over, nil
}
