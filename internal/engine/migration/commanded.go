package migration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/schema"
)

// commanded is what a Control commands: a run, or a statement on whole tables.
type commanded interface {
	purpose() plan.Purpose
	// keeps says that it could be stopped now, and gone on with.
	keeps() bool
	// still has all work stand still for a reason; "" ends that.
	still(why string)
	// inFlight is the number of statements that a pause waits for.
	inFlight() int
	// heed has it work by another config, if the server takes it. Values are those that somebody has said.
	heed(ctx context.Context, cfg Config, values map[string]string) error
}

func (r *run) phaseNow() event.Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase
}

func (r *run) purpose() plan.Purpose { return r.plan.Purpose }
func (r *run) keeps() bool           { return r.phaseNow() != event.PhaseNative }

func (r *run) still(why string) {
	if why == "" {
		r.gates.Open(pausedGate)
	} else {
		r.gates.Close(pausedGate, why)
	}
}

func (r *run) inFlight() int {
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

// mayKill fails with *BadSetting if sessions in the way can't be ended, and somebody has just said that they may be.
func mayKill(ctx context.Context, db *sql.DB, table schema.Name, was, cfg Config, values map[string]string) error {
	const name = "kill-blockers-after"
	if cfg.Kills.After == 0 || was.Kills.After > 0 {
		return nil
	}
	known, err := facts.Gather(ctx, db, table)
	if err != nil {
		return &BadSetting{name, values[name], fmt.Errorf("look whether sessions may be ended: %w", err), ""}
	}
	if risk := plan.HindersKills(known); risk != nil {
		return &BadSetting{name, values[name], errors.New(risk.What), risk.Fix}
	}
	return nil
}

// errFewConnections says that the application would have none left.
var errFewConnections = errors.New("each of them has a connection, and they may take half of those that are free")

// roomForWorkers fails with errFewConnections if the server has no room for so many workers.
func (r *run) roomForWorkers(ctx context.Context, workers int) error {
	var most, taken int
	var name string
	err := r.pool.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.max_connections").Scan(&most)
	if err == nil {
		err = r.pool.DB().QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &taken)
	}
	if err != nil {
		return fmt.Errorf("look how many connections are free: %w", err)
	}
	if free := most - taken; workers-r.live().RowCopy.Workers > free/2 {
		return fmt.Errorf("%w: %d of %d", errFewConnections, free, most)
	}
	return nil
}

// heed has the stages work by another config.
func (r *run) heed(ctx context.Context, cfg Config, values map[string]string) error {
	bad := func(name string, err error, next string) error { return &BadSetting{name, values[name], err, next} }
	t := cfg.Throttle
	for name, limits := range map[string][]throttle.Limit{"max-load": t.MaxLoad, "critical-load": t.CriticalLoad} {
		if _, says := values[name]; says {
			if err := throttle.CheckLimits(ctx, r.pool.DB(), limits...); err != nil {
				return bad(name, err, "SHOW GLOBAL STATUS lists those that there are")
			}
		}
	}
	if _, says := values["throttle-query"]; says {
		if err := throttle.CheckQuery(ctx, r.pool, r.plan.Source.Name.Schema, t.Query); err != nil {
			return bad("throttle-query", err, "the query runs by itself once a second, and can't write")
		}
	}
	if _, says := values["workers"]; says {
		if err := r.roomForWorkers(ctx, cfg.RowCopy.Workers); err != nil {
			return bad("workers", err, "name fewer")
		}
	}
	if _, says := values["max-replica-lag"]; says && t.ReplicaLag > 0 && len(t.Replicas) == 0 {
		return bad(
			"max-replica-lag", errors.New("no replica is looked at: the run found none, or began with 0"),
			"name replicas by --replica when the run begins",
		)
	}
	if err := mayKill(ctx, r.pool.DB(), r.plan.Source.Name, r.live(), cfg, values); err != nil {
		return err
	}
	said := slices.Collect(maps.Keys(values))
	if slices.ContainsFunc(waits(), func(s Setting) bool { return slices.Contains(said, s.Name) }) {
		sensors, err := r.sensors(ctx, t)
		if err != nil {
			return fmt.Errorf("change for what the run waits: %w", err)
		}
		r.gates.Replace(sensors)
	}
	r.share.Set(1 - cfg.Rest)
	r.transit.Aim(cfg.Throttle.ReplicaLag / transitShare)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copier != nil {
		r.governor.Bound(cfg.RowCopy.Workers, cfg.Slower)
		r.copier.Tune(cfg.RowCopy.Target, cfg.RowCopy.Workers)
	}
	return nil
}
