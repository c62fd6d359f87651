package carry

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/mysql/dbconn"
)

// ErrRefused means that the server does not take a trigger or a foreign key.
var ErrRefused = errors.New("the server refuses it")

// Try lets the server declare what goes over on the shadow, and takes it back again. It
// fails with ErrRefused if the server objects to something. REQUIRES: each foreign key is one of the source.
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
	for _, find := range s.Undeclare() {
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
