// Package brakes holds the work of a run back: gates, the operator's share, the closed loop on the application, and replicas that
// must keep up.
package brakes

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"time"

	"midstream/internal/engine/deadline"
	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/dbconn"
)

// Brakes hold the work of a run back. They are the gates, the share of its time that the operator
// allows it, the governor that gives way to the application, and the replicas that must keep up.
type Brakes struct {
	deps     Deps
	Gates    *throttle.Gates
	Share    *throttle.Share
	Governor *throttle.Governor
	Keeper   *deadline.Keeper  // of the run's deadline
	transit  *throttle.Transit // to replicas
	beats    throttle.Beats

	mu   sync.Mutex
	lags map[string]time.Duration // delay of each watched replica
}

// Deps are what brakes work with.
type Deps struct {
	Pool    *dbconn.Pool
	Control *operator.Control
	Emit    event.Listener
	Server  plan.Server
	Schema  string // of the table, in which a query of the operator is asked
	// BacklogLimit is the most keys that a backlog may hold.
	BacklogLimit int
	// BeatOn reads the last heartbeat that a replica has.
	BeatOn func(ctx context.Context, replica *sql.DB) (uint64, error)
	// Captured are the sensors of capture.
	Captured func(operator.Throttle) []throttle.Sensor
	// Backlogged is the number of keys that are not applied yet, and could be before the row copy's end.
	Backlogged func() int
	// Written is what the new table and the binlog have grown by, in bytes.
	Written func(context.Context) (int64, error)
	// Sensitivity is how much the load slows the work, and Standing is what a forecast needs.
	Sensitivity func() float64
	Standing    func() forecast.Standing
}

// New returns the brakes of a run. They have no gates until Open.
func New(deps Deps) *Brakes {
	live := deps.Control.Settings()
	b := &Brakes{
		deps:    deps,
		Gates:   throttle.NewGates(nil, deps.Emit),
		Share:   throttle.NewShare(1 - live.Rest),
		transit: throttle.NewTransit(live.Throttle.ReplicaLag / transitShare),
	}
	b.Keeper = deadline.NewKeeper(deadline.Deps{
		Rule: func(began time.Time) deadline.Rule {
			rule := b.live().Rule(began, !b.unsteered())
			rule.Sensitivity = deps.Sensitivity()
			return rule
		},
		Changing: deps.Control.Changing, Standing: deps.Standing,
		Apply: func() { b.Follow(b.live()) },
		Emit:  deps.Emit,
	})
	b.Governor = throttle.NewGovernor(deps.Pool.DB(), live.Workers(), live.MaxSlowdown, b.unsteered())
	return b
}

func (b *Brakes) live() operator.Settings { return b.deps.Control.Settings() }

// Apply makes them work by other settings.
func (b *Brakes) Apply(ctx context.Context, settings operator.Settings, values map[string]string) error {
	if operator.WaitsChange(values) {
		sensors, err := b.sensors(ctx, settings.Throttle)
		if err != nil {
			return fmt.Errorf("change for what the run waits: %w", err)
		}
		b.Gates.Replace(sensors)
	}
	b.Follow(settings)
	return nil
}

// Follow takes the settings that hold now.
func (b *Brakes) Follow(settings operator.Settings) {
	b.Share.Set(1 - settings.Rest)
	b.transit.Aim(settings.Throttle.ReplicaLag / transitShare)
	b.Governor.Bound(settings.Workers(), settings.MaxSlowdown.Times(b.Keeper.Factor()))
}

