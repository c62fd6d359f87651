package planning

import (
	"context"
	"errors"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Denied is the refusal that lists the privileges which the account lacks for a run on the table, if err means that the server has
// refused a statement for that reason; otherwise it is err.
func Denied(ctx context.Context, server Server, table schema.Name, err error) error {
	var refused *plan.Refused
	if !dbconn.Denied(err) || errors.As(err, &refused) {
		return err
	}
	known, failed := facts.Gather(ctx, server.Pool.DB(), table)
	if failed != nil {
		return err
	}
	if refused = plan.LackedByRun(known, table); refused == nil {
		return err
	}
	return refused
}
