package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// NoUndo is an ErrNoUndo for a table. It says which table the user may mean, if that can be seen.
func NoUndo(ctx context.Context, pool *dbconn.Pool, table schema.Name) error {
	all, err := Undoables(ctx, pool, nil)
	if err != nil {
		return ErrNoUndo
	}
	for _, u := range all {
		switch {
		case u.Table == table:
			return ErrNoUndo
		case u.Record.Old != "" && u.Old == table:
			return fmt.Errorf("%w: %s is the old table of %s; did you mean %[3]s?", ErrNoUndo, table, u.Table)
		case u.Record.Ledger != nil && renamedBy(u, table):
			return fmt.Errorf("%w: a RENAME has given it this name; did you mean %s?", ErrNoUndo, u.Table)
		}
	}
	if text := MovedByHand(ctx, pool, table); text != "" {
		return fmt.Errorf("%w: %s", ErrNoUndo, text)
	}
	if refused, err := facts.LackedByUndo(ctx, pool.DB(), table, "SELECT"); err == nil && refused != nil {
		return refused // the server hides the tables of the undo
	}
	if _, err := schema.Load(ctx, pool.DB(), table); errors.Is(err, schema.ErrNotFound) {
		if olds, err := Unrecorded(ctx, pool, &table); err == nil && len(olds) > 0 && olds[0].Dropped {
			return missing(fmt.Sprintf("%v: no such table: %s, but %s has the rows of its last DROP. %s", ErrNoUndo, table, olds[0].Name,
				renameBack(olds[0].Name, table)))
		}
		return missing(fmt.Sprintf("%v: no such table: %s%s", ErrNoUndo, table, tablesOf(all)))
	}
	old := plan.NamesOf(table).Old
	if t, err := schema.Load(ctx, pool.DB(), old); err == nil && !isMarked(t, table) {
		return fmt.Errorf("%w: %s has no mark of an old table of %s, so it may be another one", ErrNoUndo, old, table)
	}
	return ErrNoUndo
}

// missing is an ErrNoUndo of a table that does not exist.
type missing string

func (m missing) Error() string   { return string(m) }
func (m missing) Unwrap() []error { return []error{ErrNoUndo, schema.ErrNotFound} }

// tablesOf names some tables that have an undo; "" for none.
func tablesOf(all []Undoable) string {
	var names []string
	for _, u := range all {
		names = append(names, u.Table.String())
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 3:
		names = append(names[:3], "...")
	}
	return "; tables with an undo: " + strings.Join(names, ", ")
}

// renamedBy reports whether the statement of a change has given a table this name.
func renamedBy(u Undoable, table schema.Name) bool {
	statement, err := ddl.ParseStatement(u.Alter)
	if err != nil {
		return false
	}
	for _, r := range statement.Renames {
		if r.To == table || r.To.Schema == "" && r.To.Table == table.Table {
			return true
		}
	}
	return false
}

// Renamed is the table that has the record of the RENAME by which a table has got its name. It is the table itself if that has a record
// of its own, or may have been changed since: then the user may mean another change.
func Renamed(ctx context.Context, pool *dbconn.Pool, table schema.Name) schema.Name {
	own, err := Undoables(ctx, pool, &table)
	if err != nil || len(own) > 0 {
		return table
	}
	olds, err := Unrecorded(ctx, pool, &table)
	if err != nil || len(olds) > 0 {
		return table
	}
	all, err := Undoables(ctx, pool, nil)
	if err != nil {
		return table // whoever looks for the record reports it
	}
	all = slices.DeleteFunc(all, func(u Undoable) bool {
		l := u.Record.Ledger
		is := l != nil && !u.Record.Back && l.Kind == string(ddl.KindRename) && l.Table != nil
		return !is || len(l.Moves) != 1 || l.Moves[0].To != table
	})
	if len(all) != 1 {
		return table
	}
	now, err := schema.Load(ctx, pool.DB(), table)
	if err != nil || !sameButName(all[0].Record.Ledger.Table, now) {
		return table
	}
	return all[0].Table
}

// sameButName reports whether two tables have one definition, but for the name and the counter.
func sameButName(a, b *schema.Table) bool {
	was, _ := schema.SplitAutoIncrement(a.Create)
	is, _ := schema.SplitAutoIncrement(b.Create)
	bare := func(t *schema.Table, create string) string {
		return strings.TrimPrefix(create, "CREATE TABLE "+schema.Quote(t.Name.Table))
	}
	return bare(a, was) == bare(b, is)
}
