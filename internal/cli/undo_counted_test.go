package cli

import (
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU4_OnlyComparedRowsAreCounted: the result of an undo counts the rows that were compared, and not those that do not fit, which it
// has parked: of all rows, and of the rows that have changed.
func TestU4_OnlyComparedRowsAreCounted(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE f (id INT PRIMARY KEY, n INT NOT NULL, d DECIMAL(10,4), u INT, UNIQUE KEY by_u (u))",
			"INSERT INTO f VALUES (1, 1, 1.1234, 1), (2, 2, 2, 2), (3, 3, 3, 3), (4, 4, 4, 4)")
		for _, c := range []struct{ change, verified string }{
			{"DROP KEY by_u, MODIFY n BIGINT", "4 rows compared"},                         // 1, 2, 5 and 6
			{"DROP KEY by_u, MODIFY n BIGINT, MODIFY d DECIMAL(10,2)", "2 rows compared"}, // 5 and 6
		} {
			r.says("run", exit.Done, "ALTER TABLE f "+c.change, []string{"--undo=1h", "--method=shadow"})
			r.exec("UPDATE f SET u = 1 WHERE id = 3", "UPDATE f SET n = NULL WHERE id = 4", "INSERT INTO f VALUES (5, 5, 5, 5), (6, 6, 6, 6), (7, 1 << 40, 7, 7)")
			r.says("undo", exit.Done, "f", []string{"--park"}, c.verified, "all equal")
			r.says("undo", exit.Done, "f", []string{"--end"})
			r.exec("DROP TABLE f_undone, f_parked", "DELETE FROM f WHERE id > 2", "INSERT INTO f VALUES (3, 3, 3, 3), (4, 4, 4, 4)")
		}
		r.exec("DROP TABLE f")
	})
}
