package socket

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/operator"
)

// round is the round of a barrier that the run takes part in; nil for none.
func (s *Server) round() *Round {
	number, at, held := operator.Round{Control: s.run.Control}.Barrier().Now()
	if number == 0 {
		return nil
	}
	r := &Round{Number: number, Prepared: held}
	if held {
		r.HoldMS, r.LeftMS = at.Hold.Milliseconds(), max(0, time.Until(at.Until).Milliseconds())
	}
	return r
}

func (s *Server) prepare(ctx context.Context, _ string, c PrepareCommand) (string, error) {
	const what = "the run is not prepared"
	switch {
	case s.run.Follows:
		return "", &operator.NotNow{What: what, Why: "it follows the table for an undo", Next: "to take the change back: midstream undo  " + s.table()}
	case len(s.run.Together) > 0:
		return "", &operator.NotNow{
			What: what, Why: "it swaps several tables in one step, which has no barrier", Next: "midstream cutover  " + s.table() + " releases it",
		}
	}
	at, err := operator.Round{Control: s.run.Control}.Prepare(ctx, c.Round, time.Duration(c.HoldMS)*time.Millisecond)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("prepared for round %d: the lock is given back %d ms after the request, unless a commit comes",
		at.Round, at.Hold.Milliseconds()), nil
}

func (s *Server) commit(ctx context.Context, _ string, c CommitCommand) (string, error) {
	held, err := operator.Round{Control: s.run.Control}.Commit(ctx)
	switch {
	case err != nil:
		return "", err
	case held:
		return fmt.Sprintf("round %d is decided: the run swaps now", c.Round), nil
	}
	return fmt.Sprintf("round %d is decided, and the run has no lock: it swaps as soon as no session blocks it", c.Round), nil
}
