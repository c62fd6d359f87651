package migration

import (
	"context"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
)

// leastBetweenComparisons is the shortest time that a held run waits before it compares the tables again. With a large
// table it waits ten times as long as the comparison takes.
const leastBetweenComparisons = 10 * time.Minute

// permission decides whether an operator, a window or a pause holds the run before the phase in which it changes the table.
func (r *run) permission(next event.Phase) operator.Permission {
	return operator.Permission{
		Control: r.control, Table: r.plan.Source.Name, Swaps: r.plan.Purpose.Swaps(), Next: next, Enter: r.enter, Note: r.note,
	}
}

// verifyDue reports whether the tables must be compared again: the run swaps only tables that were compared not long
// before. It does not begin what would wait for the next copy window.
func (w *work) verifyDue() bool {
	fits := w.live().Throttle.CopyWindow.Fits(time.Now(), 2*w.comparison.took)
	return w.verifies && fits && time.Since(w.comparison.ended) >= max(leastBetweenComparisons, 10*w.comparison.took)
}

// verifyAgain compares the tables again.
func (w *work) verifyAgain(ctx context.Context) error {
	if err := w.verify(ctx); err != nil {
		return err
	}
	w.enter(event.PhaseHold)
	return nil
}
