package leftovers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// KeepUndo keeps what an undo of a change needs, once the change has swapped: the state table of its run
// becomes the undo table of the source, and takes the place of an earlier one. old is the name of the old
// table. The state table has its new name and its mark by one statement: a kill before it leaves a state
// table, and Finish comes to the same end.
//
// REQUIRES: the source is claimed, and the run that wrote the state table has ended.
func (c *Cleaner) KeepUndo(ctx context.Context, wish checkpoint.Undo, old string) error {
	err := RetryBriefly(ctx, func() error { return c.keepUndo(ctx, wish, old) })
	if err != nil {
		return fmt.Errorf("keep %s for an undo: %w", c.Names().State, err)
	}
	return nil
}

func (c *Cleaner) keepUndo(ctx context.Context, wish checkpoint.Undo, old string) error {
	there, err := c.List(ctx)
	if err != nil {
		return err
	}
	undo, state := plan.UndoOf(c.source), c.Names().State
	if !c.HasState(there) {
		if c.HasUndo(there) { // the answer to an earlier try was lost
			return nil
		}
		return fmt.Errorf("%w: %s", schema.ErrNotFound, state)
	}
	session, err := c.pool.Session(ctx, c.pool.Defining()...)
	if err != nil {
		return err
	}
	defer session.Close()
	wish.Old, wish.Table = old, c.source.Table
	if wish.Swapped, err = ServerTime(ctx, c.pool.DB()); err != nil {
		return err
	}
	if former, err := c.Undo(ctx); c.told.Adopted && err == nil && former != nil && former.Undo != nil {
		wish.For = max(wish.For, former.Undo.For) // it was extended while the undo was at work
	}
	wish.Until = wish.Swapped.Add(wish.For)
	store := checkpoint.New(state, c.source, c.pool.Name(), "")
	if err := store.Amend(ctx, session, wish); err != nil {
		return err
	}
	if err := c.dropUndo(ctx, there, wish.Log); err != nil { // of the change before
		return err
	}
	_, err = session.Exec(ctx, fmt.Sprintf("ALTER TABLE %s COMMENT = %s, RENAME TO %s",
		state.Quoted(), schema.Literal(schema.MarkFor(checkpoint.UndoKind, c.source)), undo.Quoted()))
	if dbconn.TableExists(err) {
		err = fmt.Errorf("%w: %s: %w", ErrUndoTaken, undo, err)
	}
	return err
}

// ErrUndoTaken means that the tables were swapped, and that another session has since made a table of the name of the undo
// table. The state table has everything that an undo needs.
var ErrUndoTaken = errors.New("another table has the name of the undo table")

// AfterTaken is what is left after ErrUndoTaken, and what to do.
func AfterTaken(source schema.Name) (left, next string) {
	return fmt.Sprintf("%s was altered; its old table and %s are kept, with all that an undo needs", source, plan.NamesOf(source).State),
		fmt.Sprintf("rename %s, which is not a table of Midstream; then run the same command again: it keeps the undo", plan.UndoOf(source))
}

// keepSwapped finishes a run that was stopped after its swap, if its change may be taken back: its state table has
// what an undo needs.
func (c *Cleaner) keepSwapped(ctx context.Context, note func(string)) error {
	f := finisher{Cleaner: *c, how: Ending{Lock: cutover.Budget{}.WithDefaults()}, note: note}
	saved, former, err := f.swapped(ctx)
	if err == nil && saved != nil && saved.Start.Undo != nil {
		_, err = f.finish(ctx, saved, former)
	}
	return err
}

// ErrOvertaken means that the undo that was planned is no longer there. This run has changed nothing.
var ErrOvertaken = errors.New("another session has taken the change back, has changed the table again, or has ended the undo since it was planned")

// AfterOvertaken is what to do after ErrOvertaken.
func AfterOvertaken(source schema.Name) string {
	return "See what can be undone now: midstream undo  --list " + source.Argument()
}

// ErrNoUndo means that no change of a table can be taken back.
var ErrNoUndo = errors.New("no change of this table can be undone")

// BeginUndo records that an undo begins to write to the old table. From then on nobody knows which rows of it
// are as they were at the swap, until the undo has swapped.
func (c *Cleaner) BeginUndo(ctx context.Context, saved *checkpoint.Saved) error {
	record := *saved.Undo
	record.Begun = true
	if record.Rebuilt {
		return keepRebuilt(ctx, c, saved, record)
	}
	return c.Amend(ctx, record)
}

