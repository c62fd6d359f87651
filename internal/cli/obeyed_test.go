package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/event"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/socket"
)

// session is one of another program's.
func (c *controlling) session(statements ...string) *dbconn.Session {
	c.t.Helper()
	pool, err := dbconn.Open(c.t.Context(), dbconn.Config{Network: c.i.Network, Address: c.i.Address, User: c.i.User,
		Password: dbconn.Secret(c.i.Password), Program: "nightly"}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { pool.Close() })
	s, err := pool.Session(context.Background(), statements...)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// lives fails the test if a session was ended.
func (c *controlling) lives(s *dbconn.Session, what string) {
	c.t.Helper()
	if _, err := s.Exec(c.t.Context(), "DO 1"); err != nil {
		c.t.Errorf("%s was ended: %v\n%s", what, err, &c.run.stdout)
	}
	s.Close()
}

// TestKillsSpareBackups: who has the lock of a backup is one, though it has read the table as well.
func TestKillsSpareBackups(t *testing.T) {
	for _, how := range []struct{ method, statement string }{{"instant", "FLUSH TABLES WITH READ LOCK"}, {"shadow", "LOCK INSTANCE FOR BACKUP"}} {
		c := toControl(t, 100)
		c.begin("ALTER TABLE "+c.name+" ADD COLUMN c INT", "--method="+how.method, "--drop-old", "--hold", "--kill-blockers-after=300ms")
		c.phase("hold")
		backup := c.session(
			"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", how.statement,
			"START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT COUNT(*) FROM "+c.name+" LIMIT 0",
		)
		c.obeys("cutover", nil)
		c.run.await(&c.run.stdout, "is not killed: it is a backup")
		c.lives(backup, how.statement)
		c.ends(exit.Done)
	}
}

// TestKillsBeginAnew: neither the time for which the run is held counts, nor that of a transaction before.
func TestKillsBeginAnew(t *testing.T) {
	c := toControl(t, 100)
	app := c.session("BEGIN", "SELECT COUNT(*) FROM "+c.name+" LIMIT 0")
	c.begin("ALTER TABLE "+c.name+" ADD COLUMN c INT", "--method=instant", "--kill-blockers-after=2s")
	c.await("it is blocked", func() bool { return c.status().State == "blocked" })
	c.obeys("hold", nil, "on hold: the table is not changed before midstream cutover")
	time.Sleep(2 * time.Second)
	for _, statement := range []string{"COMMIT", "BEGIN", "SELECT COUNT(*) FROM " + c.name + " LIMIT 0"} {
		if _, err := app.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	c.obeys("cutover", nil, "the table is changed as soon as no session blocks it")
	c.phase("native")
	time.Sleep(time.Second)
	c.lives(app, "a transaction that is a second old")
	c.ends(exit.Done)
}

// TestL5_AbortAfterResume: the attempt that goes on from a checkpoint is ended while it looks at
// the server: what was kept is removed.
func TestL5_AbortAfterResume(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 8000, "--copy-share=1%")
	c.phase("copy")
	c.obeys("pause", []string{"--stop-capture"}, "stopped at a checkpoint")
	c.refuses(exit.NotNow, "set", []string{"max-load=Threads_flying=3"}, "stopped or still checks the server")
	c.obeys("resume", nil, "resumed from the checkpoint")
	c.obeys("abort", nil, "nothing is left on the server")
	c.ends(exit.Aborted)
	if left := c.query(
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 't\\_%'",
	); left != "0" {
		t.Errorf("%s tables are left", left)
	}
}

// TestPauseAtTheLastChunk: a pause that comes while the last rows are copied: no index is begun.
func TestPauseAtTheLastChunk(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 50, "--copy-share=0%", "--defer-indexes=yes", "--chunk-time=10s", "--full-speed", "--drop-old")
	c.phase("copy")
	c.await("the copy stands", func() bool { return c.status().State == "waiting" })
	holder := c.session("LOCK TABLES " + c.name + "_shadow WRITE")
	c.obeys("throttle", []string{"100%"})
	c.await("a sync waits", func() bool {
		return c.query(
			"SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_schema = DATABASE() AND object_name = 't_shadow' AND lock_status = 'PENDING'",
		) != "0"
	})
	answer := make(chan string, 1)
	go func() {
		_, stdout, stderr := c.tell("pause")
		answer <- stdout + stderr
	}()
	c.await("a pause is under way", func() bool { return strings.HasPrefix(c.status().Command, "pause by ") })
	holder.Close()
	contains(t, <-answer, "the run is paused")
	time.Sleep(500 * time.Millisecond)
	if got := c.query(
		"SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 't_shadow'",
	); got != "1" {
		t.Errorf("%s indexes while it is paused", got)
	}
	c.obeys("resume", nil)
	c.ends(exit.Done)
}

// TestOtherCase: another table than the one that is named is not meant, unless its server tells no
// letter cases apart.
func TestOtherCase(t *testing.T) {
	sideBySide(t)
	for anyCase, want := range map[bool]int{false: exit.NoRun, true: exit.Done} {
		folder := filepath.Join(t.TempDir(), "c")
		s, err := socket.Serve(
			folder,
			socket.Run{
				About:   socket.About{Table: "shop.orders", Server: "db:3306", AnyCase: anyCase},
				Control: operator.NewControl(operator.CommandLineDefaults()),
				Emit:    event.Discard,
				Stopped: func() string { return "" },
				Lost:    func() string { return "" },
				Abort:   func(context.Context, string, bool) (string, error) { return "gone", nil },
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if code, stdout, stderr := midstream(t, "abort", "shop.Orders", "--control-dir="+folder); code != want {
			t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		s.Close(nil)
	}
}

// TestGiveUp: after so many attempts, or so long, a run that can't get its lock ends, keeps its work, and says how to
// go on.
func TestGiveUp(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 100, "--hold")
	c.phase("hold")
	_, end := holding(t, c.i, "app", c.name, 0)
	defer end()
	c.obeys("set", []string{"lock-give-up=300ms", "hold=false"}, `lock-give-up is "300ms", was "0s"`)
	c.ends(exit.Stopped)
	contains(
		t, c.run.stderr.String(), "the cut-over did not get its lock within 300ms", "t_shadow and ",
		"Run the same command again to resume",
	)
	if code, stdout, stderr := midstream(t, append(flagsTo(t, c.i), "cleanup", "--yes", c.name)...); code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}
