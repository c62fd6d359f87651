package fleet

import (
	"context"
	"slices"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/members"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/sets"
	"midstream/internal/ops/queue"
)

// planTime bounds the plan of one member of a set.
const planTime = time.Minute

// OpenSets opens the change sets of midstream serve.
func OpenSets(ctx context.Context, service *queue.Service, planner Planner, note func(string)) (*sets.Service, error) {
	opened, err := sets.Open(ctx, sets.Config{
		Queue: service, Note: note,
		Plan: func(ctx context.Context, rules rollout.Set, s queue.Server) fleetplan.Answer {
			options, err := queue.Arguments(members.Options(rules))
			if err != nil {
				return fleetplan.Answer{Outcome: fleetplan.Wrong, ExitCode: exit.WrongUsage, Error: err.Error()}
			}
			q := Question{Statement: rules.Statement, Flags: append(slices.Clone(s.Reach), options...), TimeLimit: planTime}
			q.SkipApplied = rules.SkipApplied
			return planner(ctx, q, inventory.Server{Name: s.Name, Labels: s.Labels})
		},
	})
	if err != nil {
		return nil, &exit.Error{Code: exit.Failed, Err: err, Left: "active runs continue; nothing was changed", Next: "repair the store, or use the midstream that wrote it"}
	}
	return opened, nil
}
