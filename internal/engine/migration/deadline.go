package migration

import (
	"context"
	"time"

	"midstream/internal/engine/deadline"
)

// newKeeper returns the keeper of the run's deadline.
func (b *brakes) newKeeper() *deadline.Keeper {
	r := b.run
	return deadline.NewKeeper(deadline.Deps{
		Rule:     func(began time.Time) deadline.Rule { return r.live().Rule(began, !b.unsteered()) },
		Changing: r.control.Changing,
		Standing: func() deadline.Standing {
			w := r.prepared.Load()
			return deadline.Of(r.standing(), r.plan.Pace, r.verifies, w != nil && len(w.shadow.Deferred) > 0, r.control.Rests(time.Now()))
		},
		Apply: func() { b.follow(r.live()) },
		Emit:  r.emit,
	})
}

// keepDeadline keeps the run to its deadline.
func (w *work) keepDeadline(ctx context.Context) error {
	return w.brakes.keeper.Run(ctx, w.start.Began)
}
