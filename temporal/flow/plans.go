package flow

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/rollout"
)

// outcomes are those of the servers that were planned just now, and of others for which these change something: a
// definition drifts if another one is more common.
func (c *conductor) outcomes() map[string]rollout.Outcome {
	if len(c.planned) == 0 {
		return nil
	}
	common := c.common()
	news := map[string]rollout.Outcome{}
	for i := range c.State.Members {
		m := &c.State.Members[i]
		p := c.Plans[m.Server]
		outcome := p.Outcome
		if outcome == rollout.OutcomeFit && p.Definition != common {
			outcome = rollout.OutcomeDrifted
		}
		if outcome != "" && (slices.Contains(c.planned, m.Server) || m.Outcome != "" && m.Outcome != outcome) {
			news[m.Server] = outcome
		}
	}
	return news
}

// common is the most common definition of servers that fit; of several, the one that comes first in their order.
func (c *conductor) common() string {
	var known []string
	for i := range c.State.Members {
		if p := c.Plans[c.State.Members[i].Server]; p.Outcome == rollout.OutcomeFit {
			known = append(known, p.Definition)
		}
	}
	return fleetplan.MostCommon(known)
}

// lacks reports whether a member needs a plan: it has none, or one by which it does not fit.
func (c *conductor) lacks(m *rollout.Member) bool {
	switch {
	case m.Step != rollout.StepPlanned && m.Step != rollout.StepRetrying:
		return false
	case m.Outcome == "":
		return true
	}
	return c.State.Phase == rollout.PhaseChecking && m.Outcome != rollout.OutcomeFit
}

// plan has agents make the plans that are missing.
func (c *conductor) plan(ctx workflow.Context, now time.Time) {
	if c.State.Phase.Ended() {
		return
	}
	unplanned, misfits := map[*agents][]string{}, map[*agents][]string{}
	for i := range c.State.Members {
		if m := &c.State.Members[i]; c.lacks(m) {
			into, a := unplanned, c.of[m.Server]
			if _, was := c.Plans[m.Server]; was {
				into = misfits
			}
			into[a] = append(into[a], m.Server)
		}
	}
	for _, name := range c.names {
		a := c.agents[name]
		servers := unplanned[a]
		switch {
		case a.planning || len(servers) == 0 && len(misfits[a]) == 0:
			continue
		case len(servers) > 0:
		case a.replan.IsZero():
			a.replan = now.Add(c.tuning.Replan)
			continue
		case now.Before(a.replan):
			continue
		default: // in turns, if they are many
			servers, a.replan = misfits[a], now.Add(c.tuning.Replan)
			slices.SortStableFunc(servers, func(x, y string) int { return c.planTurns[x] - c.planTurns[y] })
		}
		servers = servers[:min(len(servers), MostPlans)]
		for _, server := range servers {
			c.planTurns[server]++
		}
		c.planOf(ctx, a, servers)
	}
}

func (c *conductor) planOf(ctx workflow.Context, a *agents, servers []string) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: AgentQueue(a.name), StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Minute,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	})
	a.planning = true
	c.inFlight++
	f := workflow.ExecuteActivity(ctx, PlanActivity, Plan{c.in.Rules, servers})
	workflow.Go(ctx, func(ctx workflow.Context) {
		var plans []Planned
		err := f.Get(ctx, &plans)
		c.inFlight--
		a.planning, c.dirty = false, true
		if err != nil { // an agent retries by itself; this is about the message
			for _, server := range servers {
				plans = append(plans, Planned{Server: server, Why: Cut(err.Error())})
			}
		}
		for _, p := range plans {
			if slices.Contains(servers, p.Server) {
				c.Plans[p.Server] = p
				c.planned = append(c.planned, p.Server)
			}
		}
	})
}
