package migration

import (
	"context"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
)

// spent is what a run has cost, as far as the server tells; what it doesn't is 0.
type spent struct {
	before     facts.Load
	files      int64 // bytes of the source's files before
	disk, redo int64
}

// patienceForFigures is how long the server is asked for what a run has cost: not knowing is no harm.
const patienceForFigures = 2 * time.Second

// spendFrom begins the account.
func (r *run) spendFrom(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patienceForFigures)
	defer cancel()
	r.spent.before, _ = facts.ReadLoad(ctx, r.pool.DB(), r.plan.Source.Name)
	r.spent.files, _ = facts.FileBytes(ctx, r.pool.DB(), r.plan.Source.Name)
}

// spendUntil ends it, where the table was changed.
func (r *run) spendUntil(ctx context.Context) {
	if !r.made.swapped {
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
	if r.method != plan.MethodShadow && (r.plan.Native == nil || r.plan.Native.Effect < plan.Rebuild) {
		files = max(0, files-r.spent.files)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spent.disk, r.spent.redo = files, max(0, after.Redo-r.spent.before.Redo)
}
