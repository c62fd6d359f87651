package migration

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"midstream/internal/engine/deadline"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/throttle"
)

// brakes hold the work of a run back. They are the gates, the share of its time that the operator
// allows it, the governor that gives way to the application, and the replicas that must keep up.
type brakes struct {
	run      *run
	gates    *throttle.Gates
	share    *throttle.Share
	governor *throttle.Governor
	transit  *throttle.Transit // to replicas
	beats    throttle.Beats
	keeper   *deadline.Keeper

	mu   sync.Mutex
	lags map[string]time.Duration // delay of each watched replica
}

func newBrakes(r *run) *brakes {
	live := r.live()
	b := &brakes{
		run:     r,
		gates:   throttle.NewGates(nil, r.emit),
		share:   throttle.NewShare(1 - live.Rest),
		transit: throttle.NewTransit(live.Throttle.ReplicaLag / transitShare),
	}
	b.keeper = b.newKeeper()
	b.governor = throttle.NewGovernor(r.pool.DB(), live.Workers(), live.MaxSlowdown, b.unsteered())
	return b
}

// apply makes them work by other settings.
func (b *brakes) apply(ctx context.Context, settings operator.Settings, values map[string]string) error {
	if operator.WaitsChange(values) {
		sensors, err := b.sensors(ctx, settings.Throttle)
		if err != nil {
			return fmt.Errorf("change for what the run waits: %w", err)
		}
		b.gates.Replace(sensors)
	}
	b.follow(settings)
	return nil
}

// follow takes the settings that hold now.
func (b *brakes) follow(settings operator.Settings) {
	b.share.Set(1 - settings.Rest)
	b.transit.Aim(settings.Throttle.ReplicaLag / transitShare)
	b.governor.Bound(settings.Workers(), settings.MaxSlowdown.Times(b.keeper.Factor()))
}

// sensors returns the sensors of the run.
func (b *brakes) sensors(ctx context.Context, t operator.Throttle) ([]throttle.Sensor, error) {
	db := b.run.pool.DB()
	var all []throttle.Sensor
	add := func(wanted bool, s func() throttle.Sensor) {
		if wanted {
			all = append(all, s())
		}
	}
	// Sensors that are replaced may still write to their own map, but not to this one.
	lags := map[string]time.Duration{}
	for _, f := range t.Replicas {
		replica := f.Replica()
		replica.Beat = func(ctx context.Context) (uint64, error) { return b.run.store.BeatOn(ctx, f.DB) }
		behind := func(number uint64, meant time.Duration) time.Duration {
			if meant == 0 {
				b.transit.Arrived(f.Name, number)
			} else {
				b.transit.Forget(f.Name)
			}
			return b.noteLag(lags, f.Name, b.beats.Behind(number, time.Now()))
		}
		if t.ReplicaLag > 0 {
			b.transit.Expect(f.Name)
		}
		add(t.ReplicaLag > 0, func() throttle.Sensor { return throttle.Lag(replica, t.ReplicaLag, behind) })
		add(t.ReplicaLag > 0, func() throttle.Sensor { return throttle.Replicating(replica) })
	}
	add(true, func() throttle.Sensor {
		return throttle.Backlog(max(1, b.run.cfg.BacklogLimit/backlogShare), b.backlogged)
	})
	all = append(all, b.run.link.Sensors(t, b.captureDelay)...)
	add(len(t.MaxLoad) > 0, func() throttle.Sensor { return throttle.MaxLoad(db, t.MaxLoad) })
	add(len(t.CriticalLoad) > 0, func() throttle.Sensor { return throttle.CriticalLoad(db, t.CriticalLoad) })
	add(t.History > 0, func() throttle.Sensor { return throttle.History(db, t.History) })
	add(
		t.CheckpointAge > 0 && b.run.plan.Server.Version.AtLeast(8, 0, 30),
		func() throttle.Sensor { return throttle.CheckpointAge(db, t.CheckpointAge) },
	)
	for _, path := range t.Files {
		add(path != "", func() throttle.Sensor { return throttle.File(path) })
	}
	add(!t.CopyWindow.IsZero(), func() throttle.Sensor { return throttle.CopyWindow(t.CopyWindow) })
	add(t.Query != "", func() throttle.Sensor { return throttle.Query(b.run.pool, b.run.plan.Source.Name.Schema, t.Query) })
	add(t.URL != "", func() throttle.Sensor { return throttle.HTTP(http.DefaultClient, t.URL) })
	add(b.run.plan.Server.Group, func() throttle.Sensor { return throttle.FlowControl(db) })
	add(t.GivenDisk > 0, func() throttle.Sensor { return throttle.Growth(t.GivenDisk, b.written) })
	if t.FreeDisk > 0 {
		var folder string
		if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.datadir").Scan(&folder); err != nil {
			return nil, fmt.Errorf("read where the server's files are: %w", err)
		}
		add(true, func() throttle.Sensor { return throttle.Disk(folder, t.FreeDisk, throttle.FreeBytes) })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lags = lags
	return all, nil
}

// noteLag remembers how far a replica is behind, and returns it.
func (b *brakes) noteLag(lags map[string]time.Duration, replica string, behind time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	lags[replica] = behind
	return behind
}

