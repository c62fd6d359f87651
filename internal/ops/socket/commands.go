package socket

import (
	"context"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/schema"
)

func (s *Server) pause(ctx context.Context, by string, c PauseCommand) (string, error) {
	if s.run.Stopped() != "" {
		return "", &operator.NotNow{
			What: "the run can't be paused",
			Why:  "the run is already stopped at a checkpoint",
			Next: "midstream resume  continues it",
		}
	}
	if c.StopCapture {
		if err := s.run.Stop(ctx, by); err != nil {
			return "", err
		}
		return "stopped at a checkpoint; the run reads and writes nothing. Do not purge the binlog from there on before midstream resume", nil
	}
	inFlight, err := s.run.Control.Pause(ctx, by)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	phase, captures := s.phase, s.captures
	s.mu.Unlock()
	meanwhile := ""
	if captures {
		meanwhile = "; it still captures changes"
	}
	switch {
	case !s.run.Control.AtWork():
		return "the run is paused before its next work: it checks its server, or waits for it", nil
	case phase == string(event.PhaseIndex):
		return "the run is paused when the server has built the indexes, which cannot be interrupted" + meanwhile, nil
	case inFlight > 0:
		return fmt.Sprintf(
			"the run is paused when %d statements have ended", inFlight,
		) + meanwhile, nil
	}
	return "the run is paused, with no transaction open" + meanwhile, nil
}

// follows says that changes are captured, and applied.
func (s *Server) follows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.captures
}

func (s *Server) resume(_ context.Context, _ string, _ nothing) (string, error) {
	if s.run.GoOn() {
		_ = s.run.Control.Resume() // it may have been paused before it was stopped
		return "resumed from the checkpoint", nil
	}
	if err := s.run.Control.Resume(); err != nil {
		return "", err
	}
	return "resumed", nil
}

// copyShare is the setting that throttle changes.
const copyShare = "copy-share"

// none is its value where the row copy stands.
const none = "0%"

func (s *Server) throttle(ctx context.Context, _ string, c ThrottleCommand) (string, error) {
	if err := s.run.Control.Set(ctx, map[string]string{copyShare: c.Share}); err != nil {
		return "", err
	}
	setting, _ := operator.SettingOf(copyShare)
	switch share := setting.Get(s.run.Control.Settings()); share {
	case "100%":
		return "the row copy has no limit any more", nil
	case none:
		return "the row copy stops; the run still applies changes", nil
	default:
		return "the row copy works at most " + share + " of its time", nil
	}
}

// table is the run's, as an argument of a command.
func (s *Server) table() string { return schema.NameOf(s.run.Table).Argument() }

// group names the tables that are swapped in one step.
func (s *Server) group() string {
	var names []schema.Name
	for _, table := range append([]string{s.run.Table}, s.run.Together...) {
		names = append(names, schema.NameOf(table))
	}
	return schema.List(names)
}

func (s *Server) hold(ctx context.Context, _ string, _ nothing) (string, error) {
	if err := s.run.Control.Hold(ctx); err != nil {
		return "", err
	}
	switch {
	case len(s.run.Together) > 0:
		return "on hold: the swap of " + s.group() + " waits for midstream cutover  " + s.table(), nil
	case s.run.Follows:
		return "on hold: the process follows the table until midstream undo  " + s.table(), nil
	case !s.follows():
		return "on hold: the table is not changed before midstream cutover  " + s.table(), nil
	}
	return "on hold: the swap waits for midstream cutover  " + s.table() + ", and the run applies changes until then", nil
}

func (s *Server) cutOver(ctx context.Context, _ string, c CutOverCommand) (string, error) {
	if s.run.Follows {
		return "", &operator.NotNow{
			What: "there is no change to cut over", Why: "this process follows the table for an undo, which takes the last change back",
			Next: "to take the change back: midstream undo  " + s.table() + "; to stop following, and leave the undo open: midstream abort  " + s.table(),
		}
	}
	still, err := s.run.Control.CutOver(ctx, c.Now)
	switch {
	case err != nil:
		return "", err
	case still != "":
		return "the hold is released, but " + still, nil
	}
	if len(s.run.Together) > 0 {
		return "all tables are swapped in one step as soon as they are equal and no session blocks the swap: " + s.group(), nil
	}
	if !s.follows() {
		return "the table is changed as soon as no session blocks it", nil
	}
	return "the run cuts over as soon as the tables are equal and no session blocks the swap", nil
}

func (s *Server) undo(ctx context.Context, _ string, c UndoCommand) (string, error) {
	if !s.run.Follows {
		return "", &operator.NotNow{
			What: "there is no undo to release", Why: "this run does not follow the table for an undo", Next: "midstream status  shows what it does",
		}
	}
	if lost := s.run.Lost(); lost != "" {
		return "", &operator.NotNow{
			What: "the undo cannot be released", Why: "its process waits for its server: " + lost,
			Next: "give this command again once midstream status  shows that the process follows the table",
		}
	}
	held, err := operator.When{Gone: s.run.Control.Settings().When.Gone}.Closed(time.Now())
	if err == nil && held != "" {
		err = &operator.NotNow{
			What: "the undo is held", Why: held + ": its server is frozen, or an operator holds the swap (cutover-when-gone)",
			Next: "wait until it is gone (midstream unfreeze); or, to take the change back all the same: midstream set  " + s.table() +
				" cutover-when-gone= and midstream undo  " + s.table(),
		}
	}
	if err != nil {
		return "", err
	}
	if err := s.run.Control.Release(ctx, c.Park); err != nil {
		return "", err
	}
	if c.Park {
		return "the undo swaps as soon as no session blocks it, and sets rows aside that do not fit", nil
	}
	return "the undo swaps as soon as no session blocks it, if all rows fit", nil
}

func (s *Server) abort(ctx context.Context, by string, c AbortCommand) (string, error) {
	return s.run.Abort(ctx, by, c.Keep)
}

func (s *Server) set(ctx context.Context, _ string, c SetCommand) (string, error) {
	before := s.run.Control.Settings()
	if err := s.run.Control.Set(ctx, c.Settings); err != nil {
		return "", err
	}
	now := s.run.Control.Settings()
	var said []string
	for _, pair := range pairs(c.Settings) {
		name, _, _ := strings.Cut(pair, "=")
		setting, _ := operator.SettingOf(name)
		said = append(said, fmt.Sprintf("%s is %q, was %q", name, setting.Shown(now), setting.Shown(before)))
	}
	return strings.Join(said, "; "), nil
}
