package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/parents"
	"midstream/internal/engine/plan"
)

// errUnjudged means that the server was not asked about the foreign keys that the ALTER adds, because of what an earlier run had left.
var errUnjudged = fmt.Errorf("%w: the server was not asked about the foreign key that the ALTER adds, as an earlier run had left tables. "+
	"Run the same command again", plan.ErrRefused)

// newParents makes the proof of the foreign keys that the ALTER adds; nil if it adds none.
func newParents(w *work) *parents.Proof {
	return parents.New(parents.Deps{
		Pool: w.pool, Spec: w.specs.Sync, Keys: w.specs.Parents, Emit: w.emit, Chunk: w.brakes.Chunk, Patience: w.cfg.Orphans,
		Fence: func(ctx context.Context) error { return w.intake.Fence(ctx) },
		Gate:  func(ctx context.Context, took time.Duration) error { return w.brakes.GiveRoom(ctx, 0, took) },
	})
}

// proveParents looks once for the parent of each row.
func (w *work) proveParents(ctx context.Context) error {
	if w.parents == nil {
		return nil
	}
	if err := w.brakes.Gates.Copy(ctx); err != nil { // its first range has no gate
		return err
	}
	w.note("looking for the parent of each row, by the foreign keys that the ALTER adds")
	return unfitOf(w.parents.Scan(ctx))
}

// fitsParents is parents.Fits.
func fitsParents(ctx context.Context, w *work) (bool, error) {
	fits, err := w.parents.Fits(ctx)
	return fits, unfitOf(err)
}

// unfitOf makes rows without a parent rows that do not fit.
func unfitOf(err error) error {
	if errors.Is(err, parents.ErrOrphans) {
		err = fmt.Errorf("%w: %w", failure.ErrUnfit, err)
	}
	return err
}

// meanwhile does what is due while the run is held.
func (w *work) meanwhile(ctx context.Context) error {
	if err := w.follower.Meanwhile(ctx); err != nil {
		return err
	}
	return unfitOf(w.parents.Meanwhile(ctx))
}
