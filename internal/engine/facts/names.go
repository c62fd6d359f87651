package facts

import (
	"context"
	"fmt"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// FreeOld returns the name that Make would choose now for the old table of a table, and whether
// there is any. The names in refused are taken, though the account may not see by what.
func FreeOld(ctx context.Context, q schema.Querier, table schema.Name, refused []schema.Name) (old schema.Name, free bool, err error) {
	f := gatherer{&plan.Facts{}}
	for _, name := range refused {
		f.Taken = append(f.Taken, plan.Taken{Name: name})
	}
	if err = f.readVariables(ctx, q); err == nil {
		err = f.readTaken(ctx, q, table, nil)
	}
	if err != nil {
		return old, false, fmt.Errorf("look for a name for the old table: %w", err)
	}
	old, free = f.FreeOld(table)
	return old, free, nil
}
