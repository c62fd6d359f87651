package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestL6_KeepLeavesRowsOut: midstream run --keep makes a table of the rows that meet the condition. The plan says so, rows that do not
// fit but are left out do no harm, the old table keeps all rows, and no command drops it.
func TestL6_KeepLeavesRowsOut(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		fill := func() {
			r.exec("DROP TABLE IF EXISTS t, t_old", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT, note VARCHAR(20), at TIMESTAMP NULL)",
				"INSERT INTO t VALUES (1, 1, 'a', '2024-01-01 10:00:00'), (2, 300, 'b', '2020-01-01 10:00:00'), (3, NULL, 'it''s', NULL), (4, 4, 'd', '2024-06-01 10:00:00')")
		}
		ids := func(table string) string {
			return r.query("SELECT IFNULL(GROUP_CONCAT(id ORDER BY id), '') FROM " + table)
		}
		for _, c := range []struct{ keep, want, out string }{
			{"v < 200", "1,4", "2 rows left out (--keep)"}, {"at >= '2024-01-01'", "1,4", "2 rows left out (--keep)"}, {"v > 1000 OR note = 'none'", "", "4 rows left out (--keep)"},
			{"v IS NULL OR note = 'it''s'", "3", "3 rows left out (--keep)"}, {"(id > 1) AND (id < 4) -- x", "2,3", "2 rows left out (--keep)"}, {"1", "1,2,3,4", "4 rows copied"},
		} {
			fill()
			r.says("plan", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--keep=" + c.keep}, "Rows", "the others stay in the old table", "t_old after the swap", "rows meet it, by the server's estimate")
			r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--keep=" + c.keep}, "It has the rows that were left out", c.out)
			if got := ids("t"); got != c.want {
				r.Errorf("--keep %s: the table has the rows %q, want %q", c.keep, got, c.want)
			}
			if got := ids("t_old"); got != "1,2,3,4" {
				r.Errorf("--keep %s: the old table has the rows %s", c.keep, got)
			}
			r.exec("INSERT INTO t (v) VALUES (9)")
			if got := r.query("SELECT MAX(id) FROM t"); got != "5" {
				r.Errorf("--keep %s: the next row has the key %s", c.keep, got)
			}
			r.says("undo", exit.Refused, "t", []string{"--cold"})
		}
		fill()
		r.says("run", exit.Unfit, "ALTER TABLE t MODIFY v TINYINT", []string{"--method=shadow"}, "or leave these rows out (--keep)")
		r.says("check", exit.Done, "ALTER TABLE t MODIFY v TINYINT", []string{"--keep=v < 100"})
		r.says("run", exit.Done, "ALTER TABLE t MODIFY v TINYINT NOT NULL, ADD UNIQUE KEY (v)", []string{"--keep=v < 100"})
		if got := ids("t"); got != "1,4" {
			r.Errorf("the table has the rows %s", got)
		}
		r.exec("DROP TABLE t_old")
	})
}

// TestKeepIsRefused: a condition whose value is not the same each time, and a run in which the rows that are left out would be lost.
func TestKeepIsRefused(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)")
		r.exec("CREATE TABLE c (id INT PRIMARY KEY, t INT, CONSTRAINT of_t FOREIGN KEY (t) REFERENCES p (id))")
		for _, c := range []struct {
			alter string
			flags []string
			says  string
		}{
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--keep=a > RAND()"}, "--keep cannot choose the rows"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--keep=a > NOW()"}, "--keep cannot choose the rows"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--keep=nosuch = 1"}, "nosuch"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--keep=id > 1) OR (id < 4"}, "its parentheses do not match"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--keep=id = 'x"}, "a quote or a comment does not end"},
			{"ALTER TABLE t DROP COLUMN b", []string{"--keep=id > 5", "--undo=1h"}, "an undo of --keep does not keep values of dropped columns"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--keep=id > 5", "--drop-old"}, "the only table that has them"},
			{"ALTER TABLE t ADD COLUMN n INT", []string{"--keep=id > 5", "--method=instant"}, "only a new table can do that"},
			{"ALTER TABLE p ADD COLUMN n INT", []string{"--keep=id > 5"}, "of_t"},
			{"ALTER TABLE c ADD COLUMN n INT", []string{"--keep=id > 5", "--undo=1h"}, "foreign key"},
			{"DROP TABLE t", []string{"--keep=id > 5"}, "cannot choose rows"},
			{"TRUNCATE TABLE t", []string{"--keep=id > 5"}, "cannot choose rows"},
		} {
			r.says("run", exit.Refused, c.alter, c.flags, c.says)
		}
		r.says("run", exit.WrongUsage, "ALTER TABLE t ADD COLUMN n INT", []string{"--keep= "}, "it has no condition") // an empty variable of a shell
		r.exec("DROP TABLE c, p")
	})
}

