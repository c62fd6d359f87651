package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/throttle"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

// How much a calibration does.
const (
	// baseline is how long the application is watched alone.
	baseline   = 2 * time.Second
	sampleTime = 4 * time.Second // of a row copy
	// aroundCopy is the time that a run needs in addition to the rows, for any number of them: the
	// start, catching up, the swap and cleaning up (330 ms with an idle server on two cores,
	// 9.7.4).
	aroundCopy  = 350 * time.Millisecond
	sampleRows  = 200_000  // on a clone, at most
	sampleBytes = 64 << 20 // likewise
)

// calibration is a run that only measures.
type calibration struct{ *run }

// Calibrate measures the server and its application. It copies a few chunks into a scratch shadow,
// and makes the server run its own statement on a clone with some rows. It drops both again. It may
// be called once, in place of Run. The error is a *Failure.
func (m *Migration) Calibrate(ctx context.Context, alter native.Question) (plan.Pace, error) {
	chunks := &throttle.Chunks{}
	quiet := *m
	quiet.emit = chunks.Listen
	r := calibration{newRun(&quiet)}
	pace := m.plan.Pace
	err := r.claimed(ctx, func(ctx context.Context) error {
		if err := earlier(r).noFormer(ctx); err != nil {
			return err
		}
		var err error
		if pace.Redo, pace.Binlog, pace.Writes, err = facts.WatchLoad(ctx, r.pool.DB(), r.plan.Source.Name, baseline); err != nil {
			return err
		}
		if err := r.measureNative(ctx, &pace, alter); err != nil {
			return err
		}
		return r.measureShadow(ctx, &pace, chunks)
	})
	pace.Measured = err == nil
	return pace, r.conclude(ctx, err)
}

// measureNative has the server carry out its own statement, if that is more than a change of the
// dictionary.
func (r calibration) measureNative(ctx context.Context, pace *plan.Pace, q native.Question) error {
	answer, target := r.plan.Native, &pace.Native
	var before *ddl.Alter
	if split := r.plan.Choice.Split; split != nil {
		before, q.Alter, answer, target = split.First, split.Rest, split.Answer, &pace.Rest
	}
	if answer == nil || answer.Effect <= plan.Metadata {
		return nil
	}
	rows := int64(sampleRows)
	if b := plan.RowBytes(r.plan); b > 0 {
		rows = min(rows, sampleBytes/b+1)
	}
	cost, err := native.Measure(ctx, r.pool, q, answer, before, rows)
	if err == nil && cost.Rows > 0 {
		*target = cost.Beside(pace.Redo)
	}
	return err
}

// measureShadow copies chunks into a scratch shadow.
func (r calibration) measureShadow(ctx context.Context, pace *plan.Pace, chunks *throttle.Chunks) error {
	if !r.plan.Choice.CopiesRows() {
		return nil
	}
	making := time.Now()
	d, err := r.prepareShadow(ctx)
	if err != nil {
		return err
	}
	pace.Shadow.Setup = time.Since(making) + aroundCopy
	before, err := facts.ReadLoad(ctx, r.pool.DB(), r.plan.Source.Name)
	if err != nil {
		return err
	}
	began := time.Now()
	if pace.Curve, err = r.copySample(ctx, d, chunks); err != nil {
		return err
	}
	after, err := facts.ReadLoad(ctx, r.pool.DB(), r.plan.Source.Name)
	if err != nil {
		return err
	}
	rate, rows := chunks.Rate(began, after.At)
	if rows == 0 {
		return nil
	}
	if live := r.live(); pace.Curve.Known() && live.FullSpeed {
		rate = pace.Curve.Full().Rows
	} else if pace.Curve.Known() {
		rate = live.MaxSlowdown.Within(pace.Curve).Rows
		pace.Shadow.Setup += throttle.Approach
	}
	verify := pace.Shadow.Rows / max(1, pace.Verify)
	pace.Shadow.Rows = rate
	pace.Verify = rate / verify
	redo, binlog, _ := after.Since(before)
	perRow := after.At.Sub(before.At).Seconds() / float64(rows)
	pace.Shadow.Redo, pace.Shadow.Binlog = max(0, redo-pace.Redo)*perRow, max(0, binlog-pace.Binlog)*perRow
	return r.measureIndexes(ctx, d.shadow, pace, rows)
}

// errSampled ends the copy of a sample.
var errSampled = errors.New("enough rows are copied")

// copySample copies rows for a while, under load from the application. If one is at work, it measures
// the curve; otherwise it copies as a run would.
func (r calibration) copySample(ctx context.Context, d *draft, chunks *throttle.Chunks) (curve plan.Curve, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	trial := &throttle.Trial{
		Governor: r.brakes.Governor, Meter: throttle.NewMeter(r.pool.DB(), d.shadow.Name.Table),
		Chunks: chunks, Workers: r.live().RowCopy.First(),
	}
	steer, busy := r.brakes.Steer, false
	if r.plan.Server.PerformanceSchema {
		if busy, err = trial.AtWork(ctx, time.Second); err != nil {
			return curve, err
		}
	}
	r.brakes.Share.Set(1) // the prediction takes its share
	var failed error
	if busy {
		steer = func(ctx context.Context) error {
			curve, failed = trial.Run(ctx)
			cancel(errSampled)
			return nil
		}
	} else {
		defer time.AfterFunc(sampleTime, func() { cancel(errSampled) }).Stop()
	}
	spec := d.specs.Sync
	nothing := func(context.Context, func(key.Key) bool) ([]key.Key, error) { return nil, nil } // no changes are captured
	from := origin{tracker: frontier.New(spec.Key), fresh: true}
	pending := backlog.New(backlog.Config{Limit: 1, Workers: 1, Partition: spec.Key.Partition}, from.tracker)
	err = givingWay(ctx, r.brakes, steer, r.newCopier(spec, rowsync.New(spec, nothing, r.retried), pending, from).Run)
	if errors.Is(err, errSampled) {
		err = nil
	}
	return curve, errors.Join(err, failed)
}

// measureIndexes builds the deferred indexes of the scratch shadow, and looks at its size.
func (r calibration) measureIndexes(ctx context.Context, made *shadow.Shadow, pace *plan.Pace, rows int64) error {
	pace.Indexes = 0
	if len(made.Deferred) > 0 {
		began := time.Now()
		if err := made.BuildIndexes(ctx, r.pool, r.brakes.Governor.Threads(dbconn.BuildThreads)); err != nil {
			return err
		}
		pace.Indexes = float64(rows) / time.Since(began).Seconds()
	}
	if err := made.Analyze(ctx, r.pool); err != nil {
		return err
	}
	bytes, err := facts.LeafBytes(ctx, r.pool.DB(), made.Name)
	if err != nil {
		return fmt.Errorf("read the size of shadow %s: %w", made.Name, err)
	}
	pace.Shadow.Bytes = bytes / float64(rows)
	return nil
}
