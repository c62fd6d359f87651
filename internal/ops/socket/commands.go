package socket

import (
	"context"
	"fmt"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

func (s *Server) pause(ctx context.Context, by string, c PauseCommand) (string, error) {
	if s.run.Stopped() != "" {
		return "", &operator.NotNow{
			What: "the run can't be paused",
			Why:  "it is stopped at a checkpoint already",
			Next: "midstream resume continues it",
		}
	}
	if c.StopCapture {
		if err := s.run.Stop(ctx, by); err != nil {
			return "", err
		}
		return "stopped at a checkpoint: nothing is read and nothing written. The binlog from there on must not be purged before midstream resume", nil
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
		meanwhile = "; changes are captured"
	}
	switch {
	case !s.run.Control.AtWork():
		return "the run looks at its server, or waits for it; it stands still when it comes to its work", nil
	case phase == string(event.PhaseIndex):
		return "the server builds indexes, which can't be held still; when it has, the run stands still" + meanwhile, nil
	case inFlight > 0:
		return fmt.Sprintf(
			"%d statements that were begun are let come to their end, and then the run stands still", inFlight,
		) + meanwhile, nil
	}
	return "the run stands still, with no transaction open" + meanwhile, nil
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
		return "going on from the checkpoint", nil
	}
	if err := s.run.Control.Resume(); err != nil {
		return "", err
	}
	return "going on", nil
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
		return "the row copy has no bound of its own any more", nil
	case none:
		return "the row copy stands; changes are applied", nil
	default:
		return "the row copy works for at most " + share + " of its time", nil
	}
}

func (s *Server) hold(ctx context.Context, _ string, _ nothing) (string, error) {
	if err := s.run.Control.Hold(ctx); err != nil {
		return "", err
	}
	if !s.follows() {
		return "the table is not changed before midstream cutover", nil
	}
	return "the swap waits for midstream cutover; changes are applied meanwhile", nil
}

func (s *Server) cutOver(ctx context.Context, _ string, c CutOverCommand) (string, error) {
	still, err := s.run.Control.CutOver(ctx, c.Now)
	switch {
	case err != nil:
		return "", err
	case still != "":
		return "no hold any more, but " + still, nil
	}
	if !s.follows() {
		return "the table is changed as soon as that may be and nobody is in the way", nil
	}
	return "the run swaps as soon as the tables are equal and nobody is in the way", nil
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
