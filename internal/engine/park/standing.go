package park

import (
	"midstream/internal/engine/event"
	"midstream/internal/engine/rowsync"
)

// mostKeys is the number of keys in a progress.
const mostKeys = 5

// Standing is what is known of rows that the old table refuses; nil if there is no lot. It may be called by any goroutine.
func (l *Lot) Standing(unfit *rowsync.Unfit) *event.Unfit {
	if l == nil {
		return nil
	}
	standing := &event.Unfit{}
	var some []rowsync.UnfitRow
	standing.Rows, some = unfit.Some(mostKeys)
	for _, row := range some {
		standing.Keys = append(standing.Keys, l.spec.Key.Format(row.Key))
	}
	return standing
}
