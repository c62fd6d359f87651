package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/apply"
	"midstream/internal/engine/backlog"
	"midstream/internal/engine/barrier"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/together"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// cutOver brings the backlog down, waits until no session blocks the swap, and tries to swap until
// it is done. Apply goes on but for the attempts themselves.
func (w *work) cutOver(ctx context.Context) error {
	files, err := cutover.CountFiles(ctx, w.pool.DB(), w.plan.Source, w.shadow.Table)
	if err != nil {
		return err
	}
	w.shape = w.plan.ShapeOf(files[0], files[1])
	defer operator.Round{Control: w.control}.Barrier().Open()()
	swap, err := w.attempts(ctx, cutover.Attempt, &swapTurn{lockTurn: lockTurn{w}})
	if err != nil {
		return err
	}
	w.debts.done = true
	swap.Position, swap.GTID = w.findSwap(ctx)
	w.account.update(func() { w.account.swap = swap })
	w.emit(swap)
	return nil
}

// attempts makes attempts of the swap, or of a rehearsal's lock, until one succeeds: with the other runs of the group, if there are
// any. A rehearsal gets the same figures, and does not emit them as a swap.
func (w *work) attempts(ctx context.Context, try together.Try, turn lock.Turn) (event.SwapDone, error) {
	w.enter(event.PhaseCatchUp)
	if others := w.cfg.Together.Others(); len(others) > 0 {
		stage := map[bool]string{false: "swap", true: "lock"}[w.plan.Purpose.Rehearses()]
		w.emit(event.Note{Text: "ready for the " + stage + ", together with " + strings.Join(others, ", "), At: time.Now(), Usual: true})
	}
	before := w.copyEnd
	if w.cfg.OldSnapshots != SnapshotsWait {
		before = ""
	}
	done, last, err := w.cfg.Together.Swap(ctx, try, together.Part{
		Table: w.plan.Source.Name, Pool: w.pool,
		Turn: turn,
		Lookout: &lock.SwapLookout{Watcher: &lock.Watcher{
			DB:     w.pool.DB(),
			Tables: slices.Concat([]schema.Name{w.plan.Source.Name, w.shadow.Name}, w.plan.Others(), w.shadow.Table.Sequences()),
		}, Before: before, Blind: !w.plan.Server.MetadataLocks, Saw: func(found []event.Blocker, at time.Time) {
			w.account.blockers.Saw(found, at)
			operator.Saw(w.control, found, at)
		}},
		Terms: func() lock.Terms {
			t := w.control.Terms(w.plan.Server)
			// Every server shows old snapshots. Where it shows no metadata locks, lookout returns no
			// other blockers, and the budget bounds what a request does.
			t.SeesNobody = false
			return t
		},
		Budget:    func() cutover.Budget { return w.live().Lock },
		Begin:     w.beginAttempt,
		Withdraw:  func(ctx context.Context) error { return carrier{w.run}.undeclare(ctx, w.carried()) },
		End:       w.endAttempt,
		Again:     failure.WorthAnotherAttempt,
		Meanwhile: w.meanwhile,
		Emit:      w.emit,
		Rehearses: w.plan.Purpose.Rehearses(),
	})
	switch {
	case errors.Is(err, lock.ErrGivenUp):
		err = fmt.Errorf("%w in %d attempts: %w", failure.ErrGaveUp, done.Attempts, last.Undone)
	case errors.Is(err, lock.ErrTooLong):
		err = fmt.Errorf("%w within %s", failure.ErrGaveUp, w.live().GiveUp)
	}
	return done, err
}

// lockTurn decides when a rehearsal may ask for the lock.
type lockTurn struct{ work *work }

// Wait returns when neither the operator nor the window nor a pause holds the run.
func (t lockTurn) Wait(ctx context.Context) (held time.Duration, err error) {
	began := time.Now()
	waited, err := t.work.permission(event.PhaseCutover).Wait(ctx, t.work.meanwhile)
	if err = cmp.Or(err, t.work.follower.Released(ctx)); err != nil || !waited {
		return 0, err
	}
	t.work.enter(event.PhaseCatchUp)
	return time.Since(began), nil
}

// Ready reports whether the run has caught up.
func (t lockTurn) Ready() bool { return t.work.follower.CaughtUp() }

// Prepare enters the phase of the lock.
func (t lockTurn) Prepare(ctx context.Context) (bool, error) {
	if fits, err := fitsParents(ctx, t.work); !fits {
		return false, err
	}
	t.work.enter(event.PhaseLock)
	return true, nil
}

