package queue

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"midstream/internal/ops/access"
	"midstream/internal/ops/groups"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// PlanAnswer is what midstream plan tells.
type PlanAnswer struct {
	Text   string        `json:"text" doc:"the plan, or the reason why there is none, for people"`
	Plan   any           `json:"plan" doc:"the record plan of docs/events.md, of a group the first one; null if there is none"`
	Plans  []any         `json:"plans" doc:"of a group: the records plan of all tables; otherwise that one, or empty"`
	Result record.Result `json:"result" doc:"the record result of docs/events.md"`
}

// PlanQuestion is a change that somebody wants to see the plan of.
type PlanQuestion struct {
	Server    string `json:"server" doc:"name of a server of the service (/v1/servers)"`
	Statement string `json:"statement,omitempty" doc:"the statement, as midstream run takes it, with the table's database; with together it may have several"`
	Together  bool   `json:"together,omitempty" doc:"true: the plan of a group, as in a submission"`
	// Statements are given in the place of Statement.
	Statements []string          `json:"statements,omitempty" doc:"with together: the statements, in the place of statement"`
	Files      []File            `json:"files,omitempty" doc:"in the place of a statement: files with CREATE TABLE statements, as in a submission"`
	Options    map[string]string `json:"options,omitempty" doc:"values of flags of midstream run, by their names; docs/serve.md lists the permitted ones"`
}

type (
	body[B any] struct{ Body B }
	named       struct {
		ID string `path:"id" doc:"id of the change"`
	}
	withdrawn struct {
		ID     string `path:"id" doc:"id of the change"`
		Reason string `query:"reason" maxLength:"500" doc:"why, for who reads the change later"`
	}
	commanded[B any] struct {
		ID   string `path:"id" doc:"id of the change"`
		Body B
	}
	listed struct {
		State string `query:"state" enum:"proposed,waiting,running,ready,done,failed,aborted,withdrawn,unknown" doc:"only changes in this state; ready: running, and waiting for their release"`
		Most  int    `query:"most" minimum:"0" doc:"the most changes to list, the running ones first; half of the others are the next that wait, half the newest that are over; 0: all"`
	}
	submitted struct {
		Status int
		Body   Change
	}
)

// apiVersion is that of the API: fields and operations may be added, none is renamed or dropped.
const apiVersion = "1.0.0"

// Handler answers under /v1/ to the person of a request (access.With), who needs the role of the operation. Events and reports are
// not here.
func (s *Service) Handler(more ...More) http.Handler {
	handler, _ := newAPI(s, more...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(withAsker(r)))
	})
}

// OpenAPI is the document of the API, in YAML.
func OpenAPI(more ...More) ([]byte, error) {
	_, document := newAPI(&Service{}, more...)
	return document.YAML()
}

// newAPI registers the operations of a service.
func newAPI(s *Service, more ...More) (http.Handler, *huma.OpenAPI) {
	mux := http.NewServeMux()
	cfg := huma.DefaultConfig("The queue of a service of Midstream", apiVersion)
	cfg.Formats = socket.Formats()
	cfg.CreateHooks, cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = nil, "", "", ""
	cfg.Info.Description = "Served by midstream serve (docs/serve.md). Errors have the form of RFC 9457, and next is what to do. " +
		"Generated from the code: go test ./internal/cli -run TestDocs -update"
	api := humago.New(mux, cfg)
	api.UseMiddleware(permits)
	s.registerChanges(api)
	s.registerRuns(api)
	registerMe(api)
	for _, register := range more {
		register(api)
	}
	describeRoles(api.OpenAPI())
	return mux, api.OpenAPI()
}

