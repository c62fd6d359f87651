package migration_test

import (
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestL9_LocksOfOthersAreWaitedOut: if another session locks the table for longer than our
// statements wait, the run only loses time, in every phase that reads the table.
func TestL9_LocksOfOthersAreWaitedOut(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, phase := range []event.Phase{event.PhaseCopy, event.PhaseIndex, event.PhaseVerify} {
		t.Run(string(phase), func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(2000)
				b.cfg.RowCopy.MaxRows = 500
				var unlock sync.WaitGroup
				b.mustMigrate(alter, onPhase(phase, func() {
					other := b.conn()
					if _, err := other.ExecContext(b.ctx(), "LOCK TABLES "+b.schema+".t WRITE"); err != nil {
						b.Fatal(err)
					}
					unlock.Go(func() {
						time.Sleep(7 * time.Second)
						other.ExecContext(b.ctx(), "UNLOCK TABLES")
					})
				}))
				unlock.Wait()
				b.equal()
			})
		})
	}
}

// TestL9_BackupsAreWaitedOut: FLUSH TABLES WITH READ LOCK stops heartbeats and checkpoints too.
func TestL9_BackupsAreWaitedOut(t *testing.T) {
	mysqltest.Seldom(t)
	for _, version := range inTurn(t, versions) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Own(t, version, sandbox.Options{})
			b := on(t, version, server)
			b.cfg.Checkpoint = 100 * time.Millisecond
			b.numbered(2000)
			var unlock sync.WaitGroup
			b.mustMigrate(alter, onPhase(event.PhaseCopy, func() {
				other := b.conn()
				if _, err := other.ExecContext(b.ctx(), "FLUSH TABLES WITH READ LOCK"); err != nil {
					b.Fatal(err)
				}
				unlock.Go(func() {
					time.Sleep(7 * time.Second)
					other.ExecContext(b.ctx(), "UNLOCK TABLES")
				})
			}))
			unlock.Wait()
			b.equal()
		})
	}
}

// TestL2_OverrunWhileItLooks: if the server is slow to list the table's triggers while the run
// holds the lock, the run releases the lock and asks for it again.
func TestL2_OverrunWhileItLooks(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		b.hurried()
		look := b.wire(fault.Rule{After: "LOCK TABLES", At: "information_schema.triggers", Delay: time.Second})
		result := b.mustMigrate("ADD COLUMN added INT")
		if !bent(look) || result.Attempts < 2 {
			b.Errorf("%d attempts; held up: %v", result.Attempts, bent(look))
		}
		b.equal()
	})
}
