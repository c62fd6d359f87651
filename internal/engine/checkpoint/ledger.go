package checkpoint

import (
	"context"
	"fmt"

	"midstream/internal/mysql/schema"
)

// Steps of a Ledger. A kill may come between a step and the statement that it announces: then the tables show
// whether the statement was executed.
const (
	// Doing means that the statement is about to be executed.
	Doing = "doing"
	// Made means that the statement was executed, and can be taken back.
	Made = "made"
	// Undoing means that the statement is about to be taken back.
	Undoing = "undoing"
	// Undone means that the statement was taken back. It can be executed again (redo).
	Undone = "undone"
)

// Ledger is what must be known to take a statement on complete tables back: DROP, TRUNCATE or RENAME TABLE.
type Ledger struct {
	// Kind is that of package ddl. Statement is the text, with the databases of its tables.
	Kind, Statement string
	Step            string
	// Redo means that the statement was executed before, and taken back.
	Redo bool `json:",omitempty"`
	// Moves are the tables that the statement gives another name.
	Moves []Move
	// DropOld is what Undo.DropOld is after a redo.
	DropOld bool `json:",omitempty"`
	// Undone is the name that the undo of a TRUNCATE gives the table that was new after it; "" before the first undo.
	Undone string `json:",omitempty"`
	// Ends are the tables whose undo of the change before ends with the statement, the source among them or not.
	Ends []schema.Name `json:",omitempty"`
	// Again is as Checkpoint has it, while the statement is taken back or made again.
	Again []string `json:",omitempty"`
	// Table is the first table as it was. Its Create, Comment, ForeignKeys, ForeignClauses and Triggers come back.
	Table *schema.Table
}

// Pending reports whether a run was killed, or is at work: the tables show what has happened.
func (l *Ledger) Pending() bool { return l.Step == Doing || l.Step == Undoing }

// MergedKind is the word, in its mark, for the table with the keys of rows that the undo of a TRUNCATE has taken over.
const MergedKind = "merged"

// Move is a table that a statement gives another name.
type Move struct {
	From, To schema.Name
	// ID has the numbers by which InnoDB knows the table; empty if the server does not show them.
	ID []uint64 `json:",omitempty"`
	// Mark is the comment, with the mark of an old table, that the statement takes from the table, and Comment the one that it gives
	// it; Mark is "" if the table keeps its comment.
	Mark    string `json:",omitempty"`
	Comment string `json:",omitempty"`
}

// NewUndo is the content of an undo table before a statement that leaves no other one.
func NewUndo(u Undo) *Saved {
	return &Saved{Checkpoint: Checkpoint{Version: Undoable, Phase: "done"}, Undo: &u}
}

// CreateUndo makes the undo table of a source, with its content. A kill may leave a table without rows: then the
// statement was not executed.
func (s *Store) CreateUndo(ctx context.Context, on Session, saved *Saved) error {
	record, err := literal(saved.Undo)
	if err != nil {
		return err
	}
	state, err := literal(saved.Checkpoint)
	if err != nil {
		return err
	}
	values := fmt.Sprintf("(%d, 0, %s, NULL), (%d, 0, %[2]s, %[4]s), (%d, 0, %[2]s, %[6]s)",
		beatRow, schema.Literal(s.run), checkpointRow, state, undoRow, record)
	if saved.Start != nil {
		start, err := literal(saved.Start)
		if err != nil {
			return err
		}
		values += fmt.Sprintf(", (%d, 0, %s, %s)", startRow, schema.Literal(s.run), start)
	}
	if _, err := on.Exec(ctx, fmt.Sprintf(createTable, s.name.Quoted(), schema.Literal(schema.MarkFor(UndoKind, s.source)))); err != nil {
		return fmt.Errorf("create undo table %s: %w", s.name, err)
	}
	_, err = on.Exec(ctx, "INSERT INTO "+s.name.Quoted()+" (id, beat, run, state) VALUES "+values)
	if err != nil {
		return fmt.Errorf("fill undo table %s: %w", s.name, err)
	}
	return nil
}

// Rewrite changes the record of an undo table, and makes this run its writer. REQUIRES: the source is claimed.
func (s *Store) Rewrite(ctx context.Context, on Session, u Undo) error {
	record, err := literal(u)
	if err != nil {
		return err
	}
	_, err = on.Exec(ctx, fmt.Sprintf("UPDATE %s SET run = %s, state = IF(id = %d, %s, state)", s.name.Quoted(), schema.Literal(s.run), undoRow, record))
	if err != nil {
		return fmt.Errorf("write the undo record to %s: %w", s.name, err)
	}
	return nil
}
