package socket

import (
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

// One command is carried out at a time; one that ends the run may come beside another, and not beside its like.
func TestAlone(t *testing.T) {
	s := &Server{}
	begin := func(c command) (end func()) {
		t.Helper()
		begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := s.alone(c, func(string) (string, error) {
				close(begun)
				<-goOn
				return "", nil
			})
			ended <- err
		}()
		<-begun
		return func() {
			close(goOn)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	refused := func(c command, want bool) {
		t.Helper()
		if _, err := s.alone(c, func(string) (string, error) { return "", nil }); (err != nil) != want {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	pause, abort := command{text: "pause"}, command{text: "abort", ends: true}
	endPause := begin(pause)
	refused(pause, true)
	endAbort := begin(abort)
	refused(abort, true)
	endAbort()
	refused(pause, true) // the first one is under way still
	refused(abort, false)
	endPause()
	refused(pause, false)
}

// TestStatusForgetsBlockers: who is in the way is told every ten seconds; of whom nothing was told
// for longer nobody says it any more. A run that waits for its server says so.
func TestStatusForgetsBlockers(t *testing.T) {
	lost := ""
	s := &Server{
		newest: map[string]any{},
		run: Run{
			Control: operator.NewControl(operator.CommandLineDefaults()),
			Stopped: func() string { return "" },
			Lost:    func() string { return lost },
		},
	}
	for state, at := range map[string]time.Time{"blocked": time.Now(), "running": time.Now().Add(-20 * time.Second)} {
		s.Listen(event.Blocked{Blockers: make([]event.Blocker, 1), At: at})
		if got := s.status(); got.State != state || (got.Blocked != nil) != (state == "blocked") {
			t.Errorf("it is %s instead of %s, %v", got.State, state, got.Blocked)
		}
	}
	lost = "connection refused"
	if got := s.status(); got.State != "waiting" || got.Why != "for its server: connection refused" {
		t.Errorf("%+v", got)
	}
}

// TestStatusForgetsGatesOfAnotherAttempt: an attempt that loses its server reports no gate as open. The next attempt has gates of its own.
func TestStatusForgetsGatesOfAnotherAttempt(t *testing.T) {
	s := &Server{
		newest: map[string]any{},
		run: Run{
			Control: operator.NewControl(operator.CommandLineDefaults()),
			Stopped: func() string { return "" },
			Lost:    func() string { return "" },
		},
	}
	s.Listen(event.PhaseEntered{Phase: event.PhaseCopy, At: time.Now()})
	s.Listen(event.Throttled{Gates: []event.Gate{{Name: "capture-delay", Why: "capture is 20 s behind"}}, At: time.Now()})
	if got := s.status(); got.State != "waiting" || got.Throttled == nil {
		t.Fatalf("%+v", got)
	}
	s.Listen(event.PhaseEntered{Phase: event.PhaseCheck, At: time.Now()})
	if got := s.status(); got.State != "running" || got.Throttled != nil {
		t.Errorf("the new attempt is %s: %s, %v", got.State, got.Why, got.Throttled)
	}
}

// TestU3_AFollowerWithoutItsServerIsNotReleased: a follower that waits for its server refuses its release, and is held still.
// midstream cutover does not release a follower.
func TestU3_AFollowerWithoutItsServerIsNotReleased(t *testing.T) {
	lost := "the server is read-only"
	control := operator.NewControl(operator.Settings{When: operator.When{Hold: true, Follow: true}})
	s := &Server{run: Run{About: About{Table: "shop.orders", Undoes: true, Follows: true}, Control: control, Lost: func() string { return lost }}}
	var not *operator.NotNow
	if _, err := s.undo(t.Context(), "", UndoCommand{}); !errors.As(err, &not) || !strings.Contains(not.Why, lost) {
		t.Errorf("the release of a follower without its server: %v", err)
	}
	if _, err := s.cutOver(t.Context(), "", CutOverCommand{Now: true}); !errors.As(err, &not) || !strings.Contains(not.Next, "midstream undo  shop.orders;") {
		t.Errorf("cutover of a follower: %v", err)
	}
	if !control.Settings().When.Hold {
		t.Error("a refused command has released the follower")
	}
	lost = ""
	if _, err := s.undo(t.Context(), "", UndoCommand{}); err != nil || control.Settings().When.Hold {
		t.Errorf("the release of a follower: %v", err)
	}
}
