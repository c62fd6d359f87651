package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// extendOne is ExtendUndo for one table.
func extendOne(ctx context.Context, pool *dbconn.Pool, table schema.Name, by time.Duration) error {
	extend := func(c *Cleaner, saved *checkpoint.Saved) error {
		now, err := ServerTime(ctx, pool.DB())
		if err != nil {
			return err
		}
		record := *saved.Undo
		if record.Until.Before(now) {
			record.Until = now
		}
		record.Until, record.For = record.Until.Add(by), record.For+by // the redo is open for as long
		return c.Amend(ctx, record)
	}
	err := withUndo(ctx, pool, table, extend)
	if !errors.Is(err, ErrClaimed) && !errors.Is(err, ErrUndoBegun) {
		return err
	}
	// An undo that follows has written its own record already, and reads the time again and again.
	c := New(pool, table, plan.Undoing)
	saved, savedErr := c.UndoOfAlter(ctx)
	there, listErr := c.List(ctx)
	if savedErr != nil || listErr != nil || !saved.Undo.Begun || !c.HasState(there) || !c.told.Adopted {
		return err
	}
	return extend(c, saved)
}

// EndedUndo is what has become of the tables of an undo that was given up.
type EndedUndo struct {
	Table schema.Name
	// With are those of the other tables that were swapped in the same step.
	With    []EndedUndo
	Dropped []schema.Name
	Old     schema.Name // the old table if it is kept, or none
	Rest    bool        // it has rows that --keep had left out
	// Rows is how the rows of the old table come back, if a DROP or a TRUNCATE has put it aside; "" if another statement has.
	Rows string
	// Parked are tables with rows that undos have set aside. No command drops them.
	Parked []Parked
	// Values is the table that keeps values of dropped columns for an undo by all rows, which is possible while the old table exists. It
	// has no name if there are none.
	Values schema.Name
	// Killed is the undo by the server's own ALTER that was killed; nil if there was none.
	Killed *Killed
}

// endOne is EndUndo for one table.
func endOne(ctx context.Context, pool *dbconn.Pool, table schema.Name, drop bool) (ended EndedUndo, err error) {
	err = withUndo(ctx, pool, table, func(c *Cleaner, saved *checkpoint.Saved) error {
		// The server may still run the ALTER of a killed undo.
		killed, err := GiveUpNative(ctx, c, saved, func(Killed) bool { return true })
		if err != nil {
			return err
		}
		old := table.Sibling(saved.Undo.Old)
		there, err := c.List(ctx)
		if err != nil {
			return err
		}
		values := schema.Name{}
		defer func() {
			if left, listErr := c.List(ctx); err == nil && listErr == nil {
				ended = endedUndo(there, left, table, old)
				ended.Table = table
				ended.Rest = schema.MarkedRest(there[old].comment, table)
				ended.Killed, ended.Values = killed, values
				ended.Parked, _ = ParkedOf(ctx, pool, table) // it is only told
				ended.Rows = rowsBack(saved.Undo.Ledger, table, ended.Old)
			}
		}()
		o := Old{Pool: pool, Source: table, Name: old}
		switch was, marked := schema.MarkedOld(there[old].comment, table); {
		case schema.MarkedRest(there[old].comment, table):
			if err := o.alter(ctx, "COMMENT = "+schema.Literal(was), cutover.Budget{}.WithDefaults().Wait); err != nil {
				return fmt.Errorf("make %s yours: %w", old, err)
			}
		case marked && (drop || saved.Undo.DropOld):
			if err := o.Drop(ctx); err != nil {
				return err
			}
		case marked:
			if values, err = keepValues(ctx, c, there); err != nil {
				return err
			}
		}
		if err = dropUndoBut(ctx, c, values); err == nil {
			err = dropEmpty(ctx, c)
		}
		return err
	})
	return ended, err
}

// rowsBack is how the rows of the old table of a statement on complete tables come back; "" if none is kept.
func rowsBack(l *checkpoint.Ledger, table, old schema.Name) string {
	switch {
	case l == nil || old == (schema.Name{}):
		return ""
	case l.Kind == string(ddl.KindTruncate):
		_, next := OnlyRows(table, old)
		return next
	}
	return renameBack(old, table)
}

// endedUndo compares the tables before and after the end of an undo.
func endedUndo(before, after Listing, table, old schema.Name) (ended EndedUndo) {
	for name := range before {
		if _, left := after[name]; !left {
			ended.Dropped = append(ended.Dropped, name)
		} else if name == old {
			ended.Old = old
		}
	}
	slices.SortFunc(ended.Dropped, func(a, b schema.Name) int { return strings.Compare(a.Dotted(), b.Dotted()) })
	return ended
}

