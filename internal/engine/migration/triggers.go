package migration

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// triggerCame ends the run where a trigger came that the plan does not know of. One that it knows
// of came before this run went on with an earlier one.
func (r *run) triggerCame(what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	now, err := schema.Triggers(ctx, r.pool.DB(), r.plan.Source.Name)
	if err == nil && !carry.SameTriggers(now, r.plan.Source.Triggers) {
		err = fmt.Errorf("%w; %s", cutover.ErrRelated, what)
	}
	return err
}

// tryTriggers has the server create the stand-ins of the triggers on the empty shadow, and drops them
// again: what it has against them is known before a row is copied.
func (r *run) tryTriggers(ctx context.Context) error {
	if len(r.plan.Source.Triggers) == 0 || r.plan.Purpose == plan.RehearsingOnReplica {
		return nil
	}
	set := carry.Set{Source: r.plan.Source.Name, Shadow: r.shadow.Name, Triggers: r.plan.Source.Triggers}
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
