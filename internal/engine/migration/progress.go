package migration

import (
	"context"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/native"
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
				r.account.remember(p)
				r.emit(p)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// standing returns the state now. It smooths rates with the rates of the last progress.
func (r *run) standing() event.Progress {
	before, build := r.account.last(), r.building()
	p := r.account.progress()
	p.RowsTotal, p.BacklogLimit, p.ReplicaLag = r.plan.Source.Rows, r.cfg.BacklogLimit, r.brakes.MostBehind()
	p.IndexFraction, p.BuildStep, p.Deadline = build.Fraction, build.Step, r.brakes.Keeper.Report()
	w := r.prepared.Load()
	if w == nil && p.Phase != event.PhasePrescan {
		return p
	}
	governor := r.brakes.Governor
	felt := governor.StatementTimes()
	p.Workers, p.Slowdown = governor.Allowed(), governor.Slowdown()
	p.Statements, p.StatementTime, p.StatementTimeAlone = felt.PerSecond, felt.Now, felt.Alone
	if w != nil {
		w.report(&p, before)
		r.account.foresee(&p, braked{r}.forecastable(p), r.live().Calendar())
	}
	return p
}

// building is the progress of the server's build, if one may be at work.
func (r *run) building() native.Building {
	if phase := r.account.phaseNow(); phase != event.PhaseIndex && phase != event.PhaseNative {
		return native.Building{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), progressEvery)
	defer cancel()
	return native.Look(ctx, r.pool.DB())
}

// report adds what the stages count.
func (w *work) report(p *event.Progress, before event.Progress) {
	counts := w.backlog.Counts()
	p.RowsCopied, p.ChunkRows = w.copier.Rows(), w.copier.ChunkRows()
	p.Captured, p.Applied, p.Dropped, p.Merged = counts.Added, counts.Synced, counts.Dropped, counts.Merged
	p.Backlog, p.CaptureDelay = w.backlog.Len(), w.intake.Delay()
	if w.intake.Stream != nil {
		p.BinlogRead, p.Position = w.intake.Stream.BytesRead(), w.intake.Stream.Position().String()
	}
	p.Unfit, p.Changed = w.lot.Standing(w.unfit), w.backlog.Changed(w.unfit.Number())
	w.account.update(func() { w.account.rehearsed.CaptureDelay = max(w.account.rehearsed.CaptureDelay, p.CaptureDelay) })
	w.estimate(p, before)
}

// smoothing is the weight of the newest half second in a rate; less than that weighs less.
const smoothing = 0.2

func (w *work) estimate(p *event.Progress, before event.Progress) {
	if seconds := p.At.Sub(before.At).Seconds(); !before.At.IsZero() && seconds > 0 {
		weight := smoothing * min(1, seconds/progressEvery.Seconds())
		p.CopyRate = smooth(before.CopyRate, float64(p.RowsCopied-before.RowsCopied)/seconds, weight)
		p.ApplyRate = smooth(before.ApplyRate, float64(p.Applied-before.Applied)/seconds, weight)
	}
	if w.tracker.Complete() {
		p.Fraction = 1
		return
	}
	// The server's estimate of the number of rows may be too low.
	total := max(p.RowsTotal, p.RowsCopied+int64(p.ChunkRows))
	p.RowsTotal = total
	if total > 0 {
		p.Fraction = min(0.999, float64(p.RowsCopied)/float64(total))
	}
}

func smooth(before, now, weight float64) float64 {
	if before == 0 {
		return now
	}
	return before + weight*(now-before)
}

// result sums the run up.
func (r *run) result() Result {
	result := r.account.result()
	result.Swapped, result.Deadline = r.debts.done, r.brakes.Keeper.Report()
	if w := r.prepared.Load(); w != nil {
		counts := w.backlog.Counts()
		result.RowsCopied = w.copier.Rows()
		result.Captured, result.Applied, result.Changed = counts.Added, counts.Synced, w.backlog.Changed(w.unfit.Number())
		result.Dropped, result.Merged = counts.Dropped, counts.Merged
		if w.intake.Stream != nil {
			result.BinlogRead, result.Binlog = w.intake.Stream.BytesRead(), w.intake.Stream.Weight()
		}
	}
	if r.debts.done && !r.cfg.DropOld && result.Method == plan.MethodShadow {
		result.Old = r.old().Dotted()
	}
	return result
}
