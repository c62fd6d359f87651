package socket

import (
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/engine/operator"
	"midstream/internal/mysql/schema"
)

// Problem is the answer to what was not done (RFC 9457).
type Problem struct {
	Status int    `json:"status" doc:"status code of HTTP"`
	Title  string `json:"title" doc:"what was not done"`
	Detail string `json:"detail" doc:"the cause"`
	Next   string `json:"next" doc:"what to do; may be empty"`
}

// Error is the title and the detail.
func (p *Problem) Error() string { return strings.TrimSuffix(p.Title+": "+p.Detail, ": ") }

// GetStatus is the status of HTTP.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// The errors that huma makes itself, of a body that can't be read, have the form of ours. It offers no other place
// for that than this variable.
func init() {
	huma.NewError = func(status int, text string, errs ...error) huma.StatusError {
		var details []string
		for _, err := range errs {
			if err != nil {
				details = append(details, err.Error())
			}
		}
		return &Problem{Status: status, Title: text, Detail: strings.Join(details, "; "), Next: "see docs/openapi.yaml; for midstream serve, docs/openapi-serve.yaml"}
	}
}

// problem is the answer of a run to an error.
func (s *Server) problem(err error) *Problem {
	p := *problemOf(err)
	p.Next = s.run.Reach.In(strings.ReplaceAll(p.Next, "  TABLE ", "  "+schema.NameOf(s.run.Table).Argument()+" ")) // the control does not know its table
	return &p
}

// problemOf is the answer to an error.
func problemOf(err error) *Problem {
	var p *Problem
	var notNow *operator.NotNow
	var bad *operator.BadSetting
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &notNow):
		return &Problem{http.StatusConflict, notNow.What, notNow.Why, notNow.Next}
	case errors.As(err, &bad):
		return &Problem{
			http.StatusUnprocessableEntity, bad.Name + "=" + bad.Text + " is refused; nothing was changed",
			bad.Err.Error(), bad.Next,
		}
	}
	return &Problem{
		http.StatusInternalServerError, "the command failed", err.Error(),
		"see midstream status, and the output of the run",
	}
}
