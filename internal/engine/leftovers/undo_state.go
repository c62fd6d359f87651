package leftovers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// scene is what the state of an undo depends on.
type scene struct {
	now time.Time // by the server's clock
	// run means that there is a state table: a run works on the source, or was stopped. undoes means that it is an undo.
	run, undoes bool
	// worked means that a run has claimed the source. held means that the last checkpoint is of a run that was held.
	worked, held bool
	again        []string // the flags of that undo
	// table is a table of the undo; nil if it could not be read, because of err.
	table *schema.Table
	err   error
}

// look reads the scene of an undo, with the table of this name.
func look(ctx context.Context, pool *dbconn.Pool, u *Undoable, name schema.Name) (s scene, err error) {
	if s.now, err = ServerTime(ctx, pool.DB()); err != nil {
		return s, err
	}
	c := New(pool, u.Table, plan.Undoing)
	there, err := c.List(ctx)
	if err != nil {
		return s, err
	}
	s.run = c.HasState(there)
	s.undoes, s.held, s.again = s.run && c.told.Adopted, c.told.Phase == string(event.PhaseHold), c.told.Again
	if s.run {
		if s.worked, err = Claimed(ctx, pool.DB(), u.Table); err != nil {
			return s, err
		}
	}
	s.table, s.err = schema.Load(ctx, pool.DB(), name)
	return s, nil
}

// begun is the state of an undo that has begun, and has not swapped.
func (s scene) begun(u *Undoable) UndoState {
	if s.worked {
		return UndoRunning
	}
	u.Followed, u.Again = s.held || u.Record.Warm, s.again
	if u.Again != nil {
		u.Followed = slices.Contains(u.Again, "--hold")
	}
	return UndoStopped
}

// stateOf judges a change, in the order of what matters most.
func stateOf(ctx context.Context, pool *dbconn.Pool, u *Undoable, saved *checkpoint.Saved) (state UndoState, why string, err error) {
	s, err := look(ctx, pool, u, u.Old)
	if err != nil || s.undoes {
		return s.begun(u), "", err
	}
	why = OldUnfit(saved, u.Old, u.Table, s.table, s.err)
	switch {
	case gone(u.Old, s.err) != "":
		return UndoEnded, u.withMoved(ctx, pool, why), nil
	case why != "":
		return UndoEnded, why, nil
	case s.err != nil:
		return "", "", s.err
	case s.now.After(u.Record.Until) && u.Record.Rebuilt:
		return UndoEnded, onlyCold(u.Old), nil
	case s.now.After(u.Record.Until):
		u.Late = true
		return UndoEnded, "its time is over", nil
	}
	table, err := schema.Load(ctx, pool.DB(), u.Table)
	if why = gone(u.Table, err); why != "" {
		return UndoEnded, u.withRenamed(ctx, pool, u.Table, why), nil
	}
	if err != nil {
		return "", "", err
	}
	if why = u.bar(table); why != "" {
		u.Barred = true
		return UndoEnded, why, nil
	}
	acting, err := acts(ctx, pool.DB(), table)
	if err != nil {
		return "", "", err
	}
	switch why = NotLazy(saved, table, acting); {
	case u.Record.Mode != plan.UndoLazy && !u.Record.Rebuilt: // it never was
		return UndoOpen, "", nil
	case why != "":
		return UndoRevoked, why, nil
	case u.Record.Log != "":
		found, err := trigger.Found(ctx, pool.DB(), u.Table.Sibling(u.Record.Log))
		if err == nil && len(found) < len(schema.TriggerEvents) {
			return UndoRevoked, "the triggers that log changed rows are gone", nil
		}
		return UndoOpen, "", err
	}
	if why, err = unread(ctx, pool, saved.Checkpoint); err != nil || why != "" {
		return UndoRevoked, why, err
	}
	return UndoOpen, "", nil
}

