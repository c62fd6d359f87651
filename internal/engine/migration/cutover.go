package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/apply"
	"midstream/internal/engine/backlog"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// cutOver brings the backlog down, waits until no session blocks the swap, and tries to swap until
// it is done. Apply goes on but for the attempts themselves.
func (r *work) cutOver(ctx context.Context) error {
	if err := r.countFiles(ctx); err != nil {
		return err
	}
	swap, err := r.underLock(ctx, cutover.Attempt, &swapTurn{lockTurn: lockTurn{r}})
	if err != nil {
		return err
	}
	r.debts.swapped = true
	r.account.update(func() { r.account.swap = swap })
	r.emit(swap)
	return nil
}

// countFiles counts the files that the swap renames.
func (r *work) countFiles(ctx context.Context) error {
	counts := [2]int{1, 1}
	for i, table := range []*schema.Table{r.plan.Source, r.shadow.Table} {
		for try := 1; table.Partitioned; try++ {
			n, err := schema.Files(ctx, r.pool.DB(), table.Name)
			if err == nil {
				counts[i] = n
				break
			}
			if !dbconn.Contended(err) {
				return err
			}
			if err := dbconn.BackOff(ctx, try); err != nil {
				return err
			}
		}
	}
	r.shape = r.plan.ShapeOf(counts[0], counts[1])
	return nil
}

// swapFunc is cutover.Attempt, or cutover.Rehearse.
type swapFunc func(context.Context, *dbconn.Pool, cutover.Tables, cutover.Budget, []string, cutover.Drain) (cutover.Swap, error)

// underLock makes attempts until one is done.
func (r *work) underLock(ctx context.Context, try swapFunc, turn lock.Turn) (event.SwapDone, error) {
	r.enter(event.PhaseCatchUp)
	asker := lock.Asker{
		Pool: r.pool,
		Lookout: &lookout{run: r, watcher: &lock.Watcher{
			DB:     r.pool.DB(),
			Tables: slices.Concat([]schema.Name{r.plan.Source.Name, r.shadow.Name}, r.plan.Others(), r.shadow.Table.Sequences()),
		}},
		Terms: func() lock.Terms {
			t := r.control.Terms(r.plan.Server)
			t.SeesNobody = false // old snapshots are seen on every server
			return t
		},
		Turn: turn,
		Emit: r.emit,
		For:  "cut over",
	}
	var swap cutover.Swap
	attempts, last, err := asker.Run(ctx, func(ctx context.Context, _ time.Duration) (asked lock.Outcome, err error) {
		began := time.Now()
		swap, err = r.trySwap(ctx, try)
		asked = lock.Outcome{Granted: swap.Granted, Waited: swap.Waited, Took: time.Since(began)}
		switch {
		case err == nil:
		case again(err):
			asked.Undone, err = err, nil
		default:
			r.debts.keep = errors.Is(err, cutover.ErrUnknown)
			err = fmt.Errorf("cut-over: %w", err)
		}
		return asked, err
	})
	switch {
	case errors.Is(err, lock.ErrGivenUp):
		err = fmt.Errorf("%w in %d attempts: %w", ErrGaveUp, attempts, last.Undone)
	case errors.Is(err, lock.ErrTooLong):
		err = fmt.Errorf("%w within %s", ErrGaveUp, r.live().GiveUp)
	}
	if err != nil {
		return event.SwapDone{}, err
	}
	return event.SwapDone{LockHeld: swap.Held, Drained: swap.Drained, Attempts: attempts, At: time.Now()}, nil
}

// lockTurn says when a rehearsal may ask for the lock.
type lockTurn struct{ run *work }

// Wait returns when neither the operator nor the window nor a pause holds the run.
func (t lockTurn) Wait(ctx context.Context) (held time.Duration, err error) {
	began := time.Now()
	waited, err := t.run.holding().Wait(ctx, t.run.verifyAgain)
	if err != nil || !waited {
		return 0, err
	}
	t.run.enter(event.PhaseCatchUp)
	return time.Since(began), nil
}

// Ready reports whether the backlog is small.
func (t lockTurn) Ready() bool { return t.run.caughtUp() }

// Prepare enters the phase of the lock.
func (t lockTurn) Prepare(context.Context) (bool, error) {
	t.run.enter(event.PhaseLock)
	return true, nil
}

