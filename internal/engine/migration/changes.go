package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// changes is where the changes of the source come from, on their way to the backlog: the binlog, or the log that
// triggers write.
type changes interface {
	receiving
	locked
	still
}

// receiving is what goes on while rows are copied.
type receiving interface {
	Run(ctx context.Context) error   // until ctx ends
	Beats(ctx context.Context) error // heartbeats, likewise
	Beat(ctx context.Context) error
	Fence(ctx context.Context) error // waits until everything is received that was committed before
	Delay() time.Duration
}

// locked is what the lock of the cut-over asks of it.
type locked interface {
	// Received waits for a heartbeat that was begun after the call.
	Received(ctx context.Context) error
	// Last has everything in the backlog, and visible, that was committed before the lock, which the session has.
	Last(ctx context.Context, session *dbconn.Session) error
	// Prepared counts what only the end of XA transactions will decide about.
	Prepared(ctx context.Context, session *dbconn.Session) (int, error)
}

// still is how it holds still.
type still interface {
	Ready()    // before the lock is asked for
	Freeze()   // before the swap
	Unfreeze() // the attempt has failed
}

// fromBinlog is capture from a binlog: under the lock it is as before, as it needs no session for it.
type fromBinlog struct{ *capture.Capture }

func (b fromBinlog) Received(ctx context.Context) error { return b.Fence(ctx) }

// Ready does nothing: what is committed before the lock is received under it.
func (b fromBinlog) Ready() {}

func (b fromBinlog) Last(context.Context, *dbconn.Session) error {
	b.RevealAll()
	return nil
}

func (b fromBinlog) Prepared(context.Context, *dbconn.Session) (int, error) {
	return b.Capture.Prepared(), nil
}

// byTriggers says that triggers capture changes.
func (r *run) byTriggers() bool { return r.plan.Capture.By == plan.CaptureTrigger }

// capturing are the run's triggers.
func (r *run) capturing() trigger.Set {
	return trigger.Set{
		Source:  r.plan.Source.Name,
		Log:     r.plan.Names.Log,
		Key:     r.spec.Key,
		Formats: r.plan.Server.Formats,
		Dated:   r.plan.Server.Version.DatesTriggers(),
	}
}

// startTriggers is law L1 with triggers: the log and the triggers are there, and a heartbeat is
// committed, before the first row is read. What was not committed when the last trigger was created
// is in the log.
func (r *run) startTriggers(ctx context.Context) error {
	session, err := r.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	set := r.capturing()
	if err := set.CreateLog(ctx, session); err != nil {
		return err
	}
	if err := set.Create(ctx, r.pool, r.asking(r.plan.Server.MetadataLocks)); err != nil {
		return r.nameForbidding(ctx, err)
	}
	sight, err := trigger.Look(ctx, r.pool.DB(), set.Source, set.Log)
	if err != nil {
		return err
	}
	if !sight.Whole(set) {
		return fmt.Errorf("%w: the triggers on it are not what they were made", ErrSourceChanged)
	}
	r.began.Capture, r.began.Sight = string(r.plan.Capture.By), sight.String()
	r.connectLog(0)
	return nil
}

// asking asks for the source's lock as the server's own statements do.
func (r *run) asking(sees bool) trigger.Asking {
	asker := lock.Asker{
		Pool: r.pool, Watcher: &lock.Watcher{DB: r.pool.DB(), Tables: []schema.Name{r.plan.Source.Name}}, Emit: r.emit,
		Terms: func() lock.Terms {
			t := r.control.Terms(r.plan.Server)
			t.SeesNobody = !sees
			return t
		},
	}
	return func(ctx context.Context, request func(context.Context, time.Duration) (lock.Outcome, error)) error {
		_, _, err := asker.Run(ctx, request)
		return err
	}
}

// connectLog makes the reader of the log. beaten is the number of the last heartbeat of an earlier run.
func (r *run) connectLog(beaten uint64) {
	r.beats = &beater{pool: r.pool, store: r.store, wrote: r.wroteBeat}
	l := trigger.NewLog(trigger.Config{Interval: r.cfg.Capture.Interval, Retries: r.cfg.Capture.Retries}, trigger.Deps{
		Pool:     r.pool,
		Set:      r.capturing(),
		Backlog:  r.backlog,
		Unlogged: !r.plan.Server.LogBin,
		Beat:     r.beats.beat,
		Beaten:   beaten,
		Busy:     r.governor.Busy,
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.capture = l
}

// lookEachTriggers is the time between two looks at what triggers can't see.
const lookEachTriggers = 2 * time.Second

// watchTriggers looks until the context ends whether the source was changed by what fires no triggers.
func (r *run) watchTriggers(ctx context.Context) error {
	for r.byTriggers() {
		if err := r.triggersFit(
			ctx,
		); err != nil && !dbconn.ConnectionLost(err) && !dbconn.Contended(err) && !dbconn.TornTriggers(err) &&
			ctx.Err() == nil {
			return err
		}
		if dbconn.Sleep(ctx, lookEachTriggers) != nil {
			return nil
		}
	}
	return nil
}

// triggersFit fails with ErrSourceChanged if something has happened that triggers could not see, or to them.
func (r *run) triggersFit(ctx context.Context) error {
	if !r.byTriggers() {
		return nil
	}
	set := r.capturing()
	sight, err := trigger.Look(ctx, r.pool.DB(), set.Source, set.Log)
	switch {
	case err != nil:
		return err
	case sight.String() == r.began.Sight:
		return nil
	case !sight.Whole(set):
		return fmt.Errorf(
			"%w: it, the log %s, or the triggers that capture changes, were dropped, renamed or replaced",
			ErrSourceChanged, set.Log,
		)
	}
	return fmt.Errorf(
		"%w: it, or the log %s of its changes, was truncated or built anew, for which no trigger fires",
		ErrSourceChanged, set.Log,
	)
}

// becauseChanged returns that the source was changed unseen by triggers in place of an error that
// came of it: rows that differ, or a table that is gone.
func (r *run) becauseChanged(err error) error {
	if err == nil || !r.byTriggers() || r.made.swapped || errors.Is(err, cutover.ErrUnknown) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if changed := r.triggersFit(ctx); errors.Is(changed, ErrSourceChanged) {
		return changed
	}
	return err
}

// judgeTriggers is judgeServer's part where triggers capture changes: what the earlier run had not
// applied is in the log, as long as they were there all the time and nothing has happened that they
// can't see.
func (r *run) judgeTriggers(ctx context.Context, saved *checkpoint.Saved) (reason string, err error) {
	c, start := saved.Checkpoint, saved.Start
	if c.ServerUUID != r.plan.Server.UUID {
		return fmt.Sprintf(
			"it ran on the server %s, and this is %s: what has happened to the table between the two can't be told without a binlog",
			c.ServerUUID, r.plan.Server.UUID,
		), nil
	}
	log := r.plan.Names.Log
	sight, err := trigger.Look(ctx, r.pool.DB(), r.plan.Source.Name, log)
	if err != nil {
		return "", err
	}
	if _, err = schema.Load(ctx, r.pool.DB(), log); err != nil {
		return fmt.Sprintf("the log of changes %s is gone", log), nil
	}
	if sight.String() != start.Sight {
		return "the table, or the log of its changes, was truncated or built anew, or the triggers were changed, and no trigger fires for that", nil
	}
	return "", nil
}
