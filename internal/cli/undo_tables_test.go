package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU4_StatementsAreUndone: DROP, TRUNCATE and RENAME with --undo, their undo, redo and end, as the operator sees them.
func TestU4_StatementsAreUndone(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1)",
			"CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fp FOREIGN KEY (p) REFERENCES p (id)) COMMENT 'own'", "INSERT INTO c VALUES (1, 1), (2, 1)")
		hour := []string{"--undo=1h"}
		c, t := r.database+".c", r.database+".t"

		r.says("plan", exit.Done, "DROP TABLE c", hour)
		r.says("run", exit.Done, "DROP TABLE c", hour, "can be undone for 1h: ", "To undo it, until ", "midstream undo "+c)
		r.are("c_old,c_undo,p,t")
		r.says("undo", exit.Done, c, []string{"--list"}, "open until ", "DROP TABLE")
		r.says("undo", exit.Done, c, []string{"--list", "--quiet"}, c+" open ")
		r.says("cleanup", exit.Refused, c, []string{"--old", "--yes"}, "undo")
		r.exec("DELETE FROM p")
		r.says("undo", exit.Unfit, c, nil, "2 rows without a parent", "by the foreign key fp")
		r.exec("INSERT INTO p VALUES (1)")
		r.says("undo", exit.Done, c, nil, "is the redo")
		r.are("c,c_undo,p,t")
		r.says("undo", exit.Done, c, nil)
		r.are("c_old,c_undo,p,t")
		r.says("undo", exit.Done, c, nil)
		r.says("undo", exit.Done, c, []string{"--end"})
		r.says("undo", exit.Refused, c, nil, "no change of this table can be undone")
		r.are("c,p,t")

		r.says("run", exit.Done, "TRUNCATE t", hour, "To undo it, until ", "midstream undo "+t)
		r.exec("INSERT INTO t (id, a) VALUES (7000, 7)")
		r.says("undo", exit.Refused, t, nil, "--merge")
		r.says("undo", exit.Done, t, []string{"--merge"})
		if got := r.query("SELECT COUNT(*) FROM t"); got != "101" {
			r.Errorf("%s rows", got)
		}
		r.says("undo", exit.Done, t, []string{"--end"})

		r.says("run", exit.Done, "RENAME TABLE t TO u, c TO d", hour, "To undo it, until ", "midstream undo "+t)
		r.says("undo", exit.Done, t, nil)
		r.says("undo", exit.Done, t, nil)
		r.says("undo", exit.Done, t, []string{"--extend=1h"})
		r.says("undo", exit.Done, t, []string{"--list", "--json"}, `"state":"open"`)
		r.says("undo", exit.Done, t, nil)
		r.says("undo", exit.Done, t, []string{"--end"})
		if got := r.query("SELECT COUNT(*) FROM c JOIN p ON p.id = c.p"); got != "2" {
			r.Errorf("%s rows of c", got)
		}
	})
}

// TestTheUndoOfARenameTakesTheNewName: midstream undo takes the name that a RENAME has given a table, as long as nothing else has
// happened to it.
func TestTheUndoOfARenameTakesTheNewName(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT)")
		r.says("run", exit.Done, "RENAME TABLE a TO b", []string{"--undo=1h"})
		r.exec("INSERT INTO b VALUES (7)")
		r.says("undo", exit.Done, "b", []string{"--list"}, ".a: open until ")
		r.says("undo", exit.Done, "b", []string{"--plan"}, "RENAME TABLE")
		r.says("undo", exit.Done, "b", []string{"--extend=1h"}, ".a: open until ")
		r.says("undo", exit.Done, "b", nil)
		if got := r.query("SELECT COUNT(*) FROM a"); got != "1" {
			r.Errorf("rows of the table under its former name: %s", got)
		}
		r.says("undo", exit.Refused, "b", nil) // it was taken back: the redo is that of a
		r.says("undo", exit.Done, "a", nil)
		r.exec("ALTER TABLE b ADD COLUMN n INT")
		r.says("undo", exit.Refused, "b", nil, "a RENAME has given it this name; did you mean ") // or the ALTER
		r.exec("ALTER TABLE b DROP COLUMN n")
		r.says("undo", exit.Done, "b", []string{"--end"}, "gave up the undo")
		r.exec("DROP TABLE b")
	})
}

