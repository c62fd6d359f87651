package migration_test

import (
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/ledger"
)

// TestGivesWayToTheApplication: without a word a run works less while writers are at work, and
// never nothing; all of it is done when they are gone.
func TestGivesWayToTheApplication(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.steered = true
		l := b.ledger(ledger.Int(), 12_000, ledger.Options{Rate: 200, Writers: 2})
		b.cfg.RowCopy.MaxRows = 500 // so that the copy takes long enough to be seen
		b.start(l)
		result := b.mustMigrate(alter)
		b.settle(l)
		if result.RowsCopied == 0 || result.Captured == 0 {
			t.Fatalf("nothing was copied, or the writers did not write: %+v", result)
		}
		b.told.mu.Lock()
		defer b.told.mu.Unlock()
		least := 99.0
		for _, e := range b.told.events {
			if p, is := e.(event.Progress); is && p.Phase == event.PhaseCopy && p.RowsCopied > 0 {
				least = min(least, p.Workers)
			}
		}
		if least <= 0 || least > 1 {
			b.Errorf("beside the writers at least %g of the workers worked", least)
		}
	})
}
