package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// lacks reports texts that belong to another verb.
func lacks(t *testing.T, text string, unwanted ...string) {
	t.Helper()
	for _, no := range unwanted {
		if strings.Contains(text, no) {
			t.Errorf("%q is in:\n%s", no, text)
		}
	}
}

// TestAnUndoThatChecksAllRowsGivesTheAdviceOfAnUndo: rows do not fit the old definition. An undo by all rows names the ways
// out of an undo, with each column that needs a value, and no way to change the ALTER.
func TestAnUndoThatChecksAllRowsGivesTheAdviceOfAnUndo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("ALTER TABLE t ADD COLUMN note VARCHAR(20) NOT NULL, ADD COLUMN kind INT NOT NULL")
		r.says("run", exit.Done, "ALTER TABLE t MODIFY a BIGINT, DROP COLUMN note, DROP COLUMN kind", []string{"--undo=1h"})
		r.exec("UPDATE t SET a = 5000000000 ORDER BY id LIMIT 30")
		fill := " --undo-fill \"note=''\" --undo-fill kind=0 " + r.database + ".t"
		out := r.says("undo", exit.Unfit, "t", []string{"--cold"}, "some rows do not fit: 30 rows out of range", "is still open",
			"--park copies them to a table of their own", "need a value for note, kind (no default): midstream undo"+fill)
		lacks(r.T, out, "fix:  MODIFY")

		r.exec("INSERT INTO t (a) VALUES (1)")
		r.says("undo", exit.Unfit, "t", nil, "doesn't have a default value", "need a value for note, kind (no default): midstream undo"+fill,
			"/* 20 of 30 rows */")
		r.says("undo", exit.Unfit, "t", []string{"--undo-fill=kind=1 + 1"},
			"need a value for note (no default): midstream undo --undo-fill 'kind=1 + 1' --undo-fill \"note=''\" "+r.database+".t")
		r.says("undo", exit.Done, "t", []string{"--park", "--undo-fill=kind=1 + 1", "--undo-fill=note=''"})
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.exec("DROP TABLE t_parked, t_parked_values")
	})
}

// TestAnUndoByTheServerSaysWhichRowsItRefuses: the server's own ALTER that leads back copies the table and may refuse rows. The
// plan of the change says so, and a refused undo speaks of the undo.
func TestAnUndoByTheServerSaysWhichRowsItRefuses(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE n (id INT PRIMARY KEY, v VARCHAR(10) NOT NULL, u INT, UNIQUE KEY u (u))", "INSERT INTO n VALUES (1, 'x', 1), (2, 'x', 2)")
		change, hour := "ALTER TABLE n MODIFY v VARCHAR(20) NOT NULL, DROP KEY u", []string{"--undo=1h"}
		warns := []string{"the server copies the table for that while writes wait", "if there are rows too long for column v, varchar(10), or sharing the value of unique key u (u) with another row"}
		r.says("plan", exit.Done, change, hour, warns...)
		r.says("run", exit.Done, change, hour, warns...)
		r.exec("UPDATE n SET v = '123456789012', u = 2 WHERE id = 1")
		for _, method := range [][]string{nil, {"--method=shadow"}} {
			out := r.says("undo", exit.Unfit, "n", method, "the old definition refuses rows too long for column v, varchar(10): such a row ends the undo", "CHAR_LENGTH(`v`) > 10 counts them",
				"some rows do not fit: 1 row too long", "2 rows sharing the value of unique key u", "the undo is still open",
				"Change the rows, then run the same command again. It has no old table")
			lacks(r.T, out, "builds a shadow", "fix:  MODIFY", "old table taken over", "nothing is left")
		}
		r.exec("UPDATE n SET v = '1', u = 1 WHERE id = 1")
		r.says("undo", exit.Done, "n", nil)
		r.says("undo", exit.Done, "n", []string{"--end"})
		out := r.says("plan", exit.Done, "ALTER TABLE n ADD KEY (v)", hour, "(the server does it: DROP INDEX `v`)")
		lacks(r.T, out, "copies the table for that", "if there are rows")
	})
}

