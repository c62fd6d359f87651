package cli

import (
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU3_AnUndoWithoutAnOldTableFollowsNothing: the server takes the change back itself, or gives tables their names back. Then
// --hold is refused, and the list does not call the undo warm.
func TestU3_AnUndoWithoutAnOldTableFollowsNothing(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		for _, c := range []struct{ change, how string }{
			{"ALTER TABLE t ADD INDEX by_a (a)", "the server takes this change back by its own ALTER"},
			{"TRUNCATE TABLE t", "the undo of a TRUNCATE TABLE gives tables their names back"},
			{"DROP TABLE t", "the undo of a DROP TABLE gives tables their names back"},
		} {
			r.says("run", exit.Done, c.change, []string{"--undo=1h"})
			for _, flags := range [][]string{{"--hold", "--plan"}, {"--hold"}} {
				r.says("undo", exit.Refused, "t", flags, "the undo cannot use --hold: "+c.how, "no old table that a process could keep equal", "Leave out --hold")
			}
			lacks(r.T, r.says("undo", exit.Done, "t", []string{"--list"}, "open until"), "warm")
			r.says("undo", exit.Done, "t", nil)
			r.says("undo", exit.Refused, "t", []string{"--hold"}, "the undo cannot use --hold")
			r.says("undo", exit.Done, "t", []string{"--end"})
		}
	})
}
