package cutover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"midstream/internal/dbconn"
	"midstream/internal/lock"
	"midstream/internal/schema"
)

// The outcomes of an attempt other than the swap. In the first five the source is
// untouched and free, and another attempt may be made.
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
	// AutoIncrement says that the shadow has a counter to be carried over.
	AutoIncrement bool
	// Definition is SHOW CREATE TABLE of the source, without its counter.
	Definition string
}

// Budget bounds the parts of an attempt.
type Budget struct {
	Wait time.Duration // for the lock
	Work time.Duration // under the lock; the RENAME gets leastRename in any case
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
	// Hold is called when nothing is left, before the RENAME, which the binlog will show.
	Hold()
	// Release is called when the RENAME has come to nothing.
	Release()
}

// Swap is what a successful attempt tells.
type Swap struct {
	Held    time.Duration // from the grant of the lock to its release
	Waited  time.Duration // for the lock
	Drained int           // keys applied under the lock
}

// Attempt tries once to swap. On error nothing has happened and no lock is left,
// except with ErrUnknown.
func Attempt(ctx context.Context, pool *dbconn.Pool, tables Tables, budget Budget, setup []string, drain Drain) (Swap, error) {
	a := &attempt{pool: pool, tables: tables, budget: budget, drain: drain}
	defer a.close()
	return a.run(ctx, setup)
}

type attempt struct {
	pool   *dbconn.Pool
	tables Tables
	budget Budget
	drain  Drain

	holder  *dbconn.Session // session A
	renamer *dbconn.Session // session B, where RENAME can't run under the lock
	granted time.Time
	swap    Swap
}

func (a *attempt) close() {
	for _, s := range []*dbconn.Session{a.holder, a.renamer} {
		if s != nil {
			s.Close()
		}
	}
}

// shortLived has the server end a session, and with it its lock, soon after the client has
// fallen silent: its machine may be gone, or asleep.
func (a *attempt) shortLived() string {
	return fmt.Sprintf("SET SESSION wait_timeout = %d", 2+int(a.budget.Work/time.Second))
}

func (a *attempt) run(ctx context.Context, setup []string) (Swap, error) {
	var err error
	if a.holder, err = a.pool.Session(ctx, append(setup, a.shortLived())...); err != nil {
		return a.swap, fmt.Errorf("cut-over: %w", err)
	}
	if !a.tables.RenameUnderLock {
		if err := a.prepareTwo(ctx); err != nil {
			return a.swap, fmt.Errorf("cut-over: %w", err)
		}
	}
	if err := a.lock(ctx); err != nil {
		return a.swap, err
	}
	if err := a.work(ctx); err != nil {
		a.release()
		return a.swap, err
	}
	// From here on the swap happens or fails as a whole; an abort comes too late.
	err = a.rename(context.WithoutCancel(ctx))
	a.swap.Held = time.Since(a.granted)
	return a.swap, err
}

// lock asks for the lock once.
func (a *attempt) lock(ctx context.Context) error {
	statement := fmt.Sprintf("LOCK TABLES %s WRITE, %s WRITE", a.tables.Source.Quoted(), a.tables.Shadow.Quoted())
	if !a.tables.RenameUnderLock {
		statement += ", " + a.tables.Old.Quoted() + " WRITE"
	}
	granted, waited, err := lock.Request(ctx, a.holder, statement, a.budget.Wait)
	a.swap.Waited = waited
	if err != nil {
		a.dropSentinel()
		return fmt.Errorf("lock %s: %w", a.tables.Source, err)
	}
	if !granted {
		a.dropSentinel()
		return fmt.Errorf("lock %s: %w", a.tables.Source, ErrNotGranted)
	}
	a.granted = time.Now()
	return nil
}

// release gives the lock back: nothing has happened.
func (a *attempt) release() {
	ctx := context.Background()
	a.holder.Exec(ctx, "ROLLBACK")
	if _, err := a.holder.Exec(ctx, "UNLOCK TABLES"); err != nil {
		a.holder.Close() // the server releases what a lost session held
	}
	a.dropSentinel()
}

// work brings the shadow up to the last change of the source.
func (a *attempt) work(ctx context.Context) error {
	bounded, cancel := context.WithTimeoutCause(ctx, a.budget.Work, ErrOverrun)
	defer cancel()
	if err := a.drain.Received(bounded); err != nil {
		return fmt.Errorf("receive the last changes of %s: %w", a.tables.Source, err)
	}
	drained, left, err := a.drain.Empty(bounded, a.holder)
	a.swap.Drained = drained
	if err != nil {
		return fmt.Errorf("apply the last changes of %s: %w", a.tables.Source, err)
	}
	if left > 0 {
		return fmt.Errorf("apply the last changes of %s: %d left: %w", a.tables.Source, left, ErrNotDrained)
	}
	return a.finish(bounded)
}

// finish checks that the source is still the plan's and carries its counter over.
func (a *attempt) finish(ctx context.Context) error {
	source, err := a.showCreate(ctx, a.tables.Source)
	if err != nil {
		return err
	}
	if definition, _ := schema.SplitAutoIncrement(source); definition != a.tables.Definition {
		return fmt.Errorf("%s: %w", a.tables.Source, ErrSourceChanged)
	}
	if !a.tables.AutoIncrement {
		return nil
	}
	shadow, err := a.showCreate(ctx, a.tables.Shadow)
	if err != nil {
		return err
	}
	_, next := schema.SplitAutoIncrement(source)
	if _, has := schema.SplitAutoIncrement(shadow); has >= next {
		return nil
	}
	_, err = a.holder.Exec(ctx, fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", a.tables.Shadow.Quoted(), next))
	if err != nil {
		return fmt.Errorf("carry the AUTO_INCREMENT counter of %s over: %w", a.tables.Source, err)
	}
	return nil
}

func (a *attempt) showCreate(ctx context.Context, table schema.Name) (string, error) {
	var name, text string
	err := a.holder.Rows(ctx, "SHOW CREATE TABLE "+table.Quoted(), func(rows *sql.Rows) error {
		return rows.Scan(&name, &text)
	})
	if err != nil {
		return "", fmt.Errorf("read the definition of %s: %w", table, err)
	}
	return text, nil
}

func (a *attempt) renameStatement() string {
	return fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", a.tables.Source.Quoted(), a.tables.Old.Quoted(),
		a.tables.Shadow.Quoted(), a.tables.Source.Quoted())
}

// rename swaps, or gives everything back. A RENAME may have to wait, although its tables
// are locked: LOCK INSTANCE FOR BACKUP keeps every DDL waiting, and does not hinder LOCK
// TABLES.
func (a *attempt) rename(ctx context.Context) error {
	a.drain.Hold()
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), leastRename), ErrOverrun)
	defer cancel()
	var err error
	if a.tables.RenameUnderLock {
		_, err = a.holder.Exec(bounded, a.renameStatement())
		if err != nil && dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) {
			err = a.look(ctx, err, a.holder)
		}
		err = named(err)
	} else {
		err = a.renameFromTwo(ctx, bounded)
	}
	if err == nil {
		// The swap is done; an UNLOCK that is lost with its connection unlocks as well.
		a.holder.Exec(ctx, "UNLOCK TABLES")
		return nil
	}
	if !errors.Is(err, ErrUnknown) {
		a.drain.Release()
		a.release()
	}
	return fmt.Errorf("swap %s: %w", a.tables.Source, err)
}

// named tells a name that is another table's from other errors of a statement that needs it.
func named(err error) error {
	if dbconn.TableExists(err) {
		return fmt.Errorf("%w: %w", ErrNameTaken, err)
	}
	return err
}
