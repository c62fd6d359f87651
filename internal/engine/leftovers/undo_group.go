package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// UndoGroup are the tables whose last change was swapped in one step with that of a table, and is taken back in one step: without the table
// itself, in the order of their names. A run that was stopped after its swap, or while it takes the change back, has them too.
func UndoGroup(ctx context.Context, pool *dbconn.Pool, table schema.Name) ([]schema.Name, error) {
	c := New(pool, table, plan.Undoing)
	there, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	if c.HasState(there) {
		saved, err := c.Saved(ctx)
		switch {
		case errors.Is(err, checkpoint.ErrUnreadable), errors.Is(err, checkpoint.ErrNewer), dbconn.NoSuchTable(err):
		case err != nil:
			return nil, err
		case saved.Start != nil && saved.Start.Undo != nil && (saved.Checkpoint.Adopted || lateIn(saved.Checkpoint)):
			return parseTogether(saved)
		}
	}
	saved, err := c.Undo(ctx)
	if err != nil || saved == nil {
		return nil, err
	}
	return parseTogether(saved)
}

// lateIn reports whether a run may have swapped.
func lateIn(c checkpoint.Checkpoint) bool {
	return slices.Contains([]event.Phase{event.PhaseCutover, event.PhaseCleanup}, event.Phase(c.Phase))
}

// parseTogether reads the tables that were swapped in the same step.
func parseTogether(saved *checkpoint.Saved) (tables []schema.Name, err error) {
	if saved.Start == nil {
		return nil, nil
	}
	for _, dotted := range saved.Start.Together {
		table, err := schema.ParseName("", dotted)
		if err != nil {
			return nil, err
		}
		tables = append(tables, table)
	}
	return tables, nil
}

// joined gives each change that was swapped in one step with those of other tables the state that holds for all of them: they are taken
// back together, or not at all.
func joined(ctx context.Context, pool *dbconn.Pool, all []Undoable) error {
	alone := slices.Clone(all)
	for i := range all {
		for _, name := range all[i].Together {
			at := slices.IndexFunc(alone, func(u Undoable) bool { return u.Table == name })
			var other *Undoable
			if at >= 0 {
				other = &alone[at]
			} else {
				u, err := undoable(ctx, pool, plan.UndoOf(name))
				if err != nil && !dbconn.NoSuchDatabase(err) {
					return fmt.Errorf("read %s: %w", plan.UndoOf(name), err)
				}
				other = u
			}
			if other == nil || !slices.Contains(other.Together, all[i].Table) {
				c := New(pool, name, plan.Undoing)
				there, err := c.List(ctx)
				if err != nil {
					return err
				}
				all[i].apart(name, c.HasState(there), c.told.Adopted)
				continue
			}
			all[i].joins(*other)
		}
	}
	return nil
}

// apart is for a group of which another table has no record of the change. stopped means that a run on that table may still keep it, which
// undoes a change or is one.
func (u *Undoable) apart(other schema.Name, stopped, undoes bool) {
	if stopped {
		u.State, u.Why, u.Barred, u.Late, u.Halfway = UndoStopped, "", false, false, !undoes
		return
	}
	u.State, u.Barred, u.Late = UndoEnded, false, false
	u.Why = fmt.Sprintf("it was swapped in one step with the change of %s, and that is not the last change of that table, or nothing is kept of it", other)
}

// joins takes over the state of another table of the group, if less is possible there.
func (u *Undoable) joins(other Undoable) {
	rank := func(u Undoable) int {
		switch {
		case u.State == UndoEnded && !u.Late && !u.Barred:
			return 4
		case u.Begun():
			return 3
		case u.Barred:
			return 2
		case u.Late:
			return 1
		}
		return 0 // one may sync all rows, and another one only those that have changed
	}
	if rank(other) <= rank(*u) {
		return
	}
	u.State, u.Why, u.Barred, u.Late = other.State, other.Why, other.Barred, other.Late
	u.Followed, u.Again = other.Followed, other.Again
	if u.Why != "" {
		u.Why = fmt.Sprintf("of %s, which is taken back in the same step: %s", other.Table, other.Why)
	}
}

// endable are the other tables whose undo ends with that of a table: their record is still that of the change which they have in common.
func endable(ctx context.Context, pool *dbconn.Pool, table schema.Name) (tables []schema.Name, err error) {
	all, err := UndoGroup(ctx, pool, table)
	for i := 0; i < len(all) && err == nil; i++ {
		var saved *checkpoint.Saved
		if saved, err = New(pool, all[i], plan.Undoing).Undo(ctx); err == nil && saved != nil && saved.Start != nil &&
			slices.Contains(saved.Start.Together, table.Dotted()) {
			tables = append(tables, all[i])
		}
	}
	return tables, err
}

// free fails with ErrClaimed or ErrUndoBegun if a run works on one of the tables, or was stopped there.
func free(ctx context.Context, pool *dbconn.Pool, tables []schema.Name) error {
	for _, table := range tables {
		if err := withUndo(ctx, pool, table, func(*Cleaner, *checkpoint.Saved) error { return nil }); err != nil {
			return fmt.Errorf("%s, whose change was swapped in the same step: %w", table, err)
		}
	}
	return nil
}

// ExtendUndo keeps the undo of a table's last change open for longer, and so the redo after it: for all tables that were swapped in the
// same step. It fails with ErrNoUndo or ErrClaimed.
func ExtendUndo(ctx context.Context, pool *dbconn.Pool, table schema.Name, by time.Duration) error {
	others, err := endable(ctx, pool, table)
	if err == nil {
		err = free(ctx, pool, others)
	}
	for i := 0; i < len(others) && err == nil; i++ {
		err = extendOne(ctx, pool, others[i], by)
	}
	if err != nil {
		return err
	}
	return extendOne(ctx, pool, table, by)
}

// EndUndo gives up the undo of a table's last change, and so that of all tables that were swapped in the same step: it drops what was kept
// for it, and the old tables if that was wished (--drop-old) or drop is set. It fails with ErrNoUndo or ErrClaimed.
func EndUndo(ctx context.Context, pool *dbconn.Pool, table schema.Name, drop bool) (ended EndedUndo, err error) {
	others, err := endable(ctx, pool, table)
	if err == nil {
		err = free(ctx, pool, others)
	}
	var with []EndedUndo
	for i := 0; i < len(others) && err == nil; i++ { // the table itself last: the same command completes it
		var one EndedUndo
		one, err = endOne(ctx, pool, others[i], drop)
		with = append(with, one)
	}
	if err != nil {
		return EndedUndo{}, err
	}
	ended, err = endOne(ctx, pool, table, drop)
	ended.With = with
	return ended, err
}
