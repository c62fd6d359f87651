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
	"midstream/internal/engine/units"
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
	p.Risks = append(p.Risks, short(ctx, s, p, t.FreeDisk)...)
	return "", nil
}

// short is the warning that the run would only wait, because less than it leaves free is free now. The server's disk can be seen only
// if it is this machine's.
func short(ctx context.Context, s *Server, p *plan.Plan, least int64) []plan.Risk {
	var folder string
	if least <= 0 || p.Choice.Method == plan.MethodNone || s.Pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.datadir").Scan(&folder) != nil {
		return nil
	}
	free, err := throttle.FreeBytes(folder)
	if err != nil || free >= least {
		return nil
	}
	return []plan.Risk{{
		Code: plan.CodeDisk,
		What: fmt.Sprintf("--min-free-disk is %s, but only %s is free in %s", units.Size(least), units.Size(free), folder),
		Why:  "the run copies no row until more is free",
		Fix:  "Free some space, or lower --min-free-disk",
	}}
}
