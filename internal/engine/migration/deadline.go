package migration

import (
	"context"
	"time"

	"midstream/internal/engine/deadline"
	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
)

// newKeeper returns the keeper of the run's deadline.
func (b *brakes) newKeeper() *deadline.Keeper {
	r := b.run
	return deadline.NewKeeper(deadline.Deps{
		Rule: func(began time.Time) deadline.Rule {
			rule := r.live().Rule(began, !b.unsteered())
			rule.Sensitivity = r.account.sensitivity(r.live().Calendar())
			return rule
		},
		Changing: r.control.Changing,
		Standing: func() forecast.Standing { return b.outlook(r.standing()) },
		Apply:    func() { b.follow(r.live()) },
		Emit:     r.emit,
	})
}

// outlook adds to a progress what a forecast needs.
func (b *brakes) outlook(p event.Progress) forecast.Standing {
	r := b.run
	w, live := r.prepared.Load(), r.live()
	s := forecast.Standing{Progress: p, Idle: r.control.Rests(p.At), Paused: r.control.Paused() != nil || live.Rest >= 1}
	s.Verify, s.Index = r.plan.Pace.AfterCopy(p.RowsTotal, r.verifies, w != nil && len(w.shadow.Deferred) > 0)
	s.Verify *= 1 - live.Rest // the share of the row copy does not hold for a comparison
	return s
}

// keepDeadline keeps the run to its deadline.
func (w *work) keepDeadline(ctx context.Context) error {
	return w.brakes.keeper.Run(ctx, w.start.Began)
}
