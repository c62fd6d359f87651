package rollout_test

import (
	"slices"
	"testing"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
)

// ofHand is a set at work, with a wave for each of its servers.
type ofHand struct {
	t     *testing.T
	set   rollout.Set
	state rollout.State
	now   time.Time
}

func newOfHand(t *testing.T, waves ...string) *ofHand {
	t.Helper()
	h := &ofHand{t: t, set: rollout.Set{ID: "s", Statement: "ALTER TABLE t ADD c INT", Undo: time.Hour}, now: time.Unix(0, 0)}
	servers := map[string]map[string]string{}
	for _, name := range waves {
		only, err := selector.Parse("server=" + name)
		if err != nil {
			t.Fatal(err)
		}
		h.set.Waves = append(h.set.Waves, rollout.Wave{Name: name, Selector: only, Soak: time.Hour})
		servers[name] = map[string]string{"server": name}
	}
	h.set.Selector, _ = selector.Parse("*")
	var err error
	if h.state, err = rollout.Begin(h.set, servers); err != nil {
		t.Fatal(err)
	}
	h.next(rollout.Facts{Servers: servers, Plans: map[string]rollout.Outcome{"a": rollout.OutcomeFit, "b": rollout.OutcomeFit}})
	return h
}

// next goes on by a second.
func (h *ofHand) next(f rollout.Facts) {
	h.now = h.now.Add(time.Second)
	f.Now = h.now
	h.state, _ = rollout.Next(h.set, h.state, f)
}

// reports has a member report its newest order.
func (h *ofHand) reports(i int, status rollout.Status) rollout.Member {
	m := &h.state.Members[i]
	h.next(rollout.Facts{Reports: []rollout.Report{
		{Server: m.Server, Version: m.Version + 1, Order: m.Last.Order, Attempt: m.Attempt, Status: status},
	}})
	return h.state.Members[i]
}

// TestAMemberTakenBackByHandHasFailed: the stop rule holds the set, the result does not name the member among those that have the change,
// and a redo counts once a person asks.
func TestAMemberTakenBackByHandHasFailed(t *testing.T) {
	h := newOfHand(t, "a", "b")
	if m := h.reports(0, rollout.StatusDone); m.Step != rollout.StepDone {
		t.Fatalf("%+v", m)
	}
	if m := h.reports(0, rollout.StatusUndone); m.Step != rollout.StepFailed || !m.Failed || h.state.Phase != rollout.PhaseStopped {
		t.Fatalf("%s %+v", h.state.Phase, m)
	}
	if h.now = h.now.Add(2 * time.Hour); h.state.Members[1].Step != rollout.StepPlanned {
		t.Errorf("the next wave begins: %+v", h.state.Members[1])
	}
	if r := h.state.Result(); !slices.Equal(r.Unchanged, []string{"a", "b"}) || len(r.Changed) > 0 {
		t.Errorf("%+v", r)
	}
	h.next(rollout.Facts{Requests: []rollout.Request{{Number: 1, Ask: rollout.AskAgain, Server: "a", By: "bert"}}})
	h.next(rollout.Facts{Plans: map[string]rollout.Outcome{"a": rollout.OutcomeFit}})
	if m := h.reports(0, rollout.StatusUndone); m.Step != rollout.StepFailed {
		t.Errorf("%+v", m)
	}
	h.next(rollout.Facts{Requests: []rollout.Request{{Number: 2, Ask: rollout.AskAgain, Server: "a", By: "bert"}}})
	h.next(rollout.Facts{Plans: map[string]rollout.Outcome{"a": rollout.OutcomeFit}})
	if m := h.reports(0, rollout.StatusDone); m.Step != rollout.StepDone || h.state.Phase != rollout.PhaseRunning {
		t.Errorf("%s %+v", h.state.Phase, m)
	}
}

// TestWhoSkipsDoesNotApprove: a wave that waits for an approval waits for it also if all its members are skipped.
func TestWhoSkipsDoesNotApprove(t *testing.T) {
	h := newOfHand(t, "a", "b")
	h.set.Author, h.set.Waves[0].Approve = "anna", true
	h.reports(0, rollout.StatusFailed)
	h.next(rollout.Facts{Requests: []rollout.Request{{Number: 1, Ask: rollout.AskSkip, Server: "a", By: "otto"}}})
	h.next(rollout.Facts{})
	if w := h.state.Waves[0]; w.Phase != rollout.WaveToApprove || h.state.Members[1].Step != rollout.StepPlanned {
		t.Fatalf("%+v %+v", w, h.state.Members[1])
	}
	h.next(rollout.Facts{Requests: []rollout.Request{{Number: 2, Ask: rollout.AskApprove, Wave: "a", By: "bert"}}})
	if w := h.state.Waves[0]; w.Phase != rollout.WavePassed || h.state.Members[1].Step != rollout.StepStarted {
		t.Errorf("%+v %+v", w, h.state.Members[1])
	}
}

// TestAPersonWithdrawsAMember: whatever a member was, what a person does to it by hand is a state that the core knows.
func TestAPersonWithdrawsAMember(t *testing.T) {
	for _, before := range []rollout.Status{rollout.StatusRunning, rollout.StatusReady} {
		for _, verb := range []rollout.Verb{rollout.VerbStart, rollout.VerbWithdraw} {
			h := newOfHand(t, "a", "b")
			h.state.Members[0].Last.Verb = verb // of the stop rule, and too late
			h.reports(0, before)
			h.state.Members[0].Last.Verb = verb
			m := h.reports(0, rollout.StatusWithdrawn)
			if !slices.Contains([]rollout.Step{rollout.StepFailed, rollout.StepPlanned, rollout.StepStarted}, m.Step) {
				t.Errorf("%s %s: %+v", before, verb, m)
			}
		}
	}
}

// TestAReleaseWithoutANameIsOfWhatIsReady: a later wave waits for a release of its own. A wave that is named may be released before.
func TestAReleaseWithoutANameIsOfWhatIsReady(t *testing.T) {
	for _, wave := range []string{"", "b"} {
		h := newOfHand(t, "a", "b")
		h.set.Swap.When = rollout.WhenReleased
		h.set.Waves[0].Soak = time.Millisecond
		asks := func(number uint64, wave string) string {
			h.next(rollout.Facts{Requests: []rollout.Request{{Number: number, Ask: rollout.AskRelease, Wave: wave, By: "ada"}}})
			return h.state.Answers[len(h.state.Answers)-1].Refused
		}
		if why := asks(1, ""); why == "" {
			t.Error("a release of nothing was taken")
		}
		h.reports(0, rollout.StatusRunning)
		h.reports(0, rollout.StatusReady)
		if why := asks(2, ""); why != "" || h.state.Members[0].Step != rollout.StepReleased {
			t.Fatalf("%q %+v", why, h.state.Members[0])
		}
		if wave != "" {
			asks(3, wave)
		}
		h.reports(0, rollout.StatusDone)
		for range 3 {
			h.next(rollout.Facts{})
		}
		h.reports(1, rollout.StatusRunning)
		want := rollout.StepReady
		if wave != "" {
			want = rollout.StepReleased
		}
		if m := h.reports(1, rollout.StatusReady); m.Step != want {
			t.Errorf("b is %s, not %s", m.Step, want)
		}
	}
}