// Begin is false if the run is held or paused by now: Prepare may take long, as a hook may.
func (t lockTurn) Begin() bool {
	why, err := t.run.holding().WhyNot(time.Now())
	return err == nil && why == "" && t.run.control.Begin() // Wait returns the error
}

// End makes ready for the next attempt, if there must be one.
func (t lockTurn) End(ctx context.Context, last lock.Outcome, err error) error {
	r := t.run
	r.control.End(err == nil && last.Done() || errors.Is(err, cutover.ErrUnknown))
	r.account.blockers.asked(last.Waited)
	if err != nil || last.Done() {
		return nil
	}
	r.enter(event.PhaseCatchUp)
	if errors.Is(last.Undone, cutover.ErrNameTaken) {
		if err := r.nextOld(ctx); err != nil {
			return fmt.Errorf("cut-over: %w", err)
		}
	}
	return nil
}

// swapTurn says when the swap may be tried.
type swapTurn struct {
	lockTurn
	announced, unmarked bool
}

// Prepare gives the shadow its final comment, and saves that a swap is on its way, for Finish.
func (t *swapTurn) Prepare(ctx context.Context) (bool, error) {
	if unmarked, err := t.unmark(ctx); !unmarked {
		return false, err
	}
	t.run.enter(event.PhaseCutover)
	return true, t.run.checkpoint(ctx)
}

// unmark gives the shadow its final comment, once. That takes a metadata lock of the shadow, for
// which only sessions that read the shadow are in the way: it returns false then.
func (t *swapTurn) unmark(ctx context.Context) (bool, error) {
	if t.unmarked {
		return true, nil
	}
	if !t.announced {
		// From here on only the state table says that the shadow is ours (law L8).
		t.run.debts.unmarked.Store(true)
		if err := t.run.checkpoint(ctx); err != nil {
			return false, err
		}
		t.announced = true
	}
	err := t.run.shadow.Unmark(ctx, t.run.pool)
	if dbconn.Contended(err) {
		return false, nil
	}
	t.unmarked = err == nil
	return t.unmarked, err
}

// lookout finds what blocks the swap: old snapshots, and sessions that hold metadata locks.
type lookout struct {
	run     *work
	watcher *lock.Watcher

	snapshotsGone bool
}

func (l *lookout) Blockers(ctx context.Context, longer time.Duration) ([]event.Blocker, error) {
	blockers, err := l.blockers(ctx, longer)
	if err == nil || dbconn.Contended(err) {
		l.run.account.blockers.saw(blockers, time.Now())
	}
	return blockers, err
}

func (l *lookout) blockers(ctx context.Context, longer time.Duration) ([]event.Blocker, error) {
	if l.run.cfg.OldSnapshots == SnapshotsWait && !l.snapshotsGone {
		old, err := l.watcher.Snapshots(ctx, l.run.copyEnd)
		if err != nil || len(old) > 0 {
			return old, err
		}
		l.snapshotsGone = true // views from before the copy's end do not come back
	}
	if !l.run.plan.Server.MetadataLocks {
		return nil, nil // they can't be seen on this server; the budget bounds what they do
	}
	return l.watcher.Blockers(ctx, longer)
}

// old is the name that the source gets.
func (r *run) old() schema.Name { return r.plan.Source.Name.Sibling(r.debts.old) }

// nextOld chooses another name for the old table, as the one that was chosen is taken meanwhile.
// The state table has it before any swap uses it: it is how Finish knows the former source.
func (r *work) nextOld(ctx context.Context) error {
	taken := r.old()
	r.takenNames = append(r.takenNames, taken)
	old, free, err := facts.FreeOld(ctx, r.pool.DB(), r.plan.Source.Name, r.takenNames)
	if err != nil {
		return err
	}
	if !free {
		names := plan.OldNames(r.plan.Source.Name)
		return fmt.Errorf("%w: %s to %s; rename or drop one that nobody needs", ErrNamesTaken, names[0], names[len(names)-1])
	}
	r.start.Old, r.debts.old = old.Table, old.Table
	r.note(fmt.Sprintf("%s is another table's by now, which is left alone: the old table will be %s", taken, old))
	r.saving.Lock()
	defer r.saving.Unlock()
	return r.saveStart(ctx)
}

