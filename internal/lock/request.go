package lock

import (
	"context"
	"errors"
	"time"

	"midstream/internal/dbconn"
)

var errBudget = errors.New("lock budget used up")

// Outcome is what became of a request.
type Outcome struct {
	Granted bool          // else the statement was withdrawn, and has left nothing
	Waited  time.Duration // for the lock, as far as that can be told from the work
	Took    time.Duration // from the statement's beginning to its end
}

// Request runs a statement that waits for metadata locks, and withdraws it when it has
// taken as long as the budget. It is no error if the lock was not to be had in that time.
func Request(ctx context.Context, session *dbconn.Session, statement string, budget time.Duration) (Outcome, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, budget, errBudget)
	defer cancel()
	started := time.Now()
	_, err := session.Exec(bounded, statement)
	took := time.Since(started)
	return outcome(Outcome{Waited: took, Took: took}, err)
}

// outcome judges the end of a statement.
func outcome(o Outcome, err error) (Outcome, error) {
	switch {
	case err == nil:
		o.Granted = true
	case errors.Is(err, errBudget), dbconn.Contended(err):
		return o, nil
	}
	return o, err
}
