package migration

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/engine/apply"
	"midstream/internal/engine/backlog"
	"midstream/internal/engine/brakes"
	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/follow"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/key"
	"midstream/internal/engine/parents"
	"midstream/internal/engine/park"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/specs"
	"midstream/internal/mysql/schema"
)

// work is what a run works with once it has begun, or has resumed an earlier run. newWork makes it complete.
type work struct {
	*run

	// These values are fixed: newWork sets them.

	shadow     *shadow.Shadow
	specs      specs.Set
	tracker    *frontier.Tracker
	backlog    *backlog.Backlog
	intake     *intake.Intake
	copier     *rowcopy.Copier
	syncer     *rowsync.Syncer
	unfit      *rowsync.Unfit // of an undo; else nil
	lot        *park.Lot      // of an undo; else nil
	follower   *follow.Follower
	parents    *parents.Proof // nil if the ALTER adds no foreign key
	apply      *applying
	distrusted bool // as origin has it
	// comparesAll means that more rows than the changed ones may differ.
	comparesAll bool

	// saving is held while a checkpoint is taken and written.
	saving sync.Mutex

	// swapsAt is the position at which an attempt has the lock, from which an undo would read; nil at other times.
	swapsAt atomic.Pointer[capture.Point]

	// The stages change these values. Only the story's goroutine uses them.

	// start is what the state table has of the beginning. It changes if the old table gets another name.
	start checkpoint.Start
	// copyEnd is UTC_TIMESTAMP(6) of the server when the row copy ended.
	copyEnd string
	comparison
	// shape is what the time of the swap depends on.
	shape plan.Shape
	// takenNames are names for the old table that other tables have.
	takenNames []schema.Name
	// unsettled is why foreign keys or triggers did not get their final form under the lock of the swap.
	unsettled error
}

// origin is the position where changes begin, and what is known about the copied rows.
type origin struct {
	intake.Origin
	tracker *frontier.Tracker
	copied  int64 // rows
	fresh   bool  // the uncopied ranges hold no rows
	// distrusted means that the capture of this run may have missed changes.
	distrusted bool
	// again means that an earlier run has synced rows of the same shadow, and nobody knows which.
	again bool
}

// newWork puts together what the stages work with.
func (r *run) newWork(d *draft, from origin) *work {
	w := &work{run: r, shadow: d.shadow, specs: d.specs, start: d.start, tracker: from.tracker,
		distrusted: from.distrusted, comparesAll: from.again || r.plan.Lazy() && r.plan.Back.Unseen == ""}
	spec := d.specs.Sync
	w.syncer = rowsync.New(spec, w.outstanding, r.retried)
	w.syncer.Carry(d.moves, func(ctx context.Context) error { return w.intake.Fence(ctx) })
	if r.plan.Back.Adopts() {
		w.unfit, w.lot = park.Watched(spec, r.emit), park.New(r.pool, r.plan, spec)
		w.syncer.SetApart(w.unfit)
	}
	w.backlog = backlog.New(backlog.Config{
		Limit: r.cfg.BacklogLimit, Workers: r.cfg.Apply.Workers, Partition: spec.Key.Partition,
		Remember:  r.plan.Lazy(),
		KeepAhead: r.cfg.ApplyAhead && !spec.KeyChanged && !spec.Loose, AwaitCopy: spec.AwaitsCopy, KeepRepeats: r.cfg.KeepRepeats,
	}, from.tracker)
	w.copier = r.newCopier(spec, w.syncer, w.backlog, from)
	w.parents = newParents(w)
	w.apply = &applying{applier: apply.New(r.cfg.Apply, apply.Deps{
		Synced: w.parents.Synced,
		Pool:   r.pool, Spec: spec, Syncer: w.syncer, Backlog: w.backlog,
		Room: r.brakes.Room(1, r.brakes.ApplyMayBegin), Linger: r.linger,
	})}
	w.intake = r.link.Open(from.Origin, intake.Opening{
		Key: spec.Key, Backlog: w.backlog, Moves: d.moves, Shadow: d.shadow.Name, Marked: spec.Marks,
		Parents: w.parents, Wrote: r.brakes.WroteBeat, Busy: r.brakes.Governor.Busy,
	})
	w.follower = follow.New(follow.Deps{
		Control: r.control, Backlog: w.backlog, Unfit: w.unfit, Lot: w.lot, Fence: w.intake.Fence,
		Due: w.verifyDue, Compare: w.verifyAgain, Left: r.leftovers.TimeLeft, Emit: r.emit,
		CatchUp: r.cfg.CatchUp, Delay: w.intake.Delay, Undecided: w.intake.Undecided,
		Rows: func() int64 { return w.copier.Rows() + r.account.progress().Verified },
	})
	r.account.flies(w.syncer)
	r.account.flies(w.copier)
	r.prepared.Store(w)
	return w
}

// newCopier makes a row copy.
func (r *run) newCopier(spec *rowsync.Spec, syncer *rowsync.Syncer, pending *backlog.Backlog, from origin) *rowcopy.Copier {
	return rowcopy.New(r.cfg.RowCopy, rowcopy.Deps{
		Pool: r.pool, Spec: spec, Syncer: syncer, Tracker: from.tracker, Ended: pending.Wake, Emit: r.emit,
		Gate: r.brakes.PaceCopy, Chunk: r.brakes.Chunk, Room: r.brakes.Room(brakes.CopyPart, r.brakes.CopyMayBegin),
		Workers: r.brakes.Governor.Workers, Copied: r.brakes.Governor.Copied,
		RowBytes: plan.RowBytes(r.plan), Before: from.copied,
		Fresh: spec.KeyChanged || from.fresh && spec.Key.Ordered() && !r.cfg.ApplyAhead,
	})
}

// retried counts the retries on their way to the listener.
func (r *run) retried(e event.Event) {
	if _, is := e.(event.Retry); is {
		r.account.retries.Add(1)
	}
	r.emit(e)
}

// outstanding is rowsync.Outstanding. If the backlog is full, the intake receives nothing more,
// and the keys in the backlog must do.
func (w *work) outstanding(ctx context.Context, but func(key.Key) bool) ([]key.Key, error) {
	for {
		patient, cancel := context.WithTimeout(ctx, time.Second)
		err := w.intake.Fence(patient)
		cancel()
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// A replica may be behind by any time, and has what explains a duplicate perhaps.
		if err == nil || w.cfg.CaptureFrom == nil || w.backlog.Full() {
			return w.backlog.AgainBut(but), nil
		}
	}
}

// noteCopyEnd remembers, by the server's clock, when the last row was copied (law L10).
func (w *work) noteCopyEnd(ctx context.Context) error {
	err := w.pool.DB().QueryRowContext(ctx, "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)").Scan(&w.copyEnd)
	if err != nil {
		return fmt.Errorf("read the server's clock: %w", err)
	}
	return nil
}