// Begin is false if the run is held or paused by now: Prepare may take long, as a hook may.
func (t lockTurn) Begin() bool {
	why, err := t.work.permission(event.PhaseCutover).WhyNot(time.Now())
	return err == nil && why == "" && t.work.control.Begin() // Wait returns the error
}

// End makes ready for the next attempt, if there must be one.
func (t lockTurn) End(ctx context.Context, last lock.Outcome, err error) error {
	r := t.work
	operator.Round{Control: r.control}.Barrier().End(cmp.Or(err, last.Undone))
	r.control.End(err == nil && last.Done() || errors.Is(err, cutover.ErrUnknown))
	r.account.blockers.Asked(last.Waited)
	if err != nil || last.Done() {
		return nil
	}
	r.enter(event.PhaseCatchUp)
	if errors.Is(last.Undone, cutover.ErrNameTaken) {
		return r.nextOld(ctx)
	}
	return nil
}

// swapTurn decides when the run may try the swap.
type swapTurn struct {
	lockTurn
	announced, unmarked bool
}

// Prepare gives the shadow its final comment, and saves that a swap may follow, for leftovers.Finish.
func (t *swapTurn) Prepare(ctx context.Context) (bool, error) {
	if fits, err := t.work.follower.Fits(ctx); !fits {
		return false, err
	}
	if fits, err := fitsParents(ctx, t.work); !fits {
		return false, err
	}
	if unmarked, err := t.unmark(ctx); !unmarked {
		return false, err
	}
	t.work.enter(event.PhaseCutover)
	return true, t.work.checkpoint(ctx)
}

// unmark gives the shadow its final comment, once. That takes a metadata lock of the shadow. Only
// sessions that read the shadow can block it: then unmark returns false.
func (t *swapTurn) unmark(ctx context.Context) (bool, error) {
	if t.unmarked {
		return true, nil
	}
	if !t.announced {
		if logs, err := t.work.link.LogSince(ctx, t.work.shadow.Table); !logs {
			return false, err
		}
		// From here on only the state table records that the shadow is ours (law L8).
		t.work.debts.unmarked.Store(true)
		if err := t.work.checkpoint(ctx); err != nil {
			return false, err
		}
		t.announced = true
	}
	err := t.work.shadow.Unmark(ctx, t.work.pool)
	if dbconn.Contended(err) {
		return false, nil
	}
	t.unmarked = err == nil
	return t.unmarked, err
}

// old is the name that the source gets.
func (r *run) old() schema.Name { return r.plan.Source.Name.Sibling(r.debts.oldName) }

// nextOld chooses another name for the old table, because another table has taken the chosen one.
// The state table has it before any swap uses it: by it leftovers.Finish knows the old table.
func (w *work) nextOld(ctx context.Context) error {
	taken := w.old()
	if _, err := schema.LoadOwn(ctx, w.pool.DB(), taken); errors.Is(err, schema.ErrNotFound) && len(w.cfg.Together.Others()) > 0 {
		return nil // the name of another run of the group is taken
	}
	w.takenNames = append(w.takenNames, taken)
	old, free, err := facts.FreeOld(ctx, w.pool.DB(), w.plan.Source.Name, w.takenNames)
	if err != nil {
		return err
	}
	if !free {
		names := plan.OldNames(w.plan.Source.Name)
		return fmt.Errorf("%w: %s to %s; rename or drop one that is not needed", failure.ErrNamesTaken, names[0], names[len(names)-1])
	}
	w.start.Old, w.debts.oldName = old.Table, old.Table
	w.note(fmt.Sprintf("another table has taken the name %s, and the run does not touch it: the old table will be %s", taken, old))
	w.saving.Lock()
	defer w.saving.Unlock()
	return w.saveStart(ctx)
}

// catchUp waits until all changes of the past are received, and the backlog is small.
func (w *work) catchUp(ctx context.Context) error {
	w.enter(event.PhaseCatchUp)
	err := w.intake.Fence(ctx) // the delay is small as long as no heartbeat is overdue
	for err == nil && !w.follower.CaughtUp() {
		err = dbconn.Sleep(ctx, 20*time.Millisecond)
	}
	return err
}

