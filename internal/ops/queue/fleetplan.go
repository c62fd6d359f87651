package queue

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/ops/socket"
)

// FleetQuestion asks for the plan of a change for many servers.
type FleetQuestion struct {
	Selector    string            `json:"selector" maxLength:"2000" doc:"which servers, by their labels, such as app=shop,env=prod; *: every server (docs/fleet.md)"`
	Statement   string            `json:"statement" doc:"an ALTER TABLE"`
	Check       bool              `json:"check,omitempty" doc:"true: also read the rows of each server"`
	SkipApplied bool              `json:"skip_applied,omitempty" doc:"true: a server that already has the change counts as done"`
	AllowDrift  bool              `json:"allow_drift,omitempty" doc:"true: tables that are defined in different ways are not refused"`
	Options     map[string]string `json:"options,omitempty" doc:"values of flags of midstream run, by their names; docs/serve.md lists the permitted ones"`
}

// fleetPlanTime bounds a fleet plan. With check it may take as long as the checks.
const fleetPlanTime = 2 * time.Hour

// FleetPlan plans a change for many servers. One fleet plan is made at a time. It fails with a *socket.Problem.
func (s *Service) FleetPlan(ctx context.Context, asked FleetQuestion) (any, error) {
	if len(asked.Statement) > longest {
		return nil, bad("no plan was made", "the statement is too long", "give a shorter statement")
	}
	if err := checkOptions(asked.Options, Options()); err != nil {
		return nil, bad("no plan was made", err.Error(), "docs/serve.md lists the permitted options")
	}
	if !s.fleetPlans.TryLock() {
		return nil, &socket.Problem{Status: http.StatusServiceUnavailable, Title: "no plan was made", Detail: "the service makes a fleet plan already",
			Next: "try again in a minute, or use midstream fleet plan"}
	}
	defer s.fleetPlans.Unlock()
	ctx, end := context.WithTimeout(ctx, fleetPlanTime)
	defer end()
	return s.cfg.FleetPlan(ctx, s.servers.now(), s.Inventory(), asked)
}

// registerFleetPlan registers it.
func (s *Service) registerFleetPlan(api huma.API) {
	huma.Register(
		api,
		huma.Operation{
			OperationID: "plan-fleet", Method: http.MethodPost, Path: "/v1/fleet/plan", MaxBodyBytes: mostBody,
			Summary:     "Plan of a change for many servers, grouped by outcome; nothing is changed",
			Description: "The answer is the object of midstream fleet plan --json (docs/fleet.md). 503: the service makes one already.",
			Errors:      []int{http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable},
		},
		func(ctx context.Context, in *body[FleetQuestion]) (*body[any], error) {
			answer, err := s.FleetPlan(ctx, in.Body)
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[any]{answer}, nil
		},
	)
}