// mostBehind is how far the replica is behind that is farthest; negative where none is watched.
func (b *brakes) mostBehind() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := time.Duration(-1)
	for _, behind := range b.lags {
		most = max(most, behind)
	}
	return most
}

// backlogShare is the divisor of the backlog's limit: above that share the row copy waits for
// apply. Capture would have to wait only much later.
const backlogShare = 10

// backlogged is the number of keys that are not applied yet, and could be before the row copy's end.
func (b *brakes) backlogged() int {
	if w := b.run.prepared.Load(); w != nil {
		return w.backlog.Due()
	}
	return 0
}

// captureDelay is how far capture is behind; 0 while there is none.
func (b *brakes) captureDelay() time.Duration {
	if w := b.run.prepared.Load(); w != nil {
		return w.intake.Delay()
	}
	return 0
}

// written is what the new table and the binlog have grown by.
func (b *brakes) written(ctx context.Context) (int64, error) {
	bytes, err := facts.FileBytes(ctx, b.run.pool.DB(), b.run.debts.shadowName)
	if err != nil {
		return 0, err
	}
	if w := b.run.prepared.Load(); w != nil && w.intake.Stream != nil {
		bytes += w.intake.Stream.BytesRead()
	}
	return bytes, nil
}

// openGates makes the run wait for the gates that its settings name.
func (b *brakes) openGates(ctx context.Context) error {
	sensors, err := b.sensors(ctx, b.run.live().Throttle)
	if err == nil {
		b.gates.Replace(sensors)
	}
	return err
}

// giveRoom is the gate of all work that only reads the table's rows. It gives way to the
// application, and waits for the gates that the operator has named. The gates come last: work that
// has passed them waits for nothing else, and starts nothing after a pause has reported that
// everything has stopped.
func (b *brakes) giveRoom(ctx context.Context, worker int, took time.Duration) error {
	if err := b.governor.Gate(ctx, worker, took); err != nil {
		return err
	}
	return b.gates.Copy(ctx)
}

// chunk is the time that a statement which reads rows should take now.
func (b *brakes) chunk() time.Duration { return b.governor.Chunk(b.run.live().RowCopy.Target) }

// paceCopy makes a worker of the row copy rest: to give way to the application, and to keep to the
// share of its time that the operator allows.
func (b *brakes) paceCopy(ctx context.Context, worker int, took time.Duration) error {
	if err := b.share.Gate(ctx, took, time.Now()); err != nil {
		return err
	}
	return b.governor.Gate(ctx, worker, took)
}

func (b *brakes) copyMayBegin(ctx context.Context) error  { return b.gates.Copy(ctx) }
func (b *brakes) applyMayBegin(ctx context.Context) error { return b.gates.Apply(ctx) }

const (
	// transitShare is the part of the bound of a replica's lag that rows may be on their way to it.
	transitShare = 4
	// copyPart is the share of these rows that the row copy may use: the rest is for apply, which
	// goes first.
	copyPart = 0.75
)

// room makes our transactions wait until replicas have received the earlier ones, and then for the
// gates.
func (b *brakes) room(part float64, gate func(context.Context) error) func(ctx context.Context, rows int) (int, func(int), error) {
	return func(ctx context.Context, rows int) (int, func(int), error) {
		begun, err := b.transit.Begin(ctx, rows, part)
		if err != nil {
			return 0, nil, err
		}
		wrote := func(rows int) { b.transit.Ended(begun, rows) }
		if err := gate(ctx); err != nil {
			wrote(0)
			return 0, nil, err
		}
		return begun, wrote, nil
	}
}

// wroteBeat takes a heartbeat that was committed.
func (b *brakes) wroteBeat(number uint64, at time.Time) {
	b.beats.Wrote(number, at)
	b.transit.Wrote(number)
}

// steer makes all work on rows give way to the application, as far as the server shows its load and
// the settings don't forbid it.
func (b *brakes) steer(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := b.steerUntil(ctx, b.run.control.Changing()); err != nil {
			b.run.note(err.Error() + ": all workers continue")
			return nil
		}
	}
	return nil
}

// steerUntil steers by the settings of now until they have changed.
func (b *brakes) steerUntil(ctx context.Context, changed <-chan struct{}) error {
	if b.unsteered() {
		b.governor.Free()
		select {
		case <-ctx.Done():
		case <-changed:
		}
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-ctx.Done():
		case <-changed:
			stop()
		}
	}()
	return b.governor.Run(ctx)
}

// unsteered reports whether nothing gives way: because the settings say so, or because the server
// does not show how the application fares.
func (b *brakes) unsteered() bool {
	return b.run.live().FullSpeed || !b.run.plan.Server.PerformanceSchema
}

// givingWay does work that gives way to the application as steer has it, which reports its own failure.
func (b *brakes) givingWay(ctx context.Context, steer, work func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { _ = steer(ctx) })
	watching.Go(func() {
		if err := b.gates.Run(ctx); err != nil {
			stop(err)
		}
	})
	err := Because(ctx, work(ctx))
	stop(nil)
	watching.Wait()
	return err
}
