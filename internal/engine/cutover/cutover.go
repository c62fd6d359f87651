package cutover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// The outcomes of an attempt other than the swap, with ErrSlow. After each of them but ErrUnknown the source
// is untouched and unlocked; migration's WorthAnotherAttempt lists those after which another may succeed.
var (
	// ErrNotGranted means that the lock was not granted within the budget (--lock-wait).
	ErrNotGranted = errors.New("the lock was not granted within --lock-wait")
	// ErrOverrun means that the work under the lock took longer than its budget.
	ErrOverrun = errors.New("work under the lock took longer than --lock-work allows")
	// ErrNotDrained means that some changes can't be applied yet, such as changes of a prepared XA
	// transaction.
	ErrNotDrained = errors.New("changes are left that can't be applied yet")
	// ErrDisturbed means that a session of the swap was lost, and the other session's part failed.
	ErrDisturbed = errors.New("a session of the swap was lost")
	// ErrNameTaken means that another table has the name that the old table was to get. The next
	// attempt needs another name.
	ErrNameTaken = errors.New("the name for the old table is taken")
	// ErrSourceChanged means that the source's definition differs from the plan's. The source is
	// untouched; the shadow is of no use.
	ErrSourceChanged = errors.New("definition of the source has changed")
	// ErrRelated means that a trigger of the source, or a foreign key on it or that refers to it,
	// was added, dropped or changed since the plan was made. The source and the shadow are
	// untouched.
	ErrRelated = errors.New(
		"the triggers or foreign keys of the table, or the foreign keys that refer to it, have changed since the plan was made",
	)
	// ErrUnknown means that the connection was lost during the swap, and that the tables do not
	// show whether the swap happened. The next run finds out, and resumes from there.
	ErrUnknown = errors.New("the outcome of the swap is not known")
)

// Tables are the tables that the swap renames.
type Tables struct {
	Source schema.Name
	Shadow schema.Name
	Old    schema.Name
	// Into is the name that the shadow gets; none if it is the source's. View is the view that gets the source's name; nil for none. The
	// server renames no view under a lock.
	Into schema.Name
	View *plan.View
	// RenameUnderLock reports whether the server can RENAME a table that the session has locked
	// (MySQL 8.0.13 and later; not MariaDB).
	RenameUnderLock bool
	// RenameYields reports whether a RENAME releases the locks of its tables while it waits for a
	// backup (MariaDB).
	RenameYields bool
	// WritersApart reports whether a session that writes to a table asks for no lock of the tables
	// that foreign keys bind to it (MySQL 5.7).
	WritersApart bool
	// AutoIncrement reports whether the swap must carry a counter over to the shadow.
	AutoIncrement bool
	// Raise returns INSERTs of a row with a number of the counter, for a shadow that no further ALTER
	// may change: each is for a shadow that the one before it can't raise. Nil if an ALTER may.
	Raise func(number uint64) []string
	// Definition is SHOW CREATE TABLE of the source, without its counter.
	Definition string
	// Carried are the foreign keys and triggers that go over to the shadow. REQUIRES: RenameUnderLock,
	// if foreign keys refer to the source.
	Carried carry.Set
	// Related are the foreign keys of the source and the foreign keys that refer to it, before the
	// swap.
	Related []schema.ForeignKey
	// Log is what triggers on the source write to, if any: the server locks it with the source. They go with the
	// source when it is renamed.
	Log schema.Name
	// Side is the side table, if the shadow keeps columns (rowsync.Spec).
	Side schema.Name
	// Parked are the tables that take rows which an undo can't bring back, if any.
	Parked []schema.Name
	// Sequences are the sequences from which defaults of the shadow take numbers: the shadow is
	// written to under the lock.
	Sequences []schema.Name
	// Shape is what the swap's time depends on.
	Shape plan.Shape
	// DropHelper is the statement that takes an index of the run from the shadow; "" if it has none.
	DropHelper string
}

// locked are the tables that are locked.
func (t Tables) locked() []schema.Name {
	tables := slices.Concat([]schema.Name{t.Source, t.Shadow}, t.Carried.Others(), t.Sequences, t.Parked)
	for _, name := range []schema.Name{t.Log, t.Side} {
		if name != (schema.Name{}) {
			tables = append(tables, name)
		}
	}
	return tables
}

// Budget bounds the parts of an attempt.
type Budget struct {
	// Wait bounds the wait for the lock. Defaults to plan.DefaultWait.
	Wait time.Duration
	// Work bounds the work under the lock. Defaults to plan.DefaultWork. The RENAME gets leastRename in any
	// case.
	Work time.Duration
}