// sensors returns the sensors of the run.
func (b *Brakes) sensors(ctx context.Context, t operator.Throttle) ([]throttle.Sensor, error) {
	db := b.deps.Pool.DB()
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
		replica.Beat = func(ctx context.Context) (uint64, error) { return b.deps.BeatOn(ctx, f.DB) }
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
		return throttle.Backlog(max(1, b.deps.BacklogLimit/backlogShare), b.deps.Backlogged)
	})
	all = append(all, b.deps.Captured(t)...)
	add(len(t.MaxLoad) > 0, func() throttle.Sensor { return throttle.MaxLoad(db, t.MaxLoad) })
	add(len(t.CriticalLoad) > 0, func() throttle.Sensor { return throttle.CriticalLoad(db, t.CriticalLoad) })
	add(t.History > 0, func() throttle.Sensor { return throttle.History(db, t.History) })
	add(
		t.CheckpointAge > 0 && b.deps.Server.Version.AtLeast(8, 0, 30),
		func() throttle.Sensor { return throttle.CheckpointAge(db, t.CheckpointAge) },
	)
	for _, path := range t.Files {
		add(path != "", func() throttle.Sensor { return throttle.File(path) })
	}
	add(!t.CopyWindow.IsZero(), func() throttle.Sensor { return throttle.CopyWindow(t.CopyWindow) })
	add(t.Query != "", func() throttle.Sensor { return throttle.Query(b.deps.Pool, b.deps.Schema, t.Query) })
	add(t.URL != "", func() throttle.Sensor { return throttle.HTTP(http.DefaultClient, t.URL) })
	add(b.deps.Server.Group, func() throttle.Sensor { return throttle.FlowControl(db) })
	add(t.GivenDisk > 0, func() throttle.Sensor { return throttle.Growth(t.GivenDisk, b.deps.Written) })
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
func (b *Brakes) noteLag(lags map[string]time.Duration, replica string, behind time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	lags[replica] = behind
	return behind
}

// MostBehind is how far the replica is behind that is farthest; negative where none is watched.
func (b *Brakes) MostBehind() time.Duration {
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

// Open makes the run wait for the gates that its settings name.
func (b *Brakes) Open(ctx context.Context) error {
	sensors, err := b.sensors(ctx, b.live().Throttle)
	if err == nil {
		b.Gates.Replace(sensors)
	}
	return err
}

// GiveRoom is the gate of all work that only reads the table's rows. It gives way to the
// application, and waits for the gates that the operator has named. The gates come last: work that
// has passed them waits for nothing else, and starts nothing after a pause has reported that
// everything has stopped.
func (b *Brakes) GiveRoom(ctx context.Context, worker int, took time.Duration) error {
	if err := b.Governor.Gate(ctx, worker, took); err != nil {
		return err
	}
	return b.Gates.Copy(ctx)
}

// Chunk is the time that a statement which reads rows should take now.
func (b *Brakes) Chunk() time.Duration { return b.Governor.Chunk(b.live().RowCopy.Target) }

// PaceCopy makes a worker of the row copy rest: to give way to the application, and to keep to the
// share of its time that the operator allows.
func (b *Brakes) PaceCopy(ctx context.Context, worker int, took time.Duration) error {
	if err := b.Share.Gate(ctx, took, time.Now()); err != nil {
		return err
	}
	return b.Governor.Gate(ctx, worker, took)
}

// CopyMayBegin waits for all gates.
func (b *Brakes) CopyMayBegin(ctx context.Context) error { return b.Gates.Copy(ctx) }

// ApplyMayBegin waits for the gates that apply would make worse.
func (b *Brakes) ApplyMayBegin(ctx context.Context) error { return b.Gates.Apply(ctx) }

const (
	// transitShare is the part of the bound of a replica's lag that rows may be on their way to it.
	transitShare = 4
	// CopyPart is the share of these rows that the row copy may use: the rest is for apply, which
	// goes first.
	CopyPart = 0.75
)

// Room makes our transactions wait until replicas have received the earlier ones, and then for the
// gates.
func (b *Brakes) Room(part float64, gate func(context.Context) error) func(ctx context.Context, rows int) (int, func(int), error) {
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

// WroteBeat takes a heartbeat that was committed.
func (b *Brakes) WroteBeat(number uint64, at time.Time) {
	b.beats.Wrote(number, at)
	b.transit.Wrote(number)
}

// Steer makes all work on rows give way to the application, as far as the server shows its load and
// the settings don't forbid it.
func (b *Brakes) Steer(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := b.steerUntil(ctx, b.deps.Control.Changing()); err != nil {
			b.deps.Emit(event.Note{Text: err.Error() + ": all workers continue", At: time.Now()})
			return nil
		}
	}
	return nil
}

// steerUntil steers by the settings of now until they have changed.
func (b *Brakes) steerUntil(ctx context.Context, changed <-chan struct{}) error {
	if b.unsteered() {
		b.Governor.Free()
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
	return b.Governor.Run(ctx)
}

// unsteered reports whether nothing gives way: because the settings say so, or because the server
// does not show how the application fares.
func (b *Brakes) unsteered() bool {
	return b.live().FullSpeed || !b.deps.Server.PerformanceSchema
}
