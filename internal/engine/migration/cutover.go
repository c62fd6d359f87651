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

// cutOver brings the backlog down, waits until nobody stands in the way, and tries to
// swap until it is done. Apply goes on but for the attempts themselves.
func (r *work) cutOver(ctx context.Context) error {
	if err := r.countFiles(ctx); err != nil {
		return err
	}
	swap, err := r.underLock(ctx, cutover.Attempt, func(ctx context.Context, w *waiting) error {
		if err := w.unmark(ctx); err != nil {
			return err
		}
		r.enter(event.PhaseCutover)
		return r.checkpoint(ctx) // Finish shall know that a swap is on its way
	})
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

// attempt is cutover.Attempt, or cutover.Rehearse.
type attempt func(context.Context, *dbconn.Pool, cutover.Tables, cutover.Budget, []string, cutover.Drain) (cutover.Swap, error)

// underLock makes attempts until one comes to its end. ready is called before each, when nobody is
// in the way.
func (r *work) underLock(ctx context.Context, try attempt, ready func(context.Context, *waiting) error) (event.SwapDone, error) {
	r.enter(event.PhaseCatchUp)
	w := &waiting{run: r, teller: lock.NewTeller(r.emit), killer: lock.NewKiller(r.pool, r.live().Kills, r.emit), watcher: &lock.Watcher{
		DB:     r.pool.DB(),
		Tables: slices.Concat([]schema.Name{r.plan.Source.Name, r.shadow.Name}, r.plan.Others(), r.shadow.Table.Sequences()),
	}}
	var backoff time.Duration
	for number := 1; ; number++ {
		if err := w.leave(ctx); err != nil {
			return event.SwapDone{}, err
		}
		left := time.Now()
		if err := ready(ctx, w); err != nil {
			return event.SwapDone{}, err
		}
		late, err := w.late(ctx, left)
		if err != nil {
			return event.SwapDone{}, err
		}
		if late || !r.control.Begin() {
			number--
			continue // held or paused in this moment
		}
		swap, err := r.attempt(ctx, try)
		r.control.End(err == nil || errors.Is(err, cutover.ErrUnknown))
		r.emit(event.LockAttempt{Number: number, Granted: swap.Granted, Waited: swap.Waited, At: time.Now()})
		r.account.blockers.asked(swap.Waited)
		if err == nil {
			return event.SwapDone{LockHeld: swap.Held, Drained: swap.Drained, Attempts: number, At: time.Now()}, nil
		}
		if !again(err) {
			r.debts.keep = errors.Is(err, cutover.ErrUnknown)
			return event.SwapDone{}, fmt.Errorf("cut-over: %w", err)
		}
		r.enter(event.PhaseCatchUp)
		if errors.Is(err, cutover.ErrNameTaken) {
			if failed := r.nextOld(ctx); failed != nil {
				return event.SwapDone{}, fmt.Errorf("cut-over: %w", failed)
			}
		}
		live := r.live()
		if live.Attempts > 0 && number >= live.Attempts {
			return event.SwapDone{}, fmt.Errorf("%w in %d attempts: %w", ErrGaveUp, number, err)
		}
		backoff = min(max(2*backoff, live.Backoff), live.MaxBackoff)
		r.note(fmt.Sprintf("attempt %d to cut over: %v; nothing has happened, trying again in %s", number, err, backoff))
		if err := dbconn.Sleep(ctx, backoff); err != nil {
			return event.SwapDone{}, err
		}
	}
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

// attempt is one attempt, while apply holds still.
func (r *work) attempt(ctx context.Context, try attempt) (cutover.Swap, error) {
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

// waiting is the time before the swap in which somebody or something is in its way.
type waiting struct {
	run     *work
	watcher *lock.Watcher
	teller  *lock.Teller
	killer  *lock.Killer

	snapshotsGone bool
	unmarked      bool
	tried         time.Duration // for the lock, without what the run was held
}

// leave waits until the swap may be made, and nobody and nothing is in its way.
func (w *waiting) leave(ctx context.Context) error {
	for {
		waited, err := w.run.holding().Wait(ctx, w.run.verifyAgain)
		if err != nil {
			return err
		}
		if waited {
			w.killer.Forget()
			w.teller.Forget()
			w.run.enter(event.PhaseCatchUp)
		}
		began := time.Now()
		err = w.clear(ctx, began)
		w.tried += time.Since(began)
		if err != nil {
			return err
		}
		if why, err := w.run.holding().WhyNot(time.Now()); err != nil || why == "" {
			return err
		}
	}
}

// late says that no attempt must be made after all, since the time at which it might be: to become
// ready may take long, as those who hear of the phase may (a hook that asks a person).
func (w *waiting) late(ctx context.Context, since time.Time) (bool, error) {
	if why, err := w.run.holding().WhyNot(time.Now()); err != nil || why != "" || time.Since(since) < time.Second {
		return why != "", err
	}
	blockers, err := w.blockers(ctx)
	if dbconn.Contended(err) { // somebody stopped the query
		return true, nil
	}
	return len(blockers) > 0 || !w.run.caughtUp(), err
}

// clear waits, from a time on, until the backlog is small and neither a blocker nor an old snapshot is
// in the way, or the swap must not be made any more. It fails with ErrGaveUp.
func (w *waiting) clear(ctx context.Context, began time.Time) error {
	for {
		live := w.run.live()
		if tried := w.tried + time.Since(began); live.GiveUp > 0 && tried > live.GiveUp {
			return fmt.Errorf("%w within %s", ErrGaveUp, live.GiveUp)
		}
		if why, err := w.run.holding().WhyNot(time.Now()); err != nil || why != "" {
			return err
		}
		blockers, err := w.blockers(ctx)
		if err != nil && !dbconn.Contended(err) { // else somebody stopped the query
			return err
		}
		w.run.account.blockers.saw(blockers, time.Now())
		if err == nil && len(blockers) == 0 && w.run.caughtUp() {
			return nil
		}
		w.teller.Tell(blockers)
		if w.run.caughtUp() { // else there is no need yet
			w.killer.Change(live.Kills)
			if err := w.killer.Saw(ctx, blockers); err != nil {
				return err
			}
		}
		if err := dbconn.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// unmark gives the shadow its final comment, once. That takes a metadata lock of the
// shadow, for which only who reads the shadow is in the way.
func (w *waiting) unmark(ctx context.Context) error {
	if w.unmarked {
		return nil
	}
	// From here on only the state table says that the shadow is ours (law L8).
	w.run.debts.unmarked.Store(true)
	if err := w.run.checkpoint(ctx); err != nil {
		return err
	}
	for {
		err := w.run.shadow.Unmark(ctx, w.run.pool)
		if err == nil {
			w.unmarked = true
			return nil
		}
		if !dbconn.Contended(err) {
			return err
		}
		if err := w.leave(ctx); err != nil {
			return err
		}
	}
}

func (r *work) caughtUp() bool {
	return r.backlog.Len() <= r.cfg.CatchUp && r.capture.Delay() < r.live().Lock.Wait && r.capture.Undecided() == 0
}

func (w *waiting) blockers(ctx context.Context) ([]event.Blocker, error) {
	if w.run.cfg.OldSnapshots == SnapshotsWait && !w.snapshotsGone {
		old, err := w.watcher.Snapshots(ctx, w.run.copyEnd)
		if err != nil || len(old) > 0 {
			return old, err
		}
		w.snapshotsGone = true // views from before the copy's end do not come back
	}
	if !w.run.plan.Server.MetadataLocks {
		return nil, nil // they can't be seen on this server; the budget bounds what they do
	}
	return w.watcher.Blockers(ctx, w.run.live().Lock.Wait/2)
}
