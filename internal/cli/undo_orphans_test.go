package cli

import (
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// unchecked executes statements without a look at foreign keys.
func (r *statementRig) unchecked(statements ...string) {
	r.Helper()
	db := r.i.Open(r.T, r.database)
	db.SetMaxOpenConns(1)
	mysqltest.Exec(r.T, db, append([]string{"SET foreign_key_checks = 0"}, statements...)...)
}

// TestThePlanOfAnUndoOfADropCountsRowsWithoutAParent: rows of a dropped table have lost their parents, and rows of a new table refer to
// rows that the dropped table does not have. The plan of the undo counts both and names them by a SELECT; the undo is refused before
// it changes anything.
func TestThePlanOfAnUndoOfADropCountsRowsWithoutAParent(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)",
			"CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fp FOREIGN KEY (p) REFERENCES p (id))", "INSERT INTO c VALUES (1, 1), (2, 1), (3, 2)")
		r.says("run", exit.Done, "DROP TABLE c", []string{"--undo=1h"})
		lacks(r.T, r.says("undo", exit.Done, "c", []string{"--plan"}), "2 rows")
		r.exec("DELETE FROM p WHERE id = 1")
		select1 := "SELECT c.* FROM `" + r.database + "`.`c_old` AS c WHERE "
		r.says("undo", exit.Done, "c", []string{"--plan"}, "Not yet: the undo would stop", "2 rows without a parent", "by the foreign key fp", select1, "exit code 17", "midstream undo")
		r.says("undo", exit.Done, "c", []string{"--plan", "--json"}, "2 rows without a parent")
		r.says("undo", exit.Unfit, "c", nil, "2 rows without a parent", select1)
		r.are("c_old,c_undo,p,t")
		r.exec("INSERT INTO p VALUES (1)")

		r.exec("CREATE TABLE k (id INT PRIMARY KEY, c INT)", "INSERT INTO k VALUES (1, 1), (2, 7)")
		r.unchecked("ALTER TABLE k ADD CONSTRAINT fk FOREIGN KEY (c) REFERENCES c (id)")
		select2 := "SELECT c.* FROM `" + r.database + "`.`k` AS c WHERE "
		r.says("undo", exit.Done, "c", []string{"--plan"}, "1 row", "by the foreign key fk", select2, "exit code 17")
		r.says("undo", exit.Unfit, "c", nil, "1 row", select2)
		r.are("c_old,c_undo,k,p,t")
		r.exec("DELETE FROM k WHERE id = 2", "CREATE TABLE m (id INT PRIMARY KEY)")
		r.unchecked("ALTER TABLE m ADD CONSTRAINT fm FOREIGN KEY (id) REFERENCES c (other)")
		r.says("undo", exit.Refused, "c", []string{"--plan"}, "foreign key fm of "+r.database+".m refers to columns that the table does not have: other",
			"ALTER TABLE `"+r.database+"`.`m` DROP FOREIGN KEY `fm`")
		r.exec("ALTER TABLE m DROP FOREIGN KEY fm", "DROP TABLE m")
		lacks(r.T, r.says("undo", exit.Done, "c", []string{"--plan"}), "without a parent")
		r.says("undo", exit.Done, "c", nil)
		r.are("c,c_undo,k,p,t")
		r.says("undo", exit.Done, "c", []string{"--end"})
		r.exec("DROP TABLE k", "DROP TABLE c", "DROP TABLE p")
	})
}

// TestTheUndoOfATruncateKeepsItsChildren: a table was made since the TRUNCATE that refers to the table. A swap would leave its foreign
// key with the table that goes: the plan refuses, and so does the undo.
func TestTheUndoOfATruncateKeepsItsChildren(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Done, "TRUNCATE t", []string{"--undo=1h"})
		r.exec("CREATE TABLE k (id INT PRIMARY KEY, t INT, CONSTRAINT fk FOREIGN KEY (t) REFERENCES t (id))")
		for _, flags := range [][]string{{"--plan"}, nil, {"--merge", "--park"}} {
			r.says("undo", exit.Refused, "t", flags, "was altered since the TRUNCATE", "foreign key fk of "+r.database+".k refers to it now")
		}
		r.exec("DROP TABLE k")
		r.says("undo", exit.Done, "t", nil)
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}
