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

// The heirs of A's lock, where that ends with the swap. What is left to do of foreign keys and
// triggers wants the tables locked: nobody may delete a row of the new table and then its parent,
// while the old table still has that row and the constraint. So the settler stands in the queue of
// the source, behind B, before A lets go.
//
// Where a parent's writer does not ask for its children's locks (MySQL 5.7), what he has changed
// holds InnoDB's locks on them, and an ALTER of a child waits for him, and asks for the parent's
// lock itself if the constraint acts. There the settler asks for the tables at the other ends as
// well. It has one after the other, and others could come between: so each of them, and the source,
// has a keeper, which waits for this table alone, and goes when the settler stands behind it.

// heir is a session that has a part of A's lock as soon as A and B let go.
type heir struct {
	session *dbconn.Session
	tables  []schema.Name
	granted *answer // nil as long as it has not asked
	dismiss context.CancelCauseFunc
}

// errDismissed ends the request of an heir that is not needed.
var errDismissed = errors.New("the lock is not needed any more")

// openHeirs opens their sessions: the settler's, and those of the keepers in the order in which the
// server locks tables.
func (a *attempt) openHeirs(ctx context.Context) error {
	if a.tables.Carried.Empty() {
		return nil
	}
	settler := []schema.Name{a.tables.Source, a.tables.Old} // whose name is free until B has the source
	wanted := [][]schema.Name{settler}
	if others := a.tables.Carried.Others(); len(others) > 0 && a.tables.WritersApart {
		wanted[0] = append(settler, others...)
		for _, table := range slices.SortedFunc(slices.Values(append(others, a.tables.Source)), inQueue) {
			wanted = append(wanted, []schema.Name{table})
		}
	}
	for _, tables := range wanted {
		session, err := a.pool.Session(ctx, a.shortLived())
		if err != nil {
			return err
		}
		a.heirs = append(a.heirs, &heir{session: session, tables: tables})
	}
	return nil
}

// inQueue is the order in which the server locks the tables of one statement.
func inQueue(a, b schema.Name) int {
	return strings.Compare(a.Schema+"\x00"+a.Table, b.Schema+"\x00"+b.Table)
}

// queueHeirs has every heir stand in its queue.
func (a *attempt) queueHeirs(ctx, bounded context.Context) error {
	for _, h := range a.heirs {
		var asking context.Context
		asking, h.dismiss = context.WithCancelCause(ctx)
		h.granted = ask(asking, h.session, schema.LockTables(h.tables...))
		if err := a.waitQueued(bounded, h.session, h.granted); err != nil {
			return err
		}
	}
	return nil
}

// settler is the session that has the tables locked after the swap. REQUIRES: there is something to settle.
func (a *attempt) settler(ctx context.Context) (*dbconn.Session, error) {
	if a.tables.RenameUnderLock {
		return a.holder, nil
	}
	settler := a.heirs[0]
	for _, keeper := range a.heirs[1:] {
		if err := a.waitBehind(ctx, settler); err != nil {
			return nil, err
		}
		keeper.letGo()
	}
	select {
	case <-settler.granted.came:
	case <-ctx.Done():
		return nil, fmt.Errorf("lock %s: %w", a.tables.Source, context.Cause(ctx))
	}
	if err := settler.granted.err; err != nil {
		return nil, fmt.Errorf("lock %s: %w", a.tables.Source, err)
	}
	return settler.session, nil
}

// waitBehind waits until an heir has all of its tables, or waits for one. It looks twice: a session that has
// just got a lock still says for a moment that it waits.
func (a *attempt) waitBehind(ctx context.Context, h *heir) error {
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

// letGo has an heir let go what it has, and ask for nothing more.
func (h *heir) letGo() {
	if h.granted == nil {
		return
	}
	h.dismiss(errDismissed)
	if <-h.granted.came; h.granted.err == nil {
		_, _ = h.session.Exec(context.Background(), "UNLOCK TABLES") // else the server unlocks as the session ends
	}
	h.granted = nil
}

// dismissHeirs ends the lock.
func (a *attempt) dismissHeirs() {
	for _, h := range slices.Backward(a.heirs) { // a keeper whom the settler has overtaken waits behind it
		h.letGo()
	}
}
