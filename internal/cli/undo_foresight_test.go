package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestAnUndoForeseesWhichRowsDoNotFit: the plan of a change names the kinds of rows that its undo will refuse, and the plan of
// the undo names them with a SELECT that counts them. What the types exclude is not named.
func TestAnUndoForeseesWhichRowsDoNotFit(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE f (id INT PRIMARY KEY, n INT NOT NULL, v VARCHAR(5), e ENUM('a','b'), c VARCHAR(5) CHARACTER SET latin1, u INT, "+
			"m VARCHAR(10), same INT NOT NULL, UNIQUE KEY by_u (u))", "INSERT INTO f VALUES (1, 1, 'x', 'a', 'x', 1, 'm', 1)")
		change := "ALTER TABLE f MODIFY n BIGINT, MODIFY v VARCHAR(50), MODIFY e ENUM('a','b','c'), MODIFY c VARCHAR(5) CHARACTER SET utf8mb4, " +
			"DROP KEY by_u, MODIFY m TEXT, MODIFY same INT"
		kinds := []string{
			"out of range for column n, int", "too long for column v, varchar(5)", "with a value of column e that is not in enum('a','b')",
			"with bytes or characters in column c that are none of latin1", "sharing the value of unique key by_u (u) with another row",
			"too long for column m, varchar(10)",
		}
		out := r.says("plan", exit.Done, change, []string{"--method=shadow", "--undo=1h"}, append(kinds, "with NULL in column same", "With --park, it keeps such rows in a table of their own")...)
		lacks(r.T, out, "out of range for column same")
		r.says("run", exit.Done, change, []string{"--method=shadow", "--undo=1h"})
		for i, kind := range kinds {
			kinds[i] = "the old definition refuses rows " + kind
		}
		out = r.says("undo", exit.Done, "f", []string{"--plan"}, append(kinds, "SELECT COUNT(*) FROM `"+r.database+"`.`f` WHERE `n` NOT BETWEEN", "--park",
			"column same was NOT NULL before the change")...)
		lacks(r.T, out, "out of range for column same", "characters in column v", "the old definition has a unique key")
		out = r.says("undo", exit.Done, "f", []string{"--plan", "--park"}, "is copied to a table of its own, and the undo goes back without it")
		lacks(r.T, out, "To copy such rows")
		r.says("undo", exit.Done, "f", nil)
		r.says("undo", exit.Done, "f", []string{"--end"})
	})
}

// TestTheRedoOfATruncateNamesEachUselessFlag: two flags have no effect. The refusal names both, each time.
func TestTheRedoOfATruncateNamesEachUselessFlag(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Done, "TRUNCATE TABLE t", []string{"--undo=1h"})
		r.says("undo", exit.Done, "t", nil)
		r.says("undo", exit.Refused, "t", []string{"--merge", "--park"}, "the undo cannot use --merge, --park:", "Leave out --merge, --park")
		r.says("undo", exit.Refused, "t", []string{"--park"}, "the undo cannot use --park:")
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestTheAdviceOnRowsWithoutAParentHelps: a foreign key comes back, and a row has lost its parent. Such a row fits the old
// definition, so --park does not help. The advice names what does.
func TestTheAdviceOnRowsWithoutAParentHelps(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7") // 8.0.12 refuses the change
	name, query := table(t, i, 1)
	database := strings.TrimSuffix(name, ".t")
	r := &statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)}
	r.exec("CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT of_p FOREIGN KEY (p) REFERENCES p (id))",
		"INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (1, 1), (2, 2)")
	r.says("run", exit.Done, "ALTER TABLE c DROP FOREIGN KEY of_p, ADD COLUMN added INT", []string{"--undo=1h", "--method=shadow"})
	r.exec("DELETE FROM p WHERE id = 2")
	for _, flags := range [][]string{nil, {"--park"}} {
		out := r.says("undo", exit.Unfit, "c", flags, "Insert the parents that are missing, or delete the rows that are listed", "--park does not set them aside")
		lacks(r.T, out, "--park copies them")
	}
	r.exec("INSERT INTO p VALUES (2)")
	r.says("undo", exit.Done, "c", nil)
	r.says("undo", exit.Done, "c", []string{"--end"})
	r.exec("DROP TABLE c", "DROP TABLE p")
}
