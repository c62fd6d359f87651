package cutover

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/foreign"
	"midstream/internal/schema"
)

// What an attempt does about foreign keys, under its lock.

// related fails with ErrRelated where the foreign keys are not the plan's any more. Nobody changes
// them while the source is locked.
func (h *hold) related(ctx context.Context) error {
	if !h.tables.RenameUnderLock {
		return nil // there a plan takes no table that has any, and older servers open all tables to tell
	}
	now, err := schema.ForeignKeys(ctx, h.pool.DB(), h.tables.Source)
	if err != nil {
		return fmt.Errorf("read the foreign keys of %s: %w", h.tables.Source, err)
	}
	if len(now) != len(h.tables.Related) {
		return fmt.Errorf("%s: %w", h.tables.Source, ErrRelated)
	}
	for _, fk := range now {
		if !contains(h.tables.Related, fk) {
			return fmt.Errorf("%s: foreign key %s of %s: %w", h.tables.Source, fk.Constraint, fk.Child, ErrRelated)
		}
	}
	return nil
}

func contains(all []schema.ForeignKey, fk schema.ForeignKey) bool {
	for _, other := range all {
		if fk.Equal(other) {
			return true
		}
	}
	return false
}

// declare has every constraint once more, with the shadow.
func (a *attempt) declare(ctx context.Context) error {
	return a.each(ctx, a.tables.Foreign.Declare())
}

// withdraw takes back what declare has done, as far as the lock is held still; it is looked for again
// by whoever looks after the attempt.
func (a *attempt) withdraw(ctx context.Context) {
	if len(a.tables.Foreign.Keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, leastSettled, ErrOverrun)
	defer cancel()
	if found, err := foreign.Found(ctx, a.pool.DB(), a.tables.Shadow); err == nil {
		_ = a.each(ctx, a.tables.Foreign.Withdraw(found))
	}
}

// leastSettled is the time that the foreign keys get after the RENAME, or after one that came to nothing, however
// much of the budget is used up.
const leastSettled = 250 * time.Millisecond

// settle gives the constraints their last form. It is bounded for the sake of who keeps DDL waiting,
// by LOCK INSTANCE FOR BACKUP.
func (a *attempt) settle(ctx context.Context) error {
	if len(a.tables.Foreign.Keys) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeoutCause(ctx, max(a.budget.Work-time.Since(a.granted), leastSettled), ErrOverrun)
	defer cancel()
	found, err := foreign.Found(bounded, a.pool.DB(), a.tables.Source, a.tables.Old)
	if err != nil {
		return err
	}
	return a.each(bounded, a.tables.Foreign.Settle(found))
}

// each carries out statements that change foreign keys.
func (a *attempt) each(ctx context.Context, statements []string) error {
	if len(statements) == 0 {
		return nil
	}
	for _, statement := range append([]string{foreign.NoChecks}, statements...) {
		if _, err := a.holder.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