// WithDefaults returns the budget, with defaults for the fields that are not set.
func (b Budget) WithDefaults() Budget {
	if b.Wait <= 0 {
		b.Wait = plan.DefaultWait
	}
	if b.Work <= 0 {
		b.Work = plan.DefaultWork
	}
	return b
}

// leastRename is the time that a RENAME gets, however much of the budget is used up.
const leastRename = 50 * time.Millisecond

// Drain is the engine's part of the work under the lock.
type Drain interface {
	// Received waits until every change that was committed before the call has been
	// received from the binlog.
	Received(ctx context.Context) error
	// ApplyAndProve applies, through the session, every change that was received. If none is left, it compares
	// the rows that could not be proved equal while they changed (L6). It returns the number of
	// applied changes and the number of changes left. REQUIRES: the source is locked, so that all
	// of its changes are visible.
	ApplyAndProve(ctx context.Context, session *dbconn.Session) (drained, left int, err error)
	// Save saves what an undo begins from: no row of any part is written between that and the RENAME.
	Save(ctx context.Context) error
	// Freeze is called when no change is left, before the RENAME. The binlog will show the RENAME.
	Freeze()
	// Unfreeze is called when the RENAME has failed.
	Unfreeze()
}

// Part is what one table has in an attempt. An attempt with several parts is one lock and one RENAME for all of them.
// REQUIRES: RenameUnderLock, if there are several.
type Part struct {
	Pool   *dbconn.Pool
	Tables Tables
	// Setup are the statements of a session that does the part's work. Settings are those of them that run again after another
	// part's work.
	Setup, Settings []string
	Drain           Drain
	// Confirm waits, under the lock and with all changes applied, until the swap may be made, or fails at the given time at the
	// latest. Nil: the swap may be made at once.
	Confirm func(ctx context.Context, until time.Time) error
}

// Report describes an attempt, or a rehearsal of one, for one part, whether it succeeded or failed.
type Report struct {
	// Held is the time from the grant of the lock to its release.
	Held   time.Duration
	Waited time.Duration // for the lock
	// Granted reports whether the lock was granted. If it was and the attempt failed, it failed
	// after the grant.
	Granted bool
	Drained int // keys applied under the lock
	// Bare means that the shadow may have lost the index of the run.
	Bare bool
	// Unsettled is why foreign keys or triggers did not get their final form under the lock, after the swap.
	Unsettled error
}

// Attempt tries once to swap. On error nothing has happened and no lock is left,
// except with ErrUnknown. It returns a report for each part.
func Attempt(ctx context.Context, parts []Part, budget Budget) ([]Report, error) {
	a := &swapAttempt{underLock: newUnderLock(parts, budget)}
	defer a.close()
	err := a.run(ctx)
	return a.reports(), err
}

// swapAttempt is an underLock that ends in the swap.
type swapAttempt struct {
	underLock
	renamer *dbconn.Session  // session B, without RenameUnderLock
	queued  []*queuedSession // of the lock, there
	guard   *renameGuard     // guards B's place in the queue
}

// one is the only part of a swap by two sessions.
func (a *swapAttempt) one() *part { return a.parts[0] }

func (a *swapAttempt) close() {
	a.underLock.close()
	if a.renamer != nil {
		a.renamer.Close()
	}
	a.dismissQueue()
	for _, h := range a.queued {
		h.session.Close()
	}
	a.closeGuard()
}

func (a *swapAttempt) run(ctx context.Context) error {
	if err := a.measureCost(ctx); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	locked := a.locked()
	if !a.one().Tables.RenameUnderLock {
		if err := a.prepareTwo(ctx); err != nil {
			a.dropSentinel() // the view may have failed
			return fmt.Errorf("prepare the sessions of the swap: %w", err)
		}
		locked = append(locked, a.one().Tables.Old)
	}
	if err := a.lock(ctx, locked...); err != nil {
		a.dropSentinel()
		return err
	}
	err := a.drainAll(ctx)
	if err == nil {
		err = a.checkCost(a.budget.Work - time.Since(a.granted))
	}
	for i := 0; i < len(a.parts) && err == nil; i++ {
		if confirm := a.parts[i].Confirm; confirm != nil {
			err = confirm(ctx, a.granted.Add(a.budget.Work-max(a.takes(), leastRename)))
		}
	}
	if err != nil {
		a.release()
		return err
	}
	// From here on the swap happens or fails as one step; an abort comes too late.
	err = a.rename(context.WithoutCancel(ctx))
	a.whole.Held = time.Since(a.granted)
	return err
}