// stateOfStatement judges a statement on complete tables. Its undo needs no binlog.
func stateOfStatement(ctx context.Context, pool *dbconn.Pool, u *Undoable) (state UndoState, why string, err error) {
	now, err := ServerTime(ctx, pool.DB())
	if err != nil {
		return "", "", err
	}
	if u.Record.Ledger.Pending() {
		worked, err := Claimed(ctx, pool.DB(), u.Table)
		if !worked {
			why = "its run was killed"
		}
		return scene{worked: worked, again: u.Record.Ledger.Again}.begun(u), why, err
	}
	if u.Record.Old != "" && !u.Record.Back { // the redo needs no table
		_, err := schema.Load(ctx, pool.DB(), u.Old)
		if why = gone(u.Old, err); why != "" {
			return UndoEnded, u.withMoved(ctx, pool, "the old table "+why), nil
		}
		if err != nil {
			return "", "", err
		}
	}
	if now.After(u.Record.Until) {
		u.Late = true
		return UndoEnded, "its time is over", nil
	}
	why, err = u.namesTaken(ctx, pool)
	if err == nil && why == "" && u.Record.Ledger.Kind == string(ddl.KindTruncate) && !u.Record.Back {
		why, err = u.sinceTruncate(ctx, pool)
	}
	if err != nil || why == "" {
		return UndoOpen, "", err
	}
	u.Barred = true
	return UndoEnded, why, nil
}

// sinceTruncate reads whether rows were written to the table since its TRUNCATE. why is why its rows cannot come back; "" if they can.
func (u *Undoable) sinceTruncate(ctx context.Context, pool *dbconn.Pool) (why string, err error) {
	now, err := schema.Load(ctx, pool.DB(), u.Table)
	if err == nil {
		if why = Changed(u.Record.Ledger.Table, now); why != "" {
			return fmt.Sprintf("%s was altered since the TRUNCATE: %s", u.Table, why), nil
		}
		err = pool.DB().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+u.Table.Quoted()+")").Scan(&u.Written)
	}
	if dbconn.NoSuchTable(err) {
		err = schema.ErrNotFound
	}
	if why = gone(u.Table, err); why != "" {
		return why, nil
	}
	return "", err
}

// isMarked reports whether a table has the mark of an old table of the source.
func isMarked(old *schema.Table, source schema.Name) bool {
	_, marked := schema.MarkedOld(old.Comment, source)
	return marked
}

// unread is why the changes since the swap cannot be read from this server's binlog; "" if they can.
func unread(ctx context.Context, pool *dbconn.Pool, c checkpoint.Checkpoint) (why string, err error) {
	var uuid string
	if err := pool.DB().QueryRowContext(ctx, "SELECT "+schema.ThisServer).Scan(&uuid); err != nil {
		return "", fmt.Errorf("read server_uuid: %w", err)
	}
	position, err := binlog.ParsePosition(c.Position)
	switch {
	case err != nil || position.IsZero():
		return "the change kept no position of this server's binlog", nil
	case uuid != c.ServerUUID && c.GTIDs == "":
		return "the change was made on another server, without GTIDs", nil
	}
	if c.Executed != "" {
		has, err := capture.HasExecuted(ctx, pool.DB(), c.Executed, 0)
		if err == nil && !has && uuid != c.ServerUUID {
			return "the change was made on another server, and this one lacks transactions of it", nil
		}
		if err == nil && !has {
			return "the server no longer knows of transactions that it had committed", nil
		}
		if err != nil {
			return "", err
		}
	}
	switch {
	case uuid != c.ServerUUID:
		at, err := capture.Behind(ctx, pool.DB(), c.GTIDs)
		if err == nil && at.IsZero() {
			why = "the binlogs of this server do not reach back to the swap"
		}
		return why, err
	}
	gtids, err := binlog.ParseGTIDs(c.GTIDs)
	if err != nil {
		return err.Error(), nil
	}
	available, err := capture.Available(ctx, pool.DB(), capture.Point{Position: position, GTIDs: gtids})
	if dbconn.Denied(err) {
		return "", nil // the undo will find out
	}
	if err == nil && !available {
		why = "the server no longer has its binlog from the time since the swap"
	}
	return why, err
}
