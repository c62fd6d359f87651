package cli

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// newSoakRig is a table with a column and an index to drop.
func newSoakRig(t *testing.T, version string) *killedRig {
	i := mysqltest.Server(t, version)
	_, database := mysqltest.Database(t, i)
	executing(t, i, database)("CREATE TABLE t (id INT PRIMARY KEY, a INT, note VARCHAR(20) NOT NULL DEFAULT 'x' COMMENT 'of CHECK (x)', KEY k (a))",
		"INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y')")
	r := &killedRig{&flagRig{t, flagsTo(t, i), database + ".t"}, i, database, nil}
	r.env = append(command(t).Env, "XDG_STATE_HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
	return r
}

// soaks starts a soaked drop, and returns when its first act was made.
func (r *killedRig) soaks(length, clauses string) *running {
	r.Helper()
	cmd := command(r.T, append(slices.Clone(r.flags), "run", "--soak-check=1s", "--soak="+length, "ALTER TABLE "+r.name+" "+clauses)...)
	cmd.Env = r.env
	run := start(r.T, cmd)
	until(r.T, func() string { return run.stdout.all() + run.stderr.all() }, func() bool { return strings.Contains(run.stdout.all(), "soaking until") })
	time.Sleep(1100 * time.Millisecond) // MariaDB counts in seconds
	return run
}

// reports waits until the status of the run has a text.
func (r *killedRig) reports(text string) {
	r.Helper()
	var last string
	until(r.T, func() string { return last }, func() bool {
		cmd := command(r.T, "status", r.name)
		cmd.Env = r.env
		out, _ := cmd.CombinedOutput()
		last = strings.Join(strings.Fields(string(out)), " ")
		return strings.Contains(last, text)
	})
}

func (r *killedRig) create() string {
	var name, create string
	if err := r.i.Open(r.T, r.database).QueryRow("SHOW CREATE TABLE t").Scan(&name, &create); err != nil {
		r.Fatal(err)
	}
	return create
}

func (r *killedRig) leaves(run *running, code int, texts ...string) {
	r.Helper()
	if got := run.exit(); got != code {
		r.Errorf("exit code %d, want %d\n%s\n%s", got, code, &run.stdout, &run.stderr)
	}
	contains(r.T, strings.Join(strings.Fields(run.stdout.all()+run.stderr.all()), " "), texts...)
}

// soakServers are those that can hide a column, and watch statements.
var soakServers = []string{"9.7", "mariadb-10.11", "mariadb-11.8"}

// TestL9_ASoakedDropIsMadeIfNoStatementNamesIt: the column and the index are hidden, and dropped once the time is over. Nothing is left.
func TestL9_ASoakedDropIsMadeIfNoStatementNamesIt(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, soakServers...) {
		t.Run(version, func(t *testing.T) {
			sideBySide(t)
			r := newSoakRig(t, version)
			run := r.soaks("3s", "DROP COLUMN note, DROP INDEX k")
			if create := r.create(); !strings.Contains(create, "note") || !strings.Contains(create, "INVISIBLE") {
				t.Error(create)
			}
			executing(t, r.i, r.database)("INSERT INTO t (id, a) VALUES (3, 3)", "SELECT * FROM t WHERE a = 1", "SELECT 'note' FROM t")
			r.server(exit.Done, "undo", "--list")
			r.leaves(run, exit.Done, "no statement has named column note, index k", "Done")
			if create := r.create(); strings.Contains(create, "note") || strings.Contains(create, "`k`") {
				t.Error(create)
			}
			contains(t, r.server(exit.Done, "undo", "--list"), "No change")
		})
	}
}

// TestL9_AStatementStopsASoakedDrop: a statement that names the column holds the drop, and the operator releases it, or takes the first
// act back.
func TestL9_AStatementStopsASoakedDrop(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, soakServers...) {
		t.Run(version, func(t *testing.T) {
			sideBySide(t)
			r := newSoakRig(t, version)
			before := r.create()
			run := r.soaks("4s", "DROP COLUMN note, DROP INDEX k")
			executing(t, r.i, r.database)("SELECT id FROM t WHERE note IN ('x', 'y')")
			r.reports("the drop is held, because a statement of")
			r.server(exit.Done, "undo", r.name)
			r.leaves(run, exit.Refused, "names column note", "the first act was taken back")
			if after := r.create(); after != before {
				t.Errorf("%s\n%s", before, after)
			}
			contains(t, r.server(exit.Refused, "run", "--soak=1h", "ALTER TABLE "+r.name+" DROP COLUMN note"), "can be redone until")
			r.server(exit.Done, "undo", "--end", r.name)
			run = r.soaks("4s", "DROP COLUMN note")
			executing(t, r.i, r.database)("SELECT note FROM t")
			r.reports("the drop is held")
			r.user(exit.Done, "cutover", "--now", r.name)
			r.leaves(run, exit.Done, "an operator has released the drop")
			if create := r.create(); strings.Contains(create, "note") {
				t.Error(create)
			}
		})
	}
}

