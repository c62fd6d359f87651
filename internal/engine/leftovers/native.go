package leftovers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Natively has the server carry out its own change of the source, and keeps what an undo of it needs: the undo table is
// there before the statement is sent, and has the definition that the statement has made afterwards. A kill between the
// two is resolved by the definition of the table (L7).
//
// wish is nil if nothing is to be kept; ends drops then what was kept for the change before. If the statement takes a
// change back (the step is Undoing), the undo table has the record of that change until then.
//
// REQUIRES: the source is claimed.
func Natively(ctx context.Context, c *Cleaner, wish *checkpoint.Undo, ends bool, statement func() error, note func(string)) error {
	if wish == nil {
		err := statement()
		if err == nil && ends {
			err = c.DropUndo(ctx)
		}
		return err
	}
	r := nativeRecord{c}
	if err := r.announce(ctx, wish); err != nil {
		return fmt.Errorf("keep what an undo needs: %w", err)
	}
	err := statement()
	if failed := r.write(context.WithoutCancel(ctx), *wish, err); failed != nil {
		note(fmt.Sprintf("%s could not be updated: %v; the next command finds out from the table what has happened", plan.UndoOf(c.source), failed))
	}
	return err
}

// nativeRecord is the undo table of a change that the server makes itself.
type nativeRecord struct{ *Cleaner }

// announce writes that the statement is about to be sent.
func (c nativeRecord) announce(ctx context.Context, wish *checkpoint.Undo) error {
	earlier, err := c.Undo(ctx)
	is := earlier != nil && earlier.Undo != nil && earlier.Undo.Native != nil
	switch {
	case err == nil && is:
		err = c.endStatement(ctx, earlier.Run)
	case err == nil && wish.Native.Step == checkpoint.Undoing:
		err = ErrOvertaken
	}
	if err != nil {
		return err
	}
	now, err := ServerTime(ctx, c.pool.DB())
	if err != nil {
		return err
	}
	wish.Table, wish.Swapped, wish.Until = c.source.Table, now, now.Add(wish.For)
	return c.onUndoTable(ctx, func(store *checkpoint.Store, session *dbconn.Session) error {
		if wish.Native.Step == checkpoint.Undoing {
			return store.Rewrite(ctx, session, takenBack(earlier, wish))
		}
		record := *wish
		if record.Earlier = earlier.Replaced(); record.Earlier != nil {
			return store.Rewrite(ctx, session, record)
		}
		if err := c.DropUndo(ctx); err != nil {
			return err
		}
		return store.CreateUndo(ctx, session, checkpoint.NewUndo(record))
	})
}

// withdraw takes the record of a change back that the server has not made: that of the change before is the last one again.
func (c nativeRecord) withdraw(ctx context.Context, earlier *checkpoint.Undo) error {
	if earlier == nil {
		return c.DropUndo(ctx)
	}
	return c.onUndoTable(ctx, func(store *checkpoint.Store, session *dbconn.Session) error {
		return store.Rewrite(ctx, session, *earlier)
	})
}

// dropEarlier drops what was kept for the change before, apart from its record.
func (c nativeRecord) dropEarlier(ctx context.Context) error {
	return RetryBriefly(ctx, func() error {
		there, err := c.List(ctx)
		if err != nil {
			return err
		}
		return c.dropAround(ctx, there, "")
	})
}

// takenBack is the record of a change while it is taken back.
func takenBack(earlier *checkpoint.Saved, wish *checkpoint.Undo) checkpoint.Undo {
	record, _ := Settled(*earlier.Undo, wish.Native.Before)
	record.Native.Step, record.Native.Again = checkpoint.Undoing, wish.Native.Again
	return record
}

