package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU3_AnUndoThatTheServerWouldRefuseIsNotPromised: an application without a strict sql_mode has made a column whose definition the
// server refuses now. The plan of a change by the server says that no ALTER leads back. With --undo, a new table is made, and its undo
// needs no ALTER.
func TestU3_AnUndoThatTheServerWouldRefuseIsNotPromised(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("SET sql_mode = ''", "CREATE TABLE e (id INT PRIMARY KEY, e ENUM('a','a') NOT NULL)", "INSERT INTO e VALUES (1, 'a')")
		change, why := "ALTER TABLE e MODIFY e ENUM('a','b') NOT NULL", "no ALTER leads back: the server refuses the statement: Column 'e' has duplicated value 'a' in ENUM"
		for _, verb := range []string{"plan", "run"} {
			lacks(r.T, r.says(verb, exit.Done, change, []string{"--undo=1h", "--undo-method=auto"}, "the change cannot be undone afterwards: "+why), "possible for")
			r.exec("DROP TABLE IF EXISTS e", "SET sql_mode = ''", "CREATE TABLE e (id INT PRIMARY KEY, e ENUM('a','a') NOT NULL)", "INSERT INTO e VALUES (1, 'a')")
		}
		r.says("plan", exit.Done, change, []string{"--undo=1h"}, "it could not be undone: "+why)
		r.says("run", exit.Done, change, []string{"--undo=1h"}, "Kept for that: ")
		r.says("undo", exit.Done, "e", nil)
		r.says("undo", exit.Done, "e", []string{"--end"})
	})
}

// TestU3_TheServerGivesAZeroDateBack: the default of a column was a date that the server refuses now. The undo by the server brings it
// back, as the plan of the change has promised.
func TestU3_TheServerGivesAZeroDateBack(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("SET sql_mode = ''", "CREATE TABLE d (id INT PRIMARY KEY, d DATE NOT NULL DEFAULT '0000-00-00', n INT)", "INSERT INTO d (id) VALUES (1)")
		r.says("run", exit.Done, "ALTER TABLE d ALTER d SET DEFAULT '2020-01-01'", []string{"--undo=1h"}, "Undo possible for 1 h afterwards")
		r.says("undo", exit.Done, "d", []string{"--plan"}, "DEFAULT '0000-00-00'")
		r.says("undo", exit.Done, "d", nil)
		r.says("undo", exit.Done, "d", nil)
		r.says("undo", exit.Done, "d", nil)
		if got := r.query("SELECT CONCAT(d, ' ', DEFAULT(d)) FROM d"); got != "0000-00-00 0000-00-00" {
			r.Errorf("the date and its default are %s", got)
		}
		r.says("undo", exit.Done, "d", []string{"--end"})
	})
}

// TestARefusedUndoByTheServerSpeaksOfTheUndo: the default of a column was a sequence, which another session has dropped since. The plan of
// the undo ends as the undo does, and both say what to do about an undo: there is no statement to correct.
func TestARefusedUndoByTheServerSpeaksOfTheUndo(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "mariadb-11.8")
	r := newFlagRig(t, i)
	database, _, _ := strings.Cut(r.name, ".")
	exec := executing(t, i, database)
	exec("CREATE SEQUENCE s", "ALTER TABLE t ALTER a SET DEFAULT NEXTVAL(s)")
	r.with(exit.Done, "run", "--undo=1h", "ALTER TABLE t ALTER a SET DEFAULT 5")
	exec("DROP SEQUENCE s")
	for _, flags := range [][]string{{"--plan"}, nil} {
		said := r.with(exit.Refused, "undo", append(flags, r.name)...)
		contains(t, said, "the last change cannot be taken back", "the server refuses the statement: ", "midstream undo --end "+r.name+" removes the record")
		lacks(t, said, "correct the statement")
	}
	r.with(exit.Done, "undo", "--end", r.name)
}

// TestTheEndOfAKilledUndoNamesIt: an undo by the server was killed. Its end says what became of it.
func TestTheEndOfAKilledUndoNamesIt(t *testing.T) {
	t.Parallel()
	r := newKilledRig(t)
	r.server(exit.Done, "run", "--undo=1h", "ALTER TABLE "+r.name+" ADD COLUMN added INT")
	r.killBlocked("t", "undo", r.name)
	contains(t, r.server(exit.Done, "undo", "--end", r.name),
		"Killed run the undo of ADD COLUMN added INT: its statement was ended, and the table is unchanged", "Dropped "+r.name+"_undo")
}