// catchUp waits until the backlog is small.
func (r *work) catchUp(ctx context.Context) error {
	r.enter(event.PhaseCatchUp)
	for !r.caughtUp() {
		if err := dbconn.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// again says that a failed attempt left everything as it was, and that another may succeed.
func again(err error) bool {
	if errors.Is(err, cutover.ErrUnknown) || errors.Is(err, leftovers.ErrUnsettled) {
		return false
	}
	return errors.Is(err, cutover.ErrNotGranted) || errors.Is(err, cutover.ErrOverrun) || errors.Is(err, cutover.ErrSlow) ||
		errors.Is(err, cutover.ErrNotDrained) || errors.Is(err, cutover.ErrDisturbed) || errors.Is(err, cutover.ErrNameTaken) ||
		dbconn.ConnectionLost(err) || dbconn.Contended(err) || dbconn.TornTriggers(err)
}

// trySwap makes one attempt, while apply holds still.
func (r *work) trySwap(ctx context.Context, try swapFunc) (cutover.Swap, error) {
	definition, next := schema.SplitAutoIncrement(r.plan.Source.Create)
	tables := cutover.Tables{
		Source:          r.plan.Source.Name,
		Shadow:          r.shadow.Name,
		Old:             r.old(),
		RenameUnderLock: r.plan.Server.RenameUnderLock,
		RenameYields:    r.plan.Server.Version.MariaDB,
		WritersApart:    r.plan.Server.Version.WritersApart(),
		AutoIncrement: !r.shadow.Unmarked && !r.plan.Alter.SetsAutoIncrement &&
			(next > 0 || r.plan.Source.AutoIncrement > 0 || hasCounter(r.shadow.Table)),
		Definition: definition,
		Carried:    r.carried(),
		Related:    r.plan.Related(),
		Log:        r.plan.Names.Log,
		Sequences:  r.shadow.Table.Sequences(),
		Shape:      r.shape,
	}
	r.apply.stop()
	setup := r.specs.Sync.Setup()
	if len(r.comparison.unproven) > 0 {
		setup = slices.Concat(r.specs.Sync.Values.Setup(), r.specs.Compare.StageSetup(), setup)
	}
	r.capture.Ready()
	swap, err := try(ctx, r.pool, tables, r.live().Lock, setup,
		&drain{changes: r.capture, applier: r.apply.applier, backlog: r.backlog, prove: r.prove, fit: r.capture.Fit})
	r.unsettled = swap.Unsettled
	if err != nil && !errors.Is(err, cutover.ErrUnknown) {
		r.capture.Unfreeze()
		if failed := (carrier{r.run}).withdraw(ctx, tables.Carried); failed != nil {
			return swap, errors.Join(err, failed)
		}
	}
	if err != nil && again(err) && ctx.Err() == nil {
		r.apply.start(r.apply.ctx, r.apply.fail)
	}
	return swap, err
}

func hasCounter(t *schema.Table) bool {
	for _, c := range t.Columns {
		if c.AutoIncrement {
			return true
		}
	}
	return false
}

// drain is the engine's part of the work under the lock.
type drain struct {
	changes *intake.Intake
	applier *apply.Applier
	backlog *backlog.Backlog
	// fit says that what was received may be relied on.
	fit func(ctx context.Context) error
	// prove compares what could not be proved while rows changed.
	prove func(ctx context.Context, session *dbconn.Session) error
}

func (d *drain) Received(ctx context.Context) error {
	if err := d.changes.Received(ctx); err != nil {
		return err
	}
	if err := d.fit(ctx); err != nil {
		return because(ctx, err)
	}
	return nil
}

func (d *drain) Empty(ctx context.Context, session *dbconn.Session) (drained, left int, err error) {
	if err := d.changes.Last(ctx, session); err != nil {
		return 0, 0, because(ctx, err)
	}
	if drained, err = d.applier.Drain(ctx, session); err != nil {
		return drained, d.backlog.Len(), err
	}
	prepared, err := d.changes.Prepared(ctx, session)
	left = d.backlog.Len() + prepared
	if err == nil && left == 0 {
		err = d.prove(ctx, session)
	}
	return drained, left, err
}

func (d *drain) Freeze() { d.changes.Freeze() }

func (d *drain) Unfreeze() { d.changes.Unfreeze() }

func (r *work) caughtUp() bool {
	return r.backlog.Len() <= r.cfg.CatchUp && r.capture.Delay() < r.live().Lock.Wait && r.capture.Undecided() == 0
}
