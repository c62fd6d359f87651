package migration_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
)

// TestU3_UndoAfterAFailover: a replica has taken the place of the server since the swap. Its GTIDs show what has changed
// since, and the undo reads only that. As long as it still follows the other server, no undo begins there. Without
// GTIDs, or without all transactions, the list says so, and the undo looks at all rows.
func TestU3_UndoAfterAFailover(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, all) {
		t.Run(version, func(t *testing.T) { withReplica(t, version, undoAfterAFailover) })
	}
}

func undoAfterAFailover(primary, replica *bench) {
	stop := primary.writer(primary.db)
	primary.changed("ADD COLUMN added INT")
	stop()
	replica.catchUpWith(primary)
	replica.exec("SET GLOBAL read_only = OFF")
	if code, last := replica.undoing("--source-replicates").wait(); code != 11 || !strings.Contains(last, "replicated to this one") {
		replica.Errorf("while its server is replicated: exit code %d, %s", code, last)
	}
	stop = primary.writer(primary.db)
	primary.exec("DELETE FROM " + primary.schema + ".t WHERE id % 13 = 0")
	primary.noMoreWrites()
	stop()
	replica.catchUpWith(primary)
	replica.exec("STOP "+replica.word("REPLICA"), "RESET "+replica.word("REPLICA")+" ALL")
	replica.cfg.Undo = time.Hour
	for _, redo := range []bool{false, true} {
		stop = replica.writer(replica.db)
		if u := replica.undoable(); u.State != leftovers.UndoOpen {
			replica.Errorf("redo %v: the undo is %s: %s", redo, u.State, u.Why)
		}
		replica.exec("UPDATE " + replica.schema + ".t SET v = v + 100 WHERE id % 17 = 0")
		result := replica.mustUndo(planning.Undo{Lazy: true}, onPhase(event.PhaseVerify, stop))
		if got, want := replica.sums("t"), replica.sums(strings.TrimPrefix(result.Old, replica.schema+".")); got != want {
			replica.Errorf("redo %v: rows and checksum are %s, want %s", redo, got, want)
		}
	}
	for name, state := range map[string]string{
		"without GTIDs": "'$.GTIDs', ''",
		"transactions":  "'$.Executed', " + replica.executedLater(),
	} {
		replica.exec("UPDATE " + replica.schema + ".t_undo SET state = JSON_SET(state, '$.ServerUUID', 'another', " + state + ") WHERE id = 2")
		if u := replica.undoable(); u.State != leftovers.UndoRevoked || !strings.Contains(u.Why, name) {
			replica.Errorf("%s: the undo is %s: %s", name, u.State, u.Why)
		}
		replica.exec("UPDATE " + replica.schema + ".t SET v = v + 1000 WHERE id % 19 = 0")
		rows := replica.sums("t")
		_, err := replica.undo(replica.ctx(), planning.Undo{Lazy: true})
		if !errors.Is(err, plan.ErrRefused) || !strings.Contains(err.Error(), name) {
			replica.Errorf("%s: an undo that is to be lazy ends with %v", name, err)
		}
		replica.mustUndo(planning.Undo{})
		replica.mustMatch("t", rows)
	}
	replica.exec("DROP TABLE " + replica.schema + ".t_undo")
	primary.exec("SET GLOBAL read_only = OFF")
}
