package migration

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Changes may be read from a replica of the source (Config.CaptureFrom), which spares the source
// one reader of its binlog. Heartbeats are written on the source as ever, and come back through the
// replica. The laws hold as they do on the source itself, as long as the replica logs what it
// replicates in the source's order (plan.CaptureFacts.Faults):
//
//   - L1, L3, L4: what the replica has logged stood in the source's binlog before. A heartbeat that is written after it was
//     received stands behind it there, and the source's engine commits in that order.
//   - L6: what stands in the source's binlog before the last heartbeat comes through the replica before it.
//
// A replica that is behind holds back changes, and with them the swap; it never makes a key visible
// too early.

// CaptureFrom is a replica of the source whose binlog is read in place of the source's. The plan must have been
// made for it.
type CaptureFrom struct {
	Name   string // host:port
	DB     *sql.DB
	Binlog binlog.Server
}

var (
	// ErrOtherCapture says that an earlier run was stopped which had read changes from another
	// server than this one is to, and that nobody can tell where to go on there. Nothing was done.
	ErrOtherCapture = errors.New("an earlier run has read changes from another server")
	// ErrCaptureUnfit says that changes must not be read from the replica any more, as they may be missing or in
	// another order. What was done is kept.
	ErrCaptureUnfit = errors.New("changes can't be read from the replica any more")
	// ErrNoHeartbeat says that the replica has not brought a heartbeat. Nothing was copied yet.
	ErrNoHeartbeat = errors.New("no heartbeat has come to the replica")
	errCapturePlan = errors.New("the plan is for changes from another server")
)

// captureDB serves queries to the server whose binlog is read.
func (r *run) captureDB() *sql.DB {
	if from := r.cfg.CaptureFrom; from != nil {
		return from.DB
	}
	return r.pool.DB()
}

// captureUUID names the server whose binlog is read.
func (r *run) captureUUID() string {
	if c := r.plan.Server.Capture; c != nil {
		return c.UUID
	}
	return r.plan.Server.UUID
}

// captureServer is how the binlog is reached.
func (r *run) captureServer() binlog.Server {
	server := r.binlog
	if from := r.cfg.CaptureFrom; from != nil {
		server = from.Binlog
	}
	server.UUID = r.captureUUID()
	return server
}

// prepareCapture looks whether the plan is for what the run was given, and remembers since when the replica is up.
func (r *run) prepareCapture(ctx context.Context) (err error) {
	from := r.cfg.CaptureFrom
	if (from == nil) != (r.plan.Server.Capture == nil) {
		return errCapturePlan
	}
	if from == nil {
		return nil
	}
	if r.cfg.NoVerify {
		r.cfg.NoVerify = false
		r.note("a run that reads changes from a replica is always compared: --no-verify is not heeded")
	}
	r.captureStart, err = serverStart(ctx, from.DB)
	return err
}

// arrival is how long a replica may take to bring the first heartbeat.
const arrival = 30 * time.Second

