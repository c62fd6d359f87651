package cli

import (
	"errors"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/ops/history"
)

// historyFlags say where what runs tell is kept.
type historyFlags struct {
	folder string
	off    bool
}

const historyDirUse = "folder of the histories of runs, for midstream report ($XDG_STATE_HOME/midstream/runs, or ~/.local/state/midstream/runs)"

func (h *historyFlags) register(f *flags.Set) {
	f.Flags.StringVar(&h.folder, "history-dir", "", historyDirUse)
	f.Bool(&h.off, "", "no-history", "keep no history of the run; midstream report then has no report of it")
}

// in is the folder that is meant; "" for none.
func (h historyFlags) in(app *app) string {
	switch {
	case h.off:
		return ""
	case h.folder != "":
		return h.folder
	}
	return history.Folder(app.Getenv, app.Home)
}

// story reads the history that a word means.
func (h historyFlags) story(app *app, word string) (*history.Story, error) {
	folder := h.in(app)
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
