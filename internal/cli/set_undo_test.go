package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU1_AnUndoOfAChangeWithSetKeepsFormerValues: the undo of a change with --set on an existing column gives rows that have not changed
// since the swap their former values, and changed rows those of the table. The redo computes the expressions for rows that have
// changed since, and for new ones.
func TestU1_AnUndoOfAChangeWithSetKeepsFormerValues(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		const alter = "ALTER TABLE s MODIFY name VARCHAR(5), ADD COLUMN norm VARCHAR(30) NOT NULL"
		flags := []string{"--set=name=LEFT(name, 5)", "--set=norm=LOWER(name)", "--undo=1h"}
		have := func(when, columns, want string) {
			r.Helper()
			if got := r.query("SELECT GROUP_CONCAT(CONCAT_WS('/', " + columns + ") ORDER BY id) FROM s"); got != want {
				r.Errorf("%s: the rows are %s, want %s", when, got, want)
			}
		}
		r.exec("CREATE TABLE s (id INT PRIMARY KEY, name VARCHAR(30), n INT)",
			"INSERT INTO s VALUES (1, 'ABCDEFGH', 1), (2, 'BCDEFGHI', 1), (3, 'CDEFGHIJ', 1), (4, 'D', 1)")
		r.says("plan", exit.Done, alter, flags, "keeps the converted values of column name")
		r.says("run", exit.Done, alter, flags)
		have("change", "id, name, norm", "1/ABCDE/abcdefgh,2/BCDEF/bcdefghi,3/CDEFG/cdefghij,4/D/d")
		r.exec("UPDATE s SET n = 2 WHERE id = 2", "DELETE FROM s WHERE id = 3", "INSERT INTO s VALUES (5, 'new', 1, 'mine')", "UPDATE s SET norm = 'own' WHERE id = 4")
		r.says("undo", exit.Done, "s", []string{"--plan"}, "column name has values of an expression (--set)", "lose their former values of column name")
		r.says("undo", exit.Done, "s", nil)
		have("undo", "id, name, n", "1/ABCDEFGH/1,2/BCDEF/2,4/D/1,5/new/1")
		r.exec("UPDATE s SET name = 'QRSTUVWX' WHERE id = 2", "INSERT INTO s VALUES (6, 'UVWXYZ', 1)")
		r.says("undo", exit.Done, "s", []string{"--plan"}, "computes the expressions of --set")
		r.says("undo", exit.Done, "s", nil)
		have("redo", "id, name, n, norm", "1/ABCDE/1/abcdefgh,2/QRSTU/2/qrstuvwx,4/D/1/own,5/new/1/mine,6/UVWXY/1/uvwxyz")
		r.exec("UPDATE s SET n = 3 WHERE id = 1")
		r.says("undo", exit.Done, "s", []string{"--cold", "--plan"}, "the present values replace all former ones")
		r.says("undo", exit.Done, "s", nil)
		have("second undo", "id, name, n", "1/ABCDE/3,2/QRSTUVWX/2,4/D/1,5/new/1,6/UVWXYZ/1")
		r.says("undo", exit.Done, "s", []string{"--cold"})
		have("cold redo", "id, name, n, norm", "1/ABCDE/3/abcde,2/QRSTU/2/qrstuvwx,4/D/1/d,5/new/1/new,6/UVWXY/1/uvwxyz")
		r.says("undo", exit.Done, "s", []string{"--end"})
		r.exec("DROP TABLE s, s_old", "CREATE TABLE s (id INT PRIMARY KEY, name VARCHAR(30), n INT)",
			"INSERT INTO s VALUES (1, 'ABCDEFGH', 1), (2, 'BCDEFGHI', 1), (3, 'CDEFGHIJ', 1), (4, 'DEFGHIJK', 1)")
		r.says("run", exit.Done, alter, append(flags, "--keep=id <> 3"))
		have("change of some rows", "id, name, norm", "1/ABCDE/abcdefgh,2/BCDEF/bcdefghi,4/DEFGH/defghijk")
		r.exec("UPDATE s SET n = 2 WHERE id = 2", "DELETE FROM s WHERE id = 4", "INSERT INTO s VALUES (5, 'new', 1, 'mine')")
		r.says("undo", exit.Done, "s", nil)
		have("undo of some rows", "id, name, n", "1/ABCDEFGH/1,2/BCDEF/2,3/CDEFGHIJ/1,5/new/1")
		r.exec("DROP TABLE s")
	})
}

// TestThePlanOfARedoWithSetNamesWhatCanStopIt: the redo computes the expressions of --set again. Its plan names each kind of row that an
// expression may give no value, and none that the form of the expression excludes; its words are those of a redo.
func TestThePlanOfARedoWithSetNamesWhatCanStopIt(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE s (id INT PRIMARY KEY, name VARCHAR(30), n INT)", "INSERT INTO s VALUES (1, 'ABCDEFGH', 1)")
		r.says("run", exit.Done, "ALTER TABLE s MODIFY name VARCHAR(5), MODIFY n TINYINT NOT NULL, ADD COLUMN lower VARCHAR(30), ADD COLUMN twice VARCHAR(30)",
			[]string{"--set=name=LEFT(name, 5)", "--set=lower=IFNULL(LOWER(name), '')", "--set=twice=REPEAT(name, 2)", "--set=n=n+n", "--undo=1h"})
		r.says("undo", exit.Done, "s", nil)
		r.exec("ALTER TABLE s ADD COLUMN later INT")
		for _, flags := range [][]string{{"--plan"}, {"--plan", "--cold"}, {"--plan", "--park"}} {
			out := strings.Join(strings.Fields(r.says("undo", exit.Done, "s", flags,
				"the new definition refuses rows for which the expression of --set is too long for column twice, varchar(30)",
				"the new definition refuses rows for which the expression of --set is NULL, and column n is NOT NULL", "WHERE (n+n) IS NULL counts them",
				"the new definition refuses rows for which the expression of --set gives no value of column n, tinyint",
				"the redo takes back later changes of the table too")), " ")
			lacks(r.T, out, "too long for column name", "too long for column lower", "the undo ", "old definition", "back without", "go back")
		}
		r.says("undo", exit.Done, "s", []string{"--plan", "--cold"}, "the redo computes the expressions of --set for all rows")
		r.exec("ALTER TABLE s DROP COLUMN later", "INSERT INTO s VALUES (2, 'x', 64)")
		r.says("undo", exit.Unfit, "s", nil, "new definition")
		r.exec("DELETE FROM s WHERE id = 2")
		r.says("undo", exit.Done, "s", nil)
		r.says("undo", exit.Done, "s", []string{"--end"})
		r.says("cleanup", exit.Done, "s", []string{"--old", "--yes"})
		r.exec("DROP TABLE s")
	})
}
