package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/mysql/escape"
	"midstream/internal/ops/access"
)

// Asker is who asks for something, and from which address.
type Asker struct {
	access.Person
	From string
}

type from struct{}

// withAsker keeps the address of a request.
func withAsker(r *http.Request) context.Context {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return context.WithValue(r.Context(), from{}, host)
}

// AskerOf is who has sent a request.
func AskerOf(ctx context.Context) Asker {
	at, _ := ctx.Value(from{}).(string)
	return Asker{access.Of(ctx), at}
}

// Words names who asks, for people. stated is what the request itself says.
func (a Asker) Words(stated string) string {
	return cmp.Or(a.By(stated), "someone") + " from " + a.From
}

// Author is the name by which something is somebody's own; "" if none was stated.
func (a Asker) Author(stated string) string { return cmp.Or(a.Name, access.Stated(stated)) }

// needs fails if the person lacks a role.
func (a Asker) needs(role access.Role) error {
	if a.May(role) {
		return nil
	}
	return &access.Lacking{Person: a.Person, Role: role}
}

// roles has the role of each operation that needs more than see. An operation that changes something and is not here is refused to all.
var roles = map[string]access.Role{
	"submit": access.Submit, "plan": access.Plan, "plan-fleet": access.Plan, "undo": access.Submit, "again": access.Submit, "withdraw": access.Submit,
	"approve": access.Approve, "reject": access.Approve, "freeze": access.Operate, "unfreeze": access.Operate,
	"pause": access.Operate, "resume": access.Operate, "throttle": access.Operate, "hold": access.Operate, "cutover": access.Operate,
	"abort": access.Operate, "set": access.Operate, "release": access.Operate, "kill": access.Operate,
	"prepare": access.Operate, "commit": access.Operate, "order": access.Operate,
	"submit-set": access.Submit, "undo-set": access.Submit, "approve-set": access.Approve, "reject-set": access.Approve,
	"cancel-set": access.Operate, "release-set": access.Operate, "again-set": access.Operate, "skip-set": access.Operate,
}

// roleOf is the role that an operation needs; "" if no one may.
func roleOf(operation *huma.Operation) access.Role {
	if role, is := roles[operation.OperationID]; is {
		return role
	}
	if operation.Method == http.MethodGet {
		return access.See
	}
	return ""
}

// permits lets in who has the role of an operation.
func permits(ctx huma.Context, next func(huma.Context)) {
	who, role := AskerOf(ctx.Context()), roleOf(ctx.Operation())
	err := who.needs(role)
	if err == nil || ctx.Operation().OperationID == "withdraw" && who.May(access.Operate) {
		next(ctx)
		return
	}
	problem := ProblemOf(err)
	ctx.SetStatus(problem.Status)
	ctx.SetHeader("Content-Type", problem.ContentType(""))
	_ = json.NewEncoder(escape.Writer(ctx.BodyWriter())).Encode(problem) // who asked may be gone
}

// describeRoles writes the role of each operation into the document.
func describeRoles(document *huma.OpenAPI) {
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		item := document.Paths[path]
		for _, operation := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if operation == nil {
				continue
			}
			role := string(roleOf(operation))
			if operation.OperationID == "withdraw" {
				role += " for an own change, otherwise operate"
			}
			operation.Description = strings.TrimSpace("Role: " + role + ". " + operation.Description)
		}
	}
}

// registerMe registers what a person may ask about itself.
func registerMe(api huma.API) {
	huma.Register(
		api,
		huma.Operation{OperationID: "me", Method: http.MethodGet, Path: "/v1/me", Summary: "Name and roles of the token or session"},
		func(ctx context.Context, _ *struct{}) (*body[access.Person], error) {
			return &body[access.Person]{access.Of(ctx)}, nil
		},
	)
}

// mayWithdraw fails if a person may not withdraw a change: its author may, and who operates.
func (a Asker) mayWithdraw(e *entry) error {
	err := a.needs(access.Operate)
	if lacking := (*access.Lacking)(nil); errors.As(err, &lacking) && !a.Is(e.Author) {
		problem := ProblemOf(err)
		problem.Detail += ", and the change is of " + cmp.Or(e.Author, "someone else")
		return problem
	}
	return nil
}
