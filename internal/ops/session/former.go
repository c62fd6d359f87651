package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/throttle"
)

// AdviceOnFormer is what to do about the work of an earlier run that forbids this one; "" if that is not known.
func AdviceOnFormer(p *plan.Plan, err error) string {
	cleanup := "midstream cleanup  " + p.Source.Name.Argument()
	var untold *leftovers.Untold
	switch {
	case errors.Is(err, failure.ErrOtherAlter):
		return "resume that ALTER, or discard its work with: " + cleanup
	case errors.Is(err, intake.ErrOtherCapture):
		return "read changes from the same server as that run, or discard its work with: " + cleanup
	case errors.Is(err, failure.ErrStopped):
		return "finish that run (run its command again), or discard its work with: " + cleanup
	case errors.As(err, &untold):
		return untold.Next()
	}
	return ""
}

// TryThrottle fails if the server does not take the limits of its load, or the query that throttles the run, and says
// what to do then.
func TryThrottle(ctx context.Context, s *Server, p *plan.Plan, t operator.Throttle) (next string, err error) {
	if err := throttle.CheckLimits(ctx, s.Pool.DB(), slices.Concat(t.MaxLoad, t.CriticalLoad)...); err != nil {
		return "SHOW GLOBAL STATUS lists all variables", err
	}
	if err := throttle.CheckQuery(ctx, s.Pool, p.Source.Name.Schema, t.Query); err != nil {
		return "the query runs by itself once a second and must not write", fmt.Errorf("--throttle-query: %w", err)
	}
	return "", nil
}
