package ghost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/hook"
)

// The moments at which programs are called, without the names' beginning.
const (
	hookStartup      = "startup"
	hookValidated    = "validated"
	hookRowCount     = "rowcount-complete"
	hookBeforeCopy   = "before-row-copy"
	hookCopied       = "row-copy-complete"
	hookBeforeSwap   = "before-cut-over"
	hookPostponed    = "begin-postponed"
	hookCommand      = "interactive-command"
	hookStatus       = "status"
	hookCopyRetry    = "batch-copy-retry"
	hookStopReplica  = "stop-replication"
	hookStartReplica = "start-replication"
	hookSuccess      = "success"
	hookFailure      = "failure"
	hookPrefix       = "gh-ost-on-"
)

// Hooks calls programs at certain moments of a run. Those of a moment are called one after the
// other, and the run waits for them. One that fails ends the run; the swap is not made before all
// that come before it have succeeded: until then the run is held.
type Hooks struct {
	speaker *Speaker
	folder  string // "" for none
	end     func(why string)

	mu     sync.Mutex // not held while programs run, which may give the run a command
	done   map[string]bool
	copies bool
	failed bool
	free   bool // the swap was let go
}

// NewHooks returns those of a run. end ends it, and does not wait for that.
func NewHooks(s *Speaker, end func(why string)) *Hooks {
	h := &Hooks{speaker: s, folder: s.asked.said.text("hooks-path"), end: end, done: map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooking = h.folder != ""
	return h
}

// Startup is called when the server is reached whose table is changed, which says what all programs
// are told the new table is called.
func (h *Hooks) Startup(ctx context.Context) error { return h.once(ctx, hookStartup) }

// Looked is called in a run that changes nothing, after the plan.
func (h *Hooks) Looked(ctx context.Context) error {
	err := h.once(ctx, hookValidated)
	if err == nil && !h.speaker.asked.Reverts() {
		err = h.once(ctx, hookRowCount)
	}
	return err
}

// Ended is called at the end. It returns the error of the run, or that of a program that is called
// after it has succeeded.
func (h *Hooks) Ended(err error) error {
	ctx := context.Background() // that of the run is over
	if err == nil {
		err = h.once(ctx, hookSuccess, fmt.Sprintf("GH_OST_INSTANT_DDL=%t", h.speaker.instantly()))
	}
	if err != nil {
		for _, moment := range []string{hookStartup, hookFailure} { // the first where no server was reached
			_ = h.once(ctx, moment) // it is told
		}
	}
	return err
}

// Watch is an event.Listener, which the run waits for. release lets the swap go.
func (h *Hooks) Watch(ctx context.Context, e event.Event, release func()) {
	if h.folder == "" {
		return
	}
	switch e := e.(type) {
	case event.PhaseEntered:
		if err := h.phase(ctx, e.Phase); err != nil {
			h.fail(ctx, err)
		} else if e.Phase == event.PhaseHold {
			h.held(ctx, release)
		}
	case event.Retry:
		if e.What != "chunk" {
			return
		}
		if err := h.call(ctx, hookCopyRetry, "GH_OST_LAST_BATCH_COPY_ERROR="+e.Cause); err != nil {
			h.fail(ctx, err)
		}
	}
}

// fail ends the run, and returns when its context has ended: nothing is to happen in between.
func (h *Hooks) fail(ctx context.Context, err error) {
	h.mu.Lock()
	before := h.failed
	h.failed = true
	h.mu.Unlock()
	if !before {
		h.end(err.Error())
	}
	<-ctx.Done()
}

// phase calls what comes when a phase begins.
func (h *Hooks) phase(ctx context.Context, p event.Phase) error {
	if p == event.PhaseCheck || p == event.PhaseCleanup || p == event.PhaseDone {
		return nil
	}
	err := h.Looked(ctx)
	switch {
	case err != nil:
	case p == event.PhaseCopy:
		err = h.once(ctx, hookBeforeCopy)
		h.copies = err == nil
	case h.copies:
		h.copies = false
		err = h.once(ctx, hookCopied)
	}
	return err
}

// held calls what comes before the swap, and lets it go.
func (h *Hooks) held(ctx context.Context, release func()) {
	h.mu.Lock()
	over := h.failed || h.free
	h.mu.Unlock()
	if over {
		return
	}
	if err := h.once(ctx, hookBeforeSwap); err != nil {
		h.fail(ctx, err)
		return
	}
	h.speaker.mu.Lock()
	h.speaker.hooking = false
	path := settingOf("cutover-when-gone", h.speaker.cfg())
	h.speaker.mu.Unlock()
	if path != "" && is(path) != "" {
		if err := h.once(ctx, hookPostponed); err != nil {
			h.fail(ctx, err)
			return
		}
	}
	h.mu.Lock()
	h.free = true
	h.mu.Unlock()
	release()
}

// BeforeLock is called before the lock of a rehearsal, which nobody lets go: it takes the place of
// held. It waits as long as the swap would be postponed.
func (h *Hooks) BeforeLock(ctx context.Context) error {
	err := h.once(ctx, hookBeforeSwap)
	path := h.speaker.asked.said.text("postpone-cut-over-flag-file")
	if err == nil && path != "" && is(path) != "" {
		if err = h.once(ctx, hookPostponed); err == nil {
			repeat(ctx, panicEvery, func() (goOn bool) { return is(path) != "" })
		}
	}
	if err == nil {
		err = h.once(ctx, hookStopReplica)
	}
	return err
}

// once calls the programs of a moment that comes once.
func (h *Hooks) once(ctx context.Context, moment string, more ...string) error {
	h.mu.Lock()
	done := h.done[moment]
	h.done[moment] = true
	h.mu.Unlock()
	if done {
		return nil
	}
	return h.call(ctx, moment, more...)
}

// call calls the programs of a moment one after the other, with the variables of all and more.
func (h *Hooks) call(ctx context.Context, moment string, more ...string) error {
	if h.folder == "" {
		return nil
	}
	entries, err := os.ReadDir(h.folder)
	if err != nil {
		return fmt.Errorf("--hooks-path: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), hookPrefix+moment) || entry.IsDir() {
			continue
		}
		path := filepath.Join(h.folder, entry.Name())
		h.speaker.log.info("executing %s hook: %s", hookPrefix+moment, path)
		output, err := hook.Execute(ctx, path, slices.Concat(os.Environ(), h.speaker.environment(), more), nil)
		fmt.Fprint(h.speaker.log.out, string(output))
		switch {
		case errors.Is(err, fs.ErrPermission):
			return fmt.Errorf("%s is not executable", path)
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// status calls the programs that are told how the run stands, until the context ends.
func (h *Hooks) status(ctx context.Context) {
	every := time.Duration(h.speaker.asked.said.number("hooks-status-interval")) * time.Second
	if h.folder == "" || every <= 0 {
		return
	}
	repeat(ctx, every, func() (goOn bool) {
		line := strings.TrimSuffix(h.speaker.stands(false), "\n")
		if err := h.call(ctx, hookStatus, "GH_OST_STATUS='"+line+"'"); err != nil && ctx.Err() == nil {
			h.speaker.Note(err.Error())
		}
		return true
	})
}

// instantly says that the server has changed the table itself.
func (s *Speaker) instantly() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.native
}

// environment are the variables of all programs that are called.
func (s *Speaker) environment() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick(time.Now())
	p, a := s.status.progress, s.asked
	here, _ := os.Hostname() // none: ""
	rows, eta := p.RowsTotal, p.ETA.Seconds()
	if rows == 0 && s.plan != nil {
		rows = s.plan.Source.Rows
	}
	behind := p.CaptureDelay.Seconds()
	var list []string
	for _, v := range []struct {
		name  string
		value any
	}{
		{"DATABASE_NAME", a.Table.Schema}, {"TABLE_NAME", a.Table.Table}, {"GHOST_TABLE_NAME", s.shadow()}, {"OLD_TABLE_NAME", a.old}, {"DDL", a.said.text("alter")},
		{"ELAPSED_SECONDS", s.status.total.Seconds()}, {"ELAPSED_COPY_SECONDS", s.status.copying.Seconds()}, {"ESTIMATED_ROWS", rows}, {"COPIED_ROWS", p.RowsCopied},
		{"INSPECTED_LAG", behind}, {"HEARTBEAT_LAG", behind}, {"PROGRESS", 100 * p.Fraction}, {"ETA_SECONDS", int64(eta)},
		{"MIGRATED_HOST", hostOf(s.place.Primary)}, {"INSPECTED_HOST", hostOf(s.place.Inspected)}, {"EXECUTING_HOST", here},
		{"HOOKS_HINT", a.said.text("hooks-hint")}, {"HOOKS_HINT_OWNER", a.said.text("hooks-hint-owner")}, {"HOOKS_HINT_TOKEN", a.said.text("hooks-hint-token")},
		{"DRY_RUN", !a.Execute}, {"REVERT", a.Reverts()},
	} {
		format := "GH_OST_%s=%v"
		if _, fraction := v.value.(float64); fraction {
			format = "GH_OST_%s=%f"
		}
		list = append(list, escape.Text(fmt.Sprintf(format, v.name, v.value)))
	}
	return list
}
