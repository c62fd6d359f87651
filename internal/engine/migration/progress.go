package migration

import (
	"context"
	"errors"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
)

// progressEvery is the time between two event.Progress.
const progressEvery = 500 * time.Millisecond

// progress emits the state of the run until the returned function is called.
func (r *run) progress() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				r.emit(r.standing())
				return
			case <-ticker.C:
				p := r.standing()
				r.mu.Lock()
				r.told = p
				r.mu.Unlock()
				r.emit(p)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// standing is the state now.
func (r *run) standing() event.Progress {
	r.mu.Lock()
	before := r.told
	r.mu.Unlock()
	return r.snapshot(before)
}

// snapshot is the state now; rates are smoothed with those before.
func (r *run) snapshot(before event.Progress) event.Progress {
	build := r.lookAtBuild()
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := event.Progress{
		Phase: r.phase, At: now, Elapsed: now.Sub(r.started),
		RowsTotal: r.plan.Source.Rows, BacklogLimit: r.cfg.BacklogLimit, ETA: -1, Slower: -1, ReplicaLag: r.mostBehind(),
		IndexFraction: build.fraction, BuildStep: build.step,
	}
	if r.scanner != nil {
		p.Scanned = r.scanner.Rows()
	}
	if r.copier == nil {
		return p
	}
	counts := r.backlog.Counts()
	p.RowsCopied, p.ChunkRows, p.Workers = r.copier.Rows(), r.copier.ChunkRows(), r.governor.Allowed()
	p.Slower = r.governor.Slower()
	felt := r.governor.Felt()
	p.Statements, p.Felt, p.FeltAlone = felt.PerSecond, felt.Now, felt.Alone
	p.Captured, p.Applied, p.Dropped, p.Merged = counts.Added, counts.Synced, counts.Dropped, counts.Merged
	p.Backlog, p.Retries = r.backlog.Len(), r.retries.Load()
	if r.capture != nil {
		p.CaptureDelay = r.capture.Delay()
		if r.stream != nil {
			p.BinlogRead, p.Position = r.stream.BytesRead(), r.stream.Position().String()
		}
		r.rehearsed.CaptureDelay = max(r.rehearsed.CaptureDelay, p.CaptureDelay)
	}
	if r.verifier != nil {
		p.Verified = r.verifier.Rows()
	}
	r.estimate(&p, before)
	return p
}

// smoothing is the weight of the newest half second in a rate; less than that weighs less.
const smoothing = 0.2

func (r *run) estimate(p *event.Progress, before event.Progress) {
	if seconds := p.At.Sub(before.At).Seconds(); !before.At.IsZero() && seconds > 0 {
		weight := smoothing * min(1, seconds/progressEvery.Seconds())
		p.CopyRate = smooth(before.CopyRate, float64(p.RowsCopied-before.RowsCopied)/seconds, weight)
		p.ApplyRate = smooth(before.ApplyRate, float64(p.Applied-before.Applied)/seconds, weight)
	}
	if r.tracker.Complete() {
		p.Fraction, p.ETA = 1, 0
		if p.ApplyRate > 0 {
			p.ETA = time.Duration(float64(p.Backlog) / p.ApplyRate * float64(time.Second))
		}
		return
	}
	// The server's estimate of the number of rows may be too low.
	total := max(p.RowsTotal, p.RowsCopied+int64(p.ChunkRows))
	p.RowsTotal = total
	if total > 0 {
		p.Fraction = min(0.999, float64(p.RowsCopied)/float64(total))
	}
	if p.CopyRate > 0 && r.live().Rest < 1 {
		p.ETA = time.Duration(float64(total-p.RowsCopied) / p.CopyRate * float64(time.Second))
	}
}

func smooth(before, now, weight float64) float64 {
	if before == 0 {
		return now
	}
	return before + weight*(now-before)
}

