package migration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/lab/mysqltest"
)

// TestL9_WhatWasDeclaredGoesUnderTheLock: an attempt has no time left while it declares constraints
// and triggers once more. It drops them before any session writes: a surplus constraint would
// refuse valid rows.
func TestL9_WhatWasDeclaredGoesUnderTheLock(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	onThese(t, inTurn(t, twoSessions()), func(b *bench) {
		b.numbered(20)
		b.exec(
			"CREATE TABLE p (id INT PRIMARY KEY)",
			"ALTER TABLE t ADD COLUMN p INT, ADD CONSTRAINT kept FOREIGN KEY (p) REFERENCES p (id)",
		)
		for i := range 30 {
			b.exec(fmt.Sprintf("CREATE TRIGGER noting%d BEFORE INSERT ON t FOR EACH ROW SET @noted = %[1]d", i))
		}
		b.cfg.NoVerify, b.settings.Attempts, b.settings.Backoff, b.settings.MaxBackoff = true, 3, time.Millisecond, time.Millisecond
		for _, work := range []time.Duration{15, 25, 35} {
			b.settings.Lock.Work = work * time.Millisecond
			if _, err := b.migrate(b.ctx(), "ADD COLUMN added INT"); err == nil {
				return // the machine is fast
			} else if !errors.Is(err, failure.ErrGaveUp) {
				b.Fatal(err)
			}
		}
		late := 0
		for _, e := range b.told.events {
			if n, ok := e.(event.Note); ok && strings.Contains(n.Text, "the attempt's second foreign keys") {
				late++
			}
		}
		if late > 0 {
			b.Errorf("after %d attempts what was declared was there without the lock", late)
		}
		b.settings.Lock.Work, b.settings.Attempts = 3*time.Second, 0
		b.mustMigrate("ADD COLUMN added INT")
	})
}
