package cli

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/followers"
)

// follower waits until a follower of the table stands so.
func (c *controlling) follower(stands func(followers.Standing) bool) followers.Standing {
	c.t.Helper()
	for {
		now, err := followers.Ask(c.t.Context(), c.folder, "", c.name)
		if err != nil {
			c.t.Fatal(err)
		}
		if now != nil && stands(*now) {
			return *now
		}
		select {
		case <-c.run.done:
			c.t.Fatalf("it has ended\n%s\n%s", &c.run.stdout, &c.run.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func following(s followers.Standing) bool { return s.State == followers.Following }

// undo takes the change back from another process.
func (c *controlling) undo(want int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	args = append([]string{"undo", c.name, "--no-color", "--control-dir=" + c.folder}, args...)
	code, stdout, stderr := midstream(c.t, append(args, flagsTo(c.t, c.i)...)...)
	if code != want {
		c.t.Fatalf("undo: exit code %d, want %d\n%s\n%s", code, want, stdout, stderr)
	}
	return stdout, stderr
}

// columns are those of the table.
func (c *controlling) columns() string {
	return c.query("SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns" +
		" WHERE table_schema = DATABASE() AND table_name = 't'")
}

// TestU1_ARunFollowsUntilAnUndoReleasesIt: after its swap, a run with --undo-mode=warm follows the table, by the binlog or by the
// log that triggers write, and midstream undo has it take the change back with what a session has written.
func TestU1_ARunFollowsUntilAnUndoReleasesIt(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, capture := range []string{"binlog", "trigger"} {
		t.Run(capture, func(t *testing.T) {
			t.Parallel()
			c := beginControlled(t, 1000, "--undo=1h", "--undo-mode=warm", "--capture="+capture)
			c.follower(following)
			if got := c.columns(); got != "id,a,b,c" {
				t.Fatalf("the change has left the columns %s", got)
			}
			database, _, _ := strings.Cut(c.name, ".")
			executing(t, c.i, database)("UPDATE t SET a = -5 WHERE id = 1", "INSERT INTO t (id, a) VALUES (5000, -6)")
			c.undo(exit.Done, "--extend=1h")
			_, ended := c.undo(exit.Busy, "--end")
			contains(t, ended, "where: undo, "+c.name, "midstream abort")
			for _, statement := range []string{"ALTER TABLE " + c.name + " ADD COLUMN z INT", "DROP TABLE " + c.name} {
				code, _, stderr := midstream(t, append([]string{"run", statement}, flagsTo(t, c.i)...)...)
				if code != exit.Busy {
					t.Errorf("%s while a process follows: exit code %d", statement, code)
				}
				contains(t, stderr, "the undo of the last change is at work on "+c.name, "; it is open until ", "midstream undo --end")
			}
			began := time.Now()
			stdout, _ := c.undo(exit.Done)
			t.Logf("taken back in %s", time.Since(began))
			contains(t, stdout, "took back the last change of ", "To redo it, until ", " "+c.name+"\n")
			if code := c.run.exit(); code != exit.Done {
				t.Errorf("the run that followed ended with %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
			}
			if got := c.columns(); got != "id,a,b" {
				t.Errorf("the undo has left the columns %s", got)
			}
			if got := c.query("SELECT GROUP_CONCAT(id ORDER BY id) FROM t WHERE a < 0"); got != "1,5000" {
				t.Errorf("of what was written since the change are left: %s", got)
			}
			c.undo(exit.Done, "--end")
		})
	}
}

// TestU4_AFollowerWithUnfitRowsFollowsOn: a row that the old definition refuses is known soon after its commit. It makes the
// undo fail before any lock, and the follower follows on. When the row is gone, or is to be parked, the undo succeeds.
func TestU4_AFollowerWithUnfitRowsFollowsOn(t *testing.T) {
	t.Parallel()
	c := toControl(t, 1000)
	c.stopWriting()
	c.begin("ALTER TABLE "+c.name+" MODIFY a BIGINT", "--method=shadow", "--undo=1h", "--undo-mode=warm")
	c.follower(following)
	database, _, _ := strings.Cut(c.name, ".")
	exec := executing(t, c.i, database)
	exec("INSERT INTO t (id, a) VALUES (5001, 5000000000), (5002, 5000000001)")
	if now := c.follower(func(s followers.Standing) bool { return s.Unfit == 2 }); len(now.Keys) != 2 {
		t.Errorf("the keys of unfit rows are %q", now.Keys)
	}
	stdout, stderr := c.undo(exit.Unfit)
	contains(t, stdout, "Out of range", "5001", "SELECT * FROM")
	contains(t, stderr, "follows on", "--park")
	c.follower(following)
	exec("DELETE FROM t WHERE id = 5001")
	c.follower(func(s followers.Standing) bool { return s.Unfit == 1 && following(s) })
	if stdout, _ := c.undo(exit.Done, "--park", "--quiet"); !strings.Contains(stdout, "\nDone: took back the last change of "+c.name) {
		t.Errorf("with --quiet it prints %q", stdout)
	}
	if got := c.query("SELECT GROUP_CONCAT(id) FROM t_parked"); got != "5002" {
		t.Errorf("parked rows are %s", got)
	}
	exec("DROP TABLE t_parked")
	if code := c.run.exit(); code != exit.Done {
		t.Errorf("the run that followed ended with %d", code)
	}
	c.undo(exit.Done, "--end")
}

// TestU3_AFollowerThatEndsLeavesTheUndoOpen: SIGTERM ends a follower, and so does the end of its time. The undo can still be
// made, from where the follower had come.
func TestU3_AFollowerThatEndsLeavesTheUndoOpen(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	c := beginControlled(t, 1000, "--undo=1h", "--undo-mode=warm")
	c.follower(following)
	_, status, _ := midstream(t, "status", "--control-dir="+c.folder, c.name)
	contains(t, strings.Join(strings.Fields(status), " "), "this process follows the table", "until midstream undo")
	if err := c.run.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.run.exit(); code != exit.Done {
		t.Errorf("the run that followed ended with %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
	}
	contains(t, c.run.stderr.String(), "any longer (compared ", "midstream undo ")
	if all := c.run.stdout.String() + c.run.stderr.String(); !strings.Contains(all, "interrupted: following "+c.name+" no longer; its undo stays open") {
		t.Errorf("an interrupt of a follower is told as that of a run:\n%s", all)
	}
	_, stdout, _ := midstream(t, append([]string{"undo", "--list", c.name}, flagsTo(t, c.i)...)...)
	contains(t, stdout, ": open until ")
	c.undo(exit.Done)
	if got := c.columns(); got != "id,a,b" {
		t.Errorf("the undo has left the columns %s", got)
	}

	c.begin("ALTER TABLE "+c.name+" ADD COLUMN d INT", "--method=shadow", "--undo=15s", "--undo-mode=warm", "--end-undo", "--old-name=t_older")
	if code := c.run.exit(); code != exit.Done || !strings.Contains(c.run.stderr.String(), "no process follows ") {
		t.Errorf("the run whose time is over ended with %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
	}
	_, late := c.undo(exit.Aborted, "--hold") // it would follow without an end
	contains(t, late, "the time of the undo is over", "--extend=24h "+c.name)
	c.undo(exit.Done)
	c.undo(exit.Done, "--end")
}

// TestCutoverOfAllRunsLeavesAFollower: without a table, cutover releases each held run. It reports a follower, which has no
// swap to release and follows on, and exits with 0; if there is nothing but followers, it is exit code 19.
func TestCutoverOfAllRunsLeavesAFollower(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	c := beginControlled(t, 1000, "--undo=1h", "--undo-mode=warm")
	c.follower(following)
	database, _, _ := strings.Cut(c.name, ".")
	executing(t, c.i, database)("CREATE TABLE u LIKE t")
	all := []string{"cutover", "--yes", "--control-dir=" + c.folder}
	code, _, stderr := midstream(t, all...)
	if code != exit.NotNow {
		t.Errorf("of a follower alone: exit code %d", code)
	}
	contains(t, stderr, "this process follows the table for an undo", c.at("undo")+c.name)
	other := append(flagsTo(t, c.i), "run", "ALTER TABLE "+database+".u ADD COLUMN d INT", "--method=shadow", "--hold", "--drop-old")
	held := start(t, command(t, append(other, "--control-dir="+c.folder)...))
	held.await(&held.stdout, "on hold")
	code, stdout, stderr := midstream(t, all...)
	if code != exit.Done {
		t.Errorf("of a held run and a follower: exit code %d\n%s", code, stderr)
	}
	contains(t, stdout, database+".u: the run cuts over")
	contains(t, stderr, c.name+": there is no change to cut over: this process follows the table for an undo")
	if code := held.exit(); code != exit.Done {
		t.Errorf("the held run: exit code %d\n%s\n%s", code, &held.stdout, &held.stderr)
	}
	c.follower(following)
	c.undo(exit.Done)
	c.undo(exit.Done, "--end")
}

// TestU3_AFollowerOfAnAlteredTable: another session has altered the table that a process follows. The process ends, and prints what
// was done, what is left, and commands that the state of the undo permits.
func TestU3_AFollowerOfAnAlteredTable(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for statement, cold := range map[string]string{"ADD COLUMN x INT": "", "MODIFY a BIGINT": "--cold "} {
		c := toControl(t, 1000)
		c.stopWriting()
		c.begin("ALTER TABLE "+c.name+" ADD COLUMN c INT", "--method=shadow", "--undo=1h", "--undo-mode=warm")
		c.follower(following)
		database, _, _ := strings.Cut(c.name, ".")
		executing(t, c.i, database)("ALTER TABLE t "+statement, "INSERT INTO t (a, b) VALUES (7, 'x')")
		if code := c.run.exit(); code != exit.Failed {
			t.Errorf("%s: the process ended with %d\n%s\n%s", statement, code, &c.run.stdout, &c.run.stderr)
		}
		state := map[string]string{"": "and the undo is still open", "--cold ": "and the undo is possible by all rows only (--cold), because column a"}[cold]
		flat := strings.Join(strings.Fields(c.run.stderr.String()), " ")
		contains(t, flat, "another session has changed "+c.name+", so this process can no longer follow it: connection ", "ALTER TABLE t "+statement,
			"this process has changed nothing in "+c.name, state, " "+cold+c.name+" takes the change back", "--hold "+c.name+" follows the table again")
		if cold == "" {
			c.undo(exit.Done)
		} else {
			c.undo(exit.Done, "--cold")
		}
		if got := c.columns(); got != "id,a,b" {
			t.Errorf("%s: the undo has left the columns %s", statement, got)
		}
		c.undo(exit.Done, "--end")
	}
}
