package migration_test

import (
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/lab/fault"
)

// TestL9_ARunThatFailsAsItStartsKeepsNoConnection: the first heartbeat of a run fails, or what follows it, in a run that begins and in one
// that resumes. The connection of the heartbeats is closed.
func TestL9_ARunThatFailsAsItStartsKeepsNoConnection(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, resumed := range []bool{false, true} {
			for _, at := range []string{" SET beat = ", "XA RECOVER"} {
				if resumed && at == "XA RECOVER" {
					continue // a run that resumes does not ask
				}
				b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
				b.numbered(2000)
				if resumed {
					c := b.child("ADD COLUMN added INT", "", nil, slowly...)
					c.await(phaseLine(event.PhaseCopy))
					c.kill()
					c.wait()
				}
				b.wire(fault.Rule{At: at, Error: 1105})
				pool, p := b.planned("ADD COLUMN added INT")
				_, err := migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), b.told.listen).Run(b.ctx())
				if err == nil {
					b.Fatalf("resumed %t, %q: the run has not failed", resumed, at)
				}
				if n := pool.DB().Stats().InUse; n != 1 { // the pool's own
					b.Errorf("resumed %t, %q: %d connections are in use", resumed, at, n)
				}
				b.address = b.server.Address
			}
		}
	})
}