// write writes what has become of the statement, by the definition of the table.
func (c nativeRecord) write(ctx context.Context, wish checkpoint.Undo, failed error) error {
	if errors.Is(failed, native.ErrUnknown) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	now, err := schema.Load(ctx, c.pool.DB(), c.source)
	if err != nil {
		return err
	}
	change := *wish.Native
	wish.Native = &change
	switch {
	case failed != nil && change.Step == checkpoint.Undoing:
		saved, err := c.Undo(ctx)
		if err != nil || saved == nil || saved.Undo == nil || saved.Undo.Native == nil {
			return err
		}
		wish = *saved.Undo
		wish.Native.Step, wish.Native.Again = checkpoint.Made, nil
	case failed != nil:
		saved, err := c.Undo(ctx)
		if err != nil {
			return err
		}
		var earlier *checkpoint.Undo
		if saved != nil && saved.Undo != nil {
			earlier = saved.Undo.Earlier
		}
		if sameTable(now, change.Before) || earlier != nil && !desired.Same(now, change.After) {
			return c.withdraw(ctx, earlier)
		}
		return nil
	default:
		if change.Step == checkpoint.Undoing { // a redo soaks again
			if saved, err := c.Undo(ctx); err == nil && saved != nil && saved.Undo != nil {
				wish.Soak = saved.Undo.Soak
			}
		}
		change.Step, change.After, change.Again = checkpoint.Made, now, nil
		if wish.Swapped, err = ServerTime(ctx, c.pool.DB()); err != nil {
			return err
		}
		wish.Until = wish.Swapped.Add(wish.For)
	}
	err = c.onUndoTable(ctx, func(store *checkpoint.Store, session *dbconn.Session) error { return store.Rewrite(ctx, session, wish) })
	if err == nil && failed == nil {
		err = c.dropEarlier(ctx)
	}
	return err
}

