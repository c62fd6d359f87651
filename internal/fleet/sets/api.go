package sets

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/fleet/rollout"
	"midstream/internal/ops/queue"
)

type (
	body[B any] struct{ Body B }
	named       struct {
		ID string `path:"id" doc:"id of the change set"`
	}
	asking struct {
		ID   string `path:"id" doc:"id of the change set"`
		Body Ask
	}
	taken struct {
		Status int
		Body   View
	}
)

var notFound = []int{http.StatusNotFound}

// Register registers the operations of sets. The service may be nil for the document alone.
func (s *Service) Register(api huma.API) {
	huma.Register(
		api,
		huma.Operation{OperationID: "list-sets", Method: http.MethodGet, Path: "/v1/sets", Summary: "All change sets, the newest first, without their members"},
		func(context.Context, *struct{}) (*body[[]View], error) { return &body[[]View]{s.List()}, nil },
	)
	huma.Register(
		api,
		huma.Operation{OperationID: "show-set", Method: http.MethodGet, Path: "/v1/sets/{id}", Summary: "One change set, with its members", Errors: notFound},
		func(_ context.Context, in *named) (*body[View], error) {
			v, err := s.Get(in.ID)
			if err != nil {
				return nil, queue.ProblemOf(err)
			}
			return &body[View]{v}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID: "submit-set", Method: http.MethodPost, Path: "/v1/sets", Summary: "Submit a change set", DefaultStatus: http.StatusCreated, MaxBodyBytes: 4 << 20,
			Description: "201: the set is in the store, and the service plans its members. 200: it was already there, with the same rules. 409: another set has the id. 422: the set has an error.",
			Errors:      []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError},
		},
		func(ctx context.Context, in *body[SetFile]) (*taken, error) {
			v, fresh, err := s.Submit(ctx, in.Body, queue.AskerOf(ctx))
			if err != nil {
				return nil, queue.ProblemOf(err)
			}
			if fresh {
				return &taken{http.StatusCreated, v}, nil
			}
			return &taken{http.StatusOK, v}, nil
		},
	)
	for _, one := range []struct {
		ask     rollout.Ask
		summary string
	}{
		{rollout.AskApprove, rollout.AskApprove.Short() + ", or a set that waits for an approval"},
		{"reject", "Reject a set that waits for an approval"},
		{rollout.AskRelease, rollout.AskRelease.Short()},
		{rollout.AskAgain, rollout.AskAgain.Short()},
		{rollout.AskSkip, rollout.AskSkip.Short()},
		{rollout.AskCancel, rollout.AskCancel.Short()},
		{rollout.AskUndo, rollout.AskUndo.Short()},
	} {
		ask := string(one.ask)
		huma.Register(
			api,
			huma.Operation{
				OperationID: ask + "-set", Method: http.MethodPost, Path: "/v1/sets/{id}/" + ask, Summary: one.summary,
				Description: "The request counts once the answer is there. 409: it has no effect now, and the answer has the reason.",
				Errors: []int{
					http.StatusNotFound, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity,
					http.StatusInternalServerError,
				},
			},
			func(ctx context.Context, in *asking) (*body[View], error) {
				v, err := s.Ask(ctx, in.ID, ask, in.Body, queue.AskerOf(ctx))
				if err != nil {
					return nil, queue.ProblemOf(err)
				}
				return &body[View]{v}, nil
			},
		)
	}
}

// OpenAPI is the document of the API of midstream serve, in YAML.
func OpenAPI() ([]byte, error) { return queue.OpenAPI((&Service{}).Register) }