// checkpoints writes the state of the run to the server now and then.
func (r *run) checkpoints(ctx context.Context) error {
	ticker := time.NewTicker(r.cfg.Checkpoint)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := r.checkpoint(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// checkpoint writes the state of the run to the server: one at a time, so that none replaces a
// newer one.
func (r *run) checkpoint(ctx context.Context) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	session, err := r.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	// Somebody's read lock on all tables, as of a backup, is waited out.
	return session.Patiently(ctx, func() error {
		state, err := r.state(ctx)
		if err != nil {
			return err
		}
		return r.store.Save(ctx, session, state)
	})
}

// state is how far the run has come.
func (r *run) state(ctx context.Context) (checkpoint.Checkpoint, error) {
	// The position before the ranges: a range that is finished in between is then one
	// that the position does not know of, never the other way round (law L5).
	var position, gtids string
	if r.stream != nil {
		safe := r.stream.Safe()
		position, gtids = safe.Position.String(), safe.GTIDs.String()
	}
	r.mu.Lock()
	phase, unmarked := r.phase, r.made.unmarked
	r.mu.Unlock()
	state := checkpoint.Checkpoint{
		Version: checkpoint.Version, Phase: string(phase), Taken: time.Now(),
		Rows: r.copier.Rows(), Unmarked: unmarked, Shadow: r.shadow.Name.Table, Copied: checkpoint.Ranges(r.tracker.Copied()),
		Position: position, GTIDs: gtids,
		ServerUUID: r.plan.Server.UUID, ServerStart: r.serverStart, Distrusted: r.distrusted,
	}
	if from := r.cfg.CaptureFrom; from != nil {
		state.CaptureUUID, state.CaptureName, state.CaptureStart = r.captureUUID(), from.Name, r.captureStart
	}
	if !r.plan.Server.GTID {
		return state, nil
	}
	// After all that is claimed, so that it is among these.
	var err error
	state.Executed, err = capture.Executed(ctx, r.pool.DB())
	return state, err
}

// result sums the run up.
func (r *run) result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := Result{
		Method:   r.method,
		Elapsed:  time.Since(r.started),
		Prescan:  r.timing.prescan,
		Copy:     r.timing.copy,
		Index:    r.timing.index,
		Verify:   r.timing.verify,
		Native:   r.timing.native,
		Repaired: r.repaired,
		Retries:  r.retries.Load(),
		Swapped:  r.made.swapped,
		Resumed:  r.resumed,
		Attempts: r.swap.Attempts,
		LockHeld: r.swap.LockHeld,
		Drained:  r.swap.Drained,
	}
	result.Rehearsed = r.rehearsed
	result.Rehearsed.Replication = r.replication.summed()
	result.Rehearsed.LockWaited, result.Rehearsed.Blockers, result.Rehearsed.Blocked = r.inWay.waited, len(
		r.inWay.sessions,
	), r.inWay.blocked
	if r.scanner != nil {
		result.Scanned = r.scanner.Rows()
	}
	if r.copier != nil {
		result.RowsCopied = r.copier.Rows()
		counts := r.backlog.Counts()
		result.Captured, result.Applied = counts.Added, counts.Synced
		result.Dropped, result.Merged = counts.Dropped, counts.Merged
	}
	if r.verifier != nil {
		result.Verified = r.verifier.Rows()
	}
	result.Disk, result.Redo = r.spent.disk, r.spent.redo
	if r.stream != nil {
		result.BinlogRead, result.Binlog = r.stream.BytesRead(), r.stream.Weight()
	}
	if r.made.swapped && !r.cfg.DropOld && r.method == plan.MethodShadow {
		result.Old = r.old().Dotted()
	}
	return result
}

// keepAll saves the last state of a run that was ended to be gone on with.
func (r *run) keepAll(err error) {
	if !errors.Is(err, ErrKeep) || !r.made.saved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.checkpoint(ctx); err != nil { // the one before will do
		r.note("the last checkpoint could not be written, and some work is done again: " + err.Error())
	}
}
