package migration

import (
	"context"

	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
)

// outlook is what a forecast needs.
func (r braked) outlook() forecast.Standing { return r.forecastable(r.standing()) }

// forecastable adds to a progress what a forecast needs.
func (r braked) forecastable(p event.Progress) forecast.Standing {
	w, live := r.prepared.Load(), r.live()
	s := forecast.Standing{Progress: p, Idle: r.control.Rests(p.At), Paused: r.control.Paused() != nil || live.Rest >= 1}
	s.Verify, s.Index = r.plan.Pace.AfterCopy(p.RowsTotal, r.verifies, w != nil && len(w.shadow.Deferred) > 0)
	s.Verify *= 1 - live.Rest // the share of the row copy does not hold for a comparison
	return s
}

// keepDeadline keeps the run to its deadline.
func (w *work) keepDeadline(ctx context.Context) error {
	return w.brakes.Keeper.Run(ctx, w.start.Began)
}
