package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// TestTheHeadlineSaysWhatARunDoes: in one line, with times that the page counts.
func TestTheHeadlineSaysWhatARunDoes(t *testing.T) {
	at := time.Now().UTC().Truncate(time.Second)
	copying := event.Progress{Phase: event.PhaseCopy, At: at, RowsTotal: 100, RowsCopied: 41, Fraction: .41, ETA: time.Minute}
	held := event.Progress{Phase: event.PhaseHold, At: at, RowsTotal: 100, Fraction: 1, Compared: at.Add(-3 * time.Minute)}
	blocked := event.Blocked{At: at, Waiting: 6 * time.Second, Blockers: []event.Blocker{
		{ConnectionID: 162, User: "app", Host: "10.0.0.7", Why: "holds a lock", Command: "Sleep", Age: 8 * time.Second},
	}}
	two := event.Blocked{At: at, Waiting: 70 * time.Second, Blockers: append(blocked.Blockers, blocked.Blockers...)}
	paused := at.Add(-7 * time.Second)
	gates := event.Throttled{At: at, Gates: []event.Gate{{Name: "replica-lag", Why: "replica r1 is 3 s behind", Since: at.Add(-9 * time.Second)}}}
	for want, s := range map[string]socket.Status{
		"running: 41 % copied, done about " + at.Add(time.Minute).Format("15:04 UTC"): {State: "running", Phase: "copy", Progress: record.Of(copying)},
		"running: creating the new table":                                             {State: "running", Phase: "shadow"},
		"ready: to cut over, waiting for 10 s, verified 3 min 0 s ago":                {State: "held", Phase: "hold", Progress: record.Of(held)},
		"blocked: 6 s by connection 162, app@10.0.0.7: transaction open for 8 s":      {State: "blocked", Phase: "cutover", Blocked: record.Of(blocked)},
		"blocked: 1 min 10 s by 2 sessions":                                           {State: "blocked", Phase: "cutover", Blocked: record.Of(two)},
		"paused: 7 s by ann. 41 % copied":                                             {State: "paused", Phase: "copy", PausedBy: "ann, through root (uid 0, process 7)", Since: &paused, Progress: record.Of(copying)},
		"waiting: 9 s: replica r1 is 3 s behind. 41 % copied":                         {State: "waiting", Phase: "copy", Throttled: record.Of(gates), Progress: record.Of(copying)},
	} {
		h := headlineOf(groups.ChangeStatus{Status: s}, at.Add(-10*time.Second))
		text := h.Word + ": "
		for _, p := range h.Parts {
			if text += p.Text; p.Since != nil {
				text += humanize.Age(at.Sub(*p.Since))
			}
		}
		if text != want {
			t.Errorf("%q instead of %q", text, want)
		}
	}
}

// TestAllStepsAreThereFromTheStart: what is done, what the run does now, and what comes next.
func TestAllStepsAreThereFromTheStart(t *testing.T) {
	all := []event.Phase{event.PhaseCheck, event.PhaseShadow, event.PhasePrescan, event.PhaseStart, event.PhaseCopy, event.PhaseIndex,
		event.PhaseCatchUp, event.PhaseVerify, event.PhaseCatchUp, event.PhaseCutover, event.PhaseCleanup, event.PhaseDone}
	for n, want := range map[int]string{
		0: "prepare:next copy:next indexes:next verify:next cut over:next", 1: "prepare:now copy:next indexes:next verify:next cut over:next",
		5: "prepare:done copy:now indexes:next verify:next cut over:next", 7: "prepare:done copy:done indexes:now verify:next cut over:next",
		9: "prepare:done copy:done indexes:done verify:now cut over:next", 10: "prepare:done copy:done indexes:done verify:done cut over:now",
		12: "prepare:done copy:done indexes:done verify:done cut over:done",
	} {
		checkStages(t, humanize.Stages(all[:n], false), want)
	}
	native := []event.Phase{event.PhaseCheck, event.PhaseNative}
	checkStages(t, humanize.Stages(native, true), "prepare:done server:now")
	checkStages(t, humanize.Stages(append(native, event.PhaseShadow), true), "prepare:now copy:next indexes:next verify:next cut over:next")
	var p passage
	p.take([]byte(`{"event":"plan","method":"instant"}`))
	line, err := json.Marshal(record.Of(event.PhaseEntered{Phase: event.PhaseHold, At: time.Now()}))
	if err != nil {
		t.Fatal(err)
	}
	p.take(line)
	if p.native != true || len(p.entered) != 1 || (passed{p}).held().IsZero() {
		t.Errorf("%+v", p)
	}
}

func checkStages(t *testing.T, stages []humanize.Stage, want string) {
	t.Helper()
	var all []string
	for _, s := range stages {
		all = append(all, s.Name+":"+s.State)
	}
	if got := strings.Join(all, " "); got != want {
		t.Errorf("%q instead of %q", got, want)
	}
}
