package carry

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/mysql/dbconn"
)

// ErrRefused means that the server does not take a trigger.
var ErrRefused = errors.New("the server refuses it")

// Try lets the server create the stand-ins of the triggers on the shadow, and drops them again. It
// fails with ErrRefused if the server objects to one of them.
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
	left, err := s.UndeclareTriggers(ctx, pool.DB())
	if err != nil {
		return err
	}
	return Run(ctx, session, left.Statements...)
}
