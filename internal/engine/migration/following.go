package migration

import (
	"context"
	"errors"
	"sync"
	"time"

	"midstream/internal/engine/apply"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/onreplica"
	"midstream/internal/engine/plan"
)

// errFinished ends the background work when the story has come to its end.
var errFinished = errors.New("finished")

// following runs the story while the changes of the source are captured and applied.
// When one of these fails the story's context ends with its error.
func (w *work) following(parent context.Context, story func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(parent)
	var background sync.WaitGroup
	spawn := func(work func(context.Context) error) {
		background.Go(func() {
			if err := work(ctx); err != nil {
				stop(err) // the first cause counts
			}
		})
	}
	spawn(w.intake.Run)
	spawn(w.intake.Beats)
	spawn(w.checkpoints)
	spawn(w.brakes.Steer)
	spawn(w.keepDeadline)
	spawn(w.brakes.Gates.Run)
	spawn(w.intake.Watch)
	spawn(w.follower.Watch)
	if w.plan.Purpose == plan.RehearsingOnReplica {
		spawn(func(ctx context.Context) error { return w.account.replication.Run(ctx, w.pool.DB(), w.note) })
		spawn(func(ctx context.Context) error { return onreplica.GiveWay(ctx, w.pool) })
	}
	w.apply.start(ctx, stop)

	err := w.becauseChanged(Because(ctx, story(ctx)))
	stop(errFinished)
	w.apply.stop()
	background.Wait()
	w.keepAll(err)
	w.handBack(parent, err)
	return err
}

// becauseChanged returns that the source was changed unseen in place of an error that came of it.
func (w *work) becauseChanged(err error) error {
	if w.debts.done || errors.Is(err, cutover.ErrUnknown) {
		return err
	}
	return w.intake.BecauseChanged(err)
}

// Because returns what ended ctx in place of an error that came of it. That the outcome of
// the swap is not known stays known (law L9).
func Because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cutover.ErrUnknown) {
		return cause
	}
	return err
}

// applying is apply in the background. It can be held.
type applying struct {
	applier *apply.Applier

	ctx  context.Context // of the work that includes apply
	fail context.CancelCauseFunc
	halt context.CancelFunc
	done chan struct{}
}

func (a *applying) start(ctx context.Context, fail context.CancelCauseFunc) {
	a.ctx, a.fail = ctx, fail
	running, halt := context.WithCancel(ctx)
	a.halt, a.done = halt, make(chan struct{})
	go func() {
		defer close(a.done)
		if err := a.applier.Run(running, ctx); err != nil && running.Err() == nil {
			fail(err)
		}
	}()
}

// stop returns when no sync is in flight. It may be called again.
func (a *applying) stop() {
	a.halt()
	<-a.done
}

// whileStopped runs work while apply holds still.
func (a *applying) whileStopped(work func() error) error {
	a.stop()
	err := work()
	if a.ctx.Err() == nil { // ctx may be that of a comparison that is given up
		a.start(a.ctx, a.fail)
	}
	return err
}

// linger returns how long apply gathers changes before it applies them. Each transaction of apply is one more
// commit that the application's commits wait for, and a key that changes twice in this time is synced once.
// During the row copy nothing waits for apply, until the backlog is so long that its gate closes. In the
// phases after it, changes gather only next to an application that keeps the server busy, or for an undo that follows.
func (r *run) linger() time.Duration {
	switch r.account.phaseNow() {
	case event.PhaseCopy:
		return lingers
	case event.PhaseIndex, event.PhaseVerify, event.PhaseHold:
		if r.brakes.Governor.Busy() || r.plan.Back != nil && r.live().When.Hold {
			return lingers
		}
	}
	return 0
}

// lingers is short next to the time that a full backlog takes to gather.
const lingers = 500 * time.Millisecond
