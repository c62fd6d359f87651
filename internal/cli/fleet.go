package cli

import (
	"context"
	"io"

	"midstream/internal/cli/fleet"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/mysql/ddl"
)

// member is a change of one server of a fleet (fleet.Change).
type member struct{ *change }

func (m member) Settings() (plan.Options, migration.Config, operator.Settings) {
	return m.options, m.config, m.settings
}

func (m member) MakePlan(ctx context.Context, alter *ddl.Alter, s *server, forRows bool) (*plan.Plan, error) {
	if forRows {
		m.options.Method, m.options.Checks = plan.MethodShadow, true
		return m.make(ctx, alter, s)
	}
	return m.plan(ctx, alter, s)
}

// planMember makes the plan of one server of a fleet, as midstream plan does with its option file.
func (a *app) planMember(ctx context.Context, q fleet.Question, s inventory.Server) fleetplan.Answer {
	b := a.alone()
	b.Stdout, b.Stderr = io.Discard, io.Discard
	c, cmd := b.newPlan()
	m := fleet.Member{Question: q, Change: member{c}}
	limited, end := context.WithTimeout(ctx, q.TimeLimit)
	defer end()
	err := cmd.ParseFlags(append(s.Flags(), q.Flags...))
	ask := func(limited context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
		return migration.Result{}, m.Ask(ctx, limited, alter, s)
	}
	if c.output.json = true; err == nil {
		_, err = c.prepare(limited, []string{q.Statement}, doing{alter: ask})
	}
	if cfg := c.connection.known; cfg != nil {
		m.Answer.Address = cfg.Address
	}
	m.End(b.Teller(), err, limited.Err() != nil && ctx.Err() == nil)
	return m.Answer
}
