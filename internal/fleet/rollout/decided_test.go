package rollout_test

import (
	"testing"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
)

// TestAFreezeHoldsABarriersDecision: a member that is frozen after the decision gives its lock back, and swaps once the freeze ends, also
// if the set is cancelled in between.
func TestAFreezeHoldsABarriersDecision(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		all, err := selector.Parse("*")
		if err != nil {
			t.Fatal(err)
		}
		h := &ofHand{t: t, now: time.Unix(0, 0), set: rollout.Set{
			ID: "s", Statement: "ALTER TABLE t ADD c INT", Selector: all, Waves: []rollout.Wave{{Name: "all"}},
			Swap: rollout.Swap{When: rollout.WhenBarrier, Hold: time.Minute},
		}}
		servers := map[string]map[string]string{"a": {"server": "a"}, "b": {"server": "b"}}
		if h.state, err = rollout.Begin(h.set, servers); err != nil {
			t.Fatal(err)
		}
		h.next(rollout.Facts{Servers: servers, Plans: map[string]rollout.Outcome{"a": rollout.OutcomeFit, "b": rollout.OutcomeFit}})
		for i := range h.state.Members {
			h.reports(i, rollout.StatusReady)
		}
		prepared := rollout.Facts{}
		for _, m := range h.state.Members {
			prepared.Reports = append(prepared.Reports, rollout.Report{
				Server: m.Server, Version: m.Version + 1, Order: m.Last.Order, Attempt: m.Attempt,
				Status: rollout.StatusPrepared, Round: m.Last.Round, Hold: time.Minute,
			})
		}
		h.next(prepared)
		b := &h.state.Members[1]
		if b.Last.Verb != rollout.VerbCommit {
			t.Fatalf("no decision: %+v", b)
		}
		freezes := []rollout.Freeze{{Server: "b"}}
		h.next(rollout.Facts{Freezes: freezes})
		if b = &h.state.Members[1]; b.Last.Verb != rollout.VerbHold || b.Step != rollout.StepReady {
			t.Errorf("the frozen member is %s, by %s", b.Step, b.Last.Verb)
		}
		if cancelled {
			h.next(rollout.Facts{Freezes: freezes, Requests: []rollout.Request{{Number: 1, Ask: rollout.AskCancel, By: "anna"}}})
			if b = &h.state.Members[1]; b.Last.Verb != rollout.VerbHold {
				t.Errorf("the decision is taken back: %s", b.Last.Verb)
			}
		}
		h.next(rollout.Facts{})
		if b = &h.state.Members[1]; b.Last.Verb != rollout.VerbCommit || b.Step != rollout.StepReleased {
			t.Errorf("after the freeze it is %s, by %s", b.Step, b.Last.Verb)
		}
		h.reports(0, rollout.StatusDone)
		h.reports(1, rollout.StatusDone)
		want := rollout.PhaseFinished
		if cancelled {
			want = rollout.PhaseCancelled
		}
		if r := h.state.Result(); h.state.Phase != want || len(r.Changed) != 2 {
			t.Errorf("the set is %s: %+v", h.state.Phase, r)
		}
	}
}
