package leftovers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// A change of which nothing was kept can be taken back by all rows while its old table exists. The two tables show its
// record, but for when it swapped, the position, and what it has dropped of foreign keys and triggers.

// rebuiltFor is how long the undo of such a change can be taken back itself.
const rebuiltFor = 24 * time.Hour

// Rebuilt is the record of such a change, by its clauses and the columns that both tables have, as checkpoint.Undo has them.
// Only BeginUndo writes it.
func Rebuilt(table, old *schema.Table, pairs map[string]string, alter string) *checkpoint.Saved {
	was, _ := schema.MarkedOld(old.Comment, table.Name)
	definition, _ := schema.SplitAutoIncrement(old.Create)
	values := schema.ValuesOfOld(old.Comment, table.Name)
	return &checkpoint.Saved{
		Checkpoint: checkpoint.Checkpoint{Version: checkpoint.Undoable, Values: values.Next},
		Start: &checkpoint.Start{
			Source: definition, Alter: alter, Shadow: table, Comment: table.Comment, Was: was, Old: old.Name.Table, Columns: old.Columns,
			Foreign: table.ForeignKeys,
		},
		Undo: &checkpoint.Undo{
			For: rebuiltFor, Mode: plan.UndoLazy, Pairs: pairs, Rebuilt: true, Table: table.Name.Table, Old: old.Name.Table,
			Values: values.Now,
		},
	}
}

// UndoPlanned is UndoOfAlter for the undo of a plan; without a record it is the rebuilt one by which the plan was made. It fails
// with ErrOvertaken if that is no longer the last change.
func UndoPlanned(ctx context.Context, c *Cleaner, table *schema.Table, back *plan.Back) (*checkpoint.Saved, error) {
	saved, err := c.UndoOfAlter(ctx)
	switch none := errors.Is(err, ErrNoUndo); {
	case none && back.Pairs != nil:
		return Rebuilt(table, back.Old, back.Pairs, back.Alter), nil
	case none, err == nil && !saved.Undo.Swapped.Equal(back.Swapped):
		return nil, ErrOvertaken
	}
	return saved, err
}

