package lab_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"midstream/internal/fleet/changeset"
	"midstream/internal/fleet/driver"
	"midstream/internal/fleet/rollout"
	"midstream/temporal/activities"
	"midstream/temporal/flow"
	"midstream/temporal/lab"
)

// a case is a set over a fleet whose members have scripts.
type sameCase struct {
	name, rules string
	servers     int
	scripts     map[string]string
	// asks are what people ask for, by the state that they wait for: a member's step, a wave's phase, or the set's.
	asks map[string]rollout.Request
	end  rollout.Phase
	// world changes the world of members instead, by the state.
	world func(*lab.World) lab.Person
	// status hears of each status; it may be nil.
	status func(flow.Status)
	// every is the time between two looks of people. 10 s.
	every time.Duration
}

const head = "statement: ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)\nselector: \"*\"\n"

func sameCases() []sameCase {
	approve := rollout.Request{Ask: rollout.AskApprove, Wave: "canary", By: "bert"}
	return []sameCase{
		{name: "canary, soak, approval, rest", servers: 12,
			rules: "waves:\n  - {name: canary, selector: server=s00, soak: 30m, approve: true}\n  - {name: a third, share: 33%, soak: 2h}\n  - {name: rest}\nlimits: {all: 3}\n",
			asks:  map[string]rollout.Request{"canary to approve": approve}, end: rollout.PhaseFinished},
		{name: "gated, limits by cell", servers: 9,
			rules: "waves:\n  - {name: all}\nlimits: {all: 5, per_cell: 2}\nswap: {when: wave_ready}\n", end: rollout.PhaseFinished},
		{name: "retries and a lost result", servers: 6, scripts: map[string]string{"s01": "fail:1", "s03": "lost:1"},
			rules: "waves:\n  - {name: all}\nlimits: {all: 2}\n", end: rollout.PhaseFinished},
		{name: "stop rule, again", servers: 6, scripts: map[string]string{"s02": "fatal:1"},
			rules: "waves:\n  - {name: first, share: 50%}\n  - {name: rest}\nlimits: {all: 1}\n",
			asks:  map[string]rollout.Request{"s02 failed": {Ask: rollout.AskAgain, Server: "s02", By: "bert"}}, end: rollout.PhaseFinished},
		{name: "drift is skipped", servers: 6, scripts: map[string]string{"s04": "drift", "s05": "applied"},
			rules: "waves:\n  - {name: all}\nskip_applied: true\n",
			asks:  map[string]rollout.Request{"s04 drifted": {Ask: rollout.AskSkip, Server: "s04", By: "bert"}}, end: rollout.PhaseFinished},
		{name: "undo in reverse order", servers: 6,
			rules: "waves:\n  - {name: first, share: 50%}\n  - {name: rest}\nlimits: {all: 1}\nundo: 24h\n",
			asks:  map[string]rollout.Request{"finished": {Ask: rollout.AskUndo, By: "bert"}}, end: rollout.PhaseUndone},
		{name: "cancel before the release", servers: 6,
			rules: "waves:\n  - {name: first, share: 50%}\n  - {name: rest}\nswap: {when: released}\n",
			asks:  map[string]rollout.Request{"all first ready": {Ask: rollout.AskCancel, By: "bert"}}, end: rollout.PhaseCancelled},
		{name: "window", servers: 4,
			rules: "waves:\n  - {name: all}\nstart: {window: \"02:00-03:00 Europe/Berlin\"}\nswap: {window: \"Tue-Thu 09:00-16:00 Europe/Berlin\"}\n", end: rollout.PhaseFinished, every: 5 * time.Minute},
		{name: "freeze of the service", servers: 6, rules: "waves:\n  - {name: all}\nlimits: {all: 1}\n", end: rollout.PhaseFinished, world: frozenUntil("s03 done")},
		{name: "a server leaves, and comes back", servers: 6, rules: "waves:\n  - {name: all}\nlimits: {all: 1}\n", end: rollout.PhaseFinished, world: goneUntil("s03 done")},
		{name: "barrier", servers: 4, rules: "waves:\n  - {name: all}\nswap: {when: barrier, hold: 5s}\n", end: rollout.PhaseFinished},
	}
}

