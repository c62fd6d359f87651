package cli

import (
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestEndUndoHoldsForStatementsOnCompleteTables: an undo is open. RENAME, TRUNCATE and DROP are refused, and name --end-undo. With it they
// are made, and end that undo: nothing of it is left but the old table. With --undo, they can be undone themselves.
func TestEndUndoHoldsForStatementsOnCompleteTables(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		count := func(want string) {
			r.Helper()
			if got := r.query("SELECT COUNT(*) FROM t"); got != want {
				r.Errorf("%s rows, not %s", got, want)
			}
		}
		for _, c := range []struct{ before, statement, left, undone string }{
			{"ALTER TABLE t ADD COLUMN n INT", "RENAME TABLE t TO s", "s,t_old", "t,t_old,t_undo"},
			{"ALTER TABLE t ADD COLUMN n INT", "TRUNCATE TABLE t", "t,t_old,t_old2,t_undo", "t,t_old,t_undo"},
			{"ALTER TABLE t ADD COLUMN n INT", "DROP TABLE t", "t_old,t_old2,t_undo", "t,t_old,t_undo"},
			{"TRUNCATE TABLE t", "TRUNCATE TABLE t", "t,t_old,t_old2,t_undo", "t,t_old,t_undo"},
			{"ALTER TABLE t ADD INDEX by_b (b(3))", "DROP TABLE t", "t_old,t_undo", "t,t_undo"},
		} {
			flags := []string{"--undo=1h", "--capture=trigger"} // with a log of changes, and its triggers
			if c.before == "ALTER TABLE t ADD COLUMN n INT" {
				flags = append(flags, "--method=shadow")
			}
			r.says("run", exit.Done, c.before, flags)
			rows := r.query("SELECT COUNT(*) FROM t")
			r.says("run", exit.Refused, c.statement, nil, "the last change of "+r.database+".t can be undone until", "or --end-undo with this command")
			undo := []string{"--end-undo", "--undo=1h"}
			if c.left == "s,t_old" {
				undo = undo[:1]
			}
			r.says("plan", exit.Done, c.statement, undo, "this statement ends that", "cleanup --old")
			r.says("run", exit.Done, c.statement, undo)
			r.are(c.left)
			if got := r.query("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()"); got != "0" {
				r.Errorf("after %s, %s triggers are left", c.statement, got)
			}
			if c.left == "s,t_old" {
				r.says("run", exit.Done, "RENAME TABLE s TO t", []string{"--undo=1h"})
				r.exec("RENAME TABLE s_undo TO t_undo") // as after the others
				r.are("t,t_old,t_undo")
				r.exec("DROP TABLE t_undo")
			} else {
				r.says("undo", exit.Done, "t", nil)
				r.are(c.undone)
				count(rows)
				r.says("undo", exit.Done, "t", []string{"--end"})
			}
			r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN m INT", []string{"--method=shadow", "--drop-old"})
			r.exec("ALTER TABLE t DROP COLUMN m", "DROP TABLE IF EXISTS t_old, t_old2")
			if c.before == "ALTER TABLE t ADD COLUMN n INT" {
				r.exec("ALTER TABLE t DROP COLUMN n")
			}
		}
	})
}