// TestL9_APreparedStatementStopsASoakedDrop: it was prepared before the first act, and is executed after it.
func TestL9_APreparedStatementStopsASoakedDrop(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, soakServers...) {
		t.Run(version, func(t *testing.T) {
			sideBySide(t)
			r := newSoakRig(t, version)
			prepared, err := r.i.Open(t, r.database).Prepare("SELECT id FROM t WHERE note = ?")
			if err != nil {
				t.Fatal(err)
			}
			defer prepared.Close()
			run := r.soaks("5s", "DROP COLUMN note")
			var id int
			if err := prepared.QueryRow("y").Scan(&id); err != nil || id != 2 {
				t.Fatal(id, err)
			}
			r.reports("names column note")
			r.server(exit.Done, "undo", r.name)
			r.leaves(run, exit.Refused)
			r.server(exit.Done, "undo", "--end", r.name)
		})
	}
}

// TestL9_AnInsertThatASoakBreaksStopsIt: it has no list of columns, and fails since the first act.
func TestL9_AnInsertThatASoakBreaksStopsIt(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	r := newSoakRig(t, "9.7")
	run := r.soaks("3s", "DROP COLUMN note")
	if _, err := r.i.Open(t, r.database).Exec("INSERT INTO t VALUES (4, 4, 'z')"); err == nil {
		t.Error("the column is not hidden")
	}
	r.reports("the drop is held, because a statement of root@")
	r.server(exit.Done, "undo", r.name)
	r.leaves(run, exit.Refused, "has no list of columns, and fails while a column is invisible")
	executing(t, r.i, r.database)("INSERT INTO t VALUES (4, 4, 'z')")
	r.server(exit.Done, "undo", "--end", r.name)
}

// killNow kills a run.
func (r *killedRig) killNow(run *running) {
	r.Helper()
	if err := run.cmd.Process.Kill(); err != nil {
		r.Fatal(err)
	}
	<-run.done
}

// TestL9_AKilledSoakGoesOn: a run is killed in its first act, between the acts, in its second act, and right after it. The same command
// resumes, and the time goes on.
func TestL9_AKilledSoakGoesOn(t *testing.T) {
	mysqltest.Seldom(t)
	for _, version := range mysqltest.InTurn(t, soakServers...) {
		t.Run(version, func(t *testing.T) {
			sideBySide(t)
			r := newSoakRig(t, version)
			again := func(length string) []string {
				return []string{"run", "--soak=" + length, "ALTER TABLE " + r.name + " DROP COLUMN note"}
			}
			r.killBlocked("t", again("30s")...)
			if create := r.create(); strings.Contains(create, "INVISIBLE") {
				t.Error(create)
			}
			run := r.soaks("9s", "DROP COLUMN note")
			first := soakingUntil(run)
			executing(t, r.i, r.database)("SELECT note FROM t")
			r.reports("names column note")
			r.killNow(run)
			executing(t, r.i, r.database)("SELECT 1")
			run = r.soaks("9h", "DROP COLUMN note") // the length of the first act counts
			if again := soakingUntil(run); again != first {
				t.Errorf("%s, and before %s", again, first)
			}
			r.reports("the drop is held")
			r.killNow(run)
			r.server(exit.Done, "undo", r.name)

			run = r.soaks("3s", "DROP COLUMN note")
			tx, err := r.i.Open(t, r.database).Begin()
			if err == nil {
				_, err = tx.Exec("SELECT id FROM t")
			}
			if err != nil {
				t.Fatal(err)
			}
			r.reports("blocked")
			r.killNow(run)
			_ = tx.Rollback()
			r.server(exit.Done, again("3s")...)
			if create := r.create(); strings.Contains(create, "note") {
				t.Error(create)
			}

			executing(t, r.i, r.database)("ALTER TABLE t ADD COLUMN note INT")
			run = r.soaks("1h", "DROP COLUMN note")
			r.killNow(run)
			executing(t, r.i, r.database)("ALTER TABLE t DROP COLUMN note") // as the second act does, before its record goes
			contains(t, r.server(exit.Done, again("1h")...), "column note of "+r.name+" is dropped")
			contains(t, r.server(exit.Done, "undo", "--list"), "No change")
		})
	}
}

// soakingUntil is the end of a soak, as its run prints it.
func soakingUntil(run *running) string {
	_, rest, _ := strings.Cut(run.stdout.all(), "soaking until ")
	return rest[:len("2006-01-02 15:04:05")]
}

