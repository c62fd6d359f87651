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

// The outcomes of an attempt other than the swap. After the first five, and after ErrSlow, the source is
// untouched and unlocked, and another attempt may succeed.
var (
	// ErrNotGranted says that the lock was not granted within the budget.
	ErrNotGranted = errors.New("lock was not granted within the budget")
	// ErrOverrun says that the work under the lock took longer than its budget.
	ErrOverrun = errors.New("work under the lock took longer than its budget")
	// ErrNotDrained says that changes were left which can't be applied yet, such as
	// those of a prepared XA transaction.
	ErrNotDrained = errors.New("changes are left that can't be applied yet")
	// ErrDisturbed says that a session of the swap was lost, so that the other's part failed.
	ErrDisturbed = errors.New("a session of the swap was lost")
	// ErrNameTaken says that another table has the name that the source was to get: the next
	// attempt needs another one.
	ErrNameTaken = errors.New("the name for the old table is taken")
	// ErrSourceChanged says that the source's definition is not the plan's any more.
	// The source is untouched; the shadow is of no use.
	ErrSourceChanged = errors.New("definition of the source has changed")
	// ErrRelated says that a trigger of the source, or a foreign key on it or that refers to it,
	// was added, dropped or changed since the plan was made. The source is untouched, and the
	// shadow as good as it was.
	ErrRelated = errors.New(
		"the triggers or foreign keys of the table, or the foreign keys that refer to it, have changed since the plan was made",
	)
	// ErrUnknown says that the connection was lost during the swap and that looking
	// at the tables did not tell whether it happened. A human must look.
	ErrUnknown = errors.New("outcome of the swap is not known")
)

// Tables are what is swapped.
type Tables struct {
	Source schema.Name
	Shadow schema.Name
	Old    schema.Name
	// RenameUnderLock says that the server can RENAME a table that the session has
	// locked (MySQL 8.0.13 and later; not MariaDB).
	RenameUnderLock bool
	// RenameYields says that a RENAME that waits for a backup gives the locks of its tables back meanwhile (MariaDB).
	RenameYields bool
	// WritersApart says that who writes a table asks for no lock of the tables that foreign keys
	// bind to it (MySQL 5.7).
	WritersApart bool
	// AutoIncrement says that the shadow has a counter to be carried over.
	AutoIncrement bool
	// Definition is SHOW CREATE TABLE of the source, without its counter.
	Definition string
	// Carried are the foreign keys and triggers that go over to the shadow. REQUIRES: RenameUnderLock,
	// if foreign keys refer to the source.
	Carried carry.Set
	// Related are the foreign keys of the source and those that refer to it, before the swap.
	Related []schema.ForeignKey
	// Log is what triggers on the source write to, if any: the server locks it with the source. They go with the
	// source when it is renamed.
	Log schema.Name
	// Sequences are those that defaults of the shadow take numbers from: it is written to under the lock.
	Sequences []schema.Name
	// Shape is what the swap's time depends on.
	Shape plan.Shape
}

// locked are the tables that are locked.
func (t Tables) locked() []schema.Name {
	tables := slices.Concat([]schema.Name{t.Source, t.Shadow}, t.Carried.Others(), t.Sequences)
	if t.Log != (schema.Name{}) {
		tables = append(tables, t.Log)
	}
	return tables
}

// Budget bounds the parts of an attempt.
type Budget struct {
	Wait time.Duration // for the lock; defaults to 250 ms
	Work time.Duration // under the lock; the RENAME gets leastRename in any case; defaults to 250 ms
}

