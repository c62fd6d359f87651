package migration_test

import (
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// TestU3_TheEndOfAKilledUndoEndsItsStatement: an undo by the server's own ALTER is killed while that waits for a lock on the server. The
// end of the undo ends the ALTER as well: once the lock is free, the table keeps its definition.
func TestU3_TheEndOfAKilledUndoEndsItsStatement(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, all) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := on(t, version, mysqltest.Own(t, version, sandbox.Options{}))
			b.exec("UPDATE performance_schema.setup_instruments SET enabled = 'NO' WHERE name = 'wait/lock/metadata/sql/mdl'") // blockers are not seen
			b.numbered(20)
			b.natively("ADD COLUMN added INT", "--undo=1h").mustEnd()
			changed := b.definition()
			blocker := b.conn()
			for _, s := range []string{"BEGIN", "SELECT COUNT(*) FROM " + b.schema + ".t"} {
				if _, err := blocker.ExecContext(b.ctx(), s); err != nil {
					b.Fatal(err)
				}
			}
			undo := b.undoing("--lock-wait=8s")
			alters := func() bool {
				return b.value("SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'ALTER TABLE `"+b.schema+"`.`t`%'") != "0"
			}
			for deadline := time.Now().Add(20 * time.Second); !alters(); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					b.Fatal("the server never runs the ALTER")
				}
			}
			undo.kill()
			undo.wait()
			b.undoing("--end").mustEnd()
			if alters() {
				b.Error("the ALTER still waits on the server")
			}
			if _, err := blocker.ExecContext(b.ctx(), "ROLLBACK"); err != nil {
				b.Fatal(err)
			}
			for alters() {
				time.Sleep(10 * time.Millisecond)
			}
			b.mustBeDefined("after the end of the undo", changed)
			b.hasTables("digits,t")
		})
	}
}
