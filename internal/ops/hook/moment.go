package hook

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

// Moment is when a hook is called.
type Moment string

// The moments, in the order in which they come.
const (
	BeforeCopy    Moment = "before-copy"
	BeforeCutover Moment = "before-cutover"
	AfterSwap     Moment = "after-swap"
	OnPhase       Moment = "on-phase"
	OnThrottled   Moment = "on-throttled"
	OnHeld        Moment = "on-held"
	OnBlocked     Moment = "on-blocked"
	OnWithdrawn   Moment = "on-lock-withdrawn"
	OnKilled      Moment = "on-killed"
	OnUndoUnfit   Moment = "on-undo-unfit"
	OnCommand     Moment = "on-command"
	OnSuccess     Moment = "on-success"
	OnFailure     Moment = "on-failure"
	OnEnd         Moment = "on-end"
)

// Moments are all of them, with what they are.
func Moments() []struct {
	Name Moment
	What string
} {
	return []struct {
		Name Moment
		What string
	}{
		{BeforeCopy, "before the first row is copied; the new table exists. Not for a change that the server makes itself."},
		{
			BeforeCutover,
			"before the table is changed: before the run asks for the lock of the swap, or of the server's own statement, for the first time. If a hook fails, the run is held, and asks it again. If the server's own statement has failed and a copy follows, all are asked again before the swap. Not in a rehearsal.",
		},
		{
			AfterSwap,
			"the tables are swapped. The record `swapped` has the place of the RENAME in the binlog: readers of the binlog see the new definition from there on. Not for a change that the server makes itself.",
		},
		{OnPhase, "the run enters a phase."},
		{OnThrottled, "the work begins to wait for a gate (a replica, max-load, a pause, ...); the record names all closed gates."},
		{OnHeld, "the run waits with the swap until an operator releases it, or the window opens."},
		{OnBlocked, "sessions block the lock; once in a phase, and each attempt at the lock begins a phase."},
		{OnWithdrawn, "a request for the lock was not granted in its time; the next one comes after a while."},
		{OnKilled, "a session that blocked the lock was killed (--kill-blockers-after)."},
		{OnUndoUnfit, "an undo, or its follower, has found the first row that does not fit the definition that comes back; again if all rows have fitted since."},
		{OnCommand, "an operator has given the run a command (pause, set, ...)."},
		{OnSuccess, "the run has done its work."},
		{OnFailure, "the run has ended in another way: failed, refused, aborted, stopped with its work kept, ..."},
		{OnEnd, "after on-success or on-failure."},
	}
}

// Veto is what a no of a hook before the change of the table does.
type Veto string

// The vetoes. The first is the usual one.
const (
	VetoHolds Veto = "hold"  // the run is held, and asks again
	VetoEnds  Veto = "abort" // the run ends, and removes what it has made
)

// AskEvery is the time between two questions to a hook that has said no.
const AskEvery = 10 * time.Second

// Hook is what is called at a moment.
type Hook struct {
	Moment Moment
	target string // path of a program, or a URL
	url    *url.URL
}

// ErrBad says that a hook is none.
var ErrBad = errors.New("must be MOMENT=PROGRAM or MOMENT=URL")

// Parse reads MOMENT=PROGRAM or MOMENT=URL.
func Parse(text string) (Hook, error) {
	name, target, ok := strings.Cut(text, "=")
	if !ok || target == "" || strings.Contains(name, "://") { // a URL may have a secret in it
		return Hook{}, ErrBad
	}
	if strings.Contains(target, "://") && operator.Hides(target) {
		return Hook{}, operator.ErrHidden
	}
	var names []string
	known := false
	for _, m := range Moments() {
		names = append(names, string(m.Name))
		known = known || string(m.Name) == name
	}
	if !known {
		return Hook{}, fmt.Errorf("unknown moment %s; the moments are %s", name, strings.Join(names, ", "))
	}
	h := Hook{Moment: Moment(name), target: target}
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		var err error
		if h.url, err = url.Parse(target); err != nil || h.url.Host == "" {
			return Hook{}, errors.New("cannot read the URL") // which may have a secret in it
		}
		return h, nil
	}
	if strings.Contains(target, "://") {
		return Hook{}, errors.New("the URL must begin with http:// or https://")
	}
	path, err := exec.LookPath(target)
	if err == nil {
		h.target, err = filepath.Abs(path)
	}
	if err != nil {
		return Hook{}, fmt.Errorf("cannot call %s as a program: %w", target, err)
	}
	return h, nil
}

// String names the hook; of a URL without what may be a secret.
func (h Hook) String() string {
	if h.url != nil {
		return string(h.Moment) + "=" + h.url.Scheme + "://" + h.url.Host
	}
	return string(h.Moment) + "=" + h.target
}

// tracker knows which moment an event is.
type tracker struct {
	phase              event.Phase
	entered            []event.Phase // each once
	throttled, blocked bool
}

// moments are those of an event. BeforeCutover is none of them: the run asks by itself.
func (t *tracker) moments(e event.Event) (list []Moment) {
	switch e := e.(type) {
	case event.PhaseEntered:
		t.phase, t.blocked = e.Phase, false
		if e.Phase == event.PhaseCheck { // another attempt has gates of its own
			t.throttled = false
		}
		list = append(list, OnPhase)
		if e.Phase == event.PhaseHold {
			list = append(list, OnHeld)
		}
		if slices.Contains(t.entered, e.Phase) {
			break
		}
		t.entered = append(t.entered, e.Phase)
		if e.Phase == event.PhaseCopy {
			list = append(list, BeforeCopy)
		}
	case event.Throttled:
		if len(e.Gates) > 0 && !t.throttled {
			list = append(list, OnThrottled)
		}
		t.throttled = len(e.Gates) > 0
	case event.Blocked:
		if !t.blocked {
			list = append(list, OnBlocked)
		}
		t.blocked = true
	case event.LockAttempt:
		if !e.Granted {
			list = append(list, OnWithdrawn)
		}
	case event.SwapDone:
		list = append(list, AfterSwap)
	case event.Killed:
		list = append(list, OnKilled)
	case event.UnfitFound:
		list = append(list, OnUndoUnfit)
	case event.Controlled:
		list = append(list, OnCommand)
	}
	return list
}
