package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// commentOf is the comment of a table of the database.
func (r *statementRig) commentOf(table string) string {
	r.Helper()
	return r.query("SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '" + table + "'")
}

// TestL8_ARenamedOldTableIsNotDropped: the application has renamed an old table by hand, and uses it again. It has our mark still, but
// not the name that a run gave it. No command drops it or takes it for the old table.
func TestL8_ARenamedOldTableIsNotDropped(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("ALTER TABLE t COMMENT = 'it''s mine'")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--method=shadow"})
		r.exec("RENAME TABLE t_old TO live", "CREATE TABLE t_parked LIKE t", "ALTER TABLE t_parked COMMENT = 'midstream parked of "+r.database+".t'",
			"RENAME TABLE t_parked TO extra")
		fix := "ALTER TABLE `" + r.database + "`.`live` COMMENT = 'it''s mine'"
		for range 2 {
			r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"}, "live is left alone: it was renamed", fix, "extra is left alone: it was renamed")
			r.are("extra,live,t")
			r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN m INT", []string{"--undo=1h", "--method=shadow", "--drop-old"})
			lacks(r.T, r.says("undo", exit.Done, "t", []string{"--list"}), "live")
			r.says("undo", exit.Done, "t", []string{"--end"})
			r.exec("ALTER TABLE t DROP COLUMN m")
		}
		r.says("undo", exit.Refused, "t", []string{"--cold", "--plan"}, "no change of this table can be undone")
		r.says("run", exit.Refused, "ALTER TABLE live ADD COLUMN m INT", nil, "it was renamed since", "If it is in use again", fix)
		r.exec(fix)
		r.says("run", exit.Done, "ALTER TABLE live ADD COLUMN m INT", nil)
		r.exec("DROP TABLE live", "DROP TABLE extra")
		// The operator has chosen the name.
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN m INT", []string{"--method=shadow", "--old-name=t_mine"})
		r.exec("ALTER TABLE t_mine ADD COLUMN later INT")
		r.says("run", exit.Refused, "ALTER TABLE t_mine ADD COLUMN x INT", nil, "it is the old table of "+r.database+".t")
		r.says("undo", exit.Done, "t", []string{"--list"}, "a cold undo is possible while "+r.database+".t_mine exists")
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"}, "t_mine")
		r.are("t")
	})
}

// TestL8_ADroppedTableThatIsRenamedIsNotDropped: as above, for a table that a DROP has put aside.
func TestL8_ADroppedTableThatIsRenamedIsNotDropped(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Done, "DROP TABLE t", []string{"--drop-later"})
		r.exec("RENAME TABLE t_old TO live")
		r.says("cleanup", exit.Refused, "t", []string{"--old", "--yes"}, "live is left alone: it was renamed", "cleanup found nothing")
		r.says("undo", exit.Refused, "t", []string{"--list"}, "no change of this table can be undone: no such table")
		r.are("live")
		r.exec("RENAME TABLE live TO other")
		r.says("run", exit.Refused, "ALTER TABLE other ADD COLUMN n INT", nil, "If it is in use again")
		r.exec("DROP TABLE other")
	})
}

