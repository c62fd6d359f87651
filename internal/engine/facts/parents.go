package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// GatherParents reads the tables to which new foreign keys of a table refer. One that does not exist, or is no table, is left out.
func GatherParents(ctx context.Context, q schema.Querier, f *plan.Facts, source schema.Name, added []schema.ForeignKey) error {
	var locked []schema.Name
	for _, fk := range added {
		if slices.ContainsFunc(f.Parents, func(t *schema.Table) bool { return t.Name == fk.Parent }) {
			continue
		}
		parent, err := schema.LoadOwn(ctx, q, fk.Parent)
		switch {
		case errors.Is(err, schema.ErrNotFound), errors.Is(err, schema.ErrNotBaseTable):
			continue
		case err != nil:
			return fmt.Errorf("read the parent of foreign key %s: %w", fk.Constraint, err)
		}
		f.Parents = append(f.Parents, parent)
		if !slices.Contains(f.Foreign.Linked, parent.Name) {
			locked = append(locked, parent.Name)
		}
	}
	if f.Version.WritersApart() {
		return nil
	}
	return gatherer{f}.readLinked(ctx, q, source, append(locked, f.Foreign.Linked...))
}
