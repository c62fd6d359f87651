package sets

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/queue"
)

const (
	// planLimits are those of the fleet plan.
	planParallel, planPerHost = 16, 4
	// replanEvery is the time before another plan of a member that could not be planned, or does not fit.
	replanEvery = 30 * time.Second
)

// Plans returns the outcomes that are known, and has the members planned that need it.
func (t *set) Plans(ctx context.Context, state rollout.State) (map[string]rollout.Outcome, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, wanted := map[string]rollout.Outcome{}, []string{}
	for i := range state.Members {
		m := &state.Members[i]
		if m.Step != rollout.StepPlanned && m.Step != rollout.StepRetrying {
			continue
		}
		p, is := t.kept.Plans[m.Server]
		if !is || p.Outcome != rollout.OutcomeFit && time.Since(p.At) > replanEvery && m.Step == rollout.StepPlanned {
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
	answers := fleetplan.Ask(ctx, asked, fleetplan.Limits{Parallel: planParallel, PerHost: planPerHost},
		func(ctx context.Context, s inventory.Server) fleetplan.Answer {
			return t.service.cfg.Plan(ctx, t.rules, servers[s.Name])
		}, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.planning = false; ctx.Err() != nil {
		return
	}
	to := t.kept
	if to.Common == "" {
		if r := fleetplan.Of(fleetplan.Asked{Statement: t.rules.Statement}, answers, 0); r.Common != nil {
			to.Common = r.Common.Fingerprint
		}
	}
	to.Plans = maps.Clone(to.Plans)
	for i := range answers {
		to.Plans[answers[i].Server] = outcomeOf(&answers[i], to.Common)
	}
	if err := t.change(ctx, to, audit.Entry{}); err != nil {
		t.service.cfg.Note(err.Error()) // they are planned again
		return
	}
	t.hurry()
}

// outcomeOf is what the plan of a member means for the set.
func outcomeOf(a *fleetplan.Answer, common string) planned {
	p := planned{Why: a.Error, At: time.Now().UTC()}
	switch a.Outcome {
	case fleetplan.Fits:
		p.Outcome, p.Why = rollout.OutcomeFit, ""
		if a.Fingerprint != "" && common != "" && a.Fingerprint != common {
			p.Outcome, p.Why = rollout.OutcomeDrifted, "its table is defined in another way than that of most members: midstream fleet plan shows the lines"
		}
	case fleetplan.Done:
		p.Outcome, p.Why = rollout.OutcomeApplied, "it has the change already"
	case fleetplan.Failed:
		p.Why = cmp.Or(a.Error, "no plan could be made")
	default:
		p.Outcome = rollout.OutcomeRefused
	}
	return p
}
