package lab_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/rollout"
	"midstream/temporal/flow"
	"midstream/temporal/lab"
)

// TestSetsOfAnEarlierBuildGoOn: recorded histories of sets that began before agents reported their worlds are decided in the same way.
func TestSetsOfAnEarlierBuildGoOn(t *testing.T) {
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(flow.Set, workflow.RegisterOptions{Name: flow.SetWorkflow})
	if err := r.ReplayWorkflowHistoryFromJSONFile(nil, "../testdata/undone.json"); err != nil {
		t.Error(err)
	}
}

// fleetOf are members in cells of 25 and on hosts with 4, each of which copies for a while.
func fleetOf(n int) *lab.World {
	members := map[string]*lab.Member{}
	for i := range n {
		labels := map[string]string{"cell": fmt.Sprint("c", i/25), "host": fmt.Sprint("h", i/4), "queue": fmt.Sprint("q", i%3)}
		members[fmt.Sprintf("s%03d", i)] = &lab.Member{Labels: labels, Copies: 1 + i*7%5}
	}
	return lab.New(members)
}

func setOf(t *testing.T, rules string) rollout.Set {
	t.Helper()
	set, err := changeset.Parse("set.yaml", []byte("id: laws\n"+head+rules))
	if err != nil {
		t.Fatal(err)
	}
	set.Author = "anna"
	return set
}

// by is a case whose world a test changes.
func by(person func(*lab.World, rollout.State) *rollout.Request) sameCase {
	return sameCase{world: func(w *lab.World) lab.Person {
		return func(s rollout.State) *rollout.Request { return person(w, s) }
	}}
}

func quiet(*lab.World, rollout.State) *rollout.Request { return nil }

// TestLimitsOfTheWorkflow: of 200 members, never more than the limits permit are at work at once, as the members count themselves.
// So that this shows something, many are.
func TestLimitsOfTheWorkflow(t *testing.T) {
	for _, c := range []struct {
		limits          string
		all, host, cell int
		reached         string
		atLeast         int
	}{
		{limits: "{all: 17}", all: 17, host: 4, cell: 25, reached: "", atLeast: 12},
		{limits: "{per_host: 1}", all: 50, host: 1, cell: 25, reached: "", atLeast: 40},
		{limits: "{per_cell: 3}", all: 24, host: 4, cell: 3, reached: "cell=c0", atLeast: 3},
		{limits: "{all: 20, per_host: 2, per_cell: 4}", all: 20, host: 2, cell: 4, reached: "", atLeast: 12},
	} {
		t.Run(c.limits, func(t *testing.T) {
			w := fleetOf(200)
			result := temporally(t, by(quiet), w, setOf(t, "waves:\n  - {name: canary, share: 1%}\n  - {name: rest}\nlimits: "+c.limits+"\n"), flow.Tuning{})
			if result.Phase != rollout.PhaseFinished || result.Changed != 200 {
				t.Errorf("%+v", result)
			}
			for what, n := range w.Most {
				most := c.all
				if strings.HasPrefix(what, "host=") {
					most = c.host
				} else if strings.HasPrefix(what, "cell=") {
					most = c.cell
				}
				if n > most {
					t.Errorf("%d were at work at once in %q; the limit is %d", n, what, most)
				}
			}
			if w.Most[c.reached] < c.atLeast {
				t.Errorf("at most %d were at work at once in %q; %d may be", w.Most[c.reached], c.reached, c.atLeast)
			}
			for _, wrong := range w.Wrong() {
				t.Error(wrong)
			}
		})
	}
}

// TestStopRuleOfTheWorkflow: after the second failed member of 200, none starts, however long the set is stopped.
func TestStopRuleOfTheWorkflow(t *testing.T) {
	w := fleetOf(200)
	set := setOf(t, "waves:\n  - {name: all}\nlimits: {all: 5}\nstop_after: {failed: 2}\nswap: {when: released}\n")
	w.Script("fatal:1", "s020", "s040", "s041")
	atStop, looks := -1, 0
	result := temporally(t, by(func(w *lab.World, s rollout.State) *rollout.Request {
		if s.Phase != rollout.PhaseStopped {
			return nil
		}
		if atStop < 0 {
			atStop = len(started(w))
		}
		if looks++; looks == 1000 { // of 10 s
			return &rollout.Request{Ask: rollout.AskCancel, By: "bert"}
		}
		return nil
	}), w, set, flow.Tuning{})
	if result.Phase != rollout.PhaseCancelled || result.Changed != 0 {
		t.Errorf("%+v", result)
	}
	if atStop < 41 || atStop > 41+5 || len(started(w)) != atStop {
		t.Errorf("%d members had started when the set stopped, and %d in the end", atStop, len(started(w)))
	}
}

