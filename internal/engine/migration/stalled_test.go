package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// TestL9_AStalledWireKeepsTheWork: the wire between the run and its server stalls for longer than
// the server lets a session of the swap be silent, whatever the run's last statement was. Then the
// server's answers, and its message that it has ended the session, arrive all at once. The run
// continues or keeps its work; it never drops the copy.
func TestL9_AStalledWireKeepsTheWork(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, rule := range []fault.Rule{
		{At: "LOCK TABLES"},
		{After: "LOCK TABLES", At: "_midstream`"}, // the heartbeat under the lock
		{After: "LOCK TABLES", At: "SHOW CREATE TABLE"},
		{After: "LOCK TABLES", At: "RENAME TABLE"},
		{After: "RENAME TABLE", At: "UNLOCK TABLES"},
		{At: "COMMIT", After: "INSERT INTO"},
		{At: "INSERT INTO"},
	} {
		rule.Stall = 4 * time.Second
		t.Run(rule.At, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.numbered(500)
				w := b.wire(rule)
				c := b.child("ADD COLUMN added INT", "", nil, "--reconnect=0s")
				code, last := c.wait()
				if !bent(w) {
					b.Fatalf("exit code %d without a stall: %s", code, last)
				}
				if code != 0 && code != 16 && !(code == 14 && rule.At == "RENAME TABLE") {
					b.Errorf("exit code %d: %s", code, last)
				}
				if code != 0 &&
					b.value(
						"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '"+b.schema+"' AND table_name = 't_midstream'",
					) != "1" {
					b.Errorf("the work is gone: %s", last)
				}
				w.Close()
				b.address = b.server.Address
				if code != 0 {
					b.child("ADD COLUMN added INT", "", nil).mustEnd()
				}
				if !c.heard(phaseLine(event.PhaseCopy)) {
					b.Errorf("no row was copied: %s", last)
				}
				b.equal()
			})
		})
	}
}