// TestATableThatIsUsedAgainLosesItsMark: a table that a DROP has put aside gets its name back by the RENAME that is advised, or by
// another one. The RENAME gives it its own comment, too; then no cleanup drops it, and a run may change it. The undo of the RENAME gives
// it its mark again.
func TestATableThatIsUsedAgainLosesItsMark(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("ALTER TABLE t COMMENT = 'it''s mine'")
		for _, rename := range []string{"RENAME TABLE t_old TO live", "RENAME TABLE t_old TO x, x TO live", "RENAME TABLE t_old TO t", "RENAME TABLE t TO x, t_old TO t, x TO y"} {
			r.says("run", exit.Done, "DROP TABLE t", []string{"--undo=1h"})
			out := r.says("undo", exit.Done, "t", []string{"--end"}, "To get the table back: midstream run")
			mark := r.commentOf("t_old")
			table, others := "live", "t"
			switch {
			case rename == "RENAME TABLE t_old TO t":
				table, others = "t", ""
				contains(r.T, out, "RENAME TABLE `"+r.database+"`.`t_old` TO `"+r.database+"`.`t`")
			case rename[len(rename)-1] == 'y':
				table, others = "t", "y"
				r.exec("CREATE TABLE t (id INT PRIMARY KEY)")
			}
			r.says("plan", exit.Done, rename, nil, table+" gets its own comment back, and is no old table any longer")
			r.says("run", exit.Done, rename, []string{"--undo=1h"})
			is := func(table, comment string) {
				if got := r.commentOf(table); got != comment {
					r.Errorf("%s: the comment of %s is %q, not %q", rename, table, got, comment)
				}
			}
			source := "t_old"
			if others == "y" {
				source = "t"
			}
			is(table, "it's mine")
			r.says("undo", exit.Done, source, nil)
			is("t_old", mark)
			r.says("undo", exit.Done, source, nil)
			is(table, "it's mine")
			r.says("undo", exit.Done, source, []string{"--end"})
			if others == "t" {
				r.exec("CREATE TABLE t (id INT PRIMARY KEY)")
			}
			r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
			r.says("run", exit.Done, "ALTER TABLE "+table+" ADD COLUMN n INT", nil)
			r.exec("ALTER TABLE "+table+" DROP COLUMN n", "RENAME TABLE "+table+" TO kept")
			if others != "" {
				r.exec("DROP TABLE " + others)
			}
			r.exec("RENAME TABLE kept TO t")
		}
		r.says("run", exit.Done, "DROP TABLE t", []string{"--drop-later"})
		r.says("run", exit.Done, "RENAME TABLE t_old TO t_old2", nil, "t_old2 still is an old table of "+r.database+".t")
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
		r.exec("CREATE TABLE z (id INT PRIMARY KEY)")
		r.are("z")
	})
}

// TestU3_TheOldTableHasANameThatAnUndoCanSwap: a server that swaps in two sessions, in the order of names, cannot swap an old table
// back whose name sorts before the table's. Such a change keeps no undo, and the undo of an earlier version is refused with a way out.
func TestU3_TheOldTableHasANameThatAnUndoCanSwap(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		change := []string{"--undo=1h", "--method=shadow", "--old-name=a_old"}
		if strings.HasPrefix(r.i.Release, "9.") { // it swaps in one session
			r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", change)
			r.says("undo", exit.Done, "t", nil)
			r.are("t,t_undo,t_undone")
			r.says("undo", exit.Done, "t", []string{"--end"})
			return
		}
		r.says("plan", exit.Refused, "ALTER TABLE t ADD COLUMN n INT", change, "no undo could swap "+r.database+".a_old back",
			"Choose a name for --old-name that sorts after t, or leave it out: the name is t_old then")
		r.says("run", exit.Refused, "ALTER TABLE t ADD COLUMN n INT", change)
		r.are("t")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", change[1:])
		rename := "RENAME TABLE `" + r.database + "`.`a_old` TO `" + r.database + "`.`t_old`"
		r.says("undo", exit.Refused, "t", []string{"--cold"}, "the old table is called a_old", "Give it another name: "+rename)
		r.exec(rename)
		r.says("undo", exit.Done, "t", []string{"--cold"})
		r.are("t,t_undo,t_undone")
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestL8_TheTableThatAnUndoPutsAsideIsCalledUndone: also if the one of an earlier undo still exists.
func TestL8_TheTableThatAnUndoPutsAsideIsCalledUndone(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		for _, want := range []string{"t,t_undo,t_undone", "t,t_undo,t_undone,t_undone2"} {
			r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--undo=1h", "--method=shadow", "--end-undo"})
			r.says("undo", exit.Done, "t", nil)
			r.are(want)
		}
		r.says("undo", exit.Done, "t", nil)
		r.are("t,t_old,t_undo,t_undone")
		r.says("undo", exit.Done, "t", nil)
		r.are("t,t_undo,t_undone,t_undone2")
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"}, "t_undone2")
		r.are("t")
	})
}
