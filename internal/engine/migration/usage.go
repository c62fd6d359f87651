package migration

import (
	"context"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
)

// usage is the cost of a run, as far as the server reports it. A value that it doesn't report is 0.
type usage struct{ disk, redo int64 }

// unspent is what the server had spent before a run.
type unspent struct {
	load  facts.Load
	files int64 // bytes of the source's files
}

// patienceForFigures is how long the server is asked for what a run has cost: not knowing is no harm.
const patienceForFigures = 2 * time.Second

// startUsage reads what the server has spent before.
func (r *run) startUsage(ctx context.Context) (before unspent) {
	ctx, cancel := context.WithTimeout(ctx, patienceForFigures)
	defer cancel()
	before.load, _ = facts.ReadLoad(ctx, r.pool.DB(), r.plan.Source.Name)
	before.files, _ = facts.FileBytes(ctx, r.pool.DB(), r.plan.Source.Name)
	return before
}

// endUsage reads it again, if the table was changed.
func (r *run) endUsage(ctx context.Context, before unspent) {
	if !r.debts.done {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patienceForFigures)
	defer cancel()
	after, err := facts.ReadLoad(ctx, r.pool.DB(), r.plan.Source.Name)
	if err != nil {
		return
	}
	files, err := facts.FileBytes(ctx, r.pool.DB(), r.plan.Source.Name)
	if err != nil {
		return
	}
	if r.account.methodNow() != plan.MethodShadow && (r.plan.Native == nil || r.plan.Native.Effect < plan.Rebuild) {
		files = max(0, files-before.files)
	}
	r.account.update(func() { r.account.usage = usage{disk: files, redo: max(0, after.Redo-before.load.Redo)} })
}
