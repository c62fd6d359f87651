package session

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

// chronicle is the history of a change, written by a goroutine of its own: the run never waits for a
// disk. Without a writer it keeps nothing.
type chronicle struct {
	relay  *Relay
	writer *history.Writer
}

// keep says who does the run, and begins its history. A folder that can't be written to is an error
// only where somebody has named it.
func (s *Session) keep(run *record.Run) error {
	run.Process, run.Version = os.Getpid(), s.options.Version
	run.Host, _ = os.Hostname()
	if who, err := user.Current(); err == nil {
		run.User = who.Username
	}
	folder := s.options.History
	if folder.Path == "" {
		return nil
	}
	writer, err := history.Begin(folder.Path, *run, s.began)
	switch {
	case err == nil:
		s.kept = chronicle{NewRelay(keeper{writer}), writer}
		run.ID = strings.TrimSuffix(filepath.Base(writer.Path()), filepath.Ext(writer.Path()))
	case folder.Named:
		return unusable(err, "name another folder by --history-dir, or add --no-history")
	default:
		s.show.Note(fmt.Sprintf("there will be no report of this run: %v", err))
	}
	return nil
}

// Planned keeps the plan of an attempt.
func (s *Session) Planned(plan record.Plan) {
	if s != nil && s.kept.writer != nil {
		s.kept.writer.Write(plan)
	}
}

// listen is an event.Listener.
func (k chronicle) listen(e event.Event) {
	if k.writer != nil {
		k.relay.Listen(e)
	}
}

// end keeps the result, and returns where the history is; "" if there is none.
func (k chronicle) end(result record.Result) (path string, err error) {
	if k.writer == nil {
		return "", nil
	}
	if !k.relay.Close() { // the result would wait behind the rest
		return k.writer.Path(), errUntaken
	}
	k.writer.Write(result)
	return k.writer.Path(), k.writer.Close()
}

// report ends the history with a result, has the report written next to it, and returns the path of
// its page; "" if there is none. The runs of a group have one report, which the last one of them writes.
func (s *Session) report(result record.Result) string {
	path, err := s.kept.end(result)
	if path == "" {
		return ""
	}
	what, page := "report", ""
	last := s.options.Together.Last()
	switch {
	case result.Outcome == "refused", result.Outcome == "not_now": // nothing was begun; midstream report still writes one
		what = "history"
	case last && !errors.Is(err, errUntaken):
		var unwritten error
		page, unwritten = s.options.Report(path)
		err = errors.Join(err, unwritten)
	}
	switch {
	case err != nil:
		s.show.Note(fmt.Sprintf("the %s of this run is incomplete: %v", what, err))
		return ""
	case what == "report" && last:
		s.options.Reported(page)
	}
	return page
}

// keeper is a writer as a display.
type keeper struct{ *history.Writer }

func (k keeper) Close()   {} // the result comes behind
func (k keeper) Abandon() {}
