package cli

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/ops/followers"
)

// written is all that an undo could write: the tables with their checksums, and the server's binlogs with their sizes.
func written(t *testing.T, i *mysqltest.Instance, database string) (text string) {
	t.Helper()
	db := i.Open(t, database)
	all := func(query string) (texts []string) {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		for err == nil && rows.Next() {
			values, to := make([]sql.NullString, len(names)), make([]any, len(names))
			for n := range values {
				to[n] = &values[n]
			}
			err = rows.Scan(to...)
			text += fmt.Sprintln(values)
			texts = append(texts, values[0].String)
		}
		if err = errors.Join(err, rows.Err()); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	all("SHOW BINARY LOGS")
	for _, name := range all("SHOW TABLES") {
		all("CHECKSUM TABLE `" + name + "`")
	}
	return text
}

// TestThePlanOfAnUndoChangesNothing: undo --plan prints what the undo would do, how long a query waits, and what is lost. It
// writes nothing, whether the undo is lazy, cold, by the server or by a RENAME, and for the redo.
func TestThePlanOfAnUndoChangesNothing(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, everyServer...) {
		t.Run(version, func(t *testing.T) {
			i := mysqltest.Own(t, version, sandbox.Options{}) // its binlog has what this test writes
			name, query := table(t, i, 100)
			database, _, _ := strings.Cut(name, ".")
			run := func(want int, args ...string) (stdout, stderr string) {
				t.Helper()
				code, stdout, stderr := midstream(t, append(args, flagsTo(t, i)...)...)
				if code != want {
					t.Fatalf("%q: exit code %d\n%s\n%s", args, code, stdout, stderr)
				}
				return stdout, stderr
			}
			planned := func(args []string, want ...string) {
				t.Helper()
				before := written(t, i, database)
				stdout, _ := run(exit.Done, append([]string{"undo", "--plan", name}, args...)...)
				contains(t, strings.Join(strings.Fields(stdout), " "), want...)
				if after := written(t, i, database); after != before {
					t.Errorf("undo --plan %q has written:\n%s\nbefore:\n%s", args, after, before)
				}
			}
			waits := "a query waits at most"
			run(exit.Done, "run", "ALTER TABLE "+name+" ADD COLUMN c INT, DROP COLUMN b", "--method=shadow", "--undo=1h")
			planned(nil, "Undo of", "sync the rows that have changed since the swap", waits, "the values of column c", "Unfit rows not checked",
				"without --plan")
			planned([]string{"--cold"}, "sync all rows of the old table", waits, "the values of column c")
			planned([]string{"--json"}, `"undoes":{`, `"mode":"lazy"`, `"unfit":null`)
			run(exit.Done, "undo", name)
			planned(nil, "Redo after", waits)
			run(exit.Done, "undo", "--end", name)
			planned([]string{"--cold", "--map=c=b"}, "sync all rows", waits) // nothing was kept
			run(exit.Done, "cleanup", "--old", "--yes", name)
			run(exit.Refused, "undo", "--plan", name)
			run(exit.Done, "run", "ALTER TABLE "+name+" ADD INDEX by_id (id, a)", "--method=inplace", "--undo=1h")
			planned(nil, "Undo of", "Statement ALTER TABLE "+name+" DROP", waits)
			run(exit.Done, "undo", "--end", name)
			run(exit.Done, "run", "TRUNCATE TABLE "+name, "--undo=1h")
			planned(nil, "RENAME")
			if got := query("SELECT COUNT(*) FROM t"); got != "0" {
				t.Errorf("the table has %s rows", got)
			}
			run(exit.Done, "undo", "--end", name)
			_, stderr := run(exit.WrongUsage, "undo", "--plan", "--list", name)
			contains(t, stderr, "--plan has no effect with --list")
			_, stderr = run(exit.WrongUsage, "undo", "--dry-run", name)
			contains(t, stderr, "midstream undo --plan prints what the undo would do")
			_, stderr = run(exit.WrongUsage, "run", "--dry-run", "ALTER TABLE "+name+" ADD z INT")
			contains(t, stderr, "midstream plan prints what a run would do")
		})
	}
}

// TestThePlanOfAWarmUndoReleasesNoFollower: next to a process that follows the table, undo --plan has the rows that it knows.
func TestThePlanOfAWarmUndoReleasesNoFollower(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	c := toControl(t, 1000)
	c.stopWriting()
	c.begin("ALTER TABLE "+c.name+" MODIFY a BIGINT", "--method=shadow", "--undo=1h", "--undo-mode=warm")
	c.follower(following)
	database, _, _ := strings.Cut(c.name, ".")
	exec := executing(t, c.i, database)
	exec("INSERT INTO t (id, a) VALUES (5001, 5000000000)")
	c.follower(func(s followers.Standing) bool { return s.Unfit == 1 && following(s) })
	stdout, _ := c.undo(exit.Done, "--plan")
	contains(t, strings.Join(strings.Fields(stdout), " "), "warm: the process that follows the table", "Unfit rows 1, with the key (id=5001), compared ",
		"the old definition refuses some rows: 1", "--park", "Not yet: the undo would stop before its lock, because of 1 row (below).", "change these rows, or add --park")
	stdout, _ = c.undo(exit.Done, "--plan", "--json")
	contains(t, stdout, `"unfit":1`)
	_, stderr := c.undo(exit.NotNow, "--plan", "--cold")
	contains(t, stderr, "a process follows "+c.name)
	if now := c.follower(following); now.Unfit != 1 {
		t.Errorf("%+v", now)
	}
	exec("DELETE FROM t WHERE id = 5001")
	c.follower(func(s followers.Standing) bool { return s.Unfit == 0 && following(s) })
	c.undo(exit.Done)
	c.undo(exit.Done, "--end")
}
