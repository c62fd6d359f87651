package queue

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"midstream/internal/ops/access"
	"midstream/internal/ops/audit"
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

// Current are the servers that take changes now, by their names.
func (s *Service) Current() []Server { return s.servers.now() }

// WithPerson is the context of orders that a person, or a set, has given in this process.
func WithPerson(ctx context.Context, name string) context.Context {
	return access.With(context.WithValue(ctx, from{}, "this service"), access.Person{Name: name, Roles: access.Roles(), Named: true})
}

// More registers operations that are not those of the queue. Each has its role in roles.
type More func(huma.API)
