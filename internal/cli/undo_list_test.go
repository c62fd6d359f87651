package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestU3_TheListShowsWhatTheUndoDoes: the list goes by the rule by which the undo is planned. Rows that were parked and have come back,
// or a foreign key that changes rows without a trace in the binlog, make the undo cold: the list gives that reason.
func TestU3_TheListShowsWhatTheUndoDoes(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for server, prepared := range map[string][]string{
		"9.7": {"INSERT INTO t VALUES (5, 5000000000)"},
		"mariadb-10.11": {
			"CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)",
			"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES p (id) ON DELETE CASCADE",
		},
	} {
		t.Run(server, func(t *testing.T) {
			sideBySide(t)
			i := mysqltest.Server(t, server)
			r := newFlagRig(t, i)
			database, _, _ := strings.Cut(r.name, ".")
			r.with(exit.Done, "run", "--undo=1h", "--method=shadow", "ALTER TABLE t MODIFY a BIGINT")
			contains(t, r.with(exit.Done, "undo", "--list", r.name), "How an undo syncs the rows that have changed since the swap (lazy)")
			executing(t, i, database)(prepared...)
			why := "foreign keys change rows of the table without a trace in the binlog"
			if server == "9.7" {
				r.with(exit.Done, "undo", "--park", r.name)
				contains(t, r.with(exit.Done, "undo", "--list", r.name), "How the redo syncs")
				contains(t, r.with(exit.Done, "undo", "--list", "--quiet", r.name), " lazy - redo")
				contains(t, r.with(exit.Done, "undo", r.name), "To undo it, by all rows, as long as "+r.name+"_old exists: midstream undo --cold "+r.name)
				why = "rows have come back that had been parked, and the old table lacks them"
			}
			contains(t, r.with(exit.Done, "undo", "--list", r.name), ": revoked, because "+why, "How an undo syncs all rows (cold)",
				"midstream undo --cold "+r.name+" takes it back, by all rows, as long as "+r.name+"_old exists")
			contains(t, r.with(exit.Done, "undo", "--list", "--json", r.name), `"state":"revoked"`, `"mode":"cold"`)
			contains(t, r.with(exit.Done, "undo", "--list", "--quiet", r.name), r.name+" revoked - cold - undo")
			contains(t, r.with(exit.Refused, "undo", "--lazy", r.name), why, "midstream undo --cold "+r.name)
			contains(t, r.with(exit.Done, "undo", "--park", r.name), "the undo syncs and compares all rows, and not only the changed ones: "+why)
			executing(t, i, database)("DROP TABLE IF EXISTS t_parked, t_parked2")
			r.ends(false)
		})
	}
}

// TestStatusShowsTheUndoAsItIs: no run is active, and the undo that the last one has left is no error. It is gone after undo --end.
func TestStatusShowsTheUndoAsItIs(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	r := newFlagRig(t, mysqltest.Server(t, "9.7"))
	here := "--history-dir=" + t.TempDir()
	sockets := "--control-dir=" + filepath.Join(t.TempDir(), "sockets") // status lists the runs of other tests first
	status := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := midstream(t, append([]string{"status", here, sockets}, args...)...)
		if code != want {
			t.Errorf("status %q: exit code %d, want %d\n%s\n%s", args, code, want, stdout, stderr)
		}
		return stdout
	}
	for range 2 {
		status(exit.NoRun, r.name)
		r.with(exit.Done, "run", here, "--undo=1h", "TRUNCATE TABLE t")
		contains(t, status(exit.Done, r.name), "the undo of its last change on ", " is open until ")
		contains(t, status(exit.Done), r.name+" on ", "undo possible until 20", "midstream status "+r.name+" shows more")
		contains(t, status(exit.Done, "--json", r.name), `{"run":{`, `"table":"`+r.name+`"`, `"result":{`, `"state":"open"`)
		status(exit.NoRun, "--json", "--server=another:1", r.name)
		status(exit.NoRun, "--server=another:1", r.name)
		contains(t, status(exit.Done, "--json"), `{"run":{`, `"table":"`+r.name+`"`, `"state":"done"`, `"open_until":"`)
		r.with(exit.Done, "undo", here, r.name)
		contains(t, status(exit.Done, r.name), "the redo of its last change on ", "To redo: midstream undo "+r.name)
		r.with(exit.Done, "undo", here, "--extend=100h", r.name)
		contains(t, status(exit.Done, r.name), time.Now().UTC().Add(101*time.Hour).Format(time.DateOnly))
		status(exit.WrongUsage, "a.b", "c")
		r.with(exit.Done, "undo", here, "--end", r.name)
		if stdout := status(exit.NoRun, r.name) + status(exit.NoRun, "--json", r.name) + status(exit.Done) + status(exit.Done, "--json"); strings.Contains(stdout, "is open") || strings.Contains(stdout, "open_until") {
			t.Errorf("after undo --end: %s", stdout)
		}
	}
}

