package queue

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/ops/access"
	"midstream/internal/ops/audit"
	"midstream/internal/ops/socket"
)

// SetsSpan has the rows of change sets. Their ids are after those of freezes, and before those of changes.
var SetsSpan = Span{Low: "$", High: "%"}

// SetKey is the id of the row of a change set.
func SetKey(set string) string { return SetsSpan.Low + set }

// Keep writes rows of change sets, and in the same transaction an entry of the journal, if it tells something. An error means that the
// rows may be kept.
func (s *Service) Keep(ctx context.Context, told audit.Entry, rows ...Row) error {
	return s.write(ctx, told, rows...)
}

// Kept hands over the rows of change sets.
func (s *Service) Kept(ctx context.Context, take func(text []byte) error) error {
	return s.store.Load(ctx, SetsSpan, take)
}

// NeedsApproval reports whether changes of a server wait for the consent of another person.
func (s *Service) NeedsApproval(server string) bool { return s.needsApproval(server) }

// Current are the servers that take changes now, by their names.
func (s *Service) Current() []Server { return s.servers.now() }

// AskerOf is who has sent a request.
func AskerOf(ctx context.Context) Asker { return askerOf(ctx) }

// WithPerson is the context of orders that a person, or a set, has given in this process.
func WithPerson(ctx context.Context, name string) context.Context {
	return access.With(context.WithValue(ctx, from{}, "this service"), access.Person{Name: name, Roles: access.Roles(), Named: true})
}

// Words names who asks, for people. stated is what the request itself says.
func (a Asker) Words(stated string) string { return a.by(stated) }

// Author is the name by which something is somebody's own; "" if none was stated.
func (a Asker) Author(stated string) string { return a.author(stated) }

// Act is an action of a person, for the journal.
func (a Asker) Act(action, stated, detail string) audit.Entry { return a.act(action, stated, detail) }

// ProblemOf is the answer to an error.
func ProblemOf(err error) *socket.Problem { return problemOf(err) }

// More registers operations that are not those of the queue. Each has its role in roles.
type More func(huma.API)

// Call sends a request to a path below /v1/, and reads its answer.
func (c *Client) Call(ctx context.Context, method, path string, body, answer any) error {
	return c.call(ctx, method, path, body, answer)
}
