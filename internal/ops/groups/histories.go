package groups

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// Newest returns the paths of the newest history of each table in a folder, by the names of the tables, without some files.
func Newest(folder string, without []string) ([]string, error) {
	entries, err := history.List(folder) // the newest first
	if err != nil {
		return nil, err
	}
	var own []history.Entry
	for _, e := range entries {
		known := func(o history.Entry) bool { return o.Run.Table == e.Run.Table }
		if !slices.Contains(without, filepath.Base(e.Path)) && !slices.ContainsFunc(own, known) {
			own = append(own, e)
		}
	}
	slices.SortFunc(own, func(a, b history.Entry) int { return strings.Compare(a.Run.Table, b.Run.Table) })
	var paths []string
	for _, e := range own {
		paths = append(paths, e.Path)
	}
	return paths, nil
}

// Join reads histories as one text. What a killed run has left of a last line is no part of it, if other histories follow.
func Join(paths []string) ([]byte, error) {
	var all []byte
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if i < len(paths)-1 {
			text = text[:bytes.LastIndexByte(text, '\n')+1]
		}
		all = append(all, text...)
	}
	return all, nil
}

// Split is the inverse of Join: each history begins with the record of its run.
func Split(text []byte) (all [][]byte) {
	start := 0
	first := []byte(`{"event":"` + record.NameRun + `",`)
	for at := 0; at < len(text); {
		if at > start && bytes.HasPrefix(text[at:], first) {
			all, start = append(all, text[start:at]), at
		}
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return append(all, text[start:])
}