// withUndo does something to the undo table of a source while no run works on that.
func withUndo(ctx context.Context, pool *dbconn.Pool, table schema.Name, do func(*Cleaner, *checkpoint.Saved) error) error {
	held, err := ClaimTable(ctx, pool, table, func(error) {})
	if err != nil {
		return err
	}
	defer held.Release()
	c := New(pool, table, plan.Undoing)
	saved, err := c.Undo(ctx)
	if err == nil && (saved == nil || saved.Undo == nil) {
		err = NoUndo(ctx, pool, table)
	}
	if err != nil {
		return err
	}
	there, err := c.List(ctx)
	if err == nil && (c.HasState(there) || saved.Undo.Ledger != nil && saved.Undo.Ledger.Pending()) {
		err = fmt.Errorf("%w: %s", ErrUndoBegun, table)
	}
	if err != nil {
		return err
	}
	return do(c, saved)
}

// ErrUndoBegun means that a run has begun on the table and was stopped: it must end first.
var ErrUndoBegun = errors.New("a run on the table was stopped, and is to be resumed or removed first")

// DropUndo drops what was kept for an undo of the source, but not the old table. REQUIRES: the source is claimed.
func (c *Cleaner) DropUndo(ctx context.Context) error { return dropUndoBut(ctx, c, schema.Name{}) }

// dropUndoBut is DropUndo, but leaves one of the tables.
func dropUndoBut(ctx context.Context, c *Cleaner, left schema.Name) error {
	return RetryBriefly(ctx, func() error {
		there, err := c.List(ctx)
		if err != nil {
			return err
		}
		delete(there, left)
		return c.dropUndo(ctx, there, "")
	})
}

// keepValues prepares the values of dropped columns that an undo has left which has not swapped: an undo by all rows takes them, while the
// old table exists. It returns their table; no name if there are none.
func keepValues(ctx context.Context, c *Cleaner, there Listing) (schema.Name, error) {
	kept := plan.KeptOf(c.source)
	if there[kept].comment != schema.MarkFor(checkpoint.KeptKind, c.source) {
		return schema.Name{}, nil
	}
	session, err := c.pool.Session(ctx)
	if err != nil {
		return schema.Name{}, err
	}
	defer session.Close()
	has, err := rowsync.SettleSide(ctx, session, kept)
	if err != nil {
		return schema.Name{}, fmt.Errorf("keep the values of dropped columns in %s: %w", kept, err)
	}
	if !has {
		return schema.Name{}, nil
	}
	return kept, nil
}

// hasOld reports whether a change of the source can be taken back by all rows, although nothing was kept of it.
func (there Listing) hasOld(source schema.Name) bool {
	_, is := there[source]
	for name, t := range there {
		_, marked := schema.MarkedOld(t.comment, source)
		if is && marked && !schema.MarkedRest(t.comment, source) && plan.IsAside(source, name, t.comment) {
			return true
		}
	}
	return false
}

// EndBefore drops what was kept for the undo of the change before the last one, but not its old table. kept means that the undo table
// has the record of the last change now. REQUIRES: the source is claimed.
func EndBefore(ctx context.Context, c *Cleaner, kept bool) error {
	if kept {
		return nativeRecord{c}.dropEarlier(ctx)
	}
	return c.DropUndo(ctx)
}

// dropUndo is one try of DropUndo, among these tables. It leaves a log of changes that is needed from now on, "" for none.
func (c *Cleaner) dropUndo(ctx context.Context, there Listing, log string) error {
	if err := c.dropAround(ctx, there, log); err != nil {
		return err
	}
	return dropOurs(ctx, c, there, plan.UndoOf(c.source))
}

// dropAround is dropUndo without the undo table itself.
func (c *Cleaner) dropAround(ctx context.Context, there Listing, log string) error {
	for name, t := range there {
		if t.comment == schema.MarkFor(trigger.SinceKind, c.source) && name.Table != log {
			if err := c.dropLog(ctx, name); err != nil {
				return err
			}
		}
	}
	return dropOurs(ctx, c, there, plan.KeptOf(c.source))
}

// dropOurs drops a table if it is there and has our mark.
func dropOurs(ctx context.Context, c *Cleaner, there Listing, name schema.Name) error {
	if t, is := there[name]; is && schema.MarkedFor(t.comment, c.source) {
		return c.Drop(ctx, Table{Name: name})
	}
	return nil
}
