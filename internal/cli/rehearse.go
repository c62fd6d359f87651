package cli

import (
	"context"
	"errors"

	"midstream/internal/cli/flags"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/ops/record"
)

// rehearsal are the flags that have a run rehearsed.
type rehearsal struct {
	wanted    bool
	lock      bool
	keep      bool
	onReplica bool
}

func (r *rehearsal) register(f *flags.Set) {
	f.Bool(&r.wanted, "", "rehearse", "do everything except the swap, report the result, and drop the new table")
	f.Bool(
		&r.lock, "", "rehearse-lock",
		"also rehearse the lock of the cut-over: take the lock within its bounds, apply the remaining changes, and release it",
	)
	f.Bool(
		&r.keep, "", "keep-shadow",
		"keep the new table of a rehearsal, which then follows the old table no more; midstream cleanup removes it",
	)
	f.Bool(&r.onReplica, "", "on-replica", "rehearse on a replica, to which the connection leads; the run writes nothing to its binlog")
}

// purpose is what the flags ask for.
func (r *rehearsal) purpose() plan.Purpose {
	switch {
	case r.onReplica:
		return plan.RehearsingOnReplica
	case r.wanted, r.lock:
		return plan.Rehearsing
	}
	return plan.Altering
}

// check says what is wrong with the flags.
func (r *rehearsal) check() error {
	if r.keep && !r.purpose().Rehearses() {
		return errors.New("--keep-shadow needs --rehearse")
	}
	return nil
}

// rehearse makes the plan and rehearses it.
func (c *change) rehearse(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
	how := migration.Rehearsal{Lock: c.rehearsal.lock, Keep: c.rehearsal.keep}
	p, result, err := c.carryOut(ctx, alter, s, func(m *migration.Migration, ctx context.Context) (migration.Result, error) {
		return m.Rehearse(ctx, how)
	})
	if err != nil {
		return result, err
	}
	c.output.done(
		p.Source.Name, result,
		summary.BriefRehearsal(p, result),
		summary.OfRehearsal(p, result, record.ProcessUsage(), c.rehearsal.lock, c.output.style()),
	)
	return result, nil
}
