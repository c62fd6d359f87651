package sets

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/record"
)

const (
	// planLimits are those of the fleet plan.
	planParallel, planPerHost = 16, 4
	// planTime bounds the plan of a member by files.
	planTime = 2 * time.Minute
	// replanEvery is the time before another plan of a member that could not be planned, or does not fit.
	replanEvery = 30 * time.Second
)

// Plans returns the outcomes that are known, and has the members planned that need it.
func (t *set) Plans(ctx context.Context, state rollout.State) (map[string]rollout.Outcome, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, wanted := map[string]rollout.Outcome{}, []string{}
	if t.kept.Common == "" && allPlanned(state, t.kept.Plans) {
		to := t.kept
		if to.Common = mostCommon(to.Plans); to.Common != "" {
			if err := t.change(ctx, to, audit.Entry{}); err != nil {
				return nil, err
			}
		}
	}
	for i := range state.Members {
		m := &state.Members[i]
		if m.Step != rollout.StepPlanned && m.Step != rollout.StepRetrying {
			continue
		}
		_, is := t.kept.Plans[m.Server]
		p := t.kept.plan(m.Server)
		if !is || !p.At.IsZero() && time.Since(p.At) > t.planAge(state, m, p.Outcome) {
			wanted = append(wanted, m.Server)
		}
		if p.Outcome != "" {
			known[m.Server] = p.Outcome
		}
	}
	if len(wanted) > 0 && !t.planning && !state.Phase.Ended() {
		t.planning = true
		t.service.working.Go(func() { t.plan(ctx, wanted) })
	}
	return known, nil
}

// planAge is how old the plan of a member may be that waits to start. One that fits is made again while the member may soon begin: in the
// wave at work, and in the next one.
func (t *set) planAge(state rollout.State, m *rollout.Member, outcome rollout.Outcome) time.Duration {
	phase := func(i int) rollout.WavePhase { return state.Waves[i].Phase }
	soon := m.Step == rollout.StepPlanned && (phase(m.Wave) == rollout.WaveRunning || m.Wave == 0 || phase(m.Wave-1) != rollout.WaveWaiting)
	switch {
	case outcome != rollout.OutcomeFit:
		return replanEvery
	case soon && (state.Phase == rollout.PhaseChecking || state.Phase == rollout.PhaseRunning):
		return cmp.Or(t.service.cfg.Renew, time.Hour)
	}
	return math.MaxInt64
}

// forget has a member planned anew: a person wants another attempt of it. REQUIRES: mu is held.
func (k *kept) forget(server string) {
	plans := maps.Clone(k.Plans)
	delete(plans, server)
	k.Plans = plans
}

// plan plans members, and keeps the outcomes.
func (t *set) plan(ctx context.Context, names []string) {
	servers, asked := map[string]queue.Server{}, []inventory.Server{}
	for _, s := range t.service.cfg.Queue.Current() {
		if slices.Contains(names, s.Name) {
			servers[s.Name], asked = s, append(asked, inventory.Server{Name: s.Name, Labels: s.Labels})
		}
	}
	planner, limits := t.planner()
	fleetplan.Ask(ctx, asked, limits, func(ctx context.Context, s inventory.Server) fleetplan.Answer {
		a := planner(ctx, servers[s.Name])
		if ctx.Err() == nil {
			t.keepPlan(ctx, s.Name, outcomeOf(&a), a.ExitCode == record.CodeBusy)
		}
		return a
	}, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.planning = false
	t.hurry()
}

// keepPlan keeps the plan of a member at once, so that a service that is killed does not begin again. The plan before counts on if it fits,
// and the member has started since then, or another run has the table: that passes, and the queue waits for it.
func (t *set) keepPlan(ctx context.Context, server string, p planned, busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	to := t.kept
	waits := slices.ContainsFunc(to.State.Members, func(m rollout.Member) bool {
		return m.Server == server && m.Step == rollout.StepPlanned
	})
	if before := to.Plans[server]; before.Outcome == rollout.OutcomeFit && (busy || !waits) {
		before.At = p.At
		p = before
	}
	to.Plans = maps.Clone(to.Plans)
	to.Plans[server] = p
	if err := t.change(ctx, to, audit.Entry{}); err != nil {
		t.service.cfg.Note(err.Error()) // the member is planned again
	}
}

// allPlanned reports whether each member has a plan that waits for one.
func allPlanned(state rollout.State, plans map[string]planned) bool {
	return !slices.ContainsFunc(state.Members, func(m rollout.Member) bool {
		_, is := plans[m.Server]
		return !is && m.Step == rollout.StepPlanned && !m.Gone
	})
}

// mostCommon is the definition of most members; "" if none is known.
func mostCommon(plans map[string]planned) string {
	var known []string
	for _, p := range plans {
		if p.Definition != "" {
			known = append(known, p.Definition)
		}
	}
	slices.Sort(known)
	return fleetplan.MostCommon(known)
}

// plan is what the fleet plan says of a member; nothing before the common definition is known.
func (k *kept) plan(server string) planned {
	p, is := k.Plans[server]
	switch {
	case !is || p.Outcome != rollout.OutcomeFit:
	case p.Definition != "" && k.Common == "":
		return planned{}
	case p.Definition != "" && p.Definition != k.Common:
		p.Outcome, p.Why = rollout.OutcomeDrifted, "its table is defined in another way than that of most members: midstream fleet plan shows the lines"
	}
	return p
}

// outcomeOf is what the plan of a member means for the set.
func outcomeOf(a *fleetplan.Answer) planned {
	p := planned{Why: a.Error, At: time.Now().UTC(), Definition: a.Fingerprint}
	switch a.Outcome {
	case fleetplan.Fits:
		p.Outcome, p.Why = rollout.OutcomeFit, ""
	case fleetplan.Done:
		p.Outcome, p.Why = rollout.OutcomeApplied, "it has the change already"
	case fleetplan.Failed:
		p.Why = cmp.Or(a.Error, "no plan could be made")
	default:
		p.Outcome = rollout.OutcomeRefused
	}
	return p
}
