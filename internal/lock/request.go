package lock

import (
	"context"
	"errors"
	"time"

	"midstream/internal/dbconn"
)

var errBudget = errors.New("lock budget used up")

// Request runs a statement that waits for metadata locks, and withdraws it when it has
// waited for as long as the budget. granted is false, without an error, if the lock was
// not to be had in that time.
func Request(ctx context.Context, session *dbconn.Session, statement string, budget time.Duration) (granted bool, waited time.Duration, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, budget, errBudget)
	defer cancel()
	started := time.Now()
	_, err = session.Exec(bounded, statement)
	waited = time.Since(started)
	switch {
	case err == nil:
		return true, waited, nil
	case errors.Is(err, errBudget), dbconn.Contended(err):
		return false, waited, nil
	}
	return false, waited, err
}
