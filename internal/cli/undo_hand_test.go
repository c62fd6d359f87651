package cli

import (
	"fmt"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestATableThatWasRenamedByHandIsNamed: another session has renamed an old table, or a table whose change can be undone. The cleanup and
// the list of the new name say what the table is by its mark or definition, and what to do.
func TestATableThatWasRenamedByHandIsNamed(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		hour, old, list := []string{"--undo=1h", "--method=shadow"}, []string{"--old", "--yes"}, []string{"--list"}
		table := r.database + ".t"
		r.exec("ALTER TABLE t COMMENT 'mine'")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", hour)

		r.exec("RENAME TABLE t_old TO live")
		is := r.database + ".live is the old table of " + table + " by its mark, and was renamed"
		back := "RENAME TABLE `" + r.database + "`.`live` TO `" + r.database + "`.`t_old`"
		mine := "ALTER TABLE `" + r.database + "`.`live` COMMENT = 'mine'"
		r.says("cleanup", exit.Done, "live", old, is, back, mine)
		r.says("undo", exit.Done, "live", list, is, back, mine)
		r.says("undo", exit.Done, "t", list, "the old table "+r.database+".t_old is gone", is, back)
		r.are("live,t,t_undo")
		r.exec("RENAME TABLE live TO t_old")

		r.exec("RENAME TABLE t TO away")
		gone := "the last change of " + table + " can be undone, and that table is gone; " + r.database + ".away has its definition"
		there := "RENAME TABLE `" + r.database + "`.`away` TO `" + r.database + "`.`t`"
		r.says("cleanup", exit.Done, "away", old, gone, there)
		r.says("undo", exit.Done, "away", list, gone, there)
		r.says("undo", exit.Done, "t", list, table+" is gone; "+r.database+".away has its definition", there)
		r.says("undo", exit.Refused, "t", nil, there)
		r.exec("CREATE TABLE other (id INT PRIMARY KEY)")
		lacks(r.T, r.says("undo", exit.Done, "other", list), "is gone")
		r.exec("RENAME TABLE away TO t", "DROP TABLE other")
		r.says("undo", exit.Done, "t", list, "open until")
		r.says("undo", exit.Done, "t", nil, "syncs and compares all rows")
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.says("cleanup", exit.Done, "t", old)
		r.exec("ALTER TABLE t COMMENT ''")
		r.are("t")

		r.says("run", exit.Done, "DROP TABLE t", []string{"--undo=1h"})
		r.exec("RENAME TABLE t_old TO live")
		dropped := r.database + ".live is the old table of " + table + " by its mark"
		r.says("undo", exit.Done, "live", list, dropped, back)
		r.says("undo", exit.Done, "t", list, dropped, back)
		r.exec("RENAME TABLE live TO t_old")
		r.says("undo", exit.Done, "t", nil)
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestU2_RenamedByHandAndBack: another session has renamed tables, and has given them their names back. An undo goes by all rows itself,
// and says why; a table of others does not matter to it. It stops if the old table is another one, or was changed under its other name.
func TestU2_RenamedByHandAndBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		const stops, all = "other table", "syncs and compares all rows"
		r.exec("CREATE TABLE other (id INT PRIMARY KEY)")
		for _, c := range []struct {
			by   []string
			says string // "" for a lazy undo
		}{
			{[]string{"RENAME TABLE t_old TO x", "RENAME TABLE x TO t_old"}, "another session renamed the old table"},
			{[]string{"RENAME TABLE t_old TO x, x TO y", "RENAME TABLE y TO z", "ALTER TABLE t_old2 COMMENT 'x'", "RENAME TABLE z TO t_old"}, "another session renamed the old table"},
			{[]string{"ALTER TABLE t_old RENAME x", "ALTER TABLE x ADD INDEX more (a), RENAME AS y", "RENAME TABLE y TO t_old"}, "another session renamed the old table"},
			{[]string{"ALTER TABLE t_old ADD COLUMN more INT, RENAME TO x", "ALTER TABLE x DROP COLUMN more, RENAME TO t_old"}, stops},
			{[]string{"RENAME TABLE t TO x", "RENAME TABLE x TO t"}, all},
			{[]string{"ALTER TABLE t RENAME TO x", "ALTER TABLE x RENAME TO t"}, all},
			{[]string{"RENAME TABLE t TO x, t_old TO y", "INSERT INTO x (a) VALUES (777)", "RENAME TABLE y TO t_old, x TO t"}, "another session renamed the old table"},
			{[]string{"RENAME TABLE other TO x", "RENAME TABLE x TO other"}, ""},
			{[]string{"RENAME TABLE t TO x, t_old TO t, x TO t_old", "RENAME TABLE t TO x, t_old TO t, x TO t_old"}, stops},
			{[]string{"RENAME TABLE t_old TO x", "DELETE FROM x WHERE id < 50", "TRUNCATE TABLE x", "RENAME TABLE x TO t_old"}, stops},
			{[]string{"CREATE TABLE x LIKE t_old", "RENAME TABLE t_old TO y, x TO t_old", "DROP TABLE y"}, stops},
		} {
			what := strings.Join(c.by, "; ")
			r.exec("CREATE TABLE t_old2 (id INT)")
			r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--undo=1h", "--method=shadow"})
			r.exec(c.by...)
			rows := r.query("SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(a)) FROM t")
			switch out := ""; c.says {
			case stops:
				out = r.says("undo", exit.Failed, "t", nil, "another session has written to the old table", "midstream undo --cold "+r.database+".t")
				lacks(r.T, out, all)
				r.says("undo", exit.Done, "t", []string{"--list"}, "t: revoked, because", "another session has written to the old table")
				r.says("undo", exit.Done, "t", nil, "another session has written to the old table")
			case "":
				lacks(r.T, r.says("undo", exit.Done, "t", nil), all)
			default:
				r.says("undo", exit.Done, "t", nil, c.says, all)
			}
			if got := r.query("SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(a)) FROM t"); got != rows {
				r.Errorf("%s: the rows were %s, and are %s", what, rows, got)
			}
			r.says("undo", exit.Done, "t", []string{"--end"})
			r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
			r.exec("DROP TABLE IF EXISTS t_old2")
			if got := r.tables(); got != "other,t" {
				r.Fatal(fmt.Sprint(what, ": the tables are ", got))
			}
		}
	})
}