// WithDefaults returns the budget with defaults for what is not set.
func (b Budget) WithDefaults() Budget {
	if b.Wait <= 0 {
		b.Wait = 250 * time.Millisecond
	}
	if b.Work <= 0 {
		b.Work = 250 * time.Millisecond
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
	// Empty applies, through the session, every change that was received, and returns
	// their number and the number of those left. REQUIRES: the source is locked, so
	// that all of them are visible.
	Empty(ctx context.Context, session *dbconn.Session) (drained, left int, err error)
	// Freeze is called when nothing is left, before the RENAME, which the binlog will show.
	Freeze()
	// Unfreeze is called when the RENAME has failed.
	Unfreeze()
}

// Swap is what a successful attempt tells.
type Swap struct {
	Held    time.Duration // from the grant of the lock to its release
	Waited  time.Duration // for the lock
	Granted bool          // it was: what came to nothing, came to it later
	Drained int           // keys applied under the lock
	// Unsettled is why foreign keys or triggers did not get their last form under the lock, after the swap.
	Unsettled error
}

// Attempt tries once to swap. On error nothing has happened and no lock is left,
// except with ErrUnknown.
func Attempt(ctx context.Context, pool *dbconn.Pool, tables Tables, budget Budget, setup []string, drain Drain) (Swap, error) {
	a := &swapAttempt{underLock: underLock{pool: pool, tables: tables, budget: budget, drain: drain}}
	defer a.close()
	return a.run(ctx, setup)
}

// swapAttempt is an underLock that ends in the swap.
type swapAttempt struct {
	underLock
	renamer *dbconn.Session  // session B, where RENAME can't run under the lock
	cost    plan.Swap        // what the swap takes, where that may be long
	queued  []*queuedSession // of the lock, there
	guard   *renameGuard     // of the renamer's place in the queue, where that needs one
}

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

func (a *swapAttempt) run(ctx context.Context, setup []string) (Swap, error) {
	if err := a.price(ctx); err != nil {
		return a.swap, fmt.Errorf("cut-over: %w", err)
	}
	if err := a.open(ctx, setup); err != nil {
		return a.swap, err
	}
	locked := a.tables.locked()
	if !a.tables.RenameUnderLock {
		if err := a.prepareTwo(ctx); err != nil {
			return a.swap, fmt.Errorf("cut-over: %w", err)
		}
		locked = append(locked, a.tables.Old)
	}
	if err := a.lock(ctx, locked...); err != nil {
		a.dropSentinel()
		return a.swap, err
	}
	err := a.drainAll(ctx)
	if err == nil {
		err = a.inTime(a.budget.Work - time.Since(a.granted))
	}
	if err != nil {
		a.release()
		return a.swap, err
	}
	// From here on the swap happens or fails as a whole; an abort comes too late.
	err = a.rename(context.WithoutCancel(ctx))
	a.swap.Held = time.Since(a.granted)
	return a.swap, err
}

// release gives everything back: nothing has happened.
func (a *swapAttempt) release() {
	a.underLock.release()
	a.dropSentinel()
}

func (a *swapAttempt) renameStatement() string {
	return fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", a.tables.Source.Quoted(), a.tables.Old.Quoted(),
		a.tables.Shadow.Quoted(), a.tables.Source.Quoted())
}

// rename swaps, or gives everything back. A RENAME may have to wait, although its tables
// are locked: LOCK INSTANCE FOR BACKUP keeps every DDL waiting, and does not hinder LOCK
// TABLES.
func (a *swapAttempt) rename(ctx context.Context) error {
	a.drain.Freeze()
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), leastRename), ErrOverrun)
	defer cancel()
	err := a.declare(bounded)
	switch {
	case err != nil:
	case a.tables.RenameUnderLock:
		err = a.renameFromOne(ctx, bounded)
	default:
		err = a.renameFromTwo(ctx, bounded)
	}
	if err == nil {
		a.swap.Unsettled = a.settle(ctx)
		// The swap is done; an UNLOCK that is lost with its connection unlocks as well.
		_, _ = a.holder.Exec(ctx, "UNLOCK TABLES")
		a.dismissQueue()
		return nil
	}
	if !errors.Is(err, ErrUnknown) {
		a.withdraw(ctx)
		a.drain.Unfreeze()
		a.release()
	}
	return fmt.Errorf("swap %s: %w", a.tables.Source, err)
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
	case !a.tables.Carried.Empty():
		err = a.withdrawn(ctx, err)
	default: // nothing is to be taken back: the lock is not held for a look
		err = a.look(ctx, err, a.holder)
	}
	return named(err)
}

// withdrawn resolves a RENAME that the server was told to end, and has answered: KILL may have met
// it when it had renamed. Its session still has the lock, under which what was declared is taken
// back. It returns the cause if nothing has happened.
func (a *swapAttempt) withdrawn(ctx context.Context, cause error) error {
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

// named tells a name that is another table's from other errors of a statement that needs it.
func named(err error) error {
	if dbconn.TableExists(err) {
		return fmt.Errorf("%w: %w", ErrNameTaken, err)
	}
	return err
}
