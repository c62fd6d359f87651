package facts

import (
	"context"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// LackedByCleanup returns the privileges, each with its GRANT, that the account lacks to drop the
// tables. With old it adds those for checking whether a session uses a former source.
func LackedByCleanup(ctx context.Context, q schema.Querier, drop []schema.Name, old bool) ([]plan.Risk, error) {
	f := gatherer{&plan.Facts{}}
	if err := f.readVariables(ctx, q); err != nil {
		return nil, err
	}
	if err := f.readAccount(ctx, q); err != nil {
		return nil, err
	}
	return plan.LackedByCleanup(f.Facts, drop, old), nil
}
