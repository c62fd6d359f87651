package cutover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// The queued sessions wait behind A's lock. They exist if A's lock ends with the swap. The statements
// about foreign keys and triggers that come after the RENAME need the tables locked. No session may
// delete a row of the new table and then its parent, while the old table still has that row and the
// constraint. So the finisher joins the queue of the source, behind B, before A unlocks.
//
// On MySQL 5.7 a session that writes to a parent asks for no lock of its children. InnoDB's locks
// protect the rows of children that it has changed. An ALTER of a child waits for that session, and
// also asks for the parent's lock if the constraint acts. So on that server the finisher asks for
// the tables at the other ends as well. It gets them one after the other, and other sessions could
// come between. So each of them, and the source, has a keeper: it waits for this table alone, and
// goes when the finisher is behind it.

// queuedSession is a session that has a part of A's lock as soon as A and B let go.
type queuedSession struct {
	session *dbconn.Session
	tables  []schema.Name
	granted *answer // nil as long as it has not asked
	dismiss context.CancelCauseFunc
}

// errDismissed ends the request of a queued session that is not needed.
var errDismissed = errors.New("the lock is not needed any more")

// openQueue opens the queued sessions: the finisher's, and the table keepers' in the order of
// inQueue.
func (a *swapAttempt) openQueue(ctx context.Context) error {
	if a.one().Tables.Carried.Empty() {
		return nil
	}
	finisher := []schema.Name{a.one().Tables.Source, a.one().Tables.Old} // free until B has the source
	wanted := [][]schema.Name{finisher}
	if others := a.one().Tables.Carried.Others(); len(others) > 0 && a.one().Tables.WritersApart {
		wanted[0] = append(finisher, others...)
		for _, table := range slices.SortedFunc(slices.Values(append(others, a.one().Tables.Source)), inQueue) {
			wanted = append(wanted, []schema.Name{table})
		}
	}
	for _, tables := range wanted {
		session, err := a.one().Pool.Session(ctx, a.shortLived())
		if err != nil {
			return err
		}
		a.queued = append(a.queued, &queuedSession{session: session, tables: tables})
	}
	return nil
}

// inQueue compares two tables in the order that the server uses to lock the tables of one
// statement.
func inQueue(a, b schema.Name) int {
	return strings.Compare(a.Schema+"\x00"+a.Table, b.Schema+"\x00"+b.Table)
}

// joinQueue makes every queued session wait for its tables.
func (a *swapAttempt) joinQueue(ctx, bounded context.Context) error {
	for _, h := range a.queued {
		var asking context.Context
		asking, h.dismiss = context.WithCancelCause(ctx)
		h.granted = ask(asking, h.session, schema.LockTables(h.tables...))
		if err := a.waitQueued(bounded, h.session, h.granted); err != nil {
			return err
		}
	}
	return nil
}

// finisher is the session that has the tables locked after the swap. REQUIRES: there is something to settle.
func (a *swapAttempt) finisher(ctx context.Context) (*dbconn.Session, error) {
	if a.one().Tables.RenameUnderLock {
		return a.holder, nil
	}
	finisher := a.queued[0]
	for _, keeper := range a.queued[1:] {
		if err := a.waitBehind(ctx, finisher); err != nil {
			return nil, err
		}
		keeper.release()
	}
	select {
	case <-finisher.granted.came:
	case <-ctx.Done():
		return nil, fmt.Errorf("lock %s: %w", a.one().Tables.Source, context.Cause(ctx))
	}
	if err := finisher.granted.err; err != nil {
		return nil, fmt.Errorf("lock %s: %w", a.one().Tables.Source, err)
	}
	return finisher.session, nil
}

// waitBehind waits until a queued session has all of its tables, or waits for one. It checks twice:
// a session that has just got a lock is still shown as waiting for a moment.
func (a *swapAttempt) waitBehind(ctx context.Context, h *queuedSession) error {
	for range 2 {
		select {
		case <-h.granted.came:
			return nil
		case <-time.After(time.Millisecond):
		}
		if err := a.waitQueued(ctx, h.session, h.granted); err != nil && !errors.Is(err, ErrDisturbed) {
			return err
		}
	}
	return nil
}

// release has a queued session let go what it has, and ask for nothing more.
func (h *queuedSession) release() {
	if h.granted == nil {
		return
	}
	h.dismiss(errDismissed)
	if <-h.granted.came; h.granted.err == nil {
		_, _ = h.session.Exec(context.Background(), "UNLOCK TABLES") // otherwise ending the session unlocks
	}
	h.granted = nil
}

// dismissQueue ends the lock.
func (a *swapAttempt) dismissQueue() {
	for _, h := range slices.Backward(a.queued) { // a keeper whom the finisher has overtaken waits behind it
		h.release()
	}
}
