package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/selector"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// PlanOfServe makes fleet plans for midstream serve (queue.Config). It fails with a *socket.Problem.
func PlanOfServe(planner Planner) func(context.Context, []queue.Server, queue.Inventory, queue.FleetQuestion) (any, error) {
	limits := fleetplan.Limits{Parallel: 32, PerHost: 4}
	return func(ctx context.Context, servers []queue.Server, found queue.Inventory, asked queue.FleetQuestion) (any, error) {
		no := func(err error, next string) error {
			return &socket.Problem{Status: http.StatusUnprocessableEntity, Title: "no plan was made", Detail: err.Error(), Next: next}
		}
		takes, err := selector.Parse(asked.Selector)
		if err == nil {
			err = checkStatement(asked.Statement)
		}
		if err != nil {
			return nil, no(err, "correct the selector or the statement (docs/fleet.md)")
		}
		q := Question{
			Statement: asked.Statement, Check: asked.Check, SkipApplied: asked.SkipApplied, TimeLimit: planTime, CheckLimit: time.Hour,
		}
		if q.Flags, err = queue.Arguments(asked.Options); err != nil {
			return nil, no(err, "docs/serve.md lists the permitted options")
		}
		all, reach := inventory.Inventory{Notes: found.Notes}, map[string][]string{}
		for _, s := range servers {
			all.Servers = append(all.Servers, inventory.Server{Name: s.Name, Labels: s.Labels})
			reach[s.Name] = s.Reach
		}
		for _, p := range found.Problems {
			if _, known := reach[p.Server]; !known {
				all.Problems = append(all.Problems, inventory.Problem{Name: p.Server, Err: errors.New(p.Error)})
			}
		}
		members := all.Chosen(takes.Matches)
		if len(members) == 0 {
			return nil, no(fmt.Errorf("the selector %s takes none of %d servers", takes, len(servers)), "check the labels of the servers (/v1/servers)")
		}
		reached := func(ctx context.Context, q Question, s inventory.Server) fleetplan.Answer {
			q.Flags = append(slices.Clone(reach[s.Name]), q.Flags...)
			return planner(ctx, q, s)
		}
		return q.ask(ctx, reached, members, all, limits, fleetplan.Asked{
			Statement: asked.Statement, Selector: takes.String(), AllowDrift: asked.AllowDrift,
		}, nil)
	}
}
