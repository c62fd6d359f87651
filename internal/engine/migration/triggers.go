package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/usertrigger"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// settleAtOnce bounds the time that statements about triggers hold a lock of their tables: what is
// left then is done under the next one.
const settleAtOnce = 250 * time.Millisecond

// mendTriggers brings triggers into their form outside of the lock of a swap, under locks of its own: left
// says what is to be done by what there is on the first table, and on the second.
func (m mender) mendTriggers(
	ctx context.Context,
	left func(first, second []schema.Trigger) []usertrigger.Statement,
	tables ...schema.Name,
) (mended bool, err error) {
	if len(m.triggers.Triggers) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.patience)
	defer cancel()
	err = retryBriefly(ctx, func() error {
		if err := m.pool.EndLost(ctx); err != nil && !errors.Is(err, dbconn.ErrUnseen) {
			return err
		}
		found := make([][]schema.Trigger, 2)
		var there []schema.Name
		for i, table := range tables {
			var err error
			if found[i], err = schema.Triggers(ctx, m.pool.DB(), table); err != nil {
				return err
			}
			if i == 0 || len(found[i]) > 0 {
				there = append(there, table)
			}
		}
		statements := left(found[0], found[1])
		if len(statements) == 0 {
			return nil
		}
		mended = true
		return m.underLock(ctx, statements, there)
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnsettled, err)
	}
	return mended, err
}

// underLock carries statements out while nobody uses the tables.
func (m mender) underLock(ctx context.Context, statements []usertrigger.Statement, tables []schema.Name) error {
	session, err := m.pool.Session(ctx, fmt.Sprintf("SET SESSION wait_timeout = %d", 2+int(settleAtOnce/time.Second)))
	if err != nil {
		return err
	}
	defer session.Close()
	requested, err := lock.Request(ctx, session, schema.LockTables(tables...), m.wait)
	if err == nil && !requested.Granted {
		err = cutover.ErrNotGranted
	}
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, settleAtOnce, cutover.ErrNotGranted)
	defer cancel()
	return cutover.Carry(bounded, session, statements)
}

// triggers are the run's that go over.
func (r *run) triggers() usertrigger.Set {
	source := r.plan.Source
	return usertrigger.Set{Source: source.Name, Shadow: r.shadow.Name, Old: r.old(), Triggers: source.Triggers}
}

// triggers are those of a run that began so.
func (c *cleaner) triggers(start *checkpoint.Start) usertrigger.Set {
	return usertrigger.Set{Source: c.source, Shadow: start.Shadow.Name, Old: c.source.Sibling(start.Old), Triggers: start.Triggers}
}

// triggerCame ends the run where a trigger came that the plan does not know of. One that it knows
// of came before this run went on with an earlier one.
func (r *run) triggerCame(what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	now, err := schema.Triggers(ctx, r.pool.DB(), r.plan.Source.Name)
	if err == nil && !usertrigger.Equal(now, r.plan.Source.Triggers) {
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
	set := usertrigger.Set{Source: r.plan.Source.Name, Shadow: r.shadow.Name, Triggers: r.plan.Source.Triggers}
	session, err := r.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := cutover.Carry(ctx, session, set.Declare()); err != nil {
		if dbconn.Number(err) != 0 && !dbconn.Contended(err) && !dbconn.ConnectionLost(err) {
			err = fmt.Errorf("%w: a trigger can't be carried over to the new table: %w", plan.ErrRefused, err)
		}
		return err
	}
	found, err := schema.Triggers(ctx, r.pool.DB(), r.shadow.Name)
	if err != nil {
		return err
	}
	return cutover.Carry(ctx, session, set.Withdraw(found))
}
