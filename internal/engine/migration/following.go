package migration

import (
	"context"
	"errors"
	"sync"
	"time"

	"midstream/internal/engine/apply"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/mysql/dbconn"
)

// errFinished ends the background work when the story has come to its end.
var errFinished = errors.New("finished")

// following runs the story while the changes of the source are captured and applied.
// When one of these fails the story's context ends with its error.
func (r *run) following(ctx context.Context, story func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	var background sync.WaitGroup
	spawn := func(work func(context.Context) error) {
		background.Go(func() {
			if err := work(ctx); err != nil {
				stop(err) // the first cause counts
			}
		})
	}
	spawn(r.capture.Run)
	spawn(r.capture.Beats)
	spawn(r.checkpoints)
	spawn(r.steer)
	spawn(r.gates.Run)
	spawn(r.watchCapture)
	spawn(r.watchTriggers)
	spawn(r.watchReplication)
	spawn(r.giveWay)
	r.apply.start(ctx, stop)

	err := r.becauseChanged(because(ctx, story(ctx)))
	stop(errFinished)
	r.apply.stop()
	background.Wait()
	r.keepAll(err)
	r.beats.close()
	return err
}

// because returns what ended ctx in place of an error that came of it. That the outcome of
// the swap is not known stays known (law L9).
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cutover.ErrUnknown) {
		return cause
	}
	return err
}

// steer has all work on rows give way to the application, as far as it can be seen and nobody has said otherwise.
func (r *run) steer(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.steerUntil(ctx, r.control.Changing()); err != nil {
			r.note(err.Error() + ": all workers go on")
			return nil
		}
	}
	return nil
}

// steerUntil steers by the settings of now until they have changed.
func (r *run) steerUntil(ctx context.Context, changed <-chan struct{}) error {
	if r.unsteered() {
		r.governor.Free()
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
	return r.governor.Run(ctx)
}

// unsteered says that nothing gives way: as is wished, or as the server does not tell what the application feels.
func (r *run) unsteered() bool { return r.live().FullSpeed || !r.plan.Server.PerformanceSchema }

// applying is apply in the background, which can be held still.
type applying struct {
	applier *apply.Applier

	ctx  context.Context // of the work that apply belongs to
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
		if err := a.applier.Run(running); err != nil && running.Err() == nil {
			fail(err)
		}
	}()
}

// stop returns when no sync is in flight. It may be called again.
func (a *applying) stop() {
	a.halt()
	<-a.done
}

// without runs work while apply holds still.
func (a *applying) without(ctx context.Context, work func() error) error {
	a.stop()
	err := work()
	if ctx.Err() == nil {
		a.start(a.ctx, a.fail)
	}
	return err
}

// beater commits heartbeats through a connection of its own, which it opens again when
// it is lost.
type beater struct {
	pool    *dbconn.Pool
	store   *checkpoint.Store
	session *dbconn.Session
	wrote   func(number uint64, at time.Time)
}

func (b *beater) close() {
	if b.session != nil {
		b.session.Close()
	}
}

// beatTries is the number of tries of one heartbeat.
const beatTries = 5

func (b *beater) beat(ctx context.Context, n uint64) error {
	var err error
	for try := 0; try < beatTries; try++ {
		if b.session == nil {
			if b.session, err = b.pool.Session(ctx); err != nil {
				b.session = nil
			}
		}
		if b.session != nil {
			if err = b.store.Beat(ctx, b.session, n); err == nil {
				b.wrote(n, time.Now())
				return nil
			}
			if dbconn.ConnectionLost(err) {
				b.session.Close()
				b.session = nil
			}
		}
		if !dbconn.ConnectionLost(err) && !dbconn.Contended(err) {
			return err
		}
		if dbconn.Contended(err) {
			try = 0 // somebody's read lock on all tables, as of a backup, is waited out
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(try+1) * 200 * time.Millisecond):
		}
	}
	return err
}
