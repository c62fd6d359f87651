package planning

import (
	"context"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// Denied is facts.Denied for a run on the table.
func Denied(ctx context.Context, server Server, table schema.Name, err error) error {
	return facts.Denied(err, func() (*plan.Refused, error) {
		known, failed := facts.Gather(ctx, server.Pool.DB(), table)
		if failed != nil {
			return nil, failed
		}
		return plan.LackedByRun(known, table), nil
	})
}
