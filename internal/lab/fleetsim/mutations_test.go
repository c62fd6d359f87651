package fleetsim

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	mutantFlag  = flag.Bool("fleetsim.mutant", false, "the core is a mutant: print one failure only")
	onlyFlag    = flag.String("fleetsim.rule", "", "of the rules, only those with this text")
	mutantsFlag = flag.Bool("fleetsim.mutants", false, "break each rule of the core, one after the other; a minute or two")
)

// mutation breaks a rule of the core: in a file, one text is replaced.
type mutation struct{ rule, file, text, by, law string }

// mutations are listed in docs/change-sets.md, too (TestFleetPage).
var mutations = []mutation{
	{"one member more than `limits.all`", "next.go", "u.all < l.All", "u.all <= l.All", lawLimits},
	{"one member more than `per_host`", "next.go", "u.host[m.Labels[LabelHost]] < l.PerHost", "u.host[m.Labels[LabelHost]] <= l.PerHost", lawLimits},
	{"one member more than `per_cell`", "next.go", "u.cell[m.Labels[LabelCell]] < l.PerCell", "u.cell[m.Labels[LabelCell]] <= l.PerCell", lawLimits},
	{"a member counts only once its run was seen", "state.go", "m.Step == StepStarted ||", "m.Step == StepStarted && m.Began ||", lawLimits},
	{"limits are not counted on in one call", "next.go", "\t\t\tused.add(m)\n\t\t\tc.attempt(m, VerbStart", "\t\t\tc.attempt(m, VerbStart", lawLimits},
	{"an undo has no limits", "undo.go", "|| !used.room(c.set.Limits, m)", "", lawLimits},
	{"an old report counts", "report.go", "r.Version <= m.Version", "r.Version < 1", ""},
	{"a report of another attempt counts", "report.go", "r.Attempt != m.Attempt", "r.Attempt < 0", ""},
	{"no soak", "next.go", "w.Soaked < c.set.Waves[i].Soak", "false", lawWaves},
	{"the soak goes on from where it was before another swap", "next.go", "WaveRunning, 0, \"\"\n\t\t\treturn", "WaveRunning, w.Soaked, \"\"\n\t\t\treturn", lawWaves},
	{"the soak counts backward steps of the clock", "next.go", "c.elapsed = max(0, f.Now.Sub(c.s.Now))", "c.elapsed = f.Now.Sub(c.s.Now).Abs()", lawWaves},
	{"no approval", "next.go", "c.set.Waves[i].Approve && w.ApprovedBy", "false && w.ApprovedBy", lawWaves},
	{"the author approves", "request.go", "r.By == c.set.Author", "false", lawWaves},
	{"everyone approves", "request.go", "!slices.Contains(c.set.Waves[i].Approvers, r.By)", "false", lawWaves},
	{"an approval before the swaps counts", "request.go", "c.s.Waves[i].Phase != WaveToApprove", "false", lawWaves},
	{"a wave passes with members at work", "next.go", "settled = settled && m.settled()", "settled = settled && m.Step != StepStarted", lawWaves},
	{"a later wave starts early", "next.go", "c.s.Waves[m.Wave].Phase == WaveWaiting {", "false {", lawWaves},
	{"the stop rule is off by one", "next.go", "failed < c.set.StopAfter &&", "failed <= c.set.StopAfter &&", lawStop},
	{"a wave of failures only passes", "next.go", "of > 0 && n == of", "false", lawStop},
	{"new members start after the stop", "next.go", "!repeated && c.s.Phase == PhaseStopped ||", "", lawStop},
	{"a freeze does not hold starts", "next.go", "m.Outcome != OutcomeFit || c.frozen(m)", "m.Outcome != OutcomeFit", lawFrozen},
	{"a freeze does not hold swaps", "swap.go", "c.mayRelease(m) && c.windowOpen() && !c.frozen(m)", "c.mayRelease(m) && c.windowOpen()", lawFrozen},
	{"a freeze does not hold a released member", "swap.go", "(!c.windowOpen() || c.frozen(m))", "!c.windowOpen()", lawFrozen},
	{"a freeze does not hold an undo", "undo.go", "c.frozen(m) ||", "", lawFrozen},
	{"a freeze does not hold a barrier", "swap.go", "ready = ready && !c.frozen(m)", "", lawFrozen},
	{"a freeze never ends", "facts.go", "!now.Before(f.Until)", "false", lawEnds},
	{"no swap window", "next.go", "c.open = c.set.Swap.Window.Open(c.f.Now); c.open", "c.open = true; c.open", lawFrozen},
	{"a release has no end", "next.go", "m.Last.Until = c.openUntil", "", lawFrozen},
	{"no start window", "next.go", "!c.set.Start.Open(c.f.Now)", "false", lawFrozen},
	{"an order has the number of the one before", "next.go", "Order: m.Last.Order + 1", "Order: max(1, m.Last.Order)", lawTwice},
	{"a result that is not known is tried again", "report.go", "\tcase StatusUnknown:\n\t\tm.move(StepUnknown)\n\t}\n}\n\n// undoReport", "\tcase StatusUnknown:\n\t\tc.fail(m, true)\n\t}\n}\n\n// undoReport", ""},
	{"each call decides again", "next.go", "(m.Last.Verb != VerbCheck || m.Obeyed >= m.Last.Order)", "true", ""},
	{"a request is handled again", "next.go", "r.Number > c.s.Handled", "r.Number > 0", ""},
	{"the undo begins with the first wave", "undo.go", "wave := len(c.s.Waves) - 1; wave >= 0; wave--", "wave := 0; wave < len(c.s.Waves); wave++", lawUndo},
	{"the undo does not wait for the wave behind", "undo.go", "busy || len(due) > 0", "busy && len(due) > 999", lawUndo},
	{"in a wave, the undo begins with the first swap", "undo.go", "cmp.Compare(b.Swapped, a.Swapped)", "cmp.Compare(a.Swapped, b.Swapped)", lawUndo},
	{"the undo does not wait for members that may still swap", "undo.go", "\tcase busy:\n", "\tcase busy && c.s.Phase == PhaseCancelling:\n", ""},
	{"the set ends while a member runs again", "next.go", "return !m.settled() }) && c.s.Phase", "return false }) && c.s.Phase", lawResult},
	{"a cancelled set does not wait", "undo.go", "\tcase busy:\n", "\tcase busy && c.s.Phase != PhaseCancelling:\n", lawResult},
	{"a cancel ends no run", "undo.go", "c.order(m, VerbAbort)", "", lawEnds},
	{"a gate opens with one member missing", "swap.go", "\t\tif m.Step != StepReady {\n\t\t\treturn false\n\t\t}\n\t\tn++", "\t\tif m.Step == StepReady {\n\t\t\tn++\n\t\t}", lawGate},
	{"members do not wait for the gate", "swap.go", "return c.s.Waves[m.Wave].Open", "return true", ""},
	{"a release opens waves that have not begun", "request.go", "(named || m.Step == StepReady)", "true", lawRelease},
	{"members do not wait for a release", "swap.go", "return m.Released", "return true", lawRelease},
	{"a barrier commits before all are prepared", "swap.go", "\t\t\tprepared = false\n", "", lawBarrier},
	{"an answer to an earlier round counts", "swap.go", "m.Round == w.Round", "m.Round > 0", ""},
	{"a barrier commits after the locks are gone", "swap.go", "past >= 0 && past+c.set.Swap.Margin < least", "past >= 0", lawBarrier},
	{"a barrier's round never ends", "swap.go", "!ready || past < 0 || past+c.set.Swap.Margin >= least", "!ready", lawEnds},
	{"a cancel ends members after a barrier's decision", "undo.go", "if m.decided() {", "if false {", lawBarrier},
	{"a freeze does not hold a member after a barrier's decision", "swap.go", "case m.Step == StepReleased && frozen:", "case false:", lawFrozen},
	{"after a freeze a barrier's decision is forgotten", "swap.go", "case m.Step == StepReady && !frozen:", "case false:", lawEnds},
	{"a cancel ends a member that a freeze holds after the decision", "state.go", "return m.Committed || m.Last", "return m.Last", lawBarrier},
	{"a drifted member starts", "next.go", "m.Gone || m.Outcome != OutcomeFit ||", "m.Gone ||", lawPlan},
	{"the set begins with members that do not fit", "next.go", "case len(misfits) > 0:", "case len(misfits) > 100:", lawPlan},
	{"the result leaves out members that had the change", "state.go", "m.Step == StepApplied || m.Swapped > 0", "m.Swapped > 0", lawResult},
	{"the result has members that were undone", "report.go", "m.Swapped = 0\n", "", lawResult},
	{"a failed member is never retried", "next.go", "m.Step != StepRetrying || c.waits(m)", "true", lawEnds},
	{"a set does not name the set that it waits for", "next.go", "\t\tc.others()\n", "", lawWaits},
	{"a clock that was put back holds a retry", "next.go", "m.NotBefore = longest", "", lawEnds},
}

