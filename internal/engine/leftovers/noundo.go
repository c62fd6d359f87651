package leftovers

import (
	"context"
	"errors"
	"fmt"
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
