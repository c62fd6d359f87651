package carry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrRefused means that the server does not take a trigger or a foreign key.
var ErrRefused = errors.New("the server refuses it")

// Try lets the server declare what goes over on the shadow, and takes that back again, and nothing
// else: constraints may act on the shadow already (ActOnShadow). It fails with ErrRefused if the
// server objects to something. REQUIRES: each foreign key is one of the source.
func (s Set) Try(ctx context.Context, pool *dbconn.Pool) error {
	session, err := pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := Run(ctx, session, s.Declare()...); err != nil {
		if dbconn.Number(err) != 0 && !dbconn.Contended(err) && !dbconn.ConnectionLost(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return err
	}
	for _, find := range s.finders(s.takeBackTried, s.UndeclareTriggers) {
		left, err := find(ctx, pool.DB())
		if err == nil {
			err = Run(ctx, session, left.Statements...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeBackTried is UndeclareKeys for the set's own constraints.
func (s Set) takeBackTried(ctx context.Context, q schema.Querier) (w Work, err error) {
	found, err := s.found(ctx, q, s.Shadow)
	w.Statements = s.undeclareKeys(s.seconds(found))
	return w, err
}

// seconds returns the second constraints of the set.
func (s Set) seconds(found []schema.ForeignKey) []schema.ForeignKey {
	return slices.DeleteFunc(found, func(fk schema.ForeignKey) bool {
		return !slices.ContainsFunc(s.Keys, func(k schema.ForeignKey) bool { return s.second(k) == fk.Constraint })
	})
}