// TestMutations: a core with a broken rule breaks a law, and the simulation finds it.
func TestMutations(t *testing.T) {
	if !*mutantsFlag {
		t.Skip("with -fleetsim.mutants only")
	}
	core, err := filepath.Abs("../../fleet/rollout")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations {
		path := filepath.Join(core, m.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(m.rule, *onlyFlag) {
			continue
		}
		if strings.Count(string(text), m.text) != 1 {
			t.Errorf("%s: %s has %d times %q", m.rule, m.file, strings.Count(string(text), m.text), m.text)
			continue
		}
		dir := t.TempDir()
		mutant, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
		replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
		if err == nil {
			err = os.WriteFile(mutant, []byte(strings.Replace(string(text), m.text, m.by, 1)), 0o600)
		}
		if err == nil {
			err = os.WriteFile(overlay, replace, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-run", "TestRollout", ".", "-args",
			"-fleetsim.mutant", "-fleetsim.total", "2000000").CombinedOutput()
		law := ""
		if _, found, is := strings.Cut(string(out), "fleetsim_test.go:"); is {
			_, found, _ = strings.Cut(found, ": ")
			law, _, _ = strings.Cut(found, "\n")
		}
		switch {
		case err == nil:
			t.Errorf("%s: not found", m.rule)
		case law == "":
			t.Errorf("%s: %s", m.rule, out)
		case m.law != "" && law != m.law:
			t.Logf("%s: by another law: %s", m.rule, law)
		default:
			t.Logf("%s: %s", m.rule, law)
		}
	}
}