func (s *Service) registerChanges(api huma.API) {
	huma.Register(
		api,
		huma.Operation{
			OperationID: "changes",
			Method:      http.MethodGet,
			Path:        "/v1/changes",
			Summary:     "All changes, in the order of submission",
		},
		func(_ context.Context, in *listed) (*body[[]Change], error) {
			if in.Most > 0 {
				return &body[[]Change]{filtered(s.Some(in.Most), in.State)}, nil
			}
			return &body[[]Change]{filtered(s.Changes(), in.State)}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID:   "submit",
			Method:        http.MethodPost,
			Path:          "/v1/changes",
			Summary:       "Submit a change",
			MaxBodyBytes:  mostBody,
			DefaultStatus: http.StatusCreated,
			Description:   "201: the change is in the queue and in the store. 200: it was already there, with the same content. 409: another change has the id. 422: the submission has an error.",
			Errors:        []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError},
		},
		func(ctx context.Context, in *body[Submission]) (*submitted, error) {
			c, fresh, err := s.Submit(ctx, in.Body, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			if fresh {
				return &submitted{http.StatusCreated, c}, nil
			}
			return &submitted{http.StatusOK, c}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID: "change",
			Method:      http.MethodGet,
			Path:        "/v1/changes/{id}",
			Summary:     "One change",
			Errors:      []int{http.StatusNotFound},
		},
		func(_ context.Context, in *named) (*body[Change], error) {
			c, there := s.Change(in.ID)
			if !there {
				return nil, unknown(in.ID)
			}
			return &body[Change]{c}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID: "withdraw",
			Method:      http.MethodDelete,
			Path:        "/v1/changes/{id}",
			Summary:     "Withdraw a change that has not begun",
			Errors:      []int{http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError},
		},
		func(ctx context.Context, in *withdrawn) (*body[Change], error) {
			c, err := s.Withdraw(ctx, in.ID, in.Reason, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[Change]{c}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID:   "undo",
			Method:        http.MethodPost,
			Path:          "/v1/changes/{id}/undo",
			Summary:       "Take a change back that is done",
			DefaultStatus: http.StatusCreated,
			Description:   "201: the undo is a change of its own in the queue, with the id ID-undo (ID-undo-2 and so on for later ones); to undo that is the redo. 409: the change has no open undo, or is undone already. 422: an option is not permitted.",
			Errors:        []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError},
		},
		func(ctx context.Context, in *commanded[UndoRequest]) (*body[Change], error) {
			c, err := s.Undo(ctx, in.ID, in.Body, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[Change]{c}, nil
		},
	)
	s.registerAgain(api)
	s.registerList(api)
	s.registerApprovals(api)
	s.registerAudit(api)
	s.registerFreezes(api)
	s.registerMembers(api)
	s.registerServers(api)
	s.registerFleetPlan(api)
	huma.Register(
		api,
		huma.Operation{
			OperationID:  "plan",
			Method:       http.MethodPost,
			Path:         "/v1/plans",
			MaxBodyBytes: mostBody,
			Summary:      "Plan of a change, as midstream plan prints it; nothing is changed",
			Errors:       []int{http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable},
		},
		func(ctx context.Context, in *body[PlanQuestion]) (*body[PlanAnswer], error) {
			answer, err := s.Plan(ctx, in.Body)
			if err != nil {
				return nil, ProblemOf(err)
			}
			return &body[PlanAnswer]{answer}, nil
		},
	)
}

// registerAgain registers what runs a change again.
func (s *Service) registerAgain(api huma.API) {
	huma.Register(
		api,
		huma.Operation{
			OperationID:   "again",
			Method:        http.MethodPost,
			Path:          "/v1/changes/{id}/again",
			Summary:       "Run a change again that has ended and is not done",
			DefaultStatus: http.StatusCreated,
			Description:   "201: the change waits again, under the same id, for its next attempt. 200: it has that attempt already. 409: it is done, waits or runs, or cannot run again for another reason.",
			Errors:        []int{http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError},
		},
		func(ctx context.Context, in *commanded[AgainRequest]) (*submitted, error) {
			c, fresh, err := s.Again(ctx, in.ID, in.Body, AskerOf(ctx))
			if err != nil {
				return nil, ProblemOf(err)
			}
			if fresh {
				return &submitted{http.StatusCreated, c}, nil
			}
			return &submitted{http.StatusOK, c}, nil
		},
	)
}

// registerRuns registers what is passed on to the run of a change.
func (s *Service) registerRuns(api huma.API) {
	ask[groups.ChangeStatus](api, s, "status", "Status of the run of a change")
	ask[ofSubmissions](api, s, "settings", "Settings that may change during the run, and that a submission may set")
	ask[groups.ChangeBlockers](api, s, "blockers", "Sessions that hold or wait for the locks of the tables")
	tell[socket.PauseCommand](api, s, "pause", "Pause a run")
	tell[struct{}](api, s, "resume", "Resume after a pause")
	tell[socket.ThrottleCommand](api, s, "throttle", "Limit the share of its time that the row copy works")
	tell[struct{}](api, s, "hold", "Hold the swap until cutover releases it")
	tell[socket.CutOverCommand](api, s, "cutover", "Release the swap")
	tell[socket.PrepareCommand](api, s, "prepare", "Have a held run hold its lock, with all changes applied, for a round of a barrier")
	tell[socket.CommitCommand](api, s, "commit", "Swap, by the decision of a round of a barrier")
	s.registerRelease(api)
	tell[socket.AbortCommand](api, s, "abort", "Stop the run, and remove or keep its work")
	tell[socket.KillCommand](api, s, "kill", "Kill a session that holds a lock of the tables")
	tell[socket.SetCommand](api, s, "set", "Change settings that a submission may set")
}

// ofSubmissions are the settings of a run that a submission may set. The others name files, URLs
// and queries, and are for the operator of the service.
type ofSubmissions []socket.Setting

// UnmarshalJSON leaves the others out.
func (o *ofSubmissions) UnmarshalJSON(text []byte) error {
	var all []socket.Setting
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*o = slices.DeleteFunc(all, func(s socket.Setting) bool { return !slices.Contains(Options(), s.Name) })
	return nil
}

var runErrors = []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError}

