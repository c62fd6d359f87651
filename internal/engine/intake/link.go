package intake

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
)

// CaptureFrom is a replica of the source. Its binlog is read instead of the source's. The plan must
// have been made for it.
type CaptureFrom struct {
	Name   string // host:port
	DB     *sql.DB
	Binlog binlog.Server
}

var (
	// ErrOtherCapture means that an earlier run had read changes from another server than this run
	// is to use, and that the place to continue there can't be found. Nothing was done.
	ErrOtherCapture = errors.New("an earlier run has read changes from another server")
	// ErrCaptureUnfit means that the run must stop reading changes from the replica: they may be
	// missing or in another order. The work is kept.
	ErrCaptureUnfit = errors.New("the run can no longer read changes from the replica")
	// ErrNoHeartbeat means that the replica has not brought a heartbeat. Nothing was copied yet.
	ErrNoHeartbeat = errors.New("no heartbeat has arrived at the replica")
	// ErrPlan means that the plan was made for another server's changes.
	ErrPlan = errors.New("the plan is for changes from another server")
)

// After these errors, changes can no longer be known. Start again.
var (
	// ErrSourceChanged means that the source was altered, renamed, truncated or dropped during the
	// run.
	ErrSourceChanged = errors.New("the source was changed by a statement")
	// ErrStatementFormat means that a session wrote to some table in STATEMENT format. Through a
	// view, a trigger or a stored function it may have written to the source, and the keys that it
	// touched are not known.
	ErrStatementFormat = errors.New("a session wrote in STATEMENT format, and may have written to the source " +
		"through a view, a trigger or a function")
)

// Link is how a run reaches the changes of its source.
type Link struct {
	Deps
	// started is when the replica was started, if changes are read from one.
	started  int64
	defaults defaults // of the followed key
}

// Deps are what a Link works with.
type Deps struct {
	Pool    *dbconn.Pool
	Binlog  binlog.Server
	Plan    *plan.Plan
	From    *CaptureFrom // replica to read; nil: the source
	Config  capture.Config
	Store   *checkpoint.Store
	Control *operator.Control
	Emit    event.Listener
}

// NewLink returns a link. It asks no server.
func NewLink(deps Deps) *Link { return &Link{Deps: deps} }

// Origin is the point where the intake begins.
type Origin struct {
	Point capture.Point // in the binlog
	// Sight describes the triggers and their log, as trigger.Look sees them.
	Sight string
	// Beaten is the number of the last heartbeat of an earlier run.
	Beaten uint64
	// Since is for a lazy undo; nil for other runs.
	Since *Since
}

func (l *Link) note(text string) { l.Emit(event.Note{Text: text, At: time.Now()}) }

// Mark records in a checkpoint which server changes are read from.
func (l *Link) Mark(c *checkpoint.Checkpoint) {
	if l.From != nil {
		c.CaptureUUID, c.CaptureName, c.CaptureStart = l.uuid(), l.From.Name, l.started
	}
}

// db serves queries to the server from which the binlog is read.
func (l *Link) db() *sql.DB {
	if from := l.From; from != nil {
		return from.DB
	}
	return l.Pool.DB()
}

// uuid names the server from which the binlog is read.
func (l *Link) uuid() string {
	if c := l.Plan.Server.Capture; c != nil {
		return c.UUID
	}
	return l.Plan.Server.UUID
}

// server is how the binlog is reached.
func (l *Link) server() binlog.Server {
	server := l.Binlog
	if from := l.From; from != nil {
		server = from.Binlog
	}
	server.UUID = l.uuid()
	return server
}

// Prepare looks whether the plan is for what the run was given, and remembers since when the replica is up.
func (l *Link) Prepare(ctx context.Context) (err error) {
	from := l.From
	if (from == nil) != (l.Plan.Server.Capture == nil) {
		return ErrPlan
	}
	if l.defaults, err = readDefaults(ctx, l.Pool, l.Plan); err != nil {
		return err
	}
	if from == nil {
		return nil
	}
	l.started, err = ServerStart(ctx, from.DB)
	return err
}

