package queue

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// ServerInfo is a server that changes may be submitted for.
type ServerInfo struct {
	Name    string `json:"name" doc:"by which submissions call it"`
	Limit   int    `json:"limit" doc:"changes that may run on it at once"`
	Running int    `json:"running" doc:"changes that run on it"`
	Waiting int    `json:"waiting" doc:"changes that wait"`
}

// PlanAnswer is what midstream plan tells.
type PlanAnswer struct {
	Text   string        `json:"text" doc:"for people: the plan, or why there is none"`
	Plan   any           `json:"plan" doc:"the record plan of docs/events.md; null where there is none"`
	Result record.Result `json:"result" doc:"the record result"`
}

// PlanQuestion is a change that somebody wants to see the plan of.
type PlanQuestion struct {
	Server    string            `json:"server" doc:"one of those that the service knows"`
	Statement string            `json:"statement" doc:"as of a change"`
	Options   map[string]string `json:"options,omitempty" doc:"as of a change"`
}

type (
	body[B any] struct{ Body B }
	named       struct {
		ID string `path:"id" doc:"of the change"`
	}
	commanded[B any] struct {
		ID   string `path:"id" doc:"of the change"`
		Body B
	}
	listed struct {
		Most int `query:"most" minimum:"0" doc:"the most changes to list: first the running ones; one half of the rest is for the next that wait, the other half for the newest that are over; 0: all"`
	}
	submitted struct {
		Status int
		Body   Change
	}
)

// apiVersion is that of the API: fields and operations may be added, none is renamed or dropped.
const apiVersion = "1.0.0"

// from is the key of where a request comes from.
type from struct{}

// Handler answers under /v1/, whoever asks: who may is for the one that hands requests over. Events
// and reports are not here.
func (s *Service) Handler() http.Handler {
	handler, _ := newAPI(s)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), from{}, host)))
	})
}

// OpenAPI is the document of the API, in YAML.
func OpenAPI() ([]byte, error) {
	_, document := newAPI(&Service{})
	return document.YAML()
}

// newAPI registers the operations of a service.
func newAPI(s *Service) (http.Handler, *huma.OpenAPI) {
	mux := http.NewServeMux()
	cfg := huma.DefaultConfig("The queue of a service of Midstream", apiVersion)
	cfg.Formats = socket.Formats()
	cfg.CreateHooks, cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = nil, "", "", ""
	cfg.Info.Description = "Served by midstream serve (docs/serve.md). What was not done is told as RFC 9457 has it, with what to do (next). " +
		"Made of the code: go test ./internal/cli -run TestDocs -update"
	api := humago.New(mux, cfg)
	s.registerChanges(api)
	s.registerRuns(api)
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
				return &body[[]Change]{s.Some(in.Most)}, nil
			}
			return &body[[]Change]{s.Changes()}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID:   "submit",
			Method:        http.MethodPost,
			Path:          "/v1/changes",
			Summary:       "Submit a change",
			DefaultStatus: http.StatusCreated,
			Description:   "201: it is in the queue, and in the store. 200: it was there already, with the same content. 409: the id is another change's. 422: it can't be taken as it is.",
			Errors:        []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError},
		},
		func(ctx context.Context, in *body[Submission]) (*submitted, error) {
			source, _ := ctx.Value(from{}).(string)
			c, fresh, err := s.Submit(ctx, in.Body, source)
			if err != nil {
				return nil, problemOf(err)
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
		func(ctx context.Context, in *named) (*body[Change], error) {
			c, err := s.Withdraw(ctx, in.ID)
			if err != nil {
				return nil, problemOf(err)
			}
			return &body[Change]{c}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID: "servers",
			Method:      http.MethodGet,
			Path:        "/v1/servers",
			Summary:     "The servers that changes may be submitted for",
		},
		func(context.Context, *struct{}) (*body[[]ServerInfo], error) {
			return &body[[]ServerInfo]{s.Servers()}, nil
		},
	)
	huma.Register(
		api,
		huma.Operation{
			OperationID: "plan",
			Method:      http.MethodPost,
			Path:        "/v1/plans",
			Summary:     "What midstream plan tells of a change; nothing is changed",
			Errors:      []int{http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable},
		},
		func(ctx context.Context, in *body[PlanQuestion]) (*body[PlanAnswer], error) {
			answer, err := s.Plan(ctx, in.Body)
			if err != nil {
				return nil, problemOf(err)
			}
			return &body[PlanAnswer]{answer}, nil
		},
	)
}

// registerRuns registers what is passed on to the run of a change.
func (s *Service) registerRuns(api huma.API) {
	ask[socket.Status](api, s, "status", "How the run of a change stands")
	ask[ofSubmissions](api, s, "settings", "The settings of a run that may change while it is at work, of those that a submission may set")
	ask[socket.Blockers](api, s, "blockers", "Who holds the table's locks, and who waits for them")
	tell[socket.PauseCommand](api, s, "pause", "Pause a run")
	tell[struct{}](api, s, "resume", "Go on after a pause")
	tell[socket.ThrottleCommand](api, s, "throttle", "Bound the part of its time in which the row copy works")
	tell[struct{}](api, s, "hold", "Have the swap wait until it is let go")
	tell[socket.CutOverCommand](api, s, "cutover", "Let the swap go")
	tell[socket.AbortCommand](api, s, "abort", "End the run and remove what it has made, or keep it")
	tell[socket.SetCommand](api, s, "set", "Change settings, of those that a submission may set")
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
				return nil, problemOf(err)
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
				err = s.pass(ctx, in.ID, http.MethodPost, name, in.Body, &answer.Body)
			}
			if err != nil {
				return nil, problemOf(err)
			}
			return answer, nil
		},
	)
}

// problemOf is the answer to an error.
func problemOf(err error) *socket.Problem {
	var p *socket.Problem
	if errors.As(err, &p) {
		return p
	}
	return &socket.Problem{
		Status: http.StatusInternalServerError,
		Title:  "the request failed",
		Detail: err.Error(),
		Next:   "check the service's terminal or log, and try again",
	}
}

// Servers lists the servers, by their names.
func (s *Service) Servers() []ServerInfo {
	list := []ServerInfo{}
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Servers)) {
		info := ServerInfo{Name: name, Limit: s.cfg.Limit}
		for _, e := range s.all() {
			switch {
			case e.Server != name:
			case e.State == StateRunning:
				info.Running++
			case e.State == StateWaiting:
				info.Waiting++
			}
		}
		list = append(list, info)
	}
	return list
}