// TestTheListNamesTheTableThatWasRenamedByHand: the list of a table that is gone names the table that has its definition now, after each
// kind of change; not a table that only looks like it.
func TestTheListNamesTheTableThatWasRenamedByHand(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		list := []string{"--list"}
		r.exec("CREATE TABLE other (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a BIGINT, b VARCHAR(200))")
		for _, c := range []struct {
			statement, has string
			flags          []string
		}{
			{"ALTER TABLE t ADD COLUMN n INT", "t", []string{"--method=shadow"}},
			{"ALTER TABLE t ADD COLUMN n INT", "t", nil},
			{"TRUNCATE TABLE t", "t", nil},
			{"RENAME TABLE t TO live", "live", nil},
		} {
			r.says("run", exit.Done, c.statement, append(c.flags, "--undo=1h"))
			r.exec("RENAME TABLE " + c.has + " TO away")
			back := "RENAME TABLE `" + r.database + "`.`away` TO `" + r.database + "`.`" + c.has + "`"
			is := r.database + "." + c.has + " is gone; " + r.database + ".away has its definition"
			lacks(r.T, r.says("undo", exit.Done, "t", list, is, back), ".other has")
			r.exec("RENAME TABLE away TO " + c.has)
			lacks(r.T, r.says("undo", exit.Done, "t", list), "is gone")
			r.says("undo", exit.Done, "t", nil)
			r.says("undo", exit.Done, "t", []string{"--end"})
			r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
		}
	})
}