// firstBeat is a number for heartbeats that no earlier run has come to: theirs began with an earlier time, and
// grew more slowly.
func firstBeat() uint64 { return uint64(time.Now().UnixMilli()) }

// arrival is how long a replica may take to bring the first heartbeat.
const arrival = 30 * time.Second

// awaitReplica waits until the replica has all that was committed on the source before, an earlier
// run's statements among it. It returns the number of the heartbeat that it has waited for.
func (l *Link) awaitReplica(ctx context.Context) (beaten uint64, err error) {
	from := l.From
	if from == nil {
		return 0, nil
	}
	beaten = firstBeat()
	session, err := l.Pool.Session(ctx)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	if err := session.Patiently(ctx, func() error { return l.Store.Beat(ctx, session, beaten) }); err != nil {
		return 0, err
	}
	for began, told := time.Now(), false; ; {
		there, err := l.Store.BeatOn(ctx, from.DB)
		if err != nil || there >= beaten {
			return beaten, err
		}
		waited := time.Since(began)
		if waited > arrival {
			return 0, fmt.Errorf(
				"%w: %s, in %s; it is behind, or does not replicate the state table %s", ErrNoHeartbeat, from.Name,
				arrival, l.Store.Name(),
			)
		}
		if waited > time.Second && !told {
			told = true
			l.note("waiting for the first heartbeat to arrive at replica " + from.Name)
		}
		if err := dbconn.Sleep(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// binlogEnd asks for the end of the binlog, where heartbeats don't come back through it; else it is
// nil.
func (l *Link) binlogEnd() func(context.Context) (binlog.Position, error) {
	if l.Plan.Purpose != plan.RehearsingOnReplica {
		return nil
	}
	return func(ctx context.Context) (binlog.Position, error) { return capture.End(ctx, l.Pool.DB()) }
}

// Sensors returns the sensors of capture and, if changes are read from a replica, its sensors.
func (l *Link) Sensors(t operator.Throttle, delay func() time.Duration) []throttle.Sensor {
	from, name := l.From, ""
	if from != nil {
		name = from.Name
	}
	var all []throttle.Sensor
	if t.CaptureDelay > 0 {
		all = append(all, throttle.Delay(t.CaptureDelay, delay, name))
	}
	if from != nil && (t.ReplicaLag <= 0 || !slices.ContainsFunc(t.Replicas, func(f operator.Follower) bool { return f.Name == name })) {
		all = append(all, throttle.Replicating(operator.Follower{Name: name, DB: from.DB}.Replica()))
	}
	return all
}

// Start is law L1: it finds where changes begin, before the first row is read.
func (l *Link) Start(ctx context.Context, codec *key.Codec) (from Origin, err error) {
	if l.ByTriggers() {
		from.Sight, err = l.startTriggers(ctx, codec)
		return from, err
	}
	if from.Beaten, err = l.awaitReplica(ctx); err != nil {
		return from, err
	}
	from.Point, err = capture.Now(ctx, l.db())
	return from, err
}

// AwaitPreparedXA waits for the end of the XA transactions that have rows in the binlog before the
// start position. Their XA COMMIT comes later, but brings no rows. So the first row may be read
// only afterwards (laws L1, L3).
func (l *Link) AwaitPreparedXA(ctx context.Context) error {
	before, err := capture.PreparedXA(ctx, l.Pool.DB())
	if err != nil {
		if dbconn.Denied(err) {
			l.note("cannot list prepared XA transactions (XA_RECOVER_ADMIN is missing): " +
				"make sure that none is prepared while the run starts")
			return nil
		}
		return err
	}
	for told := false; len(before) > 0; told = true {
		if !told {
			l.note(fmt.Sprintf("waiting for %d XA transactions that were prepared before the start", len(before)))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
		now, err := capture.PreparedXA(ctx, l.Pool.DB())
		if err != nil {
			return err
		}
		before = common(before, now)
	}
	return nil
}

func common(a, b []string) []string {
	in := map[string]bool{}
	for _, s := range b {
		in[s] = true
	}
	var both []string
	for _, s := range a {
		if in[s] {
			both = append(both, s)
		}
	}
	return both
}
