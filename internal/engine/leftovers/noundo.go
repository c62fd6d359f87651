package leftovers

import (
	"context"
	"errors"
	"fmt"

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
		case u.Record.Ledger != nil && renamed(u, table):
			return fmt.Errorf("%w: a RENAME has given it this name; did you mean %s?", ErrNoUndo, u.Table)
		}
	}
	record := plan.UndoOf(table)
	if lacks, err := facts.Unseen(ctx, pool.DB(), &record); err == nil && lacks != "" {
		return fmt.Errorf("%w: as far as the account can see, nothing was kept of it: it lacks %s", ErrNoUndo, lacks)
	}
	if _, err := schema.Load(ctx, pool.DB(), table); errors.Is(err, schema.ErrNotFound) {
		return fmt.Errorf("%w: no such table: %s", ErrNoUndo, table)
	}
	old := plan.NamesOf(table).Old
	if t, err := schema.Load(ctx, pool.DB(), old); err == nil && !isMarked(t, table) {
		return fmt.Errorf("%w: %s has no mark of an old table of %s, so it may be another one", ErrNoUndo, old, table)
	}
	return ErrNoUndo
}

// renamed reports whether the statement of a change has given a table this name.
func renamed(u Undoable, table schema.Name) bool {
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
