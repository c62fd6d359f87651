package migration

import (
	"context"
	"sync"
	"time"

	"midstream/internal/engine/brakes"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/throttle"
)

// braked is what the brakes ask of a run.
type braked struct{ *run }

// newBrakes returns the brakes of the run.
func (r braked) newBrakes() *brakes.Brakes {
	return brakes.New(brakes.Deps{
		Pool: r.pool, Control: r.control, Emit: r.emit, Server: r.plan.Server, Schema: r.plan.Source.Name.Schema,
		BacklogLimit: r.cfg.BacklogLimit, BeatOn: r.store.BeatOn, Backlogged: r.backlogged, Written: r.written,
		Captured:    func(t operator.Throttle) []throttle.Sensor { return r.link.Sensors(t, r.captureDelay) },
		Sensitivity: func() float64 { return r.account.sensitivity(r.live().Calendar()) },
		Standing:    r.outlook,
	})
}

func (r braked) backlogged() int {
	if w := r.prepared.Load(); w != nil {
		return w.backlog.Due()
	}
	return 0
}

// captureDelay is how far capture is behind; 0 while there is none.
func (r braked) captureDelay() time.Duration {
	if w := r.prepared.Load(); w != nil {
		return w.intake.Delay()
	}
	return 0
}

func (r braked) written(ctx context.Context) (int64, error) {
	bytes, err := facts.FileBytes(ctx, r.pool.DB(), r.debts.shadowName)
	if err != nil {
		return 0, err
	}
	if w := r.prepared.Load(); w != nil && w.intake.Stream != nil {
		bytes += w.intake.Stream.BytesRead()
	}
	return bytes, nil
}

// givingWay does work that gives way to the application as steer has it, which reports its own failure.
func givingWay(ctx context.Context, b *brakes.Brakes, steer, work func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { _ = steer(ctx) })
	watching.Go(func() {
		if err := b.Gates.Run(ctx); err != nil {
			stop(err)
		}
	})
	err := Because(ctx, work(ctx))
	stop(nil)
	watching.Wait()
	return err
}
