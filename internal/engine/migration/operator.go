package migration

import (
	"context"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

// Standing is operator.Run's.
func (r *run) Standing() (p event.Progress, gates []event.Gate, at bool) {
	return r.standing(), r.brakes.Gates.Closed(), true
}

// Keeps is operator.Run's: what the server itself does can not be resumed.
func (r *run) Keeps() bool { return r.account.phaseNow() != event.PhaseNative }

// SetPaused is operator.Run's.
func (r *run) SetPaused(why string) {
	if why == "" {
		r.brakes.Gates.Open(operator.PausedGate)
	} else {
		r.brakes.Gates.Close(operator.PausedGate, why)
	}
}

// InFlight is operator.Run's.
func (r *run) InFlight() int { return r.account.inFlight() }

// Apply makes the stages work by other settings.
func (r *run) Apply(ctx context.Context, settings operator.Settings, values map[string]string) error {
	if err := operator.CheckSettings(ctx, r.pool, r.plan.Source.Name, r.live(), settings, values); err != nil {
		return err
	}
	if err := r.brakes.Apply(ctx, settings, values); err != nil {
		return err
	}
	if w := r.prepared.Load(); w != nil {
		w.copier.Tune()
	}
	return nil
}
