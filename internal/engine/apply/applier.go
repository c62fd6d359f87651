package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// Config of apply.
type Config struct {
	Workers int // defaults to 2
	// Batch is the maximum number of keys of one sync. Defaults to 1,000.
	Batch int
}

// WithDefaults returns the config, with defaults for the fields that are not set.
func (c Config) WithDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 2
	}
	if c.Batch <= 0 {
		c.Batch = 1000
	}
	return c
}

// Deps are what apply works with.
type Deps struct {
	Pool    *dbconn.Pool
	Spec    *rowsync.Spec
	Syncer  *rowsync.Syncer
	Backlog *backlog.Backlog // with as many workers as Config.Workers
	// Room waits until changes may be applied and rows may be written. The worker reports to wrote
	// how many rows it has written.
	Room func(ctx context.Context, rows int) (room int, wrote func(rows int), err error)
	// Synced takes the keys that were synced; nil if nobody wants them.
	Synced func(keys []key.Key)
	// Linger is how long a worker gathers changes after a sync, if that has left none.
	Linger func() time.Duration
}

// Applier is stateless; it may be run again after it has stopped.
type Applier struct {
	cfg  Config
	deps Deps
}

// New returns an applier.
func New(cfg Config, deps Deps) *Applier {
	return &Applier{cfg: cfg.WithDefaults(), deps: deps}
}

// Run applies until the context ends. It then returns the context's cause, and no
// sync is in flight. A batch that was begun is finished: it is short, and stopping apply must not cost the work of a sync. But if
// the work ends of which apply is a part, a batch that another session's lock holds up is given back after a moment.
func (a *Applier) Run(ctx, work context.Context) error {
	workers, ctx := errgroup.WithContext(ctx)
	finishing, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	defer context.AfterFunc(work, func() {
		time.AfterFunc(grace, func() { giveUp(context.Cause(work)) })
	})()
	for w := range a.cfg.Workers {
		workers.Go(func() error { return a.work(ctx, finishing, w) })
	}
	return workers.Wait()
}

// grace is the time that a batch has if the work ends.
const grace = time.Second

func (a *Applier) work(ctx, finishing context.Context, worker int) error {
	session, err := a.deps.Pool.Session(ctx, a.deps.Spec.Setup()...)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	defer session.Close()
	for {
		batch, err := a.deps.Backlog.Take(ctx, worker, a.cfg.Batch)
		if err != nil {
			return err
		}
		_, wrote, err := a.deps.Room(ctx, len(batch.Keys))
		if err != nil {
			a.deps.Backlog.Return(batch)
			return err
		}
		if err := a.sync(finishing, session, batch); err != nil {
			return err
		}
		wrote(len(batch.Keys))
		if len(batch.Keys) < a.cfg.Batch {
			a.linger(ctx)
		}
	}
}

// linger lets changes gather.
func (a *Applier) linger(ctx context.Context) {
	for begun := time.Now(); time.Since(begun) < a.deps.Linger() && ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sync syncs the keys of some batches together.
func (a *Applier) sync(ctx context.Context, session *dbconn.Session, batches ...*backlog.Batch) error {
	keys := batches[0].Keys
	for _, batch := range batches[1:] {
		keys = slices.Concat(keys, batch.Keys)
	}
	slices.Sort(keys)
	if _, err := a.deps.Syncer.Keys(ctx, session, keys); err != nil {
		a.giveBack(batches...)
		return fmt.Errorf("apply: %w", err)
	}
	if a.deps.Synced != nil { // before the keys are done: an empty backlog means that all of them are reported
		a.deps.Synced(keys)
	}
	for _, batch := range batches {
		a.deps.Backlog.Done(batch)
	}
	return nil
}

// giveBack returns batches that were not synced.
func (a *Applier) giveBack(batches ...*backlog.Batch) {
	for _, batch := range batches {
		a.deps.Backlog.Return(batch)
	}
}

// Drain syncs every key that may be synced, through the given session and without
// other workers, and returns their number. One sync takes the keys of all workers: on a far server, each
// statement is a round trip under the lock. REQUIRES: Run is not running.
func (a *Applier) Drain(ctx context.Context, session *dbconn.Session) (int, error) {
	for drained := 0; ; {
		var batches []*backlog.Batch
		for w := range a.cfg.Workers {
			if batch := a.deps.Backlog.TryTake(w, a.cfg.Batch); batch != nil {
				batches = append(batches, batch)
			}
		}
		if len(batches) == 0 {
			return drained, nil
		}
		err := context.Cause(ctx)
		if err != nil {
			a.giveBack(batches...)
		} else {
			err = a.sync(ctx, session, batches...)
		}
		if err != nil {
			return drained, err
		}
		for _, batch := range batches {
			drained += len(batch.Keys)
		}
	}
}