// release gives everything back: nothing has happened.
func (a *swapAttempt) release() {
	a.underLock.release()
	a.dropSentinel()
}

// renameStatement swaps all parts: the server renames all tables, or none.
func (a *swapAttempt) renameStatement() string {
	swaps := make([]schema.Exchange, len(a.parts))
	for i, p := range a.parts {
		swaps[i] = schema.Exchange{Source: p.Tables.Source, Old: p.Tables.Old, Shadow: p.Tables.Shadow, Into: p.Tables.Into}
		if p.Tables.View != nil {
			swaps[i].View = p.Tables.View.Name
		}
	}
	return schema.Swap(swaps...)
}

// rename swaps, or gives everything back. A RENAME may have to wait, although its tables
// are locked: LOCK INSTANCE FOR BACKUP keeps every DDL waiting, and does not hinder LOCK
// TABLES.
func (a *swapAttempt) rename(ctx context.Context) error {
	for _, p := range a.parts {
		p.Drain.Freeze()
	}
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), leastRename), ErrOverrun)
	defer cancel()
	err := a.prepareRename(bounded)
	switch {
	case err != nil:
	case a.one().Tables.RenameUnderLock:
		err = a.renameFromOne(ctx, bounded)
	default:
		err = a.renameFromTwo(ctx, bounded)
	}
	if err == nil {
		for _, p := range a.parts {
			p.report.Unsettled = a.settle(ctx, p)
		}
		// The swap is done; an UNLOCK that is lost with its connection unlocks as well.
		_, _ = a.holder.Exec(ctx, "UNLOCK TABLES")
		a.dismissQueue()
		return nil
	}
	if !errors.Is(err, ErrUnknown) {
		for _, p := range a.parts {
			a.undeclare(ctx, p)
			p.Drain.Unfreeze()
		}
		a.release()
	}
	return fmt.Errorf("swap %s: %w", a.tables(), orIntoTaken(ctx, a, err))
}

// prepareRename does under the lock what precedes the RENAME.
func (a *swapAttempt) prepareRename(bounded context.Context) error {
	for _, p := range a.parts {
		if err := a.declare(bounded, p); err != nil {
			return err
		}
		if err := a.dropHelper(bounded, p); err != nil {
			return err
		}
	}
	return nil
}

// dropHelper takes the index of the run from the shadow. No change is left that would need it.
func (a *swapAttempt) dropHelper(bounded context.Context, p *part) error {
	if p.Tables.DropHelper == "" {
		return nil
	}
	p.report.Bare = true
	return a.finishAtWork(bounded, a.holder, carry.Statement{What: "drop the index of the run", Text: p.Tables.DropHelper})
}

// renameFromOne has the tables renamed in the session that holds the lock.
func (a *swapAttempt) renameFromOne(ctx, bounded context.Context) error {
	_, err := a.holder.Exec(bounded, a.renameStatement())
	switch {
	case err == nil:
		return nil
	case a.holder.Lost():
		err = a.look(ctx, err, a.holder)
	case dbconn.Number(err) != 0 && !dbconn.Interrupted(err): // refused
	case a.carries():
		err = a.resolveStopped(ctx, err)
	default: // the lock is gone: nothing to withdraw
		err = a.look(ctx, err, a.holder)
	}
	return asNameTaken(err)
}

// carries reports whether any part declares foreign keys or triggers.
func (a *swapAttempt) carries() bool {
	return slices.ContainsFunc(a.parts, func(p *part) bool { return !p.Tables.Carried.Empty() })
}

// resolveStopped resolves a RENAME that the server was asked to stop and has answered: the KILL may have
// come after the rename. The session still has the lock; under it, rename then removes what was
// declared. resolveStopped returns the cause if nothing has happened.
func (a *swapAttempt) resolveStopped(ctx context.Context, cause error) error {
	looking, cancel := context.WithTimeout(ctx, atWork)
	defer cancel()
	switch swapped, err := a.swapped(looking); {
	case err != nil:
		return a.look(ctx, cause, a.holder)
	case swapped:
		return nil
	}
	return cause
}

// asNameTaken recognizes, among the errors of a statement that needs a name, that another table has it.
func asNameTaken(err error) error {
	if dbconn.TableExists(err) {
		return fmt.Errorf("%w: %w", ErrNameTaken, err)
	}
	return err
}
