package rowchange

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/engine/brakes"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Result is what a row change has done, in all of its attempts.
type Result struct {
	checkpoint.Changed
	// Match is the number of rows that match at the end, of those that were written since their range was read; negative: not counted.
	Match   int64
	Elapsed time.Duration // of this attempt
	Retries int64
	Resumed bool
}

// Left is what an attempt has left on the server, if its checkpoint was removed or kept afterwards.
func (r Result) Left(p *Plan, removed bool) string {
	changed := fmt.Sprintf("%d rows of %s were %s", r.Rows, p.Source.Name, p.Done())
	if removed {
		return changed + "; nothing else is left on the server."
	}
	return fmt.Sprintf("%s; the checkpoint is in %s.", changed, p.State())
}

// AsOfRun is the part of it that the result of any run has.
func (r Result) AsOfRun() migration.Result {
	return migration.Result{Elapsed: r.Elapsed, Scanned: r.Walked, RowsCopied: r.Rows, Retries: r.Retries, Resumed: r.Resumed}
}

// Change carries out a plan.
type Change struct {
	pool    *dbconn.Pool
	plan    *Plan
	control *operator.Control
	emit    event.Listener
	store   *checkpoint.Store
	brakes  *brakes.Brakes

	// made means that the state table may exist, and kept that another attempt can resume from it.
	made, kept bool
	flying     atomic.Int64
	retries    atomic.Int64

	mu      sync.Mutex // guards the rest
	phase   event.Phase
	started time.Time
	began   int64 // rows walked before this attempt
	at      position
	rows    int // of the next chunk
	last    event.Progress
	counted int64
}

// New returns a change for a plan, that obeys the control.
func New(pool *dbconn.Pool, p *Plan, control *operator.Control, emit event.Listener) *Change {
	c := &Change{pool: pool, plan: p, control: control, emit: emit, phase: event.PhaseCheck, started: time.Now()}
	c.store = checkpoint.New(p.State(), p.Source.Name, pool.Name(), p.Server.UUID)
	c.brakes = newBrakes(c)
	return c
}

// errFinished ends the background work.
var errFinished = errors.New("finished")

// Run carries the plan out, and may be called once. If ctx ends, Run finishes the chunk and keeps the checkpoint; a cause that is not
// failure.ErrKeep removes it. The error is a *failure.Failure.
func (c *Change) Run(parent context.Context) (Result, error) {
	result := Result{Match: -1}
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	err := c.claimed(ctx, fail, &result)
	result.Elapsed, result.Retries, result.Changed = time.Since(c.started), c.retries.Load(), c.standingAt().done
	if err != nil {
		return result, c.conclude(parent, migration.Because(ctx, err))
	}
	c.enter(event.PhaseDone)
	return result, nil
}

func (c *Change) claimed(ctx context.Context, fail context.CancelCauseFunc, result *Result) error {
	c.enter(event.PhaseCheck)
	if err := c.checkLimits(ctx); err != nil {
		return err
	}
	claim, err := leftovers.ClaimTable(ctx, c.pool, c.plan.Source.Name, fail)
	if err != nil {
		return err
	}
	defer claim.Release()
	at, beaten, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	result.Resumed = at.frontier != "" || at.ended
	c.mu.Lock()
	c.at, c.began = at, at.done.Walked
	c.mu.Unlock()
	if err := c.brakes.Open(ctx); err != nil {
		return err
	}
	c.control.Attach(c, plan.ChangingRows, &lock.Watcher{DB: c.pool.DB(), Tables: []schema.Name{c.plan.Source.Name}})
	defer c.control.Detach(c)
	var background sync.WaitGroup
	watched, stop := context.WithCancelCause(ctx)
	spawn := func(work func(context.Context) error) {
		background.Go(func() {
			if err := work(watched); err != nil {
				fail(err)
			}
		})
	}
	spawn(c.brakes.Gates.Run)
	spawn(c.brakes.Steer)
	spawn(func(ctx context.Context) error { return c.beat(ctx, beaten) })
	spawn(c.progress)
	err = c.walk(ctx, result)
	stop(errFinished)
	background.Wait()
	if err != nil {
		return err
	}
	c.enter(event.PhaseCleanup)
	return c.dropState(context.WithoutCancel(ctx))
}

// walk changes the rows, and counts those that match at the end.
func (c *Change) walk(ctx context.Context, result *Result) error {
	w, err := newWalker(ctx, c)
	if err != nil {
		return err
	}
	defer w.close()
	c.enter(event.PhaseRows)
	if err := w.run(ctx); err != nil {
		return err
	}
	done := c.standingAt().done
	text := fmt.Sprintf("all rows are walked: %d matched, %d %s", done.Matched, done.Rows, c.plan.Done())
	c.emit(event.Note{Text: text, At: time.Now(), Usual: true}) // the history knows it if a kill comes now
	if c.plan.Options.NoRecount {
		return nil
	}
	c.enter(event.PhaseRecount)
	result.Match, err = w.recount(ctx)
	return err
}

func (c *Change) enter(p event.Phase) {
	c.mu.Lock()
	c.phase = p
	c.mu.Unlock()
	c.emit(event.PhaseEntered{Phase: p, At: time.Now()})
}

