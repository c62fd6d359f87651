package migration

import (
	"context"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
)

// anew is the shortest time that a held run waits before it compares the tables again. With a large
// table it waits ten times as long as the comparison takes.
const anew = 10 * time.Minute

func (r *run) holding() operator.Permission {
	return operator.Permission{
		Control: r.control, Table: r.plan.Source.Name, Swaps: r.plan.Purpose == plan.Altering, Enter: r.enter, Note: r.note,
	}
}

// verifyAgain compares the tables again after a while: the run swaps only tables that were compared
// not long before. It does not begin what would wait for the next copy window.
func (w *work) verifyAgain(ctx context.Context) error {
	fits := w.live().Throttle.CopyWindow.Fits(time.Now(), 2*w.comparison.took)
	if !w.verifies || !fits || time.Since(w.comparison.ended) < max(anew, 10*w.comparison.took) {
		return nil
	}
	if err := w.verify(ctx); err != nil {
		return err
	}
	w.enter(event.PhaseHold)
	return nil
}
