package migration_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
)

// TestU1_CascadesInTheWindow: parents change rows of the table by cascades, in the window and during the undo and the redo.
// Before MySQL 9.6 the binlog does not show that. No such change is lost, and the constraints come back.
func TestU1_CascadesInTheWindow(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, []string{"9.7", "5.7", "mariadb-10.11"}), func(b *bench) {
		k, rows := b.kin()
		was := k.create("t")
		b.exec("INSERT INTO q VALUES (5), (6), (7), (8)")
		for _, parent := range []string{"5", "6", "7", "8"} {
			b.exec("INSERT INTO t (pid, qid) SELECT 1, " + parent + " FROM p, q") // cascades delete these rows
		}
		b.cfg.Undo = time.Hour
		k.live(k.sow, k.forbid, k.cascade, k.replace)
		b.mustMigrate(widening)
		widened := k.create("t")
		b.exec("DELETE FROM q WHERE id = 5")
		for i, want := range []string{was, widened, was} {
			parent := []string{"6", "7", "8"}[i]
			result := b.mustUndo(planning.Undo{}, onPhase(event.PhaseVerify, func() { b.exec("DELETE FROM q WHERE id = " + parent) }))
			if got := k.create("t"); got != want {
				b.Errorf("t is\n%s\nwant\n%s", got, want)
			}
			if old := k.create(result.Old); strings.Contains(old, "CONSTRAINT") {
				b.Errorf("the old table is\n%s", old)
			}
		}
		k.proved(rows, was)
		b.Logf("%d rows grown, %d parents replaced, %d deadlocks", k.grown.Load(), k.replaced.Load(), k.deadlocks.Load())
		b.exec("DROP TABLE t_undo")
	})
}

// TestL3_FailedUndoLeavesNoConstraint: an undo on whose old table constraints act ends before its swap, or is killed.
// No constraint stays on the old table, and the same command again comes to its end.
func TestL3_FailedUndoLeavesNoConstraint(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onThese(t, inTurn(t, []string{"9.7", "5.7", "mariadb-10.11"}), func(b *bench) {
		k, rows := b.kin()
		was := k.create("t")
		b.cfg.Undo = time.Hour
		b.mustMigrate(widening)
		old := k.create("t_old")
		b.exec("UPDATE t SET v = 5000000000 WHERE id = 7")
		k.live(k.sow, k.forbid, k.cascade, k.replace)
		for range 2 {
			_, err := b.undo(b.ctx(), planning.Undo{})
			var failed *failure.Failure
			if !errors.As(err, &failed) || failed.Swapped || failed.Kept {
				b.Fatalf("the error is %v", err)
			}
			if got := k.create("t_old"); got != old {
				b.Errorf("the old table is\n%s\nwant\n%s", got, old)
			}
		}
		b.exec("UPDATE t SET v = 0 WHERE id = 7")
		for _, at := range []string{"SET state = CASE id", "RENAME TABLE `" + b.schema + "`.`t`"} { // the first writes how it began
			b.undoKilledAt(at)
		}
		b.undoing().mustEnd()
		k.proved(rows, was)
		b.exec("DROP TABLE t_undo")
	})
}