// frozenUntil has server s00 frozen until a state.
func frozenUntil(when string) func(*lab.World) lab.Person {
	return func(w *lab.World) lab.Person {
		w.Freeze(flow.Frozen{Server: "s00", Reason: "a sale"})
		return func(s rollout.State) *rollout.Request {
			if stands(s, when) {
				w.Freeze()
			}
			return nil
		}
	}
}

// goneUntil has server s00 out of the inventory until a state.
func goneUntil(when string) func(*lab.World) lab.Person {
	return func(w *lab.World) lab.Person {
		w.Add("s00", true)
		return func(s rollout.State) *rollout.Request {
			if stands(s, when) {
				w.Add("s00", false)
			}
			return nil
		}
	}
}

// person asks for each thing once.
func (c sameCase) person(w *lab.World) lab.Person {
	if c.world != nil {
		return c.world(w)
	}
	asked := map[string]bool{}
	return func(s rollout.State) *rollout.Request {
		for _, when := range slices.Sorted(maps.Keys(c.asks)) {
			if !asked[when] && stands(s, when) {
				asked[when] = true
				r := c.asks[when]
				return &r
			}
		}
		return nil
	}
}

func stands(s rollout.State, when string) bool {
	for _, w := range s.Waves {
		if when == w.Name+" "+string(w.Phase) {
			return true
		}
	}
	ready, of := 0, 0
	for _, m := range s.Members {
		if when == m.Server+" "+string(m.Step) || when == m.Server+" "+string(m.Outcome) {
			return true
		}
		if m.Wave == 0 {
			of++
			if m.Step == rollout.StepReady {
				ready++
			}
		}
	}
	return when == string(s.Phase) || when == "all first ready" && ready == of
}

func (c sameCase) members(t *testing.T) (*lab.World, rollout.Set) {
	t.Helper()
	members := map[string]*lab.Member{}
	for i := range c.servers {
		name := fmt.Sprintf("s%02d", i)
		members[name] = &lab.Member{Labels: map[string]string{"cell": fmt.Sprint("c", i%3)}, Script: c.scripts[name]}
	}
	set, err := changeset.Parse("set.yaml", []byte("id: set-"+strings.Map(letters, c.name)+"\n"+head+c.rules))
	if err != nil {
		t.Fatal(err)
	}
	set.Author = "anna"
	return lab.New(members), set
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return '-'
}

// seen is what each member was ordered, and in which state it is.
func seen(w *lab.World) map[string]string {
	all := map[string]string{}
	for name, m := range w.Members() {
		all[name] = fmt.Sprint(m.Seen, " ", m.Report.Status, " ", m.Has)
	}
	return all
}

// TestSameActions: the embedded driver and the workflow give the members of a set the same orders, with the same
// numbers, and in the same order of waves.
func TestSameActions(t *testing.T) {
	for _, c := range sameCases() {
		t.Run(c.name, func(t *testing.T) {
			embedded, set := c.members(t)
			state := embed(t, c, embedded, set)
			world, _ := c.members(t)
			result := temporally(t, c, world, set, flow.Tuning{})
			if state.Phase != c.end || result.Phase != c.end {
				t.Errorf("the set is %s and %s, not %s", state.Phase, result.Phase, c.end)
			}
			for server, want := range seen(embedded) {
				if got := seen(world)[server]; got != want {
					t.Errorf("%s:\n embedded %s\n temporal %s", server, want, got)
				}
			}
			r := state.Result()
			same := slices.Equal(r.Unchanged, result.Unchanged) && slices.Equal(r.Unknown, result.Unknown)
			if len(r.Changed) != result.Changed || !same {
				t.Errorf("%+v and %+v", r, result)
			}
			for _, wrong := range append(embedded.Wrong(), world.Wrong()...) {
				t.Error(wrong)
			}
		})
	}
}