// TestU3_AnUndoThatWouldBeRefusedIsNotOpen: other sessions drop, rename or alter the tables of a change that can be undone.
// The list says why the undo would be refused, "open" is true, and the undos of other tables stay in the list.
func TestU3_AnUndoThatWouldBeRefusedIsNotOpen(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		hour := []string{"--undo=1h", "--method=shadow"}
		statement := []string{"--undo=1h"}
		for _, c := range []struct {
			change string
			flags  []string
			done   string // by others
			why    string // "": it stays open
			mend   string // makes it open again; "": nothing does
		}{
			{"ALTER TABLE x DROP COLUMN s", hour, "ALTER TABLE x ADD COLUMN more INT", "", ""},
			{"ALTER TABLE x DROP COLUMN s", hour, "DROP TABLE x", "x is gone", ""},
			{"ALTER TABLE x DROP COLUMN s", hour, "RENAME TABLE x TO y", "x is gone", "RENAME TABLE y TO x"},
			{"ALTER TABLE x DROP COLUMN s", hour, "RENAME TABLE x TO y; CREATE VIEW x AS SELECT * FROM y", "x is no table any more", ""},
			{"ALTER TABLE x DROP COLUMN s", hour, "ALTER TABLE x DROP PRIMARY KEY", "no primary key", "ALTER TABLE x ADD PRIMARY KEY (id)"},
			{"ALTER TABLE x DROP COLUMN s", hour, "ALTER TABLE x ADD COLUMN s INT", "column s was added since", "ALTER TABLE x CHANGE s s2 INT"},
			{"ALTER TABLE x ADD COLUMN n INT", statement, "DROP TABLE x", "x is gone", ""},
			{"DROP TABLE x", statement, "CREATE TABLE x (id INT PRIMARY KEY)", "another table has the name", "DROP TABLE x"},
			{"TRUNCATE TABLE x", statement, "DROP TABLE x", "x is gone", ""},
			{"TRUNCATE TABLE x", statement, "ALTER TABLE x ADD COLUMN n INT", "x was altered since the TRUNCATE", "ALTER TABLE x DROP COLUMN n"},
			{"RENAME TABLE x TO y", statement, "CREATE TABLE x (id INT PRIMARY KEY)", "another table has the name", "DROP TABLE x"},
			{"RENAME TABLE x TO y", statement, "DROP TABLE y", "y is gone", ""},
		} {
			r.exec("CREATE TABLE x (id INT PRIMARY KEY, s INT)", "INSERT INTO x VALUES (1, 1)", "CREATE TABLE other (id INT PRIMARY KEY)")
			x := r.database + ".x"
			r.says("run", exit.Done, c.change, c.flags)
			r.says("run", exit.Done, "DROP TABLE other", statement)
			r.says("undo", exit.Done, x, []string{"--list", "--quiet"}, x+" open ")
			r.exec(strings.Split(c.done, "; ")...)
			want, all := []string{`"state":"ended"`, c.why}, []string{"--list", "--json"}
			if c.why == "" {
				want = []string{`"state":"open"`}
			}
			t.Log(c.change, c.done)
			r.says("undo", exit.Done, x, all, want...)
			r.says("undo", exit.Done, "--json", []string{"--list"}, x, r.database+".other")
			if c.why != "" {
				r.says("undo", exit.Refused, x, nil)
			}
			if c.mend != "" {
				if strings.HasPrefix(c.change, "ALTER") && !strings.Contains(c.why, "gone") {
					r.says("plan", exit.Refused, "ALTER TABLE x MODIFY id BIGINT NOT NULL", nil, "can be undone until")
				}
				r.exec(c.mend)
				r.says("undo", exit.Done, x, []string{"--list", "--quiet"}, x+" open ")
				if strings.HasPrefix(c.change, "ALTER") {
					r.says("undo", exit.Done, x, []string{"--cold"})
				} else {
					r.says("undo", exit.Done, x, nil)
				}
			}
			r.says("undo", exit.Done, x, []string{"--end"})
			r.says("undo", exit.Done, r.database+".other", []string{"--end"})
			if strings.Contains(c.done, "VIEW") {
				r.exec("DROP VIEW x")
			}
			r.exec("DROP TABLE IF EXISTS " + r.tables())
		}
		r.exec("CREATE TABLE t (id INT)")
	})
}

// TestU3_TheListNamesWhatARenameOfSeveralTablesLacks: one of the tables is gone. The list and the refusal name it, and what that means for
// the others.
func TestU3_TheListNamesWhatARenameOfSeveralTablesLacks(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE x (id INT PRIMARY KEY)", "CREATE TABLE y (id INT PRIMARY KEY)")
		at := r.database + "."
		r.says("run", exit.Done, "RENAME TABLE x TO x2, y TO y2", []string{"--undo=1h"})
		r.exec("RENAME TABLE y2 TO y3")
		r.says("undo", exit.Done, at+"x", []string{"--list", "--json"}, at+"y2 is gone, which the undo would rename to "+at+"y, with all 2 tables of the statement or none",
			"rename it to "+at+"y2")
		r.says("undo", exit.Refused, at+"x", nil, "no such table: "+at+"y2", "or none", "rename the other tables by hand")
		r.exec("RENAME TABLE y3 TO y2")
		r.says("undo", exit.Done, at+"x", nil)
		r.says("undo", exit.Done, at+"x", []string{"--end"})
	})
}

