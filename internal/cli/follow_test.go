package cli

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/queue"
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
	code, stdout, stderr := midstream(c.t, append(args, flags(c.t, c.i)...)...)
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
			c.undo(exitDone, "--extend=1h")
			_, ended := c.undo(exitRefused, "--end")
			contains(t, ended, "where: undo, "+c.name, "midstream abort")
			for _, statement := range []string{"ALTER TABLE " + c.name + " ADD COLUMN z INT", "DROP TABLE " + c.name} {
				code, _, stderr := midstream(t, append([]string{"run", statement}, flags(t, c.i)...)...)
				if code != exitRefused {
					t.Errorf("%s while a process follows: exit code %d", statement, code)
				}
				contains(t, stderr, "the undo of the last change is at work on "+c.name, "; it is open until ", "midstream undo --end")
			}
			began := time.Now()
			stdout, _ := c.undo(exitDone)
			t.Logf("taken back in %s", time.Since(began))
			contains(t, stdout, "took back the last change of ", "To redo it, until ", "midstream undo "+c.name+"\n")
			if code := c.run.exit(); code != exitDone {
				t.Errorf("the run that followed ended with %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
			}
			if got := c.columns(); got != "id,a,b" {
				t.Errorf("the undo has left the columns %s", got)
			}
			if got := c.query("SELECT GROUP_CONCAT(id ORDER BY id) FROM t WHERE a < 0"); got != "1,5000" {
				t.Errorf("of what was written since the change are left: %s", got)
			}
			c.undo(exitDone, "--end")
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
	stdout, stderr := c.undo(exitUnfit)
	contains(t, stdout, "Out of range", "5001", "SELECT * FROM")
	contains(t, stderr, "follows on", "--park")
	c.follower(following)
	exec("DELETE FROM t WHERE id = 5001")
	c.follower(func(s followers.Standing) bool { return s.Unfit == 1 && following(s) })
	if stdout, _ := c.undo(exitDone, "--park", "--quiet"); !strings.Contains(stdout, "\nDone: took back the last change of "+c.name) {
		t.Errorf("with --quiet it prints %q", stdout)
	}
	if got := c.query("SELECT GROUP_CONCAT(id) FROM t_parked"); got != "5002" {
		t.Errorf("parked rows are %s", got)
	}
	exec("DROP TABLE t_parked")
	if code := c.run.exit(); code != exitDone {
		t.Errorf("the run that followed ended with %d", code)
	}
	c.undo(exitDone, "--end")
}

// TestU3_AFollowerThatEndsLeavesTheUndoOpen: SIGTERM ends a follower, and so does the end of its time. The undo can still be
// made, from where the follower had come.
func TestU3_AFollowerThatEndsLeavesTheUndoOpen(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	c := beginControlled(t, 1000, "--undo=1h", "--undo-mode=warm")
	c.follower(following)
	_, status, _ := midstream(t, "status", "--control-dir="+c.folder, c.name)
	contains(t, status, "this process follows the table", "until midstream undo")
	if err := c.run.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.run.exit(); code != exitDone {
		t.Errorf("the run that followed ended with %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
	}
	contains(t, c.run.stderr.String(), "is followed no longer (compared ", "midstream undo ")
	if all := c.run.stdout.String() + c.run.stderr.String(); !strings.Contains(all, "interrupted: following "+c.name+" no longer; its undo stays open") {
		t.Errorf("an interrupt of a follower is told as that of a run:\n%s", all)
	}
	_, stdout, _ := midstream(t, append([]string{"undo", "--list", c.name}, flags(t, c.i)...)...)
	contains(t, stdout, ": open until ")
	c.undo(exitDone)
	if got := c.columns(); got != "id,a,b" {
		t.Errorf("the undo has left the columns %s", got)
	}

	c.begin("ALTER TABLE "+c.name+" ADD COLUMN d INT", "--method=shadow", "--undo=15s", "--undo-mode=warm", "--end-undo", "--old-name=t_older")
	if code := c.run.exit(); code != exitDone || !strings.Contains(c.run.stderr.String(), "is followed no longer") {
		t.Errorf("the run whose time is over ended with %d\n%s\n%s", code, &c.run.stdout, &c.run.stderr)
	}
	_, late := c.undo(exitAborted, "--hold") // it would follow without an end
	contains(t, late, "the time of the undo is over", "--extend=24h")
	c.undo(exitDone)
	c.undo(exitDone, "--end")
}

// TestU3_ServeFollowsUntilTheUndo: a change of the queue with undo-mode=warm has a follower when it is done. The follower
// blocks no other change, comes back after a kill, outlives the daemon, gives way to a change of its own table, and takes
// the change back when the queue is asked for that.
func TestU3_ServeFollowsUntilTheUndo(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	q := toQueue(t, 1000)
	q.serve()
	ask := func(want func(followers.Standing) bool) followers.Standing {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			now, err := followers.Ask(t.Context(), q.folder, "", q.name)
			if err == nil && now != nil && want(*now) {
				return *now
			}
			if time.Now().After(end) {
				t.Fatalf("the follower is %+v (%v)\n%s", now, err, &q.daemon.stdout)
			}
		}
	}
	q.submit("warm", q.name+" ADD COLUMN c INT", "--option=undo=1h", "--option=undo-mode=warm", "--option=method=shadow")
	q.becomes("warm", queue.StateDone)
	compared := func(s followers.Standing) bool { return following(s) && s.Compared != nil }
	first := ask(compared)
	list, _ := q.undo(exitDone, "--list")
	contains(t, list, "Unfit rows none, compared ")
	_, status, _ := midstream(t, "status", "--control-dir="+q.folder, q.name)
	contains(t, status, " compared ", " ago")
	q.submit("other", q.database()+".u ADD COLUMN c INT", "--option=method=shadow", "--option=drop-old")
	q.becomes("other", queue.StateDone)

	if err := syscall.Kill(first.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := ask(func(s followers.Standing) bool { return compared(s) && s.Process != first.Process })
	if first.Compared == nil || second.Compared == nil || !second.Compared.After(*first.Compared) {
		t.Errorf("it was compared at %v, and by the next process at %v", first.Compared, second.Compared)
	}
	q.kill()
	q.serve()
	q.submit("same", q.name+" ADD INDEX by_b (b(10))", "--option=method=inplace")
	q.becomes("same", queue.StateDone)
	ask(func(s followers.Standing) bool { return following(s) && s.Process != second.Process })

	if status, answer := q.http("POST", "/v1/changes/warm/undo", "{}"); status != 200 && status != 201 {
		t.Fatalf("undo: %d %s", status, answer)
	}
	if c := q.becomes("warm-undo", queue.StateDone); !strings.Contains(c.Why, "undo") {
		t.Errorf("the undo is %+v", c)
	}
	if got := q.columns(); got != "id,a,b" {
		t.Errorf("the undo has left the columns %s", got)
	}
	q.undo(exitDone, "--end")
}
