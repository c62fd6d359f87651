package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// UndoState is what holds of a change that may be taken back.
type UndoState string

// The states of an undo (law U3).
const (
	// UndoOpen means that the position, the binlogs since then and the old table exist.
	UndoOpen UndoState = "open"
	// UndoRevoked means that a lazy undo is no longer possible. A cold one is, while the old table exists.
	UndoRevoked UndoState = "revoked"
	// UndoRunning means that an undo has begun, and has not swapped yet.
	UndoRunning UndoState = "running"
	// UndoEnded means that its time is over, that one of the tables is gone, or that the undo refuses them as they are.
	UndoEnded UndoState = "ended"
)

// Undoable is a change that has left what its undo needs.
type Undoable struct {
	Table  schema.Name
	Old    schema.Name
	Record checkpoint.Undo
	Alter  string // the clauses of the change
	State  UndoState
	Why    string // of a state that is not open
	// Barred means that it has ended only until the tables are changed again: then it is open.
	Barred bool
	// Made is the table as the change has made it, with its comment. OldColumns are those of the old table. Both are nil if
	// there is no old table.
	Made       *schema.Table
	OldColumns []schema.Column
}

// Undoables lists the changes that have left what an undo needs, of one table or of all that the account sees. It writes
// nothing.
func Undoables(ctx context.Context, pool *dbconn.Pool, only *schema.Name) ([]Undoable, error) {
	query := "SELECT table_schema, table_name FROM information_schema.tables WHERE " + checkpoint.UndoTables
	if only != nil {
		query += " AND table_schema = " + schema.Literal(only.Schema) + " AND table_name = " + schema.Literal(plan.UndoOf(*only).Table)
	}
	rows, err := pool.DB().QueryContext(ctx, query+" ORDER BY table_schema, table_name")
	if err != nil {
		return nil, fmt.Errorf("look for changes that can be undone: %w", err)
	}
	defer rows.Close()
	var names []schema.Name
	for rows.Next() {
		var name schema.Name
		if err := rows.Scan(&name.Schema, &name.Table); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	var all []Undoable
	for _, name := range names {
		u, err := undoable(ctx, pool, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if u != nil && (only == nil || u.Table == *only) {
			all = append(all, *u)
		}
	}
	return all, nil
}

// undoable reads one undo table; nil if it has no record, or is gone.
func undoable(ctx context.Context, pool *dbconn.Pool, name schema.Name) (*Undoable, error) {
	session, err := pool.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	saved, err := checkpoint.New(name, name, pool.Name(), "").Peek(ctx, session)
	// A kill while an undo table is made may leave it empty.
	if dbconn.NoSuchTable(err) || errors.Is(err, checkpoint.ErrUnreadable) || err == nil && saved.Undo == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u := &Undoable{Table: name.Sibling(saved.Undo.Table), Old: name.Sibling(saved.Undo.Old), Record: *saved.Undo}
	switch {
	case saved.Undo.Native != nil:
		u.Alter = saved.Undo.Native.Alter
		u.State, u.Why, err = stateOfNative(ctx, pool, u)
	case saved.Undo.Ledger != nil:
		u.Alter, u.Record.Mode = saved.Undo.Ledger.Statement, plan.UndoRename // earlier versions wrote lazy
		u.State, u.Why, err = stateOfStatement(ctx, pool, u)
	case saved.Start == nil:
		return nil, nil
	default:
		u.Alter, u.Made, u.OldColumns = saved.Start.Alter, MadeBy(saved.Start), saved.Start.Columns
		u.State, u.Why, err = stateOf(ctx, pool, u, saved)
	}
	return u, err
}

// scene is what the state of an undo depends on.
type scene struct {
	now time.Time // by the server's clock
	// run means that there is a state table: a run works on the source, or was stopped. undoes means that it is an undo.
	run, undoes bool
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
	s.undoes = s.run && c.told.Adopted
	s.table, s.err = schema.Load(ctx, pool.DB(), name)
	return s, nil
}

// stateOf judges a change, in the order of what matters most.
func stateOf(ctx context.Context, pool *dbconn.Pool, u *Undoable, saved *checkpoint.Saved) (state UndoState, why string, err error) {
	s, err := look(ctx, pool, u, u.Old)
	if err != nil || s.undoes {
		return UndoRunning, "", err
	}
	why = OldUnfit(saved, u.Old, u.Table, s.table, s.err)
	switch {
	case why != "":
		return UndoEnded, why, nil
	case s.err != nil:
		return "", "", s.err
	case s.now.After(u.Record.Until):
		return UndoEnded, "its time is over", nil
	}
	table, err := schema.Load(ctx, pool.DB(), u.Table)
	if why = gone(u.Table, err); why != "" {
		return UndoEnded, why, nil
	}
	if err != nil {
		return "", "", err
	}
	if why = u.bar(table); why != "" {
		u.Barred = true
		return UndoEnded, why, nil
	}
	switch {
	case u.Record.Mode != plan.UndoLazy:
		return UndoOpen, "", nil
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
	if why = NotByKeys(saved, table); why != "" {
		return UndoRevoked, why, nil
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
		return UndoRunning, "a run was killed, or is at work: the same command again completes it", nil
	}
	if u.Record.Old != "" && !u.Record.Back { // the redo needs no table
		_, err := schema.Load(ctx, pool.DB(), u.Old)
		if errors.Is(err, schema.ErrNotFound) {
			return UndoEnded, fmt.Sprintf("the old table %s is gone", u.Old), nil
		}
		if err != nil {
			return "", "", err
		}
	}
	if now.After(u.Record.Until) {
		return UndoEnded, "its time is over", nil
	}
	if why, err = namesTaken(ctx, pool, u.Record.Ledger); err != nil || why == "" {
		return UndoOpen, "", err
	}
	u.Barred = true
	return UndoEnded, why, nil
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
	available, err := capture.Available(ctx, pool.DB(), position)
	if dbconn.Denied(err) {
		return "", nil // the undo will find out
	}
	if err == nil && !available {
		why = "the server has purged its binlog from the time since the swap"
	}
	return why, err
}

// ExtendUndo keeps the undo of a table's last change open for longer, and so the redo after it. It fails with ErrNoUndo or ErrClaimed.
func ExtendUndo(ctx context.Context, pool *dbconn.Pool, table schema.Name, by time.Duration) error {
	extend := func(c *Cleaner, saved *checkpoint.Saved) error {
		now, err := ServerTime(ctx, pool.DB())
		if err != nil {
			return err
		}
		record := *saved.Undo
		if record.Until.Before(now) {
			record.Until = now
		}
		record.Until, record.For = record.Until.Add(by), record.For+by // the redo is open for as long
		return c.Amend(ctx, record)
	}
	err := withUndo(ctx, pool, table, extend)
	if !errors.Is(err, ErrClaimed) && !errors.Is(err, ErrUndoBegun) {
		return err
	}
	// An undo that follows has written its own record already, and reads the time again and again.
	c := New(pool, table, plan.Undoing)
	saved, savedErr := c.UndoOfAlter(ctx)
	there, listErr := c.List(ctx)
	if savedErr != nil || listErr != nil || !saved.Undo.Begun || !c.HasState(there) || !c.told.Adopted {
		return err
	}
	return extend(c, saved)
}

// EndedUndo is what has become of the tables of an undo that was given up.
type EndedUndo struct {
	Dropped []schema.Name
	Old     schema.Name // the old table if it is kept, or none
}

// EndUndo gives up the undo of a table's last change: it drops what was kept for it, and the old table if that was
// wished (--drop-old) or drop is set. It fails with ErrNoUndo or ErrClaimed.
func EndUndo(ctx context.Context, pool *dbconn.Pool, table schema.Name, drop bool) (ended EndedUndo, err error) {
	err = withUndo(ctx, pool, table, func(c *Cleaner, saved *checkpoint.Saved) error {
		old := table.Sibling(saved.Undo.Old)
		there, err := c.List(ctx)
		if err != nil {
			return err
		}
		defer func() {
			if left, listErr := c.List(ctx); err == nil && listErr == nil {
				ended = endedUndo(there, left, old)
			}
		}()
		if _, marked := schema.MarkedOld(there[old].comment, table); marked && (drop || saved.Undo.DropOld) {
			if err := (Old{Pool: pool, Source: table, Name: old}).Drop(ctx); err != nil {
				return err
			}
		}
		err = c.DropUndo(ctx)
		return err
	})
	return ended, err
}

// endedUndo compares the tables before and after the end of an undo.
func endedUndo(before, after Listing, old schema.Name) (ended EndedUndo) {
	for name := range before {
		if _, left := after[name]; !left {
			ended.Dropped = append(ended.Dropped, name)
		} else if name == old {
			ended.Old = old
		}
	}
	slices.SortFunc(ended.Dropped, func(a, b schema.Name) int { return strings.Compare(a.Dotted(), b.Dotted()) })
	return ended
}

// withUndo does something to the undo table of a source while no run works on that.
func withUndo(ctx context.Context, pool *dbconn.Pool, table schema.Name, do func(*Cleaner, *checkpoint.Saved) error) error {
	held, err := ClaimTable(ctx, pool, table, func(error) {})
	if err != nil {
		return err
	}
	defer held.Release()
	c := New(pool, table, plan.Undoing)
	saved, err := c.Undo(ctx)
	if err == nil && (saved == nil || saved.Undo == nil) {
		err = NoUndo(ctx, pool, table)
	}
	if err != nil {
		return err
	}
	there, err := c.List(ctx)
	if err == nil && (c.HasState(there) || saved.Undo.Ledger != nil && saved.Undo.Ledger.Pending()) {
		err = fmt.Errorf("%w: %s", ErrUndoBegun, table)
	}
	if err != nil {
		return err
	}
	return do(c, saved)
}

// ErrUndoBegun means that a run has begun on the table and was stopped: it must end first.
var ErrUndoBegun = errors.New("a run on the table was stopped, and is to be resumed or removed first")

// DropUndo drops what was kept for an undo of the source, but not the old table. REQUIRES: the source is claimed.
func (c *Cleaner) DropUndo(ctx context.Context) error {
	return RetryBriefly(ctx, func() error {
		there, err := c.List(ctx)
		if err != nil {
			return err
		}
		return c.dropUndo(ctx, there, "")
	})
}

// dropUndo is one try of DropUndo, among these tables. It leaves a log of changes that is needed from now on, "" for none.
func (c *Cleaner) dropUndo(ctx context.Context, there Listing, log string) error {
	if err := c.dropAround(ctx, there, log); err != nil {
		return err
	}
	return dropOurs(ctx, c, there, plan.UndoOf(c.source))
}

// dropAround is dropUndo without the undo table itself.
func (c *Cleaner) dropAround(ctx context.Context, there Listing, log string) error {
	for name, t := range there {
		if t.comment == schema.MarkFor(trigger.SinceKind, c.source) && name.Table != log {
			if err := c.dropLog(ctx, name); err != nil {
				return err
			}
		}
	}
	return dropOurs(ctx, c, there, plan.KeptOf(c.source))
}

// dropOurs drops a table if it is there and has our mark.
func dropOurs(ctx context.Context, c *Cleaner, there Listing, name schema.Name) error {
	if t, is := there[name]; is && schema.MarkedFor(t.comment, c.source) {
		return c.Drop(ctx, Table{Name: name})
	}
	return nil
}
