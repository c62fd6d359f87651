package migration_test

import (
	"math"
	"slices"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/ledger"
)

// TestForecast: while a run copies next to writers, it reports when it ends. After a fourth of its
// time, the middle one of these reports is about right, and each has a range.
func TestForecast(t *testing.T) {
	onEachAlone(t, func(b *bench) {
		l := b.ledger(ledger.Int(), 9000, ledger.Options{Rate: 200, Writers: 2})
		b.cfg.RowCopy.MaxRows, b.cfg.RowCopy.MinRows = 20, 20
		b.settings.RowCopy.Workers, b.settings.Rest = 1, 0.92
		b.start(l)
		result := b.mustMigrate(alter)
		b.settle(l)
		var errors []float64
		b.told.mu.Lock()
		for _, e := range b.told.events {
			p, is := e.(event.Progress)
			if !is || p.Phase != event.PhaseCopy || p.Elapsed < result.Elapsed/4 || p.ETA < 0 {
				continue
			}
			if p.ETALeast < 0 || p.ETALeast > p.ETA || p.ETAMost < p.ETA {
				b.Errorf("the range of %s is %s to %s", p.ETA, p.ETALeast, p.ETAMost)
			}
			errors = append(errors, (p.Elapsed+p.ETA).Seconds()/result.Elapsed.Seconds()-1)
		}
		b.told.mu.Unlock()
		slices.Sort(errors)
		b.Logf("in %s; errors %.2f", result.Elapsed, errors)
		if len(errors) < 5 || math.Abs(errors[len(errors)/2]) > 0.25 {
			b.Errorf("the run took %s; its forecasts were wrong by %.2f", result.Elapsed, errors)
		}
	})
}
