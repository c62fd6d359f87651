package migration_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
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

// TestU1_AWarmUndoSurvivesAFailover: a replica takes the place of the server while an undo follows the table. The undo goes on
// there by the GTIDs, and takes the change back with what was written before and after.
func TestU1_AWarmUndoSurvivesAFailover(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, all) {
		t.Run(version, func(t *testing.T) { withReplica(t, version, warmUndoInAFailover) })
	}
}

func warmUndoInAFailover(primary, replica *bench) {
	primary.changed("ADD COLUMN added INT")
	wire := primary.wire(fault.Rule{Nth: 1 << 30})
	sockets := "--control-dir=" + filepath.Join(primary.TempDir(), "sockets")
	follower := primary.undoing("--hold", "--lazy", "--source-replicates", "--reconnect=1m", sockets)
	follower.await(phaseLine(event.PhaseHold))
	stop := primary.writer(primary.db)
	time.Sleep(300 * time.Millisecond)
	stop()
	primary.noMoreWrites()
	replica.catchUpWith(primary)
	replica.exec("STOP "+replica.word("REPLICA"), "RESET "+replica.word("REPLICA")+" ALL", "SET GLOBAL read_only = OFF")
	stop = replica.writer(replica.db)
	wire.LeadTo(replica.address)
	follower.await("changes are read from")
	time.Sleep(300 * time.Millisecond)
	stop()
	primary.releasing(sockets).mustEnd()
	follower.mustEnd()
	primary.address = primary.server.Address
	if got, want := replica.sums("t"), replica.sums("t_undone"); got != want {
		replica.Errorf("rows and checksum are %s, want %s", got, want)
	}
	if got := replica.value("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '" + replica.schema + "' AND table_name = 't' AND column_name = 'added'"); got != "0" {
		replica.Error("the undo was not made on the replica")
	}
	replica.exec("DROP TABLE " + replica.schema + ".t_undo")
	primary.exec("SET GLOBAL read_only = OFF")
	for _, left := range []string{"t_midstream", "t_undo"} { // where the undo began
		primary.exec("DROP TABLE IF EXISTS " + primary.schema + "." + left)
	}
}