// awaitReplica waits until the replica has all that was committed on the source before, an earlier
// run's statements among it. It returns the number of the heartbeat that it has waited for.
func (r *run) awaitReplica(ctx context.Context) (beaten uint64, err error) {
	from := r.cfg.CaptureFrom
	if from == nil {
		return 0, nil
	}
	// No earlier run has come to such a number: theirs began with an earlier time, and grew more slowly.
	beaten = uint64(time.Now().UnixMilli())
	session, err := r.pool.Session(ctx)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	if err := session.Patiently(ctx, func() error { return r.store.Beat(ctx, session, beaten) }); err != nil {
		return 0, err
	}
	for began, told := time.Now(), false; ; {
		there, err := r.store.BeatOn(ctx, from.DB)
		if err != nil || there >= beaten {
			return beaten, err
		}
		waited := time.Since(began)
		if waited > arrival {
			return 0, fmt.Errorf(
				"%w: %s, in %s; it is behind, or does not replicate the state table %s", ErrNoHeartbeat, from.Name,
				arrival, r.store.Name(),
			)
		}
		if waited > time.Second && !told {
			told = true
			r.note("waiting for the first heartbeat to come to replica " + from.Name)
		}
		if err := dbconn.Sleep(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// captureEvery is the time between two looks at the replica.
const captureEvery = time.Second

// watchCapture looks, where changes are read from a replica, whether they still may be, until the context ends.
func (r *run) watchCapture(ctx context.Context) error {
	if r.cfg.CaptureFrom == nil {
		return nil
	}
	ticker := time.NewTicker(captureEvery)
	defer ticker.Stop()
	for {
		if err := r.captureFit(ctx); err != nil && !dbconn.ConnectionLost(err) && ctx.Err() == nil {
			return err // a lost connection is the reader's to tell
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// captureFit fails with ErrCaptureUnfit if changes may be missing in what is read from the replica,
// or in another order.
func (r *run) captureFit(ctx context.Context) error {
	from := r.cfg.CaptureFrom
	if from == nil {
		return r.triggersFit(ctx)
	}
	known, err := facts.GatherCapture(ctx, from.DB, from.Name)
	if err != nil {
		return fmt.Errorf("look at replica %s: %w", from.Name, err)
	}
	names := append([]schema.Name{r.plan.Source.Name}, r.plan.Names.All()...)
	if faults := known.Faults(r.plan.Server.UUID, names); len(faults) > 0 {
		return fmt.Errorf("%w: %s: %s. %s", ErrCaptureUnfit, faults[0].What, faults[0].Why, faults[0].Fix)
	}
	start, err := serverStart(ctx, from.DB)
	if err != nil {
		return fmt.Errorf("look at replica %s: %w", from.Name, err)
	}
	if known.SyncBinlog != 1 && startedAnew(start, r.captureStart) {
		return fmt.Errorf(
			"%w: %s was started again, with sync_binlog=%d: a crash may have cost it changes in its binlog",
			ErrCaptureUnfit, from.Name, known.SyncBinlog,
		)
	}
	return nil
}

// startedAnew says that two readings of a server's start are of two starts.
func startedAnew(a, b int64) bool { return a-b > startTolerance || b-a > startTolerance }

// captureSensors are those of capture, and of the replica from which it reads, if any.
func (r *run) captureSensors(t operator.Throttle) []throttle.Sensor {
	from, name := r.cfg.CaptureFrom, ""
	if from != nil {
		name = from.Name
	}
	var all []throttle.Sensor
	if t.CaptureDelay > 0 {
		all = append(all, throttle.Delay(t.CaptureDelay, r.captureDelay, name))
	}
	if from != nil && (t.ReplicaLag <= 0 || !slices.ContainsFunc(t.Replicas, func(f operator.Follower) bool { return f.Name == name })) {
		all = append(all, throttle.Replicating(operator.Follower{Name: name, DB: from.DB}.Replica()))
	}
	return all
}

// judgeCapture finds the place in the binlog of the server from which changes are read now, where
// that is another one than the earlier run's, or fails with ErrOtherCapture.
func (r *run) judgeCapture(ctx context.Context, c checkpoint.Checkpoint, f *former) error {
	now := "the source"
	if from := r.cfg.CaptureFrom; from != nil {
		now = from.Name
	}
	moved := fmt.Sprintf(
		"%s (server_uuid %s), and this one is to read them from %s (%s)", cmp.Or(c.CaptureName, "the source"),
		c.CaptureServer(), now, r.captureUUID(),
	)
	gtids := r.plan.Server.GTID && (r.plan.Server.Capture == nil || r.plan.Server.Capture.GTID)
	if !gtids || c.GTIDs == "" {
		return fmt.Errorf("%w: %s; without GTIDs on both, where to go on there can't be told", ErrOtherCapture, moved)
	}
	position, err := capture.Behind(ctx, r.captureDB(), c.GTIDs)
	if err != nil {
		return err
	}
	if position.IsZero() {
		return fmt.Errorf("%w: %s, which no longer has in its binlog all that followed", ErrOtherCapture, moved)
	}
	f.point.Position = position
	return nil
}
