package migration

import (
	"context"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/park"
	"midstream/internal/engine/prescan"
)

// Check makes the shadow, looks for rows that it doesn't take, and drops it again. It may be
// called once, in place of Run. The error is a *Failure.
func (m *Migration) Check(ctx context.Context) (Result, error) {
	r := newRun(m)
	err := r.claimed(ctx, func(ctx context.Context) error {
		defer r.progress()()
		if err := r.unlogged(ctx); err != nil {
			return err
		}
		if err := r.brakes.Open(ctx); err != nil {
			return err
		}
		if err := (earlier{r}).noFormer(ctx); err != nil {
			return err
		}
		d, err := r.prepareShadow(ctx)
		if err != nil {
			return err
		}
		return r.prescan(ctx, d.specs.Prescan)
	})
	return r.result(), r.conclude(ctx, err)
}

// noFormer fails with failure.ErrStopped if an earlier run has left work. A run that stopped before it
// copied a row, such as a check, has left none: noFormer removes its tables.
func (r earlier) noFormer(ctx context.Context) error {
	there, stopped, err := r.listTables(ctx)
	if err != nil || !stopped {
		return err
	}
	r.debts.former = true
	c := r.leftovers
	saved, err := c.Saved(ctx)
	if err == nil && saved.Start == nil {
		saved, err = r.takeOver(ctx)
	}
	switch {
	case err != nil:
		return err
	case saved.Start != nil:
		return failure.ErrStopped
	}
	if err := c.CheckStranger(ctx, there); err != nil {
		return err
	}
	r.debts.former = false
	return r.dropStopped(ctx)
}

// prescan looks for rows that the shadow doesn't take.
func (r *run) prescan(ctx context.Context, spec *prescan.Spec) error {
	r.enter(event.PhasePrescan)
	started := time.Now()
	scanner := prescan.New(r.cfg.Prescan, prescan.Deps{
		Pool: r.pool, Spec: spec, Emit: r.emit, Gate: r.brakes.GiveRoom, Chunk: r.brakes.Chunk,
		Patience: r.cfg.Orphans,
	})
	r.account.update(func() { r.account.scanned = scanner })
	r.account.flies(scanner)
	var findings []event.Finding
	if scanner.Needed() {
		err := givingWay(ctx, r.brakes, r.brakes.Steer, func(ctx context.Context) (err error) {
			if err := r.brakes.Gates.Copy(ctx); err != nil { // its first ranges have no gate
				return err
			}
			findings, err = scanner.Run(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	var refused []string
	for _, f := range findings {
		r.emit(f)
		if f.Refused {
			refused = append(refused, f.Count()+" "+f.What)
		}
	}
	took := time.Since(started)
	r.account.update(func() { r.account.times.prescan = took })
	r.emit(
		event.Prescanned{Needed: scanner.Needed(), Rows: scanner.Rows(), Refused: len(refused), Elapsed: took, At: time.Now()},
	)
	if len(refused) > 0 {
		unfit := failure.ErrUnfit
		if r.plan.Back != nil {
			unfit = park.ErrUnfit
		}
		return fmt.Errorf("%w: %s", unfit, strings.Join(refused, "; "))
	}
	return nil
}

// prescanBefore is the prescan of a run.
func (r *run) prescanBefore(ctx context.Context, spec *prescan.Spec) error {
	if r.cfg.NoPrescan {
		return nil
	}
	return r.prescan(ctx, spec)
}
