package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"midstream/internal/fleet/rollout"
	"midstream/temporal/lab"
)

// barriers are members of sets with four members each, two in each cell: "c0-2" is the third one of set c0.
func barriers(n int) map[string]*lab.Member {
	members := map[string]*lab.Member{}
	for set := range n {
		for i := range 4 {
			members[fmt.Sprintf("c%d-%d", set, i)] = &lab.Member{Labels: map[string]string{"cell": string(rune('a' + i%2)), "case": fmt.Sprint("c", set)}}
		}
	}
	return members
}

// barrier submits the set of a case.
func (f *fleet) barrier(set string) {
	f.t.Helper()
	f.submit("id: " + set + "\nstatement: ALTER TABLE t MODIFY n BIGINT\nselector: case=" + set + "\nwaves:\n  - {name: all}\nswap: {when: barrier}\n")
}

// allOrNone checks that all members of a set have swapped once, by a decision, or none without one.
func (f *fleet) allOrNone(set string, all bool) {
	f.t.Helper()
	w := f.state(set).Waves[0]
	if w.Open != all {
		f.t.Errorf("set %s is decided: %t", set, w.Open)
	}
	f.t.Logf("set %s: %d rounds", set, w.Round)
	world, err := lab.Open(f.folder, "")
	if err != nil {
		f.t.Fatal(err)
	}
	for name, m := range world.Members() {
		if m.Labels["case"] == set && (m.Has != all || m.Swaps > 1) {
			f.t.Errorf("%s has the change: %t, after %d swaps: %v", name, m.Has, m.Swaps, m.Seen)
		}
	}
	for _, wrong := range world.Wrong() {
		f.t.Error(wrong)
	}
}

// TestABarrierSurvivesItsAgents: an agent dies with SIGKILL before or after a member has its order to prepare, to commit or to give the
// lock back. All members swap once, by one decision.
func TestABarrierSurvivesItsAgents(t *testing.T) {
	cases := []map[int]string{
		{1: "kill:commit:before"}, {1: "kill:commit:after"},
		{0: "kill:prepare:before", 1: "kill:hold:before"}, // without the answer of member 0 the round fails
		{1: "kill:prepare:after"}, {0: "kill:prepare:before", 1: "kill:hold:after"},
		{0: "kill:prepare:after", 2: "kill:commit:before", 1: "kill:hold:before", 3: "kill:commit:after"},
	}
	if testing.Short() {
		cases = cases[:1]
	}
	members := barriers(len(cases))
	for set, scripts := range cases {
		for i, script := range scripts {
			members[fmt.Sprintf("c%d-%d", set, i)].Script = script
		}
	}
	f := newFleet(t, members)
	for _, name := range parts() {
		f.start(name)
	}
	for i, scripts := range cases {
		set := fmt.Sprint("c", i)
		began := time.Now()
		f.barrier(set)
		f.until(set, rollout.PhaseFinished)
		t.Logf("%v: %s", scripts, time.Since(began).Round(time.Second))
		f.allOrNone(set, true)
		world, err := lab.Open(f.folder, "")
		if err != nil {
			t.Fatal(err)
		}
		for n := range scripts {
			if name := fmt.Sprintf("%s-%d", set, n); world.Members()[name].Script != "" {
				t.Errorf("%s has killed no agent: %s", name, world.Members()[name].Script)
			}
		}
	}
}

// TestABarrierSurvivesKills: a barrier one of whose members is never prepared swaps none, and a barrier of others swaps all, while any part
// is killed at any moment, also while members hold their locks.
func TestABarrierSurvivesKills(t *testing.T) {
	sets := 1 + *kills/6
	members := barriers(sets)
	members["c0-3"].Script = "deaf"
	f := newFleet(t, members)
	for _, name := range parts() {
		f.start(name)
	}
	random := rand.New(rand.NewPCG(*seed, 1))
	t.Logf("seed %d", *seed)
	f.barrier("c0")
	for i := range parts() { // while locks are held
		for locked := false; !locked; time.Sleep(10 * time.Millisecond) {
			world, err := lab.Open(f.folder, "")
			if err != nil {
				t.Fatal(err)
			}
			locked = slices.ContainsFunc([]string{"c0-0", "c0-1", "c0-2"}, func(name string) bool {
				m := world.Members()[name]
				return m.Report.Status == rollout.StatusPrepared && time.Now().Before(m.Locked)
			})
		}
		victim := parts()[i]
		t.Logf("%s kill %s", time.Now().Format("05.000"), victim)
		f.kill(victim)
		f.start(victim)
	}
	if code, out := f.call("cancel", "c0"); code != 0 {
		t.Fatalf("cancel: %d: %s", code, out)
	}
	f.until("c0", rollout.PhaseCancelled)
	f.allOrNone("c0", false)
	for i := 1; i < sets; i++ {
		set := fmt.Sprint("c", i)
		f.barrier(set)
		time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
		victim := parts()[random.IntN(4)]
		t.Logf("%s kill %s", time.Now().Format("05.000"), victim)
		f.kill(victim)
		f.start(victim)
		f.until(set, rollout.PhaseFinished)
		f.allOrNone(set, true)
	}
}
