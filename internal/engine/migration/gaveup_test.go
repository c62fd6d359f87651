package migration_test

import (
	"errors"
	"testing"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/lab/fault"
)

// TestL9_GivenUpAttemptsKeepTheWork: after the allowed number of attempts the run ends with the
// source unchanged, and the same command resumes.
func TestL9_GivenUpAttemptsKeepTheWork(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(500)
		usual := b.settings.Lock
		b.settings.Lock.Work, b.settings.Backoff, b.settings.Attempts = time.Microsecond, 10*time.Millisecond, 2
		result, err := b.migrate(b.ctx(), "ADD COLUMN added INT")
		var failed *failure.Failure
		if !errors.Is(err, failure.ErrGaveUp) || !errors.As(err, &failed) || !failed.Kept || result.Swapped {
			b.Fatalf("error is %v", err)
		}
		b.settings.Lock = usual
		if result := b.mustMigrate("ADD COLUMN added INT"); !result.Resumed || !result.Swapped {
			b.Errorf("the run did not resume: %+v", result)
		}
	})
}

// TestL9_NoSortMemoryKeepsTheWork: if the sort buffer is too small for a statement, a retry gets
// the same error. The run ends with its work kept, and the same command resumes it.
func TestL9_NoSortMemoryKeepsTheWork(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(2000)
		w := b.wire(fault.Rule{At: "INSERT INTO `" + b.schema + "`.`t_shadow`", Error: 1038})
		began := time.Now()
		code, last := b.child("ADD COLUMN added INT", "", nil, "--reconnect=5m").wait()
		if !bent(w) || code != 16 {
			b.Errorf("exit code %d after %s, error met: %t: %s", code, time.Since(began), bent(w), last)
		}
		w.Close()
		b.address = b.server.Address
		c := b.child("ADD COLUMN added INT", "", nil, "--drop-old")
		c.mustEnd()
		if !c.heard("resuming an earlier run") {
			b.Error("it began again")
		}
	})
}