// TestL9_ASoakNoticesWhatOthersDo: another session makes the column visible, or alters the table. Nothing is dropped.
func TestL9_ASoakNoticesWhatOthersDo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	r := newSoakRig(t, "9.7")
	for _, by := range []string{"ALTER COLUMN note SET VISIBLE", "ADD COLUMN z INT"} {
		run := r.soaks("1h", "DROP COLUMN note")
		executing(t, r.i, r.database)("ALTER TABLE t " + by)
		r.leaves(run, exit.Refused, "was altered since the change, and nothing was dropped", "midstream undo")
		r.server(exit.Refused, "run", "--soak=1h", "ALTER TABLE "+r.name+" DROP COLUMN note")
		r.server(exit.Done, "undo", "--end", r.name)
	}
	executing(t, r.i, r.database)("ALTER TABLE t ALTER COLUMN note SET VISIBLE")
	run := r.soaks("1h", "DROP COLUMN note")
	contains(t, r.server(exit.Refused, "run", "ALTER TABLE "+r.name+" ADD COLUMN y INT"), "the last change of the table can be undone until")
	contains(t, r.server(exit.Refused, "run", "--soak=1h", "ALTER TABLE "+r.name+" DROP INDEX k"), "soaks for another change: DROP COLUMN note")
	if err := run.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r.leaves(run, exit.Stopped, "column note of "+r.name+" is hidden, and nothing was dropped", "resumes the soak")
	r.server(exit.Done, "undo", r.name)
	r.server(exit.Done, "undo", "--end", r.name)
}

// TestL9_WhatCannotSoakIsRefused: before anything is written, with the reason.
func TestL9_WhatCannotSoakIsRefused(t *testing.T) {
	sideBySide(t)
	for _, c := range []struct{ version, clauses, why string }{
		{"5.7", "DROP COLUMN note", "has no invisible columns"},
		{"5.7", "DROP INDEX k", "has no invisible indexes"},
		{"8.0", "DROP COLUMN note", "has no invisible columns"},
		{"9.7", "DROP COLUMN note, ADD COLUMN z INT", "--soak is only for DROP COLUMN and DROP INDEX"},
		{"9.7", "DROP PRIMARY KEY", "--soak is only for DROP COLUMN and DROP INDEX"},
		{"9.7", "DROP COLUMN missing", "the table has no column missing"},
		{"9.7", "DROP COLUMN a, DROP COLUMN id", "column id has no default"},
		{"mariadb-10.11", "DROP COLUMN id", "column id has no default"},
	} {
		r := newSoakRig(t, c.version)
		before := r.create()
		for _, verb := range []string{"plan", "run"} {
			contains(t, r.server(exit.Refused, verb, "--soak=1h", "ALTER TABLE "+r.name+" "+c.clauses), c.why)
		}
		if after := r.create(); after != before {
			t.Error(after)
		}
	}
	r := newSoakRig(t, "8.0")
	r.leaves(r.soaks("2s", "DROP INDEX k"), exit.Done)
}

// TestL9_ASoakDoesNotKeepTheQueue: it takes no place of --limit, changes of other tables run, and one of its own table waits. It survives
// the kill of its run and of the service, and its drop takes its turn.
func TestL9_ASoakDoesNotKeepTheQueue(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 10)
	q.serve()
	executing(t, q.i, q.database())("CREATE TABLE soaks_alone LIKE u", "INSERT INTO soaks_alone SELECT * FROM u") // no other test names it
	u := q.database() + ".soaks_alone"
	q.submit("soaked", u+" DROP COLUMN b", "--option=soak=15s")
	soaks := func(c queue.Change) bool { return c.State.Over() || strings.Contains(c.Why, "soaking until") }
	c := q.reaches("soaked", soaks)
	contains(t, c.Why, "no statement has named column b")
	q.submit("same", u+" ADD COLUMN z INT")
	q.submit("other", q.name+" ADD COLUMN y INT")
	q.becomes("other", queue.StateDone)
	contains(t, q.at("same").Why, "soaked, which was submitted earlier")
	if err := syscall.Kill(q.at("soaked").Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	q.reaches("soaked", func(now queue.Change) bool {
		return now.State.Over() || now.Process != 0 && now.Process != c.Process && soaks(now)
	})
	_ = q.daemon.cmd.Process.Kill()
	<-q.daemon.done
	q.serve()
	q.becomes("soaked", queue.StateDone)
	q.becomes("same", queue.StateDone)
	if got := q.query("SELECT GROUP_CONCAT(column_name) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'soaks_alone' AND column_name IN ('b', 'z')"); got != "z" {
		t.Error(got)
	}
}
