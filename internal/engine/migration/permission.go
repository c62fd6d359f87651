package migration

import (
	"context"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
)

// anew is how long a held run waits at least before it compares the tables again; with a large table it
// waits for ten times as long as that takes.
const anew = 10 * time.Minute

func (r *run) holding() operator.Permission {
	return operator.Permission{
		Control: r.control, Table: r.plan.Source.Name, Swaps: r.plan.Purpose == plan.Altering, Enter: r.enter, Note: r.note,
	}
}

// verifyAgain compares the tables again after a while: what is swapped in the end was compared
// not long before.
func (w *work) verifyAgain(ctx context.Context) error {
	if !w.verifies || time.Since(w.comparison.ended) < max(anew, 10*w.comparison.took) {
		return nil
	}
	if err := w.verify(ctx); err != nil {
		return err
	}
	w.enter(event.PhaseHold)
	return nil
}