func (c *Change) note(text string) { c.emit(event.Note{Text: text, At: time.Now()}) }

// standingAt is how far the run has come.
func (c *Change) standingAt() position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// removePatience bounds the removal of the state table after an abort.
const removePatience = 30 * time.Second

// conclude turns an error into a *failure.Failure.
func (c *Change) conclude(parent context.Context, err error) error {
	c.mu.Lock()
	f := &failure.Failure{Phase: c.phase, Err: err, Lost: failure.Outside(err)}
	c.mu.Unlock()
	name := c.plan.Source.Name
	so := Result{Changed: c.standingAt().done}
	cleanup := "midstream cleanup  " + name.Argument()
	aborted := parent.Err() != nil && !errors.Is(context.Cause(parent), failure.ErrKeep)
	if c.made && !c.kept || c.kept && aborted {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), removePatience)
		defer cancel()
		if removing := c.dropState(ctx); removing != nil {
			f.Err = errors.Join(err, failure.ErrLeftovers, removing)
			f.Left, f.Next = so.Left(c.plan, false), "Remove it with: "+cleanup
			return f
		}
	}
	switch {
	case c.kept:
		f.Kept = true
		f.Left = so.Left(c.plan, false)
		f.Next = failure.SameCommand + " to resume from there, or give the checkpoint up with: " + cleanup
	case errors.Is(err, failure.ErrOtherAlter):
		f.Left = fmt.Sprintf("This run has not touched %s, and the checkpoint of that run is unchanged.", name)
		f.Next = "Run that command again to resume it, or give its checkpoint up with: " + cleanup
	case so.Rows == 0:
		f.Left, f.Next = "No row was changed, and nothing is left on the server.", failure.NextAfter(parent, err)
	default:
		f.Left, f.Next = so.Left(c.plan, true), failure.SameCommand+" to go on with the other rows."
	}
	return f
}

// progressEvery is the time between two event.Progress.
const progressEvery = 500 * time.Millisecond

// progress emits the state of the run until ctx ends.
func (c *Change) progress(ctx context.Context) error {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.emit(c.standing())
			return nil
		case <-ticker.C:
			p := c.standing()
			c.mu.Lock()
			c.last = p
			c.mu.Unlock()
			c.emit(p)
		}
	}
}

// standing is the state now.
func (c *Change) standing() event.Progress {
	governor := c.brakes.Governor
	felt := governor.StatementTimes()
	c.mu.Lock()
	defer c.mu.Unlock()
	now, done := time.Now(), c.at.done
	p := event.Progress{
		Phase: c.phase, At: now, Elapsed: now.Sub(c.started), RowsCopied: done.Rows, RowsTotal: max(c.plan.Source.Rows, done.Walked),
		Scanned: done.Walked, ChunkRows: c.rows, Workers: governor.Allowed(), Slowdown: governor.Slowdown(), Statements: felt.PerSecond,
		StatementTime: felt.Now, StatementTimeAlone: felt.Alone, ReplicaLag: c.brakes.MostBehind(), Retries: c.retries.Load(), ETA: -1,
	}
	if c.phase == event.PhaseRecount {
		p.Scanned = c.counted
	}
	if p.RowsTotal > 0 {
		p.Fraction = min(0.999, float64(p.Scanned)/float64(p.RowsTotal))
	}
	if c.at.ended && c.phase != event.PhaseRecount {
		p.Fraction = 1
	}
	if seconds := p.At.Sub(c.last.At).Seconds(); !c.last.At.IsZero() && seconds > 0 {
		rate := float64(p.RowsCopied-c.last.RowsCopied) / seconds
		p.CopyRate = c.last.CopyRate + smoothing*(rate-c.last.CopyRate)
	}
	if walked := done.Walked - c.began; c.phase == event.PhaseRows && walked > 0 && p.Fraction > 0.01 {
		p.ETA = time.Duration(float64(p.Elapsed) / float64(walked) * float64(p.RowsTotal-done.Walked))
		p.ETALeast, p.ETAMost = p.ETA*2/3, p.ETA*2
	}
	return p
}

// smoothing is the weight of the newest half second in a rate.
const smoothing = 0.2

// Standing is operator.Run's.
func (c *Change) Standing() (p event.Progress, gates []event.Gate, at bool) {
	return c.standing(), c.brakes.Gates.Closed(), true
}

// Keeps is operator.Run's.
func (c *Change) Keeps() bool { return true }

// SetPaused is operator.Run's.
func (c *Change) SetPaused(why string) {
	if why == "" {
		c.brakes.Gates.Open(operator.PausedGate)
	} else {
		c.brakes.Gates.Close(operator.PausedGate, why)
	}
}

// InFlight is operator.Run's.
func (c *Change) InFlight() int { return int(c.flying.Load()) }

// Apply is operator.Run's.
func (c *Change) Apply(ctx context.Context, settings operator.Settings, values map[string]string) error {
	if err := operator.CheckSettings(ctx, c.pool, c.plan.Source.Name, c.control.Settings(), settings, values); err != nil {
		return err
	}
	return c.brakes.Apply(ctx, settings, values)
}
