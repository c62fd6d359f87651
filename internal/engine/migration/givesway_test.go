package migration_test

import (
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
)

// TestGivesWayToTheApplication: by default a run works less while writers are at work, but always
// works. It works fully when they are gone.
func TestGivesWayToTheApplication(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.steered = true
		l := b.ledger(ledger.Int(), 12_000, ledger.Options{Rate: 200, Writers: 2})
		b.cfg.RowCopy.MaxRows = 500 // makes the copy long enough to see
		b.start(l)
		result := b.mustMigrate(alter)
		b.mustMatchLedger(l)
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
			b.Errorf("next to the writers, at least %g of the workers worked", least)
		}
	})
}