// embed drives a set by the embedded driver.
func embed(t *testing.T, c sameCase, w *lab.World, set rollout.Set) rollout.State {
	t.Helper()
	state, err := rollout.Begin(set, w.Labels())
	if err != nil {
		t.Fatal(err)
	}
	pace := 30 * time.Second
	if set.Swap.When == rollout.WhenBarrier {
		pace = 100 * time.Millisecond
	}
	e := &lab.Embedded{World: w, Set: set, Person: c.person(w), Clock: first(), Pace: pace, State: state}
	d := &driver.Driver{Set: set, Store: e, Fleet: e}
	for range 40000 {
		if _, err := d.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e.State.Phase == c.end {
			return e.State
		}
	}
	t.Fatalf("the set does not end: %+v", e.State)
	return e.State
}

func first() time.Time { return time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC) }

// signals sends signals to the workflow of a test.
type signals struct {
	env *testsuite.TestWorkflowEnvironment
}

func (s signals) SignalWorkflow(_ context.Context, _, _, signal string, arg any) error {
	s.env.SignalWorkflow(signal, arg)
	return nil
}

// temporally drives a set by the workflow.
func temporally(t *testing.T, c sameCase, w *lab.World, set rollout.Set, tuning flow.Tuning) flow.Result {
	t.Helper()
	result, _ := drive(t, c, w, set, tuning)
	return result
}

// drive drives a set by the workflow through all its runs, in a test environment that skips the time.
func drive(t *testing.T, c sameCase, w *lab.World, set rollout.Set, tuning flow.Tuning) (result flow.Result, runs int) {
	t.Helper()
	in, err := flow.First(set, w.Labels(), tuning)
	if err != nil {
		t.Fatal(err)
	}
	person, clock := c.person(w), first()
	for runs = 1; ; runs++ {
		env := environment(t, c, w, person, clock)
		env.ExecuteWorkflow(flow.SetWorkflow, in)
		err := env.GetWorkflowError()
		var next *workflow.ContinueAsNewError
		if errors.As(err, &next) {
			if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
				t.Fatal(err)
			}
			clock = env.Now()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := env.GetWorkflowResult(&result); err != nil {
			t.Fatal(err)
		}
		return result, runs
	}
}

// environment is one run of the workflow, from a time on.
func environment(t *testing.T, c sameCase, w *lab.World, person lab.Person, from time.Time) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartTime(from)
	env.SetTestTimeout(2 * time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // of a machine that has other work
	w.Clock = env.Now
	agent := &activities.Agent{Members: w, Client: signals{env}, Turns: 1}
	agent.Register(env)
	cards := func(context.Context, []flow.Card) error { return nil }
	env.RegisterActivityWithOptions(cards, activity.RegisterOptions{Name: flow.CardActivity})
	env.RegisterWorkflowWithOptions(flow.Set, workflow.RegisterOptions{Name: flow.SetWorkflow})
	number, every := 0, cmp.Or(c.every, 10*time.Second)
	var look func()
	look = func() {
		if env.IsWorkflowCompleted() {
			return
		}
		state := carried(t, c, env).State
		if r := person(state); r != nil {
			number++
			env.SignalWorkflow(string(r.Ask), flow.Request{ID: fmt.Sprint(from, number), Wave: r.Wave, Server: r.Server, By: r.By})
		}
		env.RegisterDelayedCallback(look, every)
	}
	env.RegisterDelayedCallback(look, every)
	return env
}

func carried(t *testing.T, sc sameCase, env *testsuite.TestWorkflowEnvironment) (c flow.Carried) {
	t.Helper()
	value, err := env.QueryWorkflow(flow.StatusQuery)
	if err != nil {
		t.Fatal(err)
	}
	var s flow.Status
	if err := value.Get(&s); err != nil {
		t.Fatal(err)
	}
	if sc.status != nil {
		sc.status(s)
	}
	if err := s.Packed.Unpack(&c); err != nil {
		t.Fatal(err)
	}
	return c
}
