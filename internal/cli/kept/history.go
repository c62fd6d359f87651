// Package kept has what a verb does with the histories of runs: the flags that name their folder, and the verb report.
package kept

import (
	"errors"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/process"
	"midstream/internal/ops/history"
)

// Flags say where what runs tell is kept.
type Flags struct {
	Folder string // "" for the user's own
	Off    bool
}

// DirUse is the help of --history-dir.
const DirUse = "folder of the histories of runs, for midstream report ($XDG_STATE_HOME/midstream/runs, or ~/.local/state/midstream/runs)"

// Register adds the flags.
func (h *Flags) Register(f *flags.Set) {
	f.Flags.StringVar(&h.Folder, "history-dir", "", DirUse)
	f.Bool(&h.Off, "", "no-history", "keep no history of the run; midstream report then has no report of it")
}

// In is the folder that is meant; "" for none.
func (h Flags) In(app *process.Process) string {
	switch {
	case h.Off:
		return ""
	case h.Folder != "":
		return h.Folder
	}
	return history.Folder(app.Getenv, app.Home)
}

// story reads the history that a word means.
func (h Flags) story(app *process.Process, word string) (*history.Story, error) {
	folder := h.In(app)
	path, err := history.Find(folder, word)
	if err == nil {
		var story *history.Story
		if story, err = history.Whole(path); err == nil {
			return story, nil
		}
	}
	next := "--history-dir names another folder"
	if errors.Is(err, history.ErrNone) {
		next = "midstream report --list lists all runs; " + next
	}
	return nil, &exit.Error{Code: exit.NoRun, Err: err, Next: next}
}