// TestU4_ThePlanCountsRowsThatTakeThePlaceOfLeftOutOnes: by the key, and by a unique key. The SELECT of the plan counts those that the undo
// then lists.
func TestU4_ThePlanCountsRowsThatTakeThePlaceOfLeftOutOnes(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY, u INT, `a b` VARCHAR(9), s INT, UNIQUE KEY u (u), UNIQUE KEY ab (`a b`(3)))",
			"INSERT INTO t VALUES (1, 1, 'abcx', 1), (2, 2, 'defx', 0), (3, 3, 'ghix', 0), (4, 4, 'jklx', NULL)")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--keep=s = 1", "--undo=1h"})
		r.exec("INSERT INTO t VALUES (2, 20, 'x', 1, 1), (30, 3, 'y', 1, 1), (40, 40, 'jkly', 1, 1), (5, 5, 'z', 1, 1)")
		plan := strings.Join(strings.Fields(r.says("undo", exit.Done, "t", []string{"--plan"}, "the key, or a value of a unique key, of a row which --keep has left out")), " ")
		i, j := strings.Index(plan, "SELECT COUNT(*)"), strings.Index(plan, " counts them")
		if i < 0 || j < i {
			r.Fatalf("no SELECT in the plan: %s", plan)
		}
		if got := r.query(plan[i:j]); got != "3" {
			r.Errorf("%s gives %s", plan[i:j], got)
		}
		r.says("undo", exit.Unfit, "t", nil, "some rows do not fit: 3", "which --keep had left out: key PRIMARY", "which --keep had left out: key u")
		r.says("undo", exit.Done, "t", []string{"--park"}, "Set aside: 3 rows")
		if got := r.query("SELECT GROUP_CONCAT(id ORDER BY id) FROM t"); got != "1,2,3,4,5" {
			r.Errorf("the table has the rows %s", got)
		}
		r.exec("DROP TABLE t_parked, t_undone")
	})
}

// TestU4_AConditionIsUndone: the undo of a change with --keep gives the table all rows, and keeps a new row with the key of one that was
// left out apart. No text promises a redo.
func TestU4_AConditionIsUndone(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("DROP TABLE t", "CREATE TABLE t (id VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, at DATE)",
			"INSERT INTO t VALUES ('Ann', '2020-01-01'), ('Bob', '2024-01-01'), ('Cid', NULL)")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--keep=at >= '2024-01-01'", "--undo=1h"}, "midstream undo")
		r.exec("INSERT INTO t VALUES ('ann', '2024-02-01', 1), ('Dan', '2019-01-01', 1)", "UPDATE t SET id = 'BOB', at = '2000-01-01' WHERE id = 'Bob'")
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
		r.says("undo", exit.Done, "t", []string{"--plan"}, "which --keep had left out", "there is no redo", "counts them")
		r.says("undo", exit.Unfit, "t", nil, "which --keep had left out: key PRIMARY")
		out := r.says("undo", exit.Done, "t", []string{"--park"}, "Set aside: 1 row")
		if strings.Contains(out, "redo brings") {
			r.Errorf("the result promises a redo: %s", out)
		}
		if got := r.query("SELECT GROUP_CONCAT(id, '-', IFNULL(YEAR(at), '') ORDER BY id) FROM t"); got != "Ann-2020,BOB-2000,Cid-,Dan-2019" {
			r.Errorf("the table has the rows %s", got)
		}
		if got := r.query("SELECT GROUP_CONCAT(id) FROM t_parked"); got != "ann" {
			r.Errorf("the parked rows are %s", got)
		}
		r.exec("DROP TABLE t_parked, t_undone")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN n INT", []string{"--keep=at >= '2024-01-01'", "--undo=1h"})
		r.says("undo", exit.Done, "t", []string{"--end"}, "which is yours: no other table has the rows that --keep had left out")
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
		if got := r.query("SELECT COUNT(*) FROM t_old"); got != "4" {
			r.Errorf("the old table has %s rows", got)
		}
		r.exec("DROP TABLE t_old")
	})
}
