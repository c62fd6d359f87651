package cli

import (
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// lacks fails the test if the text has one of the parts.
func (r *killedRig) lacks(text string, parts ...string) {
	r.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			r.Errorf("%q in: %s", part, text)
		}
	}
}

// TestU3_AKilledRedoOfAStatementIsARedo: the redo of a DROP, a TRUNCATE or a RENAME was killed, or has failed. What is shown of it is
// that of a redo, with the times of the undo before it.
func TestU3_AKilledRedoOfAStatementIsARedo(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, statement := range []string{"DROP TABLE t", "TRUNCATE TABLE t", "RENAME TABLE t TO n"} {
		r := newKilledRig(t)
		r.server(exit.Done, "run", "--database="+r.database, "--undo=1h", statement)
		r.server(exit.Done, "undo", r.name)
		redo := func(state string) {
			t.Helper()
			text := r.server(exit.Done, "undo", "--list", "--json", r.name)
			contains(t, text, `"state":"`+state+`"`, `"redo":true`)
			r.lacks(text, "0001-01-01")
			contains(t, r.server(exit.Done, "undo", "--list", r.name), "Change undo of 20")
			text = r.server(exit.Done, "undo", "--list", "--quiet", r.name)
			contains(t, text, r.name+" "+state+" 20", " redo")
		}
		r.killBlocked("t", "undo", r.name)
		contains(t, r.user(exit.Done, "status"), "its redo on ", " was killed (process ")
		redo("stopped")
		tx, err := r.i.Open(t, r.database).Begin()
		if err == nil {
			_, err = tx.Exec("SELECT * FROM t")
		}
		if err != nil {
			t.Fatal(err)
		}
		contains(t, r.server(exit.Failed, "undo", "--lock-wait=100ms", "--lock-give-up=1s", r.name), "the redo is still open")
		_ = tx.Rollback()
		redo("open")
		contains(t, r.server(exit.Done, "undo", r.name), "Redo of ", "Done: redone: ")
		contains(t, r.server(exit.Done, "undo", "--list", "--quiet", r.name), r.name+" open 20", " undo")
		r.ends(strings.HasPrefix(statement, "RENAME"))
	}
}

// TestCleanupGivesUpAKilledUndo: status and undo --list print a command that resumes a killed undo, or a killed redo, and one that gives
// it up. Each does what it says, also if the server makes the change itself, and status shows the killed run until then.
func TestCleanupGivesUpAKilledUndo(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, c := range []struct{ statement, back, forth string }{ // the tables that block the undo, and the redo
		{"DROP TABLE t", "t_old", "t"}, {"TRUNCATE TABLE t", "t", "t"}, {"RENAME TABLE t TO n", "n", "t"},
		{"ALTER TABLE t ADD COLUMN n INT", "t", "t"}, {"ALTER TABLE t ADD INDEX (a)", "t", "t"},
	} {
		r := newKilledRig(t)
		killed := func(text string) {
			t.Helper()
			contains(t, r.user(exit.Done, "status"), text+" on ", " was killed (process ", "midstream cleanup "+r.name+" gives this attempt up")
			contains(t, r.server(exit.Done, "undo", "--list", r.name), ": stopped",
				"midstream undo --lock-wait=100ms "+r.name+" resumes it; midstream cleanup "+r.name+" gives this attempt up")
			contains(t, r.server(exit.Done, "undo", "--list", "--json", r.name), `"state":"stopped"`, `"resume":"midstream undo --lock-wait=100ms `+r.name+`"`)
		}
		r.server(exit.Done, "run", "--database="+r.database, "--undo=1h", c.statement)
		for n, what := range []string{"its undo", "its redo"} {
			table, word := []string{c.back, c.forth}[n], strings.TrimPrefix(what, "its ")
			r.killBlocked(table, "undo", "--lock-wait=100ms", r.name)
			killed(what)
			contains(t, r.server(exit.Done, "cleanup", "--yes", r.name), "The run of the "+word+" of ", "before the server had done it", "Gave up the "+word+" of ")
			r.lacks(r.user(exit.Done, "status"), "was killed")
			contains(t, r.server(exit.Done, "undo", "--list", "--quiet", r.name), r.name+" open 20", " "+word)
			r.killBlocked(table, "undo", "--lock-wait=100ms", r.name)
			r.typed(r.printed(r.raw(exit.Done, "status"), "resumes it"))
			r.lacks(r.user(exit.Done, "status"), "was killed")
		}
		r.ends(strings.HasPrefix(c.statement, "RENAME") || strings.HasPrefix(c.statement, "ALTER"))
	}
}