// TestTheRedoOfATruncateParksNothing: the redo empties the table again. It refuses --park and --merge, and nothing has happened.
func TestTheRedoOfATruncateParksNothing(t *testing.T) {
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Done, "TRUNCATE t", []string{"--undo=1h"})
		r.says("undo", exit.Done, "t", nil)
		for _, flag := range []string{"--park", "--merge"} {
			r.says("undo", exit.Refused, "t", []string{flag}, "the undo cannot use "+flag, "its redo empties the table", "Leave out "+flag)
		}
		if got := r.query("SELECT COUNT(*) FROM t"); got != "100" {
			r.Errorf("%s rows", got)
		}
		r.says("undo", exit.Done, "t", nil)
		r.says("undo", exit.Done, "t", nil)
		r.says("undo", exit.Done, "t", []string{"--end"})
	})
}

// TestTheListNamesTheTableOfADrop: a DROP has put a table aside, and its undo was given up, or was never kept. The list names
// the table that has the rows and how they come back, also if another table has the name by now.
func TestTheListNamesTheTableOfADrop(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE c (id INT PRIMARY KEY)", "INSERT INTO c VALUES (1)", "CREATE TABLE k (id INT PRIMARY KEY)")
		r.says("run", exit.Done, "DROP TABLE c", []string{"--undo=1h"})
		r.says("undo", exit.Done, "c", []string{"--end"})
		r.says("run", exit.Done, "DROP TABLE k", []string{"--drop-later"})
		back := "RENAME TABLE `" + r.database + "`.`c_old` TO `" + r.database + "`.`c"
		for table, flags := range map[string][]string{"c": {"--list"}, "k": {"--list"}} {
			r.says("undo", exit.Done, table, flags, "nothing was kept of its DROP but "+r.database+"."+table+"_old, which has its rows", "To get the table back")
		}
		r.says("undo", exit.Done, "c", []string{"--list", "--json"}, `"state":"ended"`, `"old":"`+r.database+`.c_old"`)
		for _, flags := range [][]string{nil, {"--cold"}} {
			r.says("undo", exit.Refused, "c", flags, "but "+r.database+".c_old has the rows of its last DROP", back+"`")
		}
		r.exec("CREATE TABLE c (id INT PRIMARY KEY)")
		r.says("undo", exit.Done, "c", []string{"--list"}, back+"_back`")
		r.says("undo", exit.Refused, "c", []string{"--cold"}, "no change of this table can be undone")
		r.exec("DROP TABLE c")
		r.says("run", exit.Done, strings.TrimSuffix(back, "`.`c")+"`.`c`", nil)
		if got := r.query("SELECT COUNT(*) FROM c"); got != "1" {
			r.Errorf("%s rows", got)
		}
		r.says("undo", exit.Refused, "c", []string{"--cold"}, "no change of this table can be undone")
		r.exec("ALTER TABLE c COMMENT ''")
		r.says("cleanup", exit.Done, "k", []string{"--old", "--yes"})
	})
}

// TestU4_TheRowsOfATruncateOfAnAlteredTable: a TRUNCATE has put the rows aside, and the table was altered since. No undo by all rows
// gives the old table the present rows: it is refused before anything is written, with the way to the rows.
func TestU4_TheRowsOfATruncateOfAnAlteredTable(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.says("run", exit.Done, "TRUNCATE t", []string{"--undo=1h"})
		r.exec("ALTER TABLE t ADD COLUMN x INT", "INSERT INTO t (a, x) VALUES (1, 1)")
		r.says("undo", exit.Refused, "t", nil, "altered")
		r.says("undo", exit.Done, "t", []string{"--end"}, "with its rows")
		r.says("undo", exit.Done, "t", []string{"--list"}, "a TRUNCATE has put "+r.database+".t_old aside", "RENAME TABLE")
		for _, flags := range [][]string{{"--cold"}, {"--cold", "--shadow-name=t_old"}} {
			r.says("undo", exit.Refused, "t", flags, "an undo by all rows would remove its rows, which no other table has", "RENAME TABLE")
		}
		if got := r.query("SELECT COUNT(*) FROM t_old"); got != "100" {
			r.Errorf("%s rows", got)
		}

		// An ALTER of midstream puts another table aside, and its undo leaves the rows of the TRUNCATE alone.
		r.says("run", exit.Done, "ALTER TABLE t MODIFY a BIGINT", []string{"--method=shadow", "--undo=1h"})
		r.says("undo", exit.Done, "t", nil)
		r.says("undo", exit.Done, "t", []string{"--end"})
		r.says("undo", exit.Refused, "t", []string{"--cold", "--shadow-name=t_old"}, "would remove its rows")
		if got := r.query("SELECT COUNT(*) FROM t_old"); got != "100" {
			r.Errorf("%s rows", got)
		}
		r.says("cleanup", exit.Done, "t", []string{"--old", "--yes"})
		r.are("t")
	})
}