// HandBack writes how far an undo has brought the old table: the next one begins from there. The old table has every
// change before that position (U1). REQUIRES: the source is claimed.
func HandBack(c *Cleaner, reached func(context.Context) (checkpoint.Checkpoint, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	session, err := c.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Patiently(ctx, func() error {
		state, err := reached(ctx)
		if err != nil {
			return err
		}
		return checkpoint.New(plan.UndoOf(c.source), c.source, c.pool.Name(), "").Reach(ctx, session, state)
	})
}

// OnlyByAllRows records why the next undo syncs all rows, as this one has found in the binlog: the old table may have rows of this one
// now, so the next one could not find that any more. REQUIRES: the source is claimed.
func OnlyByAllRows(c *Cleaner, why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	saved, err := c.UndoOfAlter(ctx)
	if err != nil {
		return err
	}
	record := *saved.Undo
	record.OnlyCold = escape.Error(why)
	return c.Amend(ctx, record)
}

// StoppedUndo reads the state table if it is that of an undo that was stopped; nil for none, or if it cannot be read.
func StoppedUndo(ctx context.Context, c *Cleaner) *checkpoint.Saved {
	saved, err := c.SavedHere(ctx)
	if err != nil || saved == nil || saved.Start == nil || !saved.Checkpoint.Adopted {
		return nil
	}
	return saved
}

// TimeLeft is the rest of the time of the undo, by the server's clock.
func (c *Cleaner) TimeLeft(ctx context.Context) (time.Duration, error) {
	saved, err := c.UndoOfAlter(ctx)
	if err != nil {
		return 0, err
	}
	now, err := ServerTime(ctx, c.pool.DB())
	return saved.Undo.Until.Sub(now), err
}

// Amend writes the record of the undo table. REQUIRES: the source is claimed.
func (c *Cleaner) Amend(ctx context.Context, record checkpoint.Undo) error {
	session, err := c.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Patiently(ctx, func() error {
		return checkpoint.New(plan.UndoOf(c.source), c.source, c.pool.Name(), "").Amend(ctx, session, record)
	})
}

// restoreMark gives the old table its mark again, if an undo took it away and has not swapped.
func (c *Cleaner) restoreMark(ctx context.Context, saved *checkpoint.Saved, there Listing, wait time.Duration, note func(string)) {
	old, is := there[c.Names().Shadow]
	if _, marked := schema.MarkedOld(old.comment, c.source); !is || marked || !saved.Checkpoint.Adopted || !saved.Checkpoint.Unmarked {
		return
	}
	o := Old{Pool: c.pool, Source: c.source, Name: old.Name, Needed: true}
	if former, err := c.Undo(ctx); err == nil && former != nil && former.Start != nil {
		o.Rest, o.Values = former.Start.Filter != "", schema.ParkedValues{Now: former.Undo.ValuesTable(), Next: former.Checkpoint.Values}
	}
	o.Keep(ctx, old.comment, "", wait, note)
}

// HasUndo reports whether the undo table of the source is among the tables.
func (c *Cleaner) HasUndo(there Listing) bool {
	return there[plan.UndoOf(c.source)].comment == schema.MarkFor(checkpoint.UndoKind, c.source)
}

// undoNeeds reports whether the undo or redo of the last change needs an old table. The tables of undos before it are of no use.
func undoNeeds(ctx context.Context, c *Cleaner, there Listing, old schema.Name) (bool, error) {
	if !c.HasUndo(there) {
		return false, nil
	}
	saved, err := c.Undo(ctx)
	if err != nil || saved == nil || saved.Undo == nil || c.HasState(there) {
		return true, err
	}
	for record := saved.Undo; record != nil; record = record.Earlier {
		if record.Old == old.Table {
			return true, nil
		}
		l, isOld := record.Ledger, func(m checkpoint.Move) bool { return m.To == old || m.From == old }
		if l != nil && (l.Pending() || slices.ContainsFunc(l.Moves, isOld)) {
			return true, nil
		}
	}
	return false, nil
}

// UndoOfAlter reads the undo table of the source if it is that of an ALTER; otherwise it fails with ErrNoUndo.
func (c *Cleaner) UndoOfAlter(ctx context.Context) (*checkpoint.Saved, error) {
	saved, err := c.Undo(ctx)
	if err == nil && (saved == nil || saved.Undo == nil || saved.Start == nil && saved.Undo.Native == nil) {
		err = ErrNoUndo
	}
	return saved, err
}

// Undo reads the undo table of the source; nil if there is none. It fails as Store.Load does.
func (c *Cleaner) Undo(ctx context.Context) (*checkpoint.Saved, error) {
	session, err := c.pool.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if there, err := UndoTableThere(ctx, session, c.source); err != nil || !there {
		return nil, err
	}
	saved, err := checkpoint.New(plan.UndoOf(c.source), c.source, c.pool.Name(), "").Peek(ctx, session)
	if dbconn.NoSuchTable(err) || errors.Is(err, checkpoint.ErrUnreadable) { // a kill may leave an empty table
		return nil, nil
	}
	return saved, err
}

// UndoTableThere reports whether the undo table of a source exists, by its mark.
func UndoTableThere(ctx context.Context, session checkpoint.Reader, source schema.Name) (bool, error) {
	return schema.HasComment(ctx, session.Rows, plan.UndoOf(source), schema.MarkFor(checkpoint.UndoKind, source))
}

// ServerTime reads the server's clock, in UTC.
func ServerTime(ctx context.Context, db *sql.DB) (time.Time, error) {
	var text string
	if err := db.QueryRowContext(ctx, "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)").Scan(&text); err != nil {
		return time.Time{}, fmt.Errorf("read the server's clock: %w", err)
	}
	now, err := time.Parse("2006-01-02 15:04:05.999999", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the server's clock: %w", err)
	}
	return now, nil
}
