package migration

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/throttle"
)

// sensors are those of the run.
func (r *run) sensors(ctx context.Context, t operator.Throttle) ([]throttle.Sensor, error) {
	db := r.pool.DB()
	var all []throttle.Sensor
	add := func(wanted bool, s func() throttle.Sensor) {
		if wanted {
			all = append(all, s())
		}
	}
	lags := map[string]time.Duration{} // what sensors that these take the place of still see is not of them
	for _, f := range t.Replicas {
		replica := f.Replica()
		replica.Beat = func(ctx context.Context) (uint64, error) { return r.store.BeatOn(ctx, f.DB) }
		behind := func(number uint64, meant time.Duration) time.Duration {
			if meant == 0 {
				r.transit.Arrived(f.Name, number)
			} else {
				r.transit.Forget(f.Name)
			}
			return r.noteLag(lags, f.Name, r.beaten.Behind(number, time.Now()))
		}
		if t.ReplicaLag > 0 {
			r.transit.Expect(f.Name)
		}
		add(t.ReplicaLag > 0, func() throttle.Sensor { return throttle.Lag(replica, t.ReplicaLag, behind) })
		add(t.ReplicaLag > 0, func() throttle.Sensor { return throttle.Replicating(replica) })
	}
	add(true, func() throttle.Sensor { return throttle.Backlog(max(1, r.cfg.BacklogLimit/backlogShare), r.backlogged) })
	all = append(all, r.captureSensors(t)...)
	add(len(t.MaxLoad) > 0, func() throttle.Sensor { return throttle.MaxLoad(db, t.MaxLoad) })
	add(len(t.CriticalLoad) > 0, func() throttle.Sensor { return throttle.CriticalLoad(db, t.CriticalLoad) })
	add(t.History > 0, func() throttle.Sensor { return throttle.History(db, t.History) })
	add(
		t.CheckpointAge > 0 && r.plan.Server.Version.AtLeast(8, 0, 30),
		func() throttle.Sensor { return throttle.CheckpointAge(db, t.CheckpointAge) },
	)
	for _, path := range t.Files {
		add(path != "", func() throttle.Sensor { return throttle.File(path) })
	}
	add(t.Query != "", func() throttle.Sensor { return throttle.Query(r.pool, r.plan.Source.Name.Schema, t.Query) })
	add(t.URL != "", func() throttle.Sensor { return throttle.HTTP(http.DefaultClient, t.URL) })
	add(r.plan.Server.Group, func() throttle.Sensor { return throttle.FlowControl(db) })
	add(t.GivenDisk > 0, func() throttle.Sensor { return throttle.Growth(t.GivenDisk, r.written) })
	if t.FreeDisk > 0 {
		var folder string
		if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.datadir").Scan(&folder); err != nil {
			return nil, fmt.Errorf("read where the server's files are: %w", err)
		}
		add(true, func() throttle.Sensor { return throttle.Disk(folder, t.FreeDisk, freeBytes) })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lags = lags
	return all, nil
}

// noteLag remembers how far a replica is behind, and returns it.
func (r *run) noteLag(lags map[string]time.Duration, replica string, behind time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	lags[replica] = behind
	return behind
}

// mostBehind is how far the replica is behind that is farthest; negative where none is watched. REQUIRES: mu is held.
func (r *run) mostBehind() time.Duration {
	most := time.Duration(-1)
	for _, behind := range r.lags {
		most = max(most, behind)
	}
	return most
}

// backlogShare is the part of the backlog's limit above which the row copy waits for apply: far
// from where capture would have to wait.
const backlogShare = 10

// backlogged is the number of keys that are not applied yet, and could be before the row copy's end.
func (r *run) backlogged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backlog == nil {
		return 0
	}
	return r.backlog.Due()
}

// captureDelay is how far capture is behind; 0 while there is none.
func (r *run) captureDelay() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.capture == nil {
		return 0
	}
	return r.capture.Delay()
}

// written is what the new table and the binlog have grown by.
func (r *run) written(ctx context.Context) (int64, error) {
	bytes, err := facts.FileBytes(ctx, r.pool.DB(), r.shadowName())
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream != nil {
		bytes += r.stream.BytesRead()
	}
	return bytes, nil
}

// openGates has the run wait for what it was told to.
func (r *run) openGates(ctx context.Context) error {
	sensors, err := r.sensors(ctx, r.live().Throttle)
	if err == nil {
		r.gates.Replace(sensors)
	}
	return err
}

// giveRoom is the gate of all work that only reads the table's rows: it gives way to the
// application, and waits for what the operator has named. The gates come last: nobody who has
// passed them waits for anything else, and begins after a pause has said that all stands still.
func (r *run) giveRoom(ctx context.Context, worker int, took time.Duration) error {
	if err := r.governor.Gate(ctx, worker, took); err != nil {
		return err
	}
	return r.gates.Copy(ctx)
}

// paceCopy has a worker of the row copy rest: to give way to the application, and for the share of
// its time that the operator leaves it.
func (r *run) paceCopy(ctx context.Context, worker int, took time.Duration) error {
	if err := r.share.Gate(ctx, took, time.Now()); err != nil {
		return err
	}
	return r.governor.Pace(ctx, worker, took)
}

func (r *run) copyMayBegin(ctx context.Context) error  { return r.gates.Copy(ctx) }
func (r *run) applyMayBegin(ctx context.Context) error { return r.gates.Apply(ctx) }

const (
	// transitShare is the part of the bound of a replica's lag that rows may be on their way to it.
	transitShare = 4
	// copyPart is what of these rows may be the row copy's: the rest is for apply, which goes first.
	copyPart = 0.75
)

// room has transactions of ours wait until replicas have taken those before, and then for the gates.
func (r *run) room(part float64, gate func(context.Context) error) func(ctx context.Context, rows int) (int, func(int), error) {
	return func(ctx context.Context, rows int) (int, func(int), error) {
		begun, err := r.transit.Begin(ctx, rows, part)
		if err != nil {
			return 0, nil, err
		}
		wrote := func(rows int) { r.transit.Ended(begun, rows) }
		if err := gate(ctx); err != nil {
			wrote(0)
			return 0, nil, err
		}
		return begun, wrote, nil
	}
}

// wroteBeat takes a heartbeat that was committed.
func (r *run) wroteBeat(number uint64, at time.Time) {
	r.beaten.Wrote(number, at)
	r.transit.Wrote(number)
}

// linger is how long apply gathers changes: each of its transactions is a commit more for the application's to wait
// for, and a key that changes twice meanwhile is synced once. Nothing waits for them while rows are copied.
func (r *run) linger() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == event.PhaseCopy {
		return 500 * time.Millisecond
	}
	return 0
}
