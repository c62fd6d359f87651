package wholetables

import (
	"context"
	"database/sql"
	"fmt"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Next is what an undo of a statement on complete tables does next.
type Next int

// The next steps.
const (
	Nothing Next = iota
	// Finish records what an earlier run has done before it was killed.
	Finish
	Back
	Redo
)

// NextOf returns what the verb undo does with a ledger, as the tables show it.
func NextOf(ctx context.Context, db *sql.DB, l *checkpoint.Ledger) (Next, error) {
	step, err := stepOf(ctx, db, l)
	switch {
	case err != nil:
		return Nothing, err
	case l.Step == checkpoint.Undoing && step == checkpoint.Undone, l.Redo && l.Step == checkpoint.Doing && step == checkpoint.Made:
		return Finish, nil
	case step == checkpoint.Made:
		return Back, nil
	case step == checkpoint.Undone:
		return Redo, nil
	}
	return Nothing, nil
}

// LookBack reads what the undo of the last statement on a complete table needs. The statement that it returns is the
// RENAME that gives the tables their names back.
func LookBack(
	ctx context.Context,
	pool *dbconn.Pool,
	back plan.TablesBack,
	l *checkpoint.Ledger,
	settings operator.Settings,
	emit event.Listener,
) (*ddl.Statement, *plan.StatementFacts, *plan.BackFacts, error) {
	former, err := ddl.ParseStatement(l.Statement)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the statement of the undo: %w", err)
	}
	back.Kind, back.Was = former.Kind, l.Table
	var statement *ddl.Statement
	switch former.Kind {
	case ddl.KindRename:
		statement, back.Comments = former.Inverse(), marksOf(l, true)
	case ddl.KindDrop:
		back.Aside = l.Moves[0].To
		statement = ddl.Renaming(back.Aside, back.Source)
	default:
		back.Aside = l.Moves[0].To
		if back.Undone, err = undoneName(ctx, pool.DB(), back, l); err != nil {
			return nil, nil, nil, fmt.Errorf("look for a name for the table that the undo puts aside: %w", err)
		}
		statement = ddl.Renaming(back.Source, back.Undone)
		statement.Renames = append(statement.Renames, ddl.TableRename{From: back.Aside, To: back.Source})
	}
	found, err := lookAt(ctx, pool, statement, settings, emit)
	if err != nil {
		return nil, nil, nil, err
	}
	back.Shape = found.Shape(ddl.KindRename)
	facts := &plan.BackFacts{Back: back}
	err = lookMoved(ctx, pool.DB(), l, facts)
	if err == nil {
		err = lookDropped(ctx, pool.DB(), facts)
	}
	if err == nil && former.Kind == ddl.KindDrop && found.Tables[0].Table != nil { // after a kill it may have its name again
		err = lookOrphaned(ctx, pool, facts)
	}
	if err == nil {
		err = lookTruncated(ctx, pool.DB(), facts)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("look at the tables of the undo: %w", err)
	}
	return statement, found, facts, nil
}

// undoneName is the name for the table that was new after a TRUNCATE: the one that an undo has given it which was killed after its
// swap, or the first that is free. If all are taken, it is one of those, and the plan refuses.
func undoneName(ctx context.Context, db *sql.DB, back plan.TablesBack, l *checkpoint.Ledger) (schema.Name, error) {
	if l.Step == checkpoint.Undoing {
		step, err := stepOf(ctx, db, l)
		if err != nil || step == checkpoint.Undone {
			return undoneBy(back.Source, l), err
		}
	}
	names := plan.UndoneNames(back.Source)
	if back.Park {
		names = plan.ParkedNames(back.Source)
	}
	for _, name := range names {
		id, comment, err := at(ctx, db, name)
		if err != nil || id == nil || comment == schema.MarkFor("sentinel", back.Source) {
			return name, err
		}
	}
	return names[0], nil
}

// undoneBy is the name that an undo has given the table that was new after a TRUNCATE. Earlier versions recorded none.
func undoneBy(source schema.Name, l *checkpoint.Ledger) schema.Name {
	if l.Undone == "" {
		return plan.UndoneOf(source)
	}
	return source.Sibling(l.Undone)
}

// lookMoved finds the tables that are not those of the statement.
func lookMoved(ctx context.Context, db *sql.DB, l *checkpoint.Ledger, facts *plan.BackFacts) error {
	for _, move := range l.Moves {
		id, comment, err := at(ctx, db, move.To)
		if err != nil {
			return err
		}
		is := id.Is(move.ID)
		if facts.Back.Kind == ddl.KindDrop { // MySQL 8.0.12 may have given it another number
			_, is = schema.MarkedDropped(comment, move.From)
		}
		if id != nil && !is {
			facts.Moved = append(facts.Moved, move.To)
		}
	}
	return nil
}

// lookDropped finds what keeps foreign keys from coming back.
func lookDropped(ctx context.Context, db *sql.DB, facts *plan.BackFacts) error {
	if facts.Back.Kind != ddl.KindDrop {
		return nil
	}
	for _, fk := range facts.Back.Was.ForeignKeys {
		var n int
		err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.referential_constraints
			WHERE constraint_schema = ? AND constraint_name = ? AND table_name <> ?`, fk.Child.Schema, fk.Constraint, fk.Child.Table).Scan(&n)
		if err != nil {
			return err
		}
		if n > 0 {
			facts.Taken = append(facts.Taken, fk.Constraint)
		}
		if fk.Parent == facts.Back.Source {
			continue
		}
		id, _, err := at(ctx, db, fk.Parent)
		if err != nil {
			return err
		}
		if id == nil {
			facts.Orphaned = append(facts.Orphaned, fk.Parent)
		}
	}
	return nil
}

// mostCounted bounds the count of rows for a message.
const mostCounted = 1_000_000

// lookTruncated finds what has happened to the table since a TRUNCATE.
func lookTruncated(ctx context.Context, db *sql.DB, known *plan.BackFacts) error {
	if known.Back.Kind != ddl.KindTruncate {
		return nil
	}
	now, err := schema.Load(ctx, db, known.Back.Source)
	if err != nil {
		if id, _, failed := at(ctx, db, known.Back.Source); failed == nil && id == nil {
			return nil // the plan refuses
		}
		return err
	}
	known.Changed = leftovers.Changed(known.Back.Was, now)
	known.Rows, err = facts.Count(ctx, db, known.Back.Source, mostCounted)
	return err
}
