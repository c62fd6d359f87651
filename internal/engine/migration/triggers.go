package migration

import (
	"context"
	"fmt"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// tryTriggers lets the server create the stand-ins of the triggers on the empty shadow, and drops
// them again. So the server's objections are known before a row is copied.
func (r carrier) tryTriggers(ctx context.Context, made schema.Name) error {
	if len(r.plan.Source.Triggers) == 0 || r.plan.Purpose == plan.RehearsingOnReplica {
		return nil
	}
	set := carry.Set{Source: r.plan.Source.Name, Shadow: made, Triggers: r.plan.Source.Triggers}
	session, err := r.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := carry.Run(ctx, session, set.Declare()...); err != nil {
		if dbconn.Number(err) != 0 && !dbconn.Contended(err) && !dbconn.ConnectionLost(err) {
			err = fmt.Errorf("%w: a trigger can't be carried over to the new table: %w", plan.ErrRefused, err)
		}
		return err
	}
	left, err := set.WithdrawTriggers(ctx, r.pool.DB())
	if err != nil {
		return err
	}
	return carry.Run(ctx, session, left.Statements...)
}
