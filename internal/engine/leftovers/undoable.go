package leftovers

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
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
	// UndoRunning means that an undo is at work, and has not swapped yet.
	UndoRunning UndoState = "running"
	// UndoStopped means that an undo has begun, and that no run works on the table now: its process was killed, or has lost
	// the server.
	UndoStopped UndoState = "stopped"
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
	// Together are the tables that were swapped in the same step, in the order of their names: they are taken back in one step.
	Together []schema.Name
	// Halfway means that a run has swapped these tables, and was stopped before it has kept the undo of each of them.
	Halfway bool
	// Several means that nothing was kept of the change, and that the table has other old tables too.
	Several bool
	// OnlyRows is how the rows of the old table come back if it has the definition of the table; "" if an undo may bring it back.
	OnlyRows string
	// Written means that rows were written to the table since its TRUNCATE, which an undo does not put aside by itself.
	Written bool
	// Late means that it has ended only because its time is over: it is still possible.
	Late bool
	// Followed means that it was stopped while it followed the table, or was to follow it.
	Followed bool
	// Again are the flags of the undo that was stopped.
	Again []string
	// SetAside means that the undo or redo that is taken back has set rows aside: they come back, unless all rows are synced.
	SetAside bool
	// Parked are the tables of such rows, of this undo and of earlier ones. ParkedOf reads them.
	Parked []Parked
	// Made is the table as the change has made it, with its comment. OldColumns are those of the old table. Both are nil if
	// there is no old table.
	Made       *schema.Table
	OldColumns []schema.Column
}

// Begun reports whether an undo has begun, and has not swapped.
func (u *Undoable) Begun() bool { return u.State == UndoRunning || u.State == UndoStopped }

// Undoables lists the changes that have left what an undo needs, of one table or of all that the account sees. It writes
// nothing.
func Undoables(ctx context.Context, pool *dbconn.Pool, only *schema.Name) ([]Undoable, error) {
	all, err := UndoablesAlone(ctx, pool, only)
	if err == nil {
		err = joined(ctx, pool, all)
	}
	return all, err
}

// UndoablesAlone is Undoables, but judges each table without those that were swapped in the same step.
func UndoablesAlone(ctx context.Context, pool *dbconn.Pool, only *schema.Name) ([]Undoable, error) {
	where := ""
	if only != nil {
		where = " AND table_schema = " + schema.Literal(only.Schema) + " AND table_name = " + schema.Literal(plan.UndoOf(*only).Table)
	}
	names, err := undoTables(ctx, pool, where)
	if err != nil {
		return nil, err
	}
	var all []Undoable
	for _, name := range names {
		u, err := undoable(ctx, pool, name)
		if dbconn.NoSuchDatabase(err) { // somebody has dropped it since
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if u != nil && (only == nil || u.Table == *only) {
			all = append(all, *u)
		}
	}
	return all, nil
}

// undoTables lists the undo tables that the account sees, as far as a condition permits.
func undoTables(ctx context.Context, pool *dbconn.Pool, where string) (names []schema.Name, err error) {
	rows, err := pool.DB().QueryContext(ctx, "SELECT table_schema, table_name FROM information_schema.tables WHERE "+checkpoint.UndoTables+where+
		" ORDER BY table_schema, table_name")
	if err != nil {
		return nil, fmt.Errorf("look for changes that can be undone: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name schema.Name
		if err := rows.Scan(&name.Schema, &name.Table); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
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
		if u.Together, err = parseTogether(saved); err != nil {
			return nil, err
		}
		u.SetAside = saved.Checkpoint.Parked
		u.Alter, u.Made, u.OldColumns = saved.Start.Alter, MadeBy(saved.Start), saved.Start.Columns
		u.State, u.Why, err = stateOf(ctx, pool, u, saved)
		if u.State == UndoRevoked {
			u.Record.Mode = plan.UndoCold
		}
	}
	return u, err
}
