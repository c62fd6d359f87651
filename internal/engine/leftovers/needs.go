package leftovers

import (
	"context"
	"fmt"
	"slices"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// needs are the tables that the undo, or redo, needs under their names, and the names that no table may have then. The table by which the
// user knows the change is not among them.
func (u *Undoable) needs() (tables, free []schema.Name) {
	if u.Record.Old != "" {
		tables = append(tables, u.Old)
	}
	if l := u.Record.Ledger; l != nil {
		for _, move := range l.Moves {
			if l.Step == checkpoint.Made || l.Step == checkpoint.Doing {
				tables, free = append(tables, move.To), append(free, move.From)
			} else if tables = append(tables, move.From); l.Kind == string(ddl.KindRename) {
				free = append(free, move.To) // a redo of another statement looks for a name that is free
			}
		}
	}
	free = slices.DeleteFunc(free, func(n schema.Name) bool { return n == u.Table || slices.Contains(tables, n) })
	return slices.DeleteFunc(tables, func(n schema.Name) bool { return n == u.Table }), free
}

// NeededByUndos finds the open undos of changes of other tables that need one of these tables, or that one of these names is free. An undo
// that the account may not read is left out.
func NeededByUndos(ctx context.Context, pool *dbconn.Pool, tables []schema.Name) (all []plan.NeededByUndo, err error) {
	var databases []string
	for _, name := range tables {
		databases = append(databases, schema.Literal(name.Schema))
	}
	now, err := ServerTime(ctx, pool.DB())
	if err != nil {
		return nil, err
	}
	slices.Sort(databases)
	for _, database := range slices.Compact(databases) {
		records, err := undoTables(ctx, pool, " AND table_schema = "+database)
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			u, err := undoable(ctx, pool, record)
			if dbconn.Denied(err) || dbconn.NoSuchDatabase(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", record, err)
			}
			if u == nil || slices.Contains(tables, u.Table) || now.After(u.Record.Until) || u.State == UndoEnded && !u.Barred {
				continue
			}
			needed, free := u.needs()
			renamed := u.Record.Ledger != nil && u.Record.Ledger.Kind == string(ddl.KindRename)
			for _, name := range tables {
				is := plan.NeededByUndo{Table: name, Source: u.Table, Until: u.Record.Until, Redo: u.Record.Back, Renamed: renamed}
				is.Free = slices.Contains(free, name)
				if is.Free || slices.Contains(needed, name) {
					all = append(all, is)
				}
			}
		}
	}
	return all, nil
}
