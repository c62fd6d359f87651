package migration

import (
	"context"
	"fmt"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

// Standing is operator.Run's.
func (r *run) Standing() (p event.Progress, gates []event.Gate, at bool) {
	return r.standing(), r.gates.Closed(), true
}

func (r *run) phaseNow() event.Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase
}

// Keeps is operator.Run's: what the server itself does can not be resumed.
func (r *run) Keeps() bool { return r.phaseNow() != event.PhaseNative }

// SetPaused is operator.Run's.
func (r *run) SetPaused(why string) {
	if why == "" {
		r.gates.Open(operator.PausedGate)
	} else {
		r.gates.Close(operator.PausedGate, why)
	}
}

// InFlight is operator.Run's.
func (r *run) InFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	if r.syncer != nil {
		n += r.syncer.InFlight()
	}
	if r.copier != nil {
		n += r.copier.InFlight()
	}
	if r.scanner != nil {
		n += r.scanner.InFlight()
	}
	if r.verifier != nil {
		n += r.verifier.InFlight()
	}
	return n
}

// Apply makes the stages work by other settings.
func (r *run) Apply(ctx context.Context, settings operator.Settings, values map[string]string) error {
	if err := operator.CheckSettings(ctx, r.pool, r.plan.Source.Name, r.live(), settings, values); err != nil {
		return err
	}
	t := settings.Throttle
	if operator.WaitsChange(values) {
		sensors, err := r.sensors(ctx, t)
		if err != nil {
			return fmt.Errorf("change for what the run waits: %w", err)
		}
		r.gates.Replace(sensors)
	}
	r.share.Set(1 - settings.Rest)
	r.transit.Aim(settings.Throttle.ReplicaLag / transitShare)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copier != nil {
		r.governor.Bound(settings.RowCopy.Workers, settings.MaxSlowdown)
		r.copier.Tune(settings.RowCopy.Target, settings.RowCopy.Workers)
	}
	return nil
}