// ask registers a question to the run of a change.
func ask[A any](api huma.API, s *Service, name, summary string) {
	huma.Register(
		api,
		huma.Operation{OperationID: name, Method: http.MethodGet, Path: "/v1/changes/{id}/" + name, Summary: summary, Errors: runErrors},
		func(ctx context.Context, in *named) (*body[A], error) {
			answer := &body[A]{}
			if err := s.pass(ctx, in.ID, http.MethodGet, name, nil, &answer.Body); err != nil {
				return nil, ProblemOf(err)
			}
			return answer, nil
		},
	)
}

// tell registers a command to the run of a change.
func tell[C any](api huma.API, s *Service, name, summary string) {
	huma.Register(
		api,
		huma.Operation{OperationID: name, Method: http.MethodPost, Path: "/v1/changes/{id}/" + name, Summary: summary, Errors: runErrors},
		func(ctx context.Context, in *commanded[C]) (*body[socket.Answer], error) {
			answer := &body[socket.Answer]{}
			err := s.mayPass(in.Body)
			if err == nil {
				err = s.audited(ctx, in.ID, name, in.Body, func() error {
					return s.pass(ctx, in.ID, http.MethodPost, name, in.Body, &answer.Body)
				})
			}
			if err != nil {
				return nil, ProblemOf(err)
			}
			return answer, nil
		},
	)
}

// ProblemOf is the answer to an error.
func ProblemOf(err error) *socket.Problem {
	var p *socket.Problem
	if errors.As(err, &p) {
		return p
	}
	if lacking := (*access.Lacking)(nil); errors.As(err, &lacking) {
		return &socket.Problem{Status: http.StatusForbidden, Title: "nothing was done", Detail: lacking.Error(), Next: lacking.Next()}
	}
	return &socket.Problem{
		Status: http.StatusInternalServerError,
		Title:  "the request failed",
		Detail: err.Error(),
		Next:   "check the service's terminal or log, and try again",
	}
}