// TestU3_AnUndoOfADroppedDate: a change has dropped columns without a default that has a meaning: a date, and numbers of the
// server. The undo is open, so it takes them back.
func TestU3_AnUndoOfADroppedDate(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE d (id INT PRIMARY KEY, d DATE NOT NULL, ts DATETIME NOT NULL, n INT NOT NULL AUTO_INCREMENT, KEY (n))",
			"INSERT INTO d VALUES (1, '2020-01-01', '2020-01-01 01:00:00', 5), (2, '2020-01-02', '2020-01-01 01:00:00', 9)")
		r.says("run", exit.Done, "ALTER TABLE d DROP COLUMN d, DROP COLUMN ts, DROP COLUMN n", []string{"--undo=1h"}, "--undo-fill for columns d, ts")
		r.exec("INSERT INTO d VALUES (3)")
		r.says("undo", exit.Unfit, "d", nil, "need a value for d, ts (no default)")
		out := r.says("undo", exit.Done, "d", []string{"--undo-fill=d='2020-01-03'", "--undo-fill=ts=NOW()"})
		lacks(r.T, out, "the ALTER", "warning")
		if got := r.query("SELECT GROUP_CONCAT(id, ' ', d, ' ', n > 9 ORDER BY id) FROM d"); got != "1 2020-01-01 0,2 2020-01-02 0,3 2020-01-03 1" {
			r.Errorf("rows after the undo: %s", got)
		}
		r.says("undo", exit.Done, "d", []string{"--end"})
	})
}

// TestWarningsOfAnUndo: the plan of an undo with --park does not warn that rows end it, and that of a redo speaks of the undo.
// Nothing is reported as asked for or renamed that is not.
func TestWarningsOfAnUndo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE w (id INT PRIMARY KEY, a INT NOT NULL, b DECIMAL(10,2), c INT)", "INSERT INTO w VALUES (1, 1, 1, 1)")
		r.says("run", exit.Done, "ALTER TABLE w MODIFY a BIGINT, MODIFY b DECIMAL(12,4) NOT NULL, RENAME COLUMN c TO cc", []string{"--undo=1h", "--method=shadow"})
		r.exec("INSERT INTO w VALUES (2, NULL, 2, 2)")
		r.says("undo", exit.Unfit, "w", nil, "column a was NOT NULL before the change: a NULL ends the undo before its swap", "--park. SELECT COUNT(*)")
		out := r.says("undo", exit.Done, "w", []string{"--park", "--json"})
		for _, want := range []string{`"why":"the undo goes back to the old table"`, `{"source":"a","target":"a","what":"redefined"}`,
			`{"source":"cc","target":"c","what":"renamed"}`, "a NULL is copied to a table of its own, and the undo goes back without it"} {
			contains(r.T, out, want)
		}
		lacks(r.T, out, "asks for it", `"source":"id"`, "the ALTER ", "To copy such rows")
		r.exec("INSERT INTO w VALUES (3, 3, NULL, 3)")
		r.says("undo", exit.Unfit, "w", nil, "column b was NOT NULL before the undo: a NULL ends the redo before its swap")
		r.exec("DELETE FROM w WHERE id = 3")
		r.says("undo", exit.Done, "w", nil)
		r.says("undo", exit.Done, "w", []string{"--end"})
		r.exec("DROP TABLE w_parked")
	})
}

// TestWhatAFailedUndoLeavesIsNamed: an undo ends because of rows that do not fit, or because the binlog does not have the changes by
// keys. What is left is named with the table that keeps values of dropped columns, and the undo as it is then: not open if it is not.
func TestWhatAFailedUndoLeavesIsNamed(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("ALTER TABLE t ADD COLUMN note VARCHAR(20)", "UPDATE t SET note = 'precious'")
		change := "ALTER TABLE t MODIFY a BIGINT, DROP COLUMN note"
		r.says("run", exit.Done, change, []string{"--undo=1h", "--method=shadow"})
		r.exec("UPDATE t SET a = 5000000000 WHERE id = 1")
		r.says("undo", exit.Unfit, "t", nil, "t_old, "+r.database+".t_kept are kept, and the undo is still open")
		r.are("t,t_kept,t_old,t_undo")
		r.exec("UPDATE t SET a = 5 WHERE id = 1")
		r.says("undo", exit.Done, "t", nil)
		r.are("t,t_undo,t_undone")
		if got := r.query("SELECT COUNT(*) FROM t WHERE note = 'precious'"); got != "100" {
			r.Errorf("%s values of the dropped column came back", got)
		}
		r.says("undo", exit.Done, "t", nil)
		r.exec("TRUNCATE TABLE t")
		r.says("undo", exit.Failed, "t", []string{"--lazy"}, "are kept, and the undo is possible by all rows only (--cold)", "midstream undo --cold")
		r.says("undo", exit.Refused, "t", []string{"--lazy", "--park"}, "the undo is revoked", "TRUNCATE TABLE t", "midstream undo --cold")
		r.says("undo", exit.Done, "t", []string{"--cold"})
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
	})
}
