package migration

import (
	"context"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
)

// usage is the cost of a run, as far as the server reports it. A value that it doesn't report is 0.
type usage struct{ disk, redo int64 }

// countUsage reads what the server has spent, and returns what reads it again if the table was changed.
func (r *run) countUsage(ctx context.Context) (end func()) {
	before, _ := facts.ReadSpent(ctx, r.pool.DB(), r.plan.Source.Name)
	return func() {
		if !r.debts.done {
			return
		}
		after, known := facts.ReadSpent(context.WithoutCancel(ctx), r.pool.DB(), r.plan.Source.Name)
		if !known {
			return
		}
		built := r.account.methodNow() == plan.MethodShadow || r.plan.Native != nil && r.plan.Native.Effect >= plan.Rebuild
		redo, disk := after.Since(before, built)
		r.account.update(func() { r.account.usage = usage{disk: disk, redo: redo} })
	}
}