// started are the servers with a start.
func started(w *lab.World) (names []string) {
	for name, m := range w.Members() {
		if m.Starts > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestWindowsOfTheWorkflow: members start and swap only in their windows, by the clock of Berlin.
func TestWindowsOfTheWorkflow(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := fleetOf(30)
	days := map[int]bool{}
	w.Watch = func(a rollout.Action) {
		at := w.Clock().In(berlin)
		switch {
		case a.Verb == rollout.VerbStart && at.Hour() != 2:
			t.Errorf("%s starts at %s", a.Server, at)
		case a.Verb == rollout.VerbRelease &&
			(at.Hour() < 9 || at.Hour() >= 16 || at.Weekday() < time.Tuesday || at.Weekday() > time.Thursday):
			t.Errorf("%s swaps at %s", a.Server, at)
		case a.Verb == rollout.VerbStart:
			days[at.YearDay()] = true
		}
	}
	set := setOf(t, "waves:\n  - {name: canary, share: 10%}\n  - {name: rest}\nlimits: {all: 4}\nstart: {window: \"02:00-03:00 Europe/Berlin\"}\n"+
		"swap: {window: \"Tue-Thu 09:00-16:00 Europe/Berlin\"}\n")
	c := by(quiet)
	c.every = 5 * time.Minute // it takes days
	result := temporally(t, c, w, set, flow.Tuning{Resend: 5 * time.Minute})
	if result.Phase != rollout.PhaseFinished || result.Changed != 30 || len(days) < 2 {
		t.Errorf("%+v, with starts on %d days", result, len(days))
	}
}

// TestFreezesOfServices: a freeze of a service holds starts, swaps and undos until it is lifted, as in midstream serve.
func TestFreezesOfServices(t *testing.T) {
	w := fleetOf(6)
	w.Freeze(flow.Frozen{Server: "s002", Reason: "a sale"})
	frozenFor := 0
	// each step lasts 20 looks under a freeze, and is then lifted
	held := func(happened int, what string) bool {
		if happened > 0 {
			t.Errorf("%d %s in spite of the freeze", happened, what)
		}
		frozenFor++
		if frozenFor == 20 {
			w.Freeze()
		}
		return frozenFor >= 20
	}
	step := "start"
	released, undone := false, false
	result := temporally(t, by(func(w *lab.World, s rollout.State) *rollout.Request {
		all := w.Members()
		swaps, undos, ready := 0, 0, 0
		for _, m := range s.Members {
			swaps, undos = swaps+all[m.Server].Swaps, undos+all[m.Server].Undos
			if m.Step == rollout.StepReady {
				ready++
			}
		}
		switch {
		case step == "start" && ready == 5:
			if held(all["s002"].Starts, "starts") {
				step, frozenFor = "swap", 0
			}
		case step == "swap" && ready == 6 && !released:
			w.Freeze(flow.Frozen{Reason: "all of a service"})
			released = true
		case step == "swap" && released && frozenFor == 2:
			frozenFor++
			return &rollout.Request{Ask: rollout.AskRelease, By: "bert"}
		case step == "swap" && released:
			if held(swaps, "swaps") {
				step, frozenFor = "undo", 0
			}
		case step == "undo" && s.Phase == rollout.PhaseFinished && !undone:
			undone = true
			w.Freeze(flow.Frozen{Server: "s001"}, flow.Frozen{Server: "s000"}, flow.Frozen{Server: "s002"},
				flow.Frozen{Server: "s003"}, flow.Frozen{Server: "s004"}, flow.Frozen{Server: "s005"})
			return &rollout.Request{Ask: rollout.AskUndo, By: "bert"}
		case step == "undo" && undone && frozenFor < 20:
			held(undos, "undos")
		}
		return nil
	}), w, setOf(t, "waves:\n  - {name: all}\nswap: {when: released}\nundo: 24h\n"), flow.Tuning{})
	if result.Phase != rollout.PhaseUndone {
		t.Errorf("%+v, at step %s", result, step)
	}
}

// TestAFreezeHoldsABarriersDecision: a server that is frozen between the decision of a barrier and its commit does not swap before the
// freeze ends; the others have swapped.
func TestAFreezeHoldsABarriersDecision(t *testing.T) {
	w := fleetOf(4)
	frozen := sync.OnceFunc(func() { w.Freeze(flow.Frozen{Server: "s001", Reason: "a sale"}) })
	w.Before = func(a rollout.Action) {
		if a.Verb == rollout.VerbCommit && a.Server == "s001" {
			frozen()
		}
	}
	looks := 0
	result := temporally(t, by(func(w *lab.World, _ rollout.State) *rollout.Request {
		all := w.Members()
		if all["s000"].Swaps+all["s002"].Swaps+all["s003"].Swaps < 3 || looks > 20 {
			return nil
		}
		if looks++; all["s001"].Swaps > 0 {
			t.Error("the frozen server has swapped")
		}
		if looks == 20 {
			w.Freeze()
		}
		return nil
	}), w, setOf(t, "waves:\n  - {name: all}\nswap: {when: barrier, hold: 5s}\n"), flow.Tuning{})
	if result.Phase != rollout.PhaseFinished || result.Changed != 4 || looks < 20 {
		t.Errorf("%+v after %d looks", result, looks)
	}
	for _, wrong := range w.Wrong() {
		t.Error(wrong)
	}
}

// TestTheInventoryIsReadAgain: a server that leaves does not start, and is not waited for by others; one that runs goes on; a new server
// is reported.
func TestTheInventoryIsReadAgain(t *testing.T) {
	w := fleetOf(6)
	w.Add("s005", true)
	looks, joined := 0, []string(nil)
	c := by(func(w *lab.World, s rollout.State) *rollout.Request {
		done := 0
		for _, m := range s.Members {
			if m.Server == "s000" && m.Step == rollout.StepStarted {
				w.Add("s000", true) // its run goes on
				w.Add("s999", false)
			}
			if m.Step == rollout.StepDone {
				done++
			}
		}
		if done == 5 {
			if looks++; looks == 20 {
				if n := w.Members()["s005"].Starts; n > 0 {
					t.Errorf("the server that has left started %d times", n)
				}
				w.Add("s005", false)
			}
		}
		return nil
	})
	c.status = func(s flow.Status) { joined = append(joined, s.Joined...) }
	result := temporally(t, c, w, setOf(t, "waves:\n  - {name: all}\n"), flow.Tuning{})
	if result.Phase != rollout.PhaseFinished || result.Changed != 6 || looks < 20 {
		t.Errorf("%+v after %d looks", result, looks)
	}
	if !slices.Contains(joined, "s999") {
		t.Error("the new server is not reported")
	}
}
