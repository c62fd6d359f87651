package leftovers

import (
	"context"
	"fmt"
	"slices"

	"midstream/internal/engine/cutover"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// member is a table of a group, whose other tables have foreign keys to it.
type member struct{ *Cleaner }

// free brings the foreign keys into their form that artefacts of other tables of the group have to one of this table's: an old
// table to the old table, or a shadow to the shadow. They are left if the lock of the swap was lost.
//
// REQUIRES: the run on the source has ended. Without it no other run of its group swaps.
func (c member) free(ctx context.Context, table schema.Name) (freed bool, err error) {
	saved, err := c.Saved(ctx)
	if err != nil || saved.Start == nil {
		return false, err
	}
	keys, err := schema.ForeignKeys(ctx, c.pool.DB(), table)
	if err != nil {
		return false, err
	}
	for _, dotted := range saved.Start.Together {
		name, err := schema.ParseName("", dotted)
		if err == nil {
			err = member{New(c.pool, name, "")}.release(ctx, table, keys)
		}
		if err != nil {
			return false, fmt.Errorf("foreign keys of %s, which is changed together with it: %w", dotted, err)
		}
	}
	return true, nil
}

// release takes the foreign keys to a table off the old table, or the shadow, of the source. keys are all that refer to the table. If
// there is no state table, nothing is left to do.
func (c member) release(ctx context.Context, table schema.Name, keys []schema.ForeignKey) error {
	there, err := c.List(ctx)
	if err != nil || !c.HasState(there) {
		return err
	}
	saved, err := c.Saved(ctx)
	if dbconn.NoSuchTable(err) || err == nil && saved.Start == nil {
		return nil
	}
	if err != nil {
		return err
	}
	f := Fixer{Pool: c.pool, Set: c.Carried(saved.Start, there), Wait: cutover.Budget{}.WithDefaults().Wait, Patience: fixPatience}
	refers := func(child schema.Name) bool {
		return slices.ContainsFunc(keys, func(k schema.ForeignKey) bool { return k.Child == child && k.Parent == table })
	}
	switch {
	case refers(f.Set.Old):
		_, err = f.Settle(ctx)
	case refers(f.Set.Shadow):
		_, err = f.Undeclare(ctx)
	}
	return err
}
