package checkpoint

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/mysql/schema"
)

// UndoKind is the word, in its mark, for the undo table: the state table of a run that has swapped, kept so
// that the change can be taken back.
const UndoKind = "undo"

// KeptKind is the word, in its mark, for the table that keeps values of dropped columns during an undo.
const KeptKind = "kept"

// ParkedKind is the word, in its mark, for a table with rows that an undo could not bring back. Only an empty one is
// removed.
const ParkedKind = "parked"

// ParkingKind is that word until the undo swaps: the table has copies of rows that are still in the table of the user.
const ParkingKind = "parking"

// Undo is what a run wished, and then what it left, so that its change can be taken back.
type Undo struct {
	// For is how long undo stays possible after the swap. Mode is one of package plan's. Warm means that a process is to
	// follow the table in that time.
	For  time.Duration
	Mode string
	Warm bool `json:",omitempty"`
	// DropOld means that the end of the undo drops the old table.
	DropOld bool `json:",omitempty"`
	// Pairs are the columns that both tables have: name in the new table to name in the old one.
	Pairs map[string]string
	// Log is the table to which triggers write the keys of the rows that have changed since the swap, by the columns of
	// the index Key; "" if the binlog has the changes.
	Log string `json:",omitempty"`
	Key string `json:",omitempty"`
	// Back means that the change was an undo itself: to take it back is the redo. A redo is a change again.
	Back bool `json:",omitempty"`

	// Set are the expressions of the change (--set): a redo uses them.
	Set map[string]string `json:",omitempty"`
	// Keys are the indexes of the old table, as the run found them; nil if an earlier version wrote the record.
	Keys []schema.Key `json:",omitempty"`
	// Foreign are the foreign keys that an undo has brought back: the redo drops them.
	Foreign []schema.ForeignKey `json:",omitempty"`

	// Lacks means that the table has rows which the old table lacks: an undo had parked them, and its redo has brought
	// them back.
	Lacks bool `json:",omitempty"`

	// OnlyCold is why the next undo syncs all rows, as an earlier one has found in the binlog; "" if none has.
	OnlyCold string `json:",omitempty"`

	// Values is the table with the values that columns of the old table had in rows which the undo before the last redo has
	// parked; "" for none. An undo uses it up.
	Values string `json:",omitempty"`

	// Rebuilt means that nothing was kept of the change: its undo has made the record from the two tables, when it began.
	Rebuilt bool `json:",omitempty"`

	// Begun means that an undo has written to the old table since the swap, and has not swapped itself.
	Begun bool `json:",omitempty"`

	// Ledger is that of a statement on complete tables; nil for an ALTER.
	Ledger *Ledger `json:",omitempty"`
	// Native is for a change that the server has made itself, without an old table; nil for others.
	Native *Native `json:",omitempty"`
	// Soak is set if the change only hides what a later one is to drop; nil for others.
	Soak *Soak `json:",omitempty"`
	// Earlier is the record of the change before, until the server has made this one: it comes back if this one fails.
	Earlier *Undo `json:",omitempty"`

	// The rest is known after the swap.

	// Table is the name of the table.
	Table string

	// Swapped and Until are by the server's clock, in UTC.
	Swapped, Until time.Time
	// Old is the name of the old table.
	Old string
}

// ValuesTable is Values. There may be no undo.
func (u *Undo) ValuesTable() string {
	if u == nil {
		return ""
	}
	return u.Values
}

// Doubted reports whether more rows of the old table may differ than those that have changed since the swap.
func (u *Undo) Doubted() bool { return u.Begun || u.Rebuilt }

// Replaced is the record that is to come back if the change that now takes its place is not made; nil if there is none.
func (s *Saved) Replaced() *Undo {
	switch {
	case s == nil || s.Undo == nil:
		return nil
	case s.Undo.Earlier != nil:
		return s.Undo.Earlier
	case s.Undo.Native != nil && s.Undo.Native.Step == Doing, s.Undo.Ledger != nil && s.Undo.Ledger.Step == Doing:
		return nil // it was not made
	}
	record := *s.Undo
	return &record
}

// UndoTables is the condition by which the undo tables of a server are found, over the columns of
// information_schema.tables.
const UndoTables = "table_comment LIKE '" + schema.Mark + UndoKind + " of %'"

// Amend writes what an undo needs into a state table or an undo table, whoever wrote the rest. The last
// checkpoint has the position at the swap. REQUIRES: the source is claimed.
func (s *Store) Amend(ctx context.Context, on Execer, u Undo) error {
	state, err := literal(u)
	if err != nil {
		return err
	}
	_, err = on.Exec(ctx, fmt.Sprintf("INSERT INTO %s (id, beat, run, state) VALUES (%d, 0, %s, %s) ON DUPLICATE KEY UPDATE state = %[4]s",
		s.name.Quoted(), undoRow, schema.Literal(s.run), state))
	if err != nil {
		return fmt.Errorf("write the undo record to %s: %w", s.name, err)
	}
	return nil
}

// Reach writes a later checkpoint into an undo table.
func (s *Store) Reach(ctx context.Context, on Execer, reached Checkpoint) error {
	state, err := literal(reached)
	if err != nil {
		return err
	}
	_, err = on.Exec(ctx, fmt.Sprintf("UPDATE %s SET state = %s WHERE id = %d", s.name.Quoted(), state, checkpointRow))
	if err != nil {
		return fmt.Errorf("write the position to %s: %w", s.name, err)
	}
	return nil
}

// Compared is what a run that resumes this one adds about the comparison of the rows; "" if there is nothing special.
func (s *Start) Compared() string {
	if s.Purpose != "undo" {
		return ""
	}
	return "; all rows are compared, because the state of the earlier undo does not have the keys that it has synced"
}