// keepRebuilt writes a rebuilt record. A kill may have left an undo table without rows.
func keepRebuilt(ctx context.Context, c *Cleaner, saved *checkpoint.Saved, record checkpoint.Undo) error {
	_, err := c.UndoOfAlter(ctx)
	if !errors.Is(err, ErrNoUndo) {
		if err == nil {
			err = c.Amend(ctx, record)
		}
		return err
	}
	return RetryBriefly(ctx, func() error {
		there, err := c.List(ctx)
		if err == nil {
			err = dropOurs(ctx, c, there, plan.UndoOf(c.source))
		}
		if err != nil {
			return err
		}
		session, err := c.pool.Session(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		at := checkpoint.Checkpoint{Version: checkpoint.Undoable, Phase: "done", Values: saved.Checkpoint.Values}
		err = session.Rows(ctx, "SELECT "+schema.ThisServer, func(rows *sql.Rows) error { return rows.Scan(&at.ServerUUID) })
		if err != nil {
			return fmt.Errorf("read server_uuid: %w", err)
		}
		store := checkpoint.New(plan.UndoOf(c.source), c.source, c.pool.Name(), "")
		return store.CreateUndo(ctx, session, &checkpoint.Saved{Checkpoint: at, Start: saved.Start, Undo: &record})
	})
}

// onlyCold is why the undo of such a change is not open.
func onlyCold(old schema.Name) string {
	return fmt.Sprintf("nothing was kept of its change; a cold undo is possible while %s exists", old)
}

// sameDefinition reports whether a table and its old table have one definition, so that no change of it can be taken back.
func sameDefinition(table, old *schema.Table) bool {
	was, _ := schema.MarkedOld(old.Comment, table.Name)
	return desired.Alike(table, old, was)
}

// KeepsRows is why a change of which nothing was kept cannot be taken back if only the old table has its rows, and how they come
// back; "" if an undo may give it the present rows: a TRUNCATE has not put it aside, and the two tables have different definitions.
func KeepsRows(table, old *schema.Table) (why, next string) {
	switch {
	case schema.MarkedTruncated(old.Comment, table.Name):
		return fmt.Sprintf("a TRUNCATE has put %s aside, and an undo by all rows would remove its rows, which no other table has", old.Name),
			"Its rows come back with: " + swapBack(table.Name, old.Name)
	case schema.MarkedRest(old.Comment, table.Name):
		return fmt.Sprintf("%s has rows that --keep has left out, and an undo by all rows would remove them", old.Name),
			"Give the rows back yourself: INSERT INTO " + table.Name.Quoted() + " .. SELECT .. FROM " + old.Name.Quoted()
	case sameDefinition(table, old):
		return OnlyRows(table.Name, old.Name)
	}
	return "", ""
}

// swapBack is the command that gives a table the old table's rows.
func swapBack(table, old schema.Name) string {
	aside := table.Sibling(table.Table + "_now")
	return "midstream run  " + schema.Shell(fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", table.Quoted(), aside.Quoted(), old.Quoted(), table.Quoted()))
}

// OnlyRows is KeepsRows for two tables of one definition.
func OnlyRows(table, old schema.Name) (why, next string) {
	return fmt.Sprintf("%s has the definition that the table has, so only rows can differ, and an undo would give it the present rows", old),
		"If a TRUNCATE has put it aside, its rows come back with: " + swapBack(table, old)
}

// OldTable is a table that a swap has put aside, or, if Dropped is set, a DROP.
type OldTable struct {
	Name, Source schema.Name
	Dropped      bool
	// Made is when the swap has given it its mark, by the server's clock, to the second; zero if the server does not know.
	Made time.Time
}

// Unrecorded lists, by their marks and names, the old tables of sources without a record: of one source, or of all. It leaves out
// tables that were renamed, and sources of which the account may not see a record.
func Unrecorded(ctx context.Context, pool *dbconn.Pool, only *schema.Name) ([]OldTable, error) {
	query := fmt.Sprintf("SELECT table_schema, table_name, table_comment, IFNULL(FLOOR(UNIX_TIMESTAMP(create_time)), 0)"+
		" FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND LEFT(table_comment, %d) = '%s'", len(schema.Mark), schema.Mark)
	if only != nil {
		query += " AND table_schema = " + schema.Literal(only.Schema)
	}
	rows, err := pool.DB().QueryContext(ctx, query+" ORDER BY table_schema, table_name")
	if err != nil {
		return nil, fmt.Errorf("look for old tables: %w", err)
	}
	defer rows.Close()
	var found []OldTable
	recorded := map[schema.Name]bool{}
	for rows.Next() {
		var t OldTable
		var comment string
		var made int64
		if err := rows.Scan(&t.Name.Schema, &t.Name.Table, &comment, &made); err != nil {
			return nil, err
		}
		if made > 0 {
			t.Made = time.Unix(made, 0)
		}
		if source, is := strings.CutPrefix(comment, schema.MarkFor(checkpoint.UndoKind, schema.Name{Schema: t.Name.Schema})); is {
			recorded[t.Name.Sibling(source)] = true
		}
		t.Source, _, _ = schema.SourceOfAside(comment, t.Name.Schema)
		_, marked := schema.MarkedOld(comment, t.Source)
		_, t.Dropped = schema.MarkedDropped(comment, t.Source)
		old := marked && !schema.MarkedRest(comment, t.Source)
		if (old || t.Dropped) && plan.IsAside(t.Source, t.Name, comment) && (only == nil || t.Source == *only) {
			found = append(found, t)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	all := found[:0]
	for _, t := range found {
		if recorded[t.Source] { // a kill may have left an empty undo table
			saved, err := New(pool, t.Source, plan.Undoing).Undo(ctx)
			if err != nil && !errors.Is(err, checkpoint.ErrNewer) {
				return nil, err
			}
			if err != nil || saved != nil && saved.Undo != nil {
				continue
			}
		}
		record := plan.UndoOf(t.Source)
		if lacks, err := facts.Unseen(ctx, pool.DB(), &record); err != nil {
			return nil, err
		} else if lacks == "" { // otherwise there may be a record
			all = append(all, t)
		}
	}
	return all, nil
}

// dropped is what can be said of a table that a DROP has put aside. taken means that there is another table of its former name.
func dropped(t OldTable, taken bool) Undoable {
	back := t.Source
	if taken {
		back = t.Source.Sibling(t.Source.Table + "_back")
	}
	return Undoable{
		Table: t.Source, Old: t.Name, State: UndoEnded, Why: fmt.Sprintf("nothing was kept of its DROP but %s, which has its rows", t.Name),
		OnlyRows: renameBack(t.Name, back),
		Record:   checkpoint.Undo{Rebuilt: true, Table: t.Source.Table, Old: t.Name.Table},
	}
}

// renameBack is how a table that a DROP has put aside gets its name back.
func renameBack(old, table schema.Name) string {
	return "To get the table back: midstream run  " + schema.Shell(fmt.Sprintf("RENAME TABLE %s TO %s", old.Quoted(), table.Quoted())) +
		"; without its foreign keys, and those of other tables to it"
}

// ColdOnly lists the changes of which nothing was kept, and which can be taken back by all rows: those of the sources that
// exist. It also lists the tables that a DROP has put aside: they have all that is left of the rows.
func ColdOnly(ctx context.Context, pool *dbconn.Pool, only *schema.Name) (all []Undoable, err error) {
	olds, err := Unrecorded(ctx, pool, only)
	of := map[schema.Name]int{}
	for _, t := range olds {
		if !t.Dropped {
			of[t.Source]++
		}
	}
	for _, t := range olds {
		table, err := schema.Load(ctx, pool.DB(), t.Source)
		if t.Dropped && (err == nil || errors.Is(err, schema.ErrNotFound)) {
			all = append(all, dropped(t, err == nil))
			continue
		}
		if gone(t.Source, err) != "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.Source, err)
		}
		u := Undoable{
			Table: t.Source, Old: t.Name, State: UndoEnded, Why: onlyCold(t.Name), Several: of[t.Source] > 1,
			Record: checkpoint.Undo{Rebuilt: true, Mode: plan.UndoCold, Table: t.Source.Table, Old: t.Name.Table},
		}
		old, err := schema.Load(ctx, pool.DB(), t.Name)
		if gone(t.Name, err) != "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the old table: %w", err)
		}
		u.Record.Values = schema.ValuesOfOld(old.Comment, t.Source).Now
		if why, next := KeepsRows(table, old); why != "" {
			u.Why, u.OnlyRows = why, next
		}
		all = append(all, u)
	}
	return all, err
}