// TestU5_AnUndoDoesNotRemoveTheRowsOfATruncate: once the undo of a TRUNCATE or a DROP was given up, nothing shows what has put the old
// table aside. An undo by all rows would give it the rows of the empty table. It is refused, and the way to the rows is printed.
func TestU5_AnUndoDoesNotRemoveTheRowsOfATruncate(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	for _, statement := range []string{"TRUNCATE TABLE t", "DROP TABLE t"} {
		r := newFlagRig(t, i)
		database, _, _ := strings.Cut(r.name, ".")
		r.with(exit.Done, "run", "--undo=1h", statement)
		back := "midstream run 'RENAME TABLE `" + database + "`.`t_old` TO `" + database + "`.`t`'"
		if strings.HasPrefix(statement, "TRUNCATE") {
			back = "midstream run 'RENAME TABLE `" + database + "`.`t` TO `" + database + "`.`t_now`, `" + database + "`.`t_old` TO `" + database + "`.`t`'"
		}
		contains(t, r.with(exit.Done, "undo", "--end", r.name), "Kept "+r.name+"_old, with its rows. To drop it: midstream cleanup --old "+r.name, back)
		if strings.HasPrefix(statement, "TRUNCATE") {
			contains(t, r.with(exit.Done, "undo", "--list", r.name), "a TRUNCATE has put ", back)
			contains(t, r.with(exit.Refused, "undo", "--cold", r.name), "a TRUNCATE has put ", back)
		}
		r.with(exit.Done, "run", strings.Trim(strings.TrimPrefix(back, "midstream run "), "'"))
		var rows int
		if err := i.Open(t, database).QueryRow("SELECT COUNT(*) FROM t").Scan(&rows); err != nil || rows != 2 {
			t.Errorf("%s: %d rows came back, %v", statement, rows, err)
		}
		executing(t, i, database)("DROP TABLE IF EXISTS t, t_now")
	}
}

// TestTheCommandsForSeveralOldTablesWork: a change that ends the undo before names what it ends and what stays. With two old tables,
// each printed command names one of them, and works.
func TestTheCommandsForSeveralOldTablesWork(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	r := newFlagRig(t, mysqltest.Server(t, "9.7"))
	r.with(exit.Done, "run", "--undo=1h", "--method=shadow", "ALTER TABLE t ADD COLUMN n INT")
	contains(t, r.with(exit.Refused, "run", "--method=shadow", "ALTER TABLE t ADD COLUMN o INT"), "midstream undo --end "+r.name, "--end-undo with this command")
	contains(t, r.with(exit.Done, "run", "--undo=1h", "--end-undo", "--method=shadow", "ALTER TABLE t ADD COLUMN o INT"),
		"ends the undo of the change before (ADD COLUMN n INT), which is open until ", "Its old table "+r.name+"_old stays; midstream cleanup --old "+r.name)
	r.with(exit.Done, "undo", "--end", r.name)
	command := "midstream undo --cold --shadow-name=t_old " + r.name
	contains(t, r.with(exit.Done, "undo", "--list", r.name), command, "--shadow-name=t_old2")
	contains(t, r.with(exit.Refused, "undo", r.name), command)
	contains(t, r.with(exit.Refused, "undo", "--cold", r.name), command)
	contains(t, r.with(exit.Done, "undo", "--cold", "--shadow-name=t_old", r.name), "To redo it, until ")
	r.ends(false)
}
