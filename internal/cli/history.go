package cli

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// historyFlags say where what runs tell is kept.
type historyFlags struct {
	folder string
	off    bool
}

const historyDirUse = "folder of the histories of runs, for midstream report ($XDG_STATE_HOME/midstream/runs, or ~/.local/state/midstream/runs)"

func (h *historyFlags) register(f *checks) {
	f.flags.StringVar(&h.folder, "history-dir", "", historyDirUse)
	f.boolean(&h.off, "", "no-history", "keep no history of the run: there is no report of it afterwards")
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

// chronicle is the history of a run, written by a goroutine of its own: the run never waits for a
// disk. Without a writer it keeps nothing.
type chronicle struct {
	*relay
	writer *history.Writer
}

// keep says who does the run, and begins its history. A folder that can't be written to is an error
// only where somebody has named it.
func (r *controlled) keep(flags historyFlags, run *record.Run) error {
	run.Process, run.Version = os.Getpid(), r.app.Version
	run.Host, _ = os.Hostname()
	if who, err := user.Current(); err == nil {
		run.User = who.Username
	}
	folder := flags.in(r.app)
	if folder == "" {
		return nil
	}
	writer, err := history.Begin(folder, *run, r.began)
	switch {
	case err == nil:
		r.kept = chronicle{newRelay(keeper{writer}), writer}
		run.ID = strings.TrimSuffix(filepath.Base(writer.Path()), filepath.Ext(writer.Path()))
	case flags.folder != "":
		return &coded{
			code: exitUsage,
			err:  err,
			left: "nothing was written",
			next: "name another folder by --history-dir, or give --no-history",
		}
	default:
		r.output.note(fmt.Sprintf("there will be no report of this run: %v", err))
	}
	return nil
}

// planned keeps the plan of an attempt.
func (r *controlled) planned(plan record.Plan) {
	if r != nil && r.kept.writer != nil {
		r.kept.writer.Write(plan)
	}
}

// listen is an event.Listener.
func (k chronicle) listen(e event.Event) {
	if k.writer != nil {
		k.relay.listen(e)
	}
}

// end keeps the result, and returns where the history is; "" if there is none.
func (k chronicle) end(result record.Result) (path string, err error) {
	if k.writer == nil {
		return "", nil
	}
	if !k.relay.close() { // the result would wait behind the rest
		return k.writer.Path(), errUntaken
	}
	k.writer.Write(result)
	return k.writer.Path(), k.writer.Close()
}

// report ends the history with a result, writes the report beside it, and returns the path of its
// page; "" if there is none.
func (r *controlled) report(result record.Result) string {
	path, err := r.kept.end(result)
	if path == "" {
		return ""
	}
	var page string
	if !errors.Is(err, errUntaken) {
		var unwritten error
		page, unwritten = writeReports(path)
		err = errors.Join(err, unwritten)
	}
	if err != nil {
		r.output.note(fmt.Sprintf("the report of this run is not whole: %v", err))
		return ""
	}
	r.output.reported(page)
	return page
}

// keeper is a writer as a display.
type keeper struct{ *history.Writer }

func (k keeper) Close()   {} // the result comes behind
func (k keeper) Abandon() {}

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
		next = "midstream report --list lists those that there are; " + next
	}
	return nil, &coded{code: exitNoRun, err: err, next: next}
}
