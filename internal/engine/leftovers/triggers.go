package leftovers

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/cutover"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/schema"
)

// dropLog removes the triggers that write to a source's log, on whatever table they are, and the log.
func (c *Cleaner) dropLog(ctx context.Context, log schema.Name) error {
	found, err := trigger.Found(ctx, c.pool.DB(), log)
	if err != nil {
		return err
	}
	watcher := lock.Watcher{DB: c.pool.DB()}
	for _, t := range found { // after the swap: on the old table
		watcher.Tables = append(watcher.Tables, log.Sibling(t.Table))
	}
	return trigger.Drop(
		ctx,
		c.pool,
		log,
		func(ctx context.Context, request func(context.Context, time.Duration) (lock.Outcome, error)) error {
			if blockers, err := watcher.Blockers(ctx, triggerWait/2); err == nil && len(blockers) > 0 {
				return fmt.Errorf("%w: %s has locked %s", cutover.ErrNotGranted, blockers[0].Who(), watcher.Tables[0])
			}
			requested, err := request(ctx, triggerWait)
			if err == nil && !requested.Granted {
				err = cutover.ErrNotGranted
			}
			return err
		},
	)
}

// triggerWait is how long the removal of a trigger may wait for the table's lock.
const triggerWait = plan.DefaultWait

// addTriggers adds triggers that write to a log that is gone: each write to their table fails.
func (c *Cleaner) addTriggers(ctx context.Context, there Listing, left *[]Table) error {
	for _, log := range append(plan.SinceNames(c.source), plan.LogOf(c.source)) {
		if _, is := there[log]; is || c.purpose == plan.RehearsingOnReplica {
			continue
		}
		found, err := trigger.Found(ctx, c.pool.DB(), log)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			why := fmt.Sprintf("it does not exist, and the triggers of a run on %s still write to it", log.Sibling(found[0].Table))
			*left = append(*left, Table{Name: log, Why: why, log: true, Gone: true})
		}
	}
	return nil
}

// seeTriggers finds the triggers that are dropped with leftovers. For a log these are the triggers
// that write to it, on any table. For other tables, such as a shadow with stand-ins, these are the
// triggers on it.
func (c *Cleaner) seeTriggers(ctx context.Context, left []Table) error {
	for i := range left {
		l := &left[i]
		switch {
		case l.Spared:
		case l.log:
			found, err := trigger.Found(ctx, c.pool.DB(), l.Name)
			if err != nil {
				return err
			}
			for _, t := range found {
				l.Triggers = append(l.Triggers, Trigger{l.Name.Sibling(t.Name), l.Name.Sibling(t.Table)})
			}
		default:
			found, err := schema.Triggers(ctx, c.pool.DB(), l.Name)
			if err != nil {
				return err
			}
			for _, t := range found {
				l.Triggers = append(l.Triggers, Trigger{l.Name.Sibling(t.Name), l.Name})
			}
		}
	}
	return nil
}