// beginAttempt makes the run ready for an attempt: apply holds still.
func (w *work) beginAttempt() cutover.Part {
	definition, next := schema.SplitAutoIncrement(w.plan.Source.Create)
	tables := cutover.Tables{
		Source:          w.plan.Source.Name,
		Shadow:          w.shadow.Name,
		Old:             w.old(),
		Into:            w.plan.Into.Name,
		View:            plan.ViewFor(w.plan, w.shadow.Table),
		RenameUnderLock: w.plan.Server.RenameUnderLock && !w.plan.Into.View,
		RenameYields:    w.plan.Server.Version.MariaDB,
		WritersApart:    w.plan.Server.Version.WritersApart(),
		AutoIncrement: !w.plan.Alter.SetsAutoIncrement &&
			(next > 0 || w.plan.Source.AutoIncrement > 0 || w.shadow.Table.HasCounter()),
		Definition: definition,
		Carried:    w.carried(),
		Related:    w.plan.Related(),
		Log:        w.plan.Names.Log,
		Side:       w.specs.Sync.Side,
		Sequences:  w.shadow.Table.Sequences(),
		Shape:      w.shape,
	}
	if w.shadow.Unmarked {
		tables.Raise = w.specs.Sync.Raise
	}
	if w.shadow.HasHelper() {
		tables.DropHelper = shadow.DropHelper(w.shadow.Name)
	}
	if w.lot != nil {
		tables.Parked = w.lot.Tables()
	}
	w.apply.stop()
	setup := w.specs.Sync.Setup()
	if len(w.comparison.unproven) > 0 {
		setup = slices.Concat(w.specs.Sync.Values.Setup(), w.specs.Compare.StageSetup(), setup)
	}
	w.intake.Ready()
	return cutover.Part{
		Pool: w.pool, Tables: tables, Setup: setup, Settings: w.specs.Sync.Settings(),
		Drain: &drain{changes: w.intake, applier: w.apply.applier, backlog: w.backlog, prove: w.prove, park: w.parkRows,
			save: w.saveForUndo},
		Confirm: func(ctx context.Context, until time.Time) error {
			return operator.Round{Control: w.control}.Barrier().Pass(ctx, until, func(at barrier.Prepared) {
				w.emit(event.Prepared{Round: at.Round, Hold: at.Hold, At: time.Now()})
			})
		},
	}
}

// endAttempt takes what has become of an attempt. Apply goes on if another may follow.
func (w *work) endAttempt(ctx context.Context, report cutover.Report, err error) error {
	w.unsettled = report.Unsettled
	if err == nil {
		return nil
	}
	if errors.Is(err, cutover.ErrUnknown) {
		w.debts.keep = true
		return err
	}
	w.swapsAt.Store(nil)
	w.intake.Unfreeze()
	if !failure.WorthAnotherAttempt(err) {
		return err
	}
	if ctx.Err() == nil {
		if report.Bare {
			restore := func() error { return w.shadow.RestoreHelper(ctx, w.pool) }
			if failed := leftovers.RetryBriefly(ctx, restore); failed != nil {
				w.apply.fail(failed) // no change could be applied
				return failed
			}
		}
		w.apply.start(w.apply.ctx, w.apply.fail)
	}
	w.follower.Undone(err)
	return operator.Round{Control: w.control}.Barrier().Own(err)
}

// drain is the engine's part of the work under the lock.
type drain struct {
	changes *intake.Intake
	applier *apply.Applier
	backlog *backlog.Backlog
	// prove compares what could not be proved while rows changed.
	prove func(ctx context.Context, session *dbconn.Session) error
	// park sets aside the rows that the old table refuses, and save saves what an undo begins from.
	park func(ctx context.Context, session *dbconn.Session) error
	save func(ctx context.Context) error
}

func (d *drain) Received(ctx context.Context) error { return Because(ctx, d.changes.Received(ctx)) }

func (d *drain) ApplyAndProve(ctx context.Context, session *dbconn.Session) (drained, left int, err error) {
	if err := d.changes.Last(ctx, session); err != nil {
		return 0, 0, Because(ctx, err)
	}
	if drained, err = d.applier.Drain(ctx, session); err != nil {
		return drained, d.backlog.Len(), err
	}
	prepared, err := d.changes.Prepared(ctx, session)
	left = d.backlog.Len() + prepared
	if err == nil && left == 0 {
		if err = d.prove(ctx, session); err == nil {
			err = d.park(ctx, session)
		}
	}
	return drained, left, err
}

func (d *drain) Save(ctx context.Context) error { return d.save(ctx) }

func (d *drain) Freeze() { d.changes.Freeze() }

func (d *drain) Unfreeze() { d.changes.Unfreeze() }
