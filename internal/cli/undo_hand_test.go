package cli

import (
	"testing"
)

// TestATableThatWasRenamedByHandIsNamed: another session has renamed an old table, or a table whose change can be undone. The cleanup and
// the list of the new name say what the table is by its mark or definition, and what to do.
func TestATableThatWasRenamedByHandIsNamed(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		hour, old, list := []string{"--undo=1h", "--method=shadow"}, []string{"--old", "--yes"}, []string{"--list"}
		table := r.database + ".t"
		r.exec("ALTER TABLE t COMMENT 'mine'")
		r.says("run", exitDone, "ALTER TABLE t ADD COLUMN n INT", hour)

		r.exec("RENAME TABLE t_old TO live")
		is := r.database + ".live is the old table of " + table + " by its mark, and was renamed"
		back := "RENAME TABLE `" + r.database + "`.`live` TO `" + r.database + "`.`t_old`"
		mine := "ALTER TABLE `" + r.database + "`.`live` COMMENT = 'mine'"
		r.says("cleanup", exitDone, "live", old, is, back, mine)
		r.says("undo", exitDone, "live", list, is, back, mine)
		r.says("undo", exitDone, "t", list, "the old table "+r.database+".t_old is gone", is, back)
		r.are("live,t,t_undo")
		r.exec("RENAME TABLE live TO t_old")

		r.exec("RENAME TABLE t TO away")
		gone := "the last change of " + table + " can be undone, and that table is gone; " + r.database + ".away has its definition"
		there := "RENAME TABLE `" + r.database + "`.`away` TO `" + r.database + "`.`t`"
		r.says("cleanup", exitDone, "away", old, gone, there)
		r.says("undo", exitDone, "away", list, gone, there)
		r.says("undo", exitDone, "t", list, table+" is gone")
		r.exec("CREATE TABLE other (id INT PRIMARY KEY)")
		lacks(r.T, r.says("undo", exitDone, "other", list), "is gone")
		r.exec("RENAME TABLE away TO t", "DROP TABLE other")
		r.says("undo", exitDone, "t", list, "open until")
		r.says("undo", exitDone, "t", []string{"--cold"}) // the binlog has the RENAME of the old table
		r.says("undo", exitDone, "t", []string{"--end"})
		r.says("cleanup", exitDone, "t", old)
		r.exec("ALTER TABLE t COMMENT ''")
		r.are("t")

		r.says("run", exitDone, "DROP TABLE t", []string{"--undo=1h"})
		r.exec("RENAME TABLE t_old TO live")
		dropped := r.database + ".live is the old table of " + table + " by its mark"
		r.says("undo", exitDone, "live", list, dropped, back)
		r.says("undo", exitDone, "t", list, dropped, back)
		r.exec("RENAME TABLE live TO t_old")
		r.says("undo", exitDone, "t", nil)
		r.says("undo", exitDone, "t", []string{"--end"})
	})
}
