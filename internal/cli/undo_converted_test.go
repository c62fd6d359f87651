package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
)

// TestU5_ThePlanNamesConvertedValuesThatDoNotComeBack: the change rounds and cuts values. The undo brings the former ones back in rows
// that have not changed since the swap, but not in a row of which any column has changed. The plans of both name these columns, and no
// other one.
func TestU5_ThePlanNamesConvertedValuesThatDoNotComeBack(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE f (id INT PRIMARY KEY, n INT, d DECIMAL(10,4), at DATETIME(6), f DOUBLE, c VARCHAR(10), w DECIMAL(6,2), i INT)",
			"INSERT INTO f VALUES (1, 1, 1.1234, '2026-01-01 10:00:00.123456', 1.23456789012, 'x ', 1.5, 1), "+
				"(2, 2, 2.1234, '2026-01-01 10:00:00.123456', 2.23456789012, 'x ', 2.5, 2)")
		change := "ALTER TABLE f MODIFY d DECIMAL(10,2), MODIFY at DATETIME, MODIFY f FLOAT, MODIFY c CHAR(10), MODIFY w DECIMAL(8,4), MODIFY i BIGINT"
		row := func(id string) string {
			return r.query("SELECT CONCAT_WS('|', n, d, at, f, HEX(c), w, i) FROM f WHERE id = " + id)
		}
		before := row("2")
		named := func(out, rows string) {
			r.Helper()
			out = strings.Join(strings.Fields(out), " ")
			for _, column := range []string{"d", "at", "f", "c"} {
				contains(r.T, out, rows+" lose their former values of column "+column+":")
			}
			for _, column := range []string{"w", "i", "n"} {
				lacks(r.T, out, "former values of column "+column)
			}
			contains(r.T, out, "former values of some rows (see the warnings)")
			contains(r.T, out, "(they are rounded to 2 decimals)")
			lacks(r.T, out, "Data loss none")
		}
		r.says("plan", exit.Done, change, []string{"--undo=1h", "--method=shadow"},
			"a row that changes by then, in any column, keeps the converted values of columns d, at, f, c, and other rows get the former ones back")
		r.says("run", exit.Done, change, []string{"--undo=1h", "--method=shadow"})
		r.exec("UPDATE f SET n = 7 WHERE id = 1")
		named(r.says("undo", exit.Done, "f", []string{"--plan", "--cold"}), "all rows")
		named(r.says("undo", exit.Done, "f", []string{"--plan"}), "rows that have changed since the swap, in any column,")
		r.says("undo", exit.Done, "f", nil, "lose their former values of column d")
		if got := row("2"); got != before {
			r.Errorf("row 2 has %s, not %s", got, before)
		}
		if got := r.query("SELECT d FROM f WHERE id = 1"); got != "1.1200" {
			r.Errorf("row 1 has %s", got)
		}
		out := r.says("undo", exit.Done, "f", []string{"--plan"})
		lacks(r.T, out, "lose their former values of column d")
		r.says("undo", exit.Done, "f", []string{"--end"})
		r.exec("DROP TABLE f, f_undone")
	})
}
