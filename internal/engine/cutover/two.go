package cutover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// The two-session swap, for servers that refuse RENAME under LOCK TABLES.

// prepareTwo opens session B and creates the sentinel. The sentinel keeps B's RENAME from
// succeeding until A drops it.
func (a *swapAttempt) prepareTwo(ctx context.Context) error {
	var err error
	if a.renamer, err = a.one().Pool.Session(ctx, a.shortLived()); err != nil {
		return err
	}
	if err := a.openQueue(ctx); err != nil {
		return err
	}
	if err := a.openGuard(ctx); err != nil {
		return err
	}
	a.dropSentinel() // left by a lost attempt, perhaps
	_, err = a.holder.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (id INT NOT NULL PRIMARY KEY) COMMENT=%s",
		a.one().Tables.Old.Quoted(), schema.Literal(schema.MarkFor("sentinel", a.one().Tables.Source))))
	if err != nil {
		return fmt.Errorf("create sentinel %s: %w", a.one().Tables.Old, asNameTaken(err))
	}
	return makeView(ctx, a)
}

// dropSentinel removes the sentinel after a failed attempt. REQUIRES: no lock is held.
func (a *swapAttempt) dropSentinel() {
	if a.one().Tables.RenameUnderLock {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p := a.one()
	if table, err := schema.LoadOwn(ctx, p.Pool.DB(), p.Tables.Old); err == nil && schema.MarkedFor(table.Comment, p.Tables.Source) {
		_ = p.Pool.Exec(ctx, "DROP TABLE "+p.Tables.Old.Quoted()) // its mark identifies it
	}
	if v := p.Tables.View; v != nil {
		_ = DropViews(ctx, p.Pool, p.Tables.Source, v.Over)
	}
}

// errWithdrawn ends B's RENAME when A can't let it through.
var errWithdrawn = errors.New("rename withdrawn")

// renameFromTwo swaps by two sessions. A has the lock of the source, the shadow and the sentinel.
// The sentinel has the name that B's RENAME needs.
//
//	B   RENAME ..         is the first in the source's queue. It would fail without A's lock, because
//	                      the sentinel exists
//	    LOCK TABLES ..    the queued sessions are next: no request of the application is between them
//	A   DROP the sentinel
//	    the steps up to here are bounded; if one fails, B is withdrawn, and nothing has happened
//	A   UNLOCK TABLES     B renames, and the first queued session gets its lock
//
// On an error renameFromTwo withdraws B and awaits its answer before it dismisses the queued
// sessions. If B has renamed after all, they are needed (settle). If the answer is lost, the tables
// show what happened (look).
func (a *swapAttempt) renameFromTwo(ctx, bounded context.Context) error {
	running, withdraw := context.WithCancelCause(ctx)
	defer withdraw(nil)
	renamed := ask(running, a.renamer, a.renameStatement())
	if err := a.queueBehindLock(ctx, bounded, renamed); err != nil {
		withdraw(errWithdrawn)
		if <-renamed.came; renamed.err == nil {
			return nil // A's connection and locks are lost
		}
		a.dismissQueue()
		return a.look(ctx, err, a.renamer)
	}
	if _, err := a.holder.Exec(ctx, "UNLOCK TABLES"); err != nil {
		a.holder.Close()
	}
	a.awaitRename(ctx, bounded, renamed, withdraw)
	a.releaseGuard(ctx)
	if renamed.err == nil {
		return nil
	}
	a.dismissQueue()
	if dbconn.TableExists(renamed.err) { // another session took the name
		return asNameTaken(renamed.err)
	}
	return a.look(ctx, renamed.err, a.renamer)
}

// queueBehindLock waits until B's RENAME and the queued sessions wait for A's lock. Then it drops
// the sentinel: only the lock keeps B from its RENAME.
func (a *swapAttempt) queueBehindLock(ctx, bounded context.Context, renamed *answer) error {
	if err := a.waitQueued(bounded, a.renamer, renamed); err != nil {
		return err
	}
	if err := waitsForSource(bounded, a); err != nil {
		return err
	}
	if err := a.joinQueue(ctx, bounded); err != nil {
		return err
	}
	_, err := a.holder.Exec(bounded, "DROP TABLE "+a.one().Tables.Old.Quoted())
	return err
}

// answer is what became of a statement. It may be read as often as needed once it came.
type answer struct {
	came chan struct{} // closed
	err  error
}

// ask lets a session run a statement in the background.
func ask(ctx context.Context, session *dbconn.Session, statement string) *answer {
	a := &answer{came: make(chan struct{})}
	go func() {
		defer close(a.came)
		_, a.err = session.Exec(ctx, statement)
	}()
	return a
}

// waitQueued waits until a session is seen to wait for a metadata lock.
func (a *swapAttempt) waitQueued(ctx context.Context, session *dbconn.Session, asked *answer) error {
	for {
		state, err := a.one().Pool.StateOf(ctx, session.ID())
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("check whether a session of the swap waits: %w", err)
		}
		if state == "Waiting for table metadata lock" {
			return nil
		}
		select {
		case <-asked.came:
			// It waits for A's lock, unless that is gone; then the sentinel stops a RENAME.
			return fmt.Errorf("a session of the swap did not wait: %w: %w", ErrDisturbed, errors.Join(asked.err, errWithdrawn))
		case <-ctx.Done():
			return fmt.Errorf("a session of the swap was not seen to wait: %w", context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}

// look resolves a RENAME if its answer was lost: it waits until the session is gone from the
// server, and then reads the outcome from the tables. It returns the cause if nothing has happened.
func (a *swapAttempt) look(ctx context.Context, cause error, session *dbconn.Session) error {
	session.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := a.one().Pool.End(ctx, session.ID())
		swapped := false
		if err == nil {
			swapped, err = a.swapped(ctx)
		}
		switch {
		case err == nil && swapped:
			return nil
		case err == nil:
			return cause
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w (cannot check the tables: %w)", ErrUnknown, cause, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// swapped reports whether the tables of all parts have each other's names. REQUIRES: the RENAME has ended.
func (a *swapAttempt) swapped(ctx context.Context) (bool, error) {
	done := 0
	for _, p := range a.parts {
		swapped, err := p.swapped(ctx)
		if err != nil {
			return false, err
		}
		if swapped {
			done++
		}
	}
	if done > 0 && done < len(a.parts) {
		return false, fmt.Errorf("%d of %d tables are swapped", done, len(a.parts))
	}
	return done > 0, nil
}

func (p *part) swapped(ctx context.Context) (bool, error) {
	db := p.Pool.DB()
	_, shadowErr := schema.LoadOwn(ctx, db, p.Tables.Shadow)
	old, oldErr := schema.LoadOwn(ctx, db, p.Tables.Old)
	shadowThere, oldThere := shadowErr == nil, oldErr == nil && !schema.MarkedFor(old.Comment, p.Tables.Source)
	switch {
	case !shadowThere && errors.Is(shadowErr, schema.ErrNotFound) && oldThere:
		return true, nil
	case shadowThere && !oldThere:
		return false, nil
	}
	return false, fmt.Errorf("shadow there: %t, old there: %t: %w", shadowThere, oldThere, errors.Join(shadowErr, oldErr))
}