// onUndoTable works on the undo table in a session, and tries it again for a moment.
func (c nativeRecord) onUndoTable(ctx context.Context, work func(*checkpoint.Store, *dbconn.Session) error) error {
	return RetryBriefly(ctx, func() error {
		session, err := c.pool.Session(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		return work(checkpoint.New(plan.UndoOf(c.source), c.source, c.pool.Name(), ""), session)
	})
}

// endStatement ends the sessions of an earlier run: then its statement was executed, or never will be.
func (c nativeRecord) endStatement(ctx context.Context, run string) error {
	err := c.pool.EndAll(ctx, run)
	if errors.Is(err, dbconn.ErrUnseen) {
		return c.pool.AwaitStatements(ctx, "ALTER TABLE "+c.source.Quoted())
	}
	return err
}

// sameTable reports whether two tables have one definition, but for the counter.
func sameTable(a, b *schema.Table) bool {
	was, _ := schema.SplitAutoIncrement(a.Create)
	is, _ := schema.SplitAutoIncrement(b.Create)
	return schema.SameDefinition(was, is)
}

// Settled is the record of a change that the server has made itself, as the definition of the table shows it: a run may
// have been killed before it could record what it had done. why is the reason if the change cannot be taken back.
func Settled(u checkpoint.Undo, now *schema.Table) (settled checkpoint.Undo, why string) {
	n := *u.Native
	u.Native, u.Earlier = &n, nil
	switch {
	case n.Step != checkpoint.Doing && sameTable(n.After, now):
	case n.Step == checkpoint.Doing && sameTable(n.Before, now):
		return u, "the change was not made"
	case n.Step == checkpoint.Doing && desired.Same(now, n.After):
		n.After = now
	case n.Step == checkpoint.Undoing && sameTable(n.Before, now), n.Step == checkpoint.Undoing && desired.Same(now, n.Before):
		n.Before, n.After, u.Back = n.After, now, !u.Back
		pairs := map[string]string{}
		for fresh, old := range u.Pairs {
			pairs[old] = fresh
		}
		u.Pairs = pairs
	default:
		return u, fmt.Sprintf("%s was altered since the change", now.Name)
	}
	n.Step, n.Again = checkpoint.Made, nil
	return u, ""
}

// finish records what an earlier run has had the server do before it was killed; nil if it has done nothing.
func (c nativeRecord) finish(ctx context.Context) (*Finished, error) {
	saved, err := c.Undo(ctx)
	if err != nil || saved == nil || saved.Undo == nil || saved.Undo.Native == nil || saved.Undo.Native.Step == checkpoint.Made {
		return nil, err
	}
	if err := c.endStatement(ctx, saved.Run); err != nil {
		return nil, err
	}
	now, err := schema.Load(ctx, c.pool.DB(), c.source)
	if err != nil {
		return nil, err
	}
	settled, why := Settled(*saved.Undo, now)
	step := saved.Undo.Native.Step
	switch {
	case step == checkpoint.Doing && (sameTable(saved.Undo.Native.Before, now) || why != "" && saved.Undo.Earlier != nil):
		return nil, c.withdraw(ctx, saved.Undo.Earlier)
	case why != "":
		return nil, nil
	}
	if settled.Swapped, err = ServerTime(ctx, c.pool.DB()); err != nil {
		return nil, err
	}
	settled.Until = settled.Swapped.Add(settled.For)
	undid := step == checkpoint.Undoing && settled.Back != saved.Undo.Back
	if step == checkpoint.Undoing && !undid {
		settled.Swapped, settled.Until = saved.Undo.Swapped, saved.Undo.Until
	}
	err = c.onUndoTable(ctx, func(store *checkpoint.Store, session *dbconn.Session) error {
		return store.Rewrite(ctx, session, settled)
	})
	if err == nil {
		err = c.dropEarlier(ctx)
	}
	if err != nil || step == checkpoint.Undoing && !undid {
		return nil, err
	}
	return &Finished{Alter: settled.Native.Alter, Undid: undid}, nil
}

// GiveUpNative gives up what a run had begun that was killed while the server made its change. It is recorded if the change was made
// or taken back, and withdrawn otherwise. The result is nil if there is no such run, or the table shows neither. agree is asked first.
// REQUIRES: the source is claimed.
func GiveUpNative(ctx context.Context, c *Cleaner, saved *checkpoint.Saved, agree func(Killed) bool) (*Killed, error) {
	record := saved.Undo
	if record.Native == nil || record.Native.Step == checkpoint.Made {
		return nil, nil
	}
	r := nativeRecord{c}
	if err := r.endStatement(ctx, saved.Run); err != nil {
		return nil, err
	}
	now, err := schema.Load(ctx, c.pool.DB(), c.source)
	if errors.Is(err, schema.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	settled, why := Settled(*record, now)
	undoes := record.Native.Step == checkpoint.Undoing
	k := Killed{Statement: record.Native.Alter, Undoes: undoes && !record.Back, Redoes: undoes && record.Back}
	k.Made = why == "" && (!undoes || settled.Back != record.Back)
	if undoes && why != "" || !agree(k) {
		return nil, nil
	}
	_, err = r.finish(ctx)
	return &k, err
}

// stateOfNative judges a change that the server has made itself. Its undo needs no binlog.
func stateOfNative(ctx context.Context, pool *dbconn.Pool, u *Undoable) (state UndoState, why string, err error) {
	s, err := look(ctx, pool, u, u.Table)
	switch {
	case err != nil:
		return "", "", err
	case gone(u.Table, s.err) != "":
		return UndoEnded, u.withRenamed(ctx, pool, u.Table, gone(u.Table, s.err)), nil
	case s.err != nil:
		return "", "", s.err
	}
	now, why := Settled(u.Record, s.table)
	if n := u.Record.Native; why == "" && n.Step == checkpoint.Undoing { // the record is that of the change until its run, or the next one, settles it
		s.again = append([]string{}, n.Again...)
		s.worked, err = Claimed(ctx, pool.DB(), u.Table)
		return s.begun(u), "", err
	}
	if u.Record = now; why != "" {
		return UndoEnded, why, nil
	}
	switch {
	case s.run:
		return s.begun(u), "", nil
	case s.now.After(u.Record.Until) && !u.Record.Soaks(): // what soaks can be taken back until it is dropped
		u.Late = true
		return UndoEnded, "its time is over", nil
	}
	return UndoOpen, "", nil
}
