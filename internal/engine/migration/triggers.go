package migration

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// tryTriggers lets the server create the stand-ins of the triggers on the empty shadow, and drops
// them again. So the server's objections are known before a row is copied.
func (r carrier) tryTriggers(ctx context.Context, made schema.Name) error {
	if len(r.plan.Source.Triggers) == 0 || r.plan.Purpose == plan.RehearsingOnReplica {
		return nil
	}
	err := carry.Set{Source: r.plan.Source.Name, Shadow: made, Triggers: r.plan.Source.Triggers}.Try(ctx, r.pool)
	if errors.Is(err, carry.ErrRefused) {
		err = fmt.Errorf("%w: a trigger can't be carried over to the new table: %w", plan.ErrRefused, err)
	}
	return err
}
