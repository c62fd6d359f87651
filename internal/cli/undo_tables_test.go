package cli

import (
	"testing"
)

// TestU4_StatementsAreUndone: DROP, TRUNCATE and RENAME with --undo, their undo, redo and end, as the operator sees them.
func TestU4_StatementsAreUndone(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1)",
			"CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fp FOREIGN KEY (p) REFERENCES p (id)) COMMENT 'own'", "INSERT INTO c VALUES (1, 1), (2, 1)")
		hour := []string{"--undo=1h"}
		c, t := r.database+".c", r.database+".t"

		r.says("plan", exitDone, "DROP TABLE c", hour)
		r.says("run", exitDone, "DROP TABLE c", hour, "can be undone for 1h0m0s", "To undo it, until ", "midstream undo "+c)
		r.are("c_old,c_undo,p,t")
		r.says("undo", exitDone, c, []string{"--list"}, "open until ", "DROP TABLE")
		r.says("undo", exitDone, c, []string{"--list", "--quiet"}, c+" open ")
		r.says("cleanup", exitRefused, c, []string{"--old", "--yes"}, "undo")
		r.exec("DELETE FROM p")
		r.says("undo", exitUnfit, c, nil, "2 rows without a parent", "by the foreign key fp")
		r.exec("INSERT INTO p VALUES (1)")
		r.says("undo", exitDone, c, nil, "is the redo")
		r.are("c,c_undo,p,t")
		r.says("undo", exitDone, c, nil)
		r.are("c_old,c_undo,p,t")
		r.says("undo", exitDone, c, nil)
		r.says("undo", exitDone, c, []string{"--end"})
		r.says("undo", exitRefused, c, nil, "no change of this table can be undone")
		r.are("c,p,t")

		r.says("run", exitDone, "TRUNCATE t", hour, "To undo it, until ", "midstream undo "+t)
		r.exec("INSERT INTO t (id, a) VALUES (7000, 7)")
		r.says("undo", exitRefused, t, nil, "--merge")
		r.says("undo", exitDone, t, []string{"--merge"})
		if got := r.query("SELECT COUNT(*) FROM t"); got != "101" {
			r.Errorf("%s rows", got)
		}
		r.says("undo", exitDone, t, []string{"--end"})

		r.says("run", exitDone, "RENAME TABLE t TO u, c TO d", hour, "To undo it, until ", "midstream undo "+t)
		r.says("undo", exitDone, t, nil)
		r.says("undo", exitDone, t, nil)
		r.says("undo", exitDone, t, []string{"--extend=1h"})
		r.says("undo", exitDone, t, []string{"--list", "--json"}, `"state":"open"`)
		r.says("undo", exitDone, t, nil)
		r.says("undo", exitDone, t, []string{"--end"})
		if got := r.query("SELECT COUNT(*) FROM c JOIN p ON p.id = c.p"); got != "2" {
			r.Errorf("%s rows of c", got)
		}
	})
}
