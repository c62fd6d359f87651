package migration_test

import (
	"errors"
	"testing"
	"time"

	"midstream/internal/migration"
)

// TestL9_GivenUpAttemptsKeepTheWork: after as many attempts as may be the run ends with the source
// as it was, and the same command goes on.
func TestL9_GivenUpAttemptsKeepTheWork(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(500)
		usual := b.cfg.Lock
		b.cfg.Lock.Work, b.cfg.Backoff, b.cfg.Attempts = time.Microsecond, 10*time.Millisecond, 2
		result, err := b.migrate(b.ctx(), "ADD COLUMN added INT")
		var failure *migration.Failure
		if !errors.Is(err, migration.ErrGaveUp) || !errors.As(err, &failure) || !failure.Kept || result.Swapped {
			b.Fatalf("error is %v", err)
		}
		b.cfg.Lock = usual
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed || !result.Swapped {
			b.Errorf("it was not gone on with: %+v", result)
		}
	})
}
