package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// controlling is a run of which a test has the control, with somebody who writes to its table.
type controlling struct {
	t      *testing.T
	run    *running
	i      *mysqltest.Instance
	name   string
	folder string
	query  func(string) string
	// stopWriting ends the writer, and returns when it has.
	stopWriting func()
}

// beginControlled starts a run on a table with rows, in which somebody writes.
func beginControlled(t *testing.T, rows int, flagsOfRun ...string) *controlling {
	t.Helper()
	c := toControl(t, rows)
	c.begin(
		"ALTER TABLE "+c.name+" ADD COLUMN c INT",
		append([]string{"--method=shadow", "--chunk-time=10ms", "--workers=2"}, flagsOfRun...)...)
	return c
}

// toControl makes a table with rows, in which a writer changes, adds and deletes rows until the test ends.
func toControl(t *testing.T, rows int) *controlling {
	t.Helper()
	return toControlIn(t, mysqltest.Server(t, "9.7"), rows)
}

// toControlIn is toControl on a server.
func toControlIn(t *testing.T, i *mysqltest.Instance, rows int) *controlling {
	t.Helper()
	name, query := table(t, i, rows)
	database, _, _ := strings.Cut(name, ".")
	c := &controlling{t: t, i: i, name: name, query: query, folder: filepath.Join(t.TempDir(), "c")}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	db := i.Open(t, database)
	go func() {
		defer close(stopped)
		for n := 1; ctx.Err() == nil; n++ {
			for _, s := range []string{"INSERT INTO t (a, b) VALUES (%d, 'new')", "UPDATE t SET b = 'changed' WHERE a = %d", "DELETE FROM t WHERE a = %d + 50"} {
				_, _ = db.ExecContext(ctx, fmt.Sprintf(s, n%500))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	c.stopWriting = func() { stop(); <-stopped }
	t.Cleanup(c.stopWriting)
	return c
}

// begin starts a run, and waits until it can be controlled.
func (c *controlling) begin(statement string, flagsOfRun ...string) {
	c.t.Helper()
	args := append(flagsTo(c.t, c.i), "run", "--control-dir="+c.folder, statement)
	c.run = start(c.t, command(c.t, append(args, flagsOfRun...)...))
	for !c.found() {
		select {
		case <-c.run.done:
			c.t.Fatalf("it has ended\n%s\n%s", &c.run.stdout, &c.run.stderr)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *controlling) found() bool {
	runs, err := socket.Find(c.t.Context(), c.folder)
	if err != nil {
		c.t.Fatal(err)
	}
	return len(runs) == 1
}

// at is the beginning of a command that finds the run.
func (c *controlling) at(verb string) string {
	return "midstream " + verb + " --control-dir=" + c.folder + " "
}

// tell gives the run a command of the command line.
func (c *controlling) tell(verb string, args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	return midstream(c.t, append([]string{verb, c.name, "--control-dir=" + c.folder}, args...)...)
}

// obeys fails unless the run does what it is told, and says the texts.
func (c *controlling) obeys(verb string, args []string, texts ...string) {
	c.t.Helper()
	code, stdout, stderr := c.tell(verb, args...)
	if code != exit.Done {
		c.t.Fatalf("%s %s: exit code %d\n%s\n%s", verb, args, code, stdout, stderr)
	}
	contains(c.t, stdout, texts...)
}

// refuses fails unless the run does not do what it is told, and says the texts.
func (c *controlling) refuses(want int, verb string, args []string, texts ...string) {
	c.t.Helper()
	code, stdout, stderr := c.tell(verb, args...)
	if code != want {
		c.t.Errorf("%s %s: exit code %d\n%s\n%s", verb, args, code, stdout, stderr)
	}
	contains(c.t, stderr, texts...)
}

func (c *controlling) status() socket.Status {
	c.t.Helper()
	runs, err := socket.Find(c.t.Context(), c.folder)
	if err != nil || len(runs) != 1 {
		c.t.Fatalf("%d runs, %v\n%s\n%s", len(runs), err, &c.run.stdout, &c.run.stderr)
	}
	return runs[0].Found
}

// progress is the newest of the run.
func (c *controlling) progress() record.Progress {
	c.t.Helper()
	text, err := json.Marshal(c.status().Progress)
	var p record.Progress
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// awaitProgressOfPause waits for progress that was told when the run had stood still for a second:
// what is told before has other numbers.
func (c *controlling) awaitProgressOfPause() {
	c.t.Helper()
	since := *c.status().Since
	c.await("progress", func() bool {
		r, _ := time.Parse(record.RFC3339, c.progress().At)
		return r.After(since.Add(time.Second))
	})
}

func (c *controlling) await(what string, is func() bool) {
	c.t.Helper()
	until(c.t, func() string { return fmt.Sprintf("%s\n%s\n%s", what, &c.run.stdout, &c.run.stderr) }, is)
}

func (c *controlling) phase(p string) {
	c.t.Helper()
	c.await("phase "+p, func() bool { return c.status().Phase == p })
}

// held lists the transactions and locks of the run's sessions that stay, which those of a heartbeat do not.
func (c *controlling) held() []string {
	ours := "SELECT processlist_id FROM performance_schema.threads t JOIN performance_schema.session_connect_attrs a USING (processlist_id)" +
		fmt.Sprintf(" WHERE a.attr_name = '_pid' AND a.attr_value = '%d'", c.run.cmd.Process.Pid)
	threads := "SELECT thread_id FROM performance_schema.threads WHERE processlist_id IN (" + ours + ")"
	query := "SELECT COALESCE(GROUP_CONCAT(what SEPARATOR '; '), '') FROM (" +
		"SELECT CONCAT_WS(' ', 'transaction', trx_id, trx_state, trx_mysql_thread_id, trx_query) AS what FROM information_schema.innodb_trx WHERE trx_mysql_thread_id IN (" + ours + ")" +
		" UNION ALL SELECT CONCAT_WS(' ', 'metadata lock', object_instance_begin, lock_type, object_name, owner_event_id) FROM performance_schema.metadata_locks WHERE object_type = 'TABLE' AND object_schema = DATABASE() AND owner_thread_id IN (" + threads + ")" +
		" UNION ALL SELECT CONCAT_WS(' ', 'row lock', engine_lock_id, lock_mode, object_name) FROM performance_schema.data_locks WHERE object_schema = DATABASE() AND thread_id IN (" + threads + ")) x"
	var stay []string
	for look := range 100 {
		var now []string
		if text := c.query(query); text != "" {
			now = strings.Split(text, "; ")
		}
		if look == 0 {
			stay = now
		}
		stay = slices.DeleteFunc(stay, func(what string) bool { return !slices.Contains(now, what) })
		if len(stay) == 0 {
			break
		}
		time.Sleep(120 * time.Millisecond) // innodb_trx is as before if it was read less than 100 ms ago
	}
	return stay
}

// swappedAll proves that the new table has each row of the old one. REQUIRES: nobody writes since before the swap.
func (c *controlling) swappedAll() {
	c.t.Helper()
	rows := "SELECT CONCAT(COUNT(*), ' rows, ', SUM(CRC32(CONCAT_WS(',', id, a, b)))) FROM "
	if old, now := c.query(rows+"t_old"), c.query(rows+"t"); old != now {
		c.t.Errorf("%s instead of %s", now, old)
	}
	if got := c.query(columns); got != "id,a,b,c" {
		c.t.Errorf("columns %s", got)
	}
}

// ends waits for the run's end: its socket is gone.
func (c *controlling) ends(code int) {
	c.t.Helper()
	if got := c.run.exit(); got != code {
		c.t.Fatalf("exit code %d\n%s\n%s", got, &c.run.stdout, &c.run.stderr)
	}
	if entries, err := os.ReadDir(c.folder); err != nil || len(entries) != 0 {
		c.t.Errorf("%v is left in the folder of the sockets, %v", entries, err)
	}
}

// TestPauseAndResume: a paused run has no transaction and no lock, copies and applies nothing, and
// goes on capturing; it then comes to its end, compared.
func TestPauseAndResume(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 8000, "--copy-share=5%")
	c.phase("copy")
	c.await("rows are copied", func() bool { return c.progress().RowsCopied > 0 })
	c.obeys("pause", nil, "is paused, with no transaction open")
	if held := c.held(); len(held) > 0 {
		t.Errorf("it holds %q", held)
	}
	rows := c.query("SELECT COUNT(*) FROM t_shadow")
	c.awaitProgressOfPause()
	before := c.progress()
	c.await("changes are captured", func() bool { return c.progress().Captured > before.Captured })
	if after := c.progress(); after.Applied != before.Applied || after.RowsCopied != before.RowsCopied ||
		c.query("SELECT COUNT(*) FROM t_shadow") != rows {
		t.Errorf(
			"it goes on: %d rows copied and %d keys applied after %d and %d, %s rows", after.RowsCopied,
			after.Applied, before.RowsCopied, before.Applied, rows,
		)
	}
	if s := c.status(); s.State != "paused" || !strings.Contains(s.PausedBy, fmt.Sprintf("(uid %d, process ", os.Getuid())) {
		t.Errorf("%+v", s)
	}
	c.refuses(exit.NotNow, "pause", nil, "can't be paused: the run is paused since", c.at("resume")+"continues it")
	c.obeys("status", nil, c.name+" on ", "ADD COLUMN c INT", "state     paused: by ")
	c.obeys("resume", nil, "resumed")
	c.refuses(exit.NotNow, "resume", nil, "the run is not paused", c.at("cutover")+c.name)
	c.stopWriting()
	c.obeys("throttle", []string{"100%"}, "no limit")
	c.ends(exit.Done)
	contains(t, c.run.stdout.String(), "pause, by ", "resume, by ", "throttle 100%, by ", "all equal", "locked for")
	c.swappedAll()
}

// TestStopCapture: a run that was stopped at a checkpoint has no transaction on the server, goes on
// from there, and misses nothing that was written meanwhile: it is compared at its end.
func TestStopCapture(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 8000, "--copy-share=5%", "--json")
	c.phase("copy")
	c.await("rows are copied", func() bool { return c.progress().RowsCopied > 0 })
	c.obeys("pause", []string{"--stop-capture"}, "stopped at a checkpoint")
	if s := c.status(); s.State != "stopped" || s.PausedBy == "" {
		t.Errorf("%+v", s)
	}
	c.refuses(exit.NotNow, "pause", []string{"--stop-capture"}, "already stopped at a checkpoint")
	copied := c.query("SELECT COUNT(*) FROM t_shadow")
	c.obeys("set", []string{"copy-share=100%"}, `copy-share is "100%", was "5%"`)
	time.Sleep(300 * time.Millisecond)
	if held := c.held(); len(held) > 0 || c.query("SELECT COUNT(*) FROM t_shadow") != copied || copied == "0" {
		t.Errorf("it goes on: %s rows were copied, it holds %q", copied, held)
	}
	c.stopWriting() // what it has written meanwhile, nobody has read
	c.obeys("resume", nil, "resumed from the checkpoint")
	c.ends(exit.Done)
	contains(
		t, c.run.stdout.String(), `"command":"pause --stop-capture"`, "resuming an earlier run",
		`"event":"verified"`, `"outcome":"done"`,
	)
	c.swappedAll()
}

// TestHoldUntilCutover: a held run applies changes, has its tables compared, and swaps when it is
// told to, but for a file.
func TestHoldUntilCutover(t *testing.T) {
	sideBySide(t)
	file := filepath.Join(t.TempDir(), "not-yet")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := beginControlled(t, 2000, "--hold", "--drop-old", "--cutover-when-gone="+file)
	c.phase("hold")
	if s := c.status(); s.State != "held" || !strings.HasPrefix(s.Held, "until midstream cutover ") {
		t.Errorf("%+v", s)
	}
	applied := c.progress().Applied
	c.await("changes are applied", func() bool { return c.progress().Applied > applied+10 })
	c.refuses(exit.NotNow, "hold", nil, "it is already held", c.at("cutover")+c.name, " releases it")
	c.obeys("pause", nil, "the run is paused")
	c.obeys("cutover", nil, "the run is paused by ")
	c.obeys("resume", nil, "resumed")
	c.await("the file holds it", func() bool { return strings.Contains(c.run.stdout.String(), "on hold: the file "+file) })
	c.obeys("hold", nil, "waits for midstream cutover")
	c.obeys("cutover", nil, "the hold is released, but the file "+file+" exists", "--now")
	if got := c.query(columns); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
	c.obeys("cutover", []string{"--now"}, "cuts over as soon as")
	c.ends(exit.Done)
	contains(
		t, c.run.stdout.String(), "on hold: until midstream cutover ",
		"cutover --now, by ", "locked for",
	)
	if got := c.query(columns); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
}

// TestAbort: the table stays as it was and nothing is left; with --keep the same command goes on;
// and so for a run that was stopped at a checkpoint.
func TestAbort(t *testing.T) {
	sideBySide(t)
	for _, how := range []struct {
		name         string
		stop, keep   bool
		code         int
		text, tables string
	}{
		{"at work", false, false, exit.Aborted, "is untouched and nothing is left", "t"},
		{"kept", false, true, exit.Stopped, "t_shadow and ", "t,t_midstream,t_shadow"},
		{"stopped", true, false, exit.Aborted, "is untouched and nothing is left", "t"},
		{"stopped and kept", true, true, exit.Stopped, "t_shadow and ", "t,t_midstream,t_shadow"},
	} {
		t.Run(how.name, func(t *testing.T) {
			c := beginControlled(t, 5000, "--copy-share=1%")
			c.phase("copy")
			var args []string
			if how.keep {
				args = []string{"--keep"}
			}
			if how.stop {
				c.obeys("pause", []string{"--stop-capture"}, "stopped at a checkpoint")
			}
			c.obeys("abort", args, how.text)
			c.ends(how.code)
			contains(t, c.run.stdout.String()+c.run.stderr.String(), "abort, by ", "(uid ")
			if got := c.query(allTables); got != how.tables {
				t.Errorf("tables %s", got)
			}
			if got := c.query(columns); got != "id,a,b" {
				t.Errorf("columns %s", got)
			}
			if code, stdout, stderr := midstream(t, append(flagsTo(t, c.i), "cleanup", "--yes", c.name)...); code != exit.Done {
				t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			c.refuses(exit.NoRun, "abort", nil, "no run on "+c.name+" is active on this machine", c.at("status")+"lists")
		})
	}
}

// TestSet: what is set holds at once, and one value that is not taken leaves all as they were.
func TestSet(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 5000, "--copy-share=0%", "--drop-old")
	c.phase("copy")
	time.Sleep(100 * time.Millisecond)
	if rows := c.progress().RowsCopied; rows != 0 {
		t.Errorf("%d rows are copied", rows)
	}
	file := filepath.Join(t.TempDir(), "wait")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.obeys("set", nil, "copy-share           0%", "0% to 100%", "lock-wait            250ms", "10ms to 30s")
	c.refuses(
		exit.WrongUsage, "set", []string{"lock-wait=1h", "copy-share=50%"},
		"lock-wait=1h is refused; nothing was changed", "between 10ms and 30s",
	)
	c.refuses(exit.WrongUsage, "set", []string{"speed=high"}, "unknown setting", "lists the settings")
	c.refuses(exit.WrongUsage, "set", []string{"max-load=Threads_flying=3"}, "no status variable Threads_flying")
	c.refuses(exit.WrongUsage, "throttle", []string{"150%"}, "between 0 and 100")
	c.refuses(exit.WrongUsage, "set", []string{"lock-wait"}, "must be name=value")
	c.obeys("set", nil, "copy-share           0%", "lock-wait            250ms")
	c.obeys("set", []string{"throttle-file=" + file, "copy-share=100%", "workers=4", "chunk-time=50ms"}, `workers is "4", was "2"`)
	c.run.await(&c.run.stdout, "waiting: the file "+file)
	if rows := c.progress().RowsCopied; rows != 0 {
		t.Errorf("%d rows are copied", rows)
	}
	c.obeys("set", []string{"throttle-file=", "max-capture-delay=1ns"}, `max-capture-delay is "1ns", was "`)
	c.run.await(&c.run.stdout, "waiting: capture is ")
	c.obeys("set", []string{"max-capture-delay=0s", "full-speed=true", "hold=true"}, `max-capture-delay is "0s", was "1ns"`)
	c.phase("hold")
	c.obeys("set", []string{"hold=false"}, `hold is "false"`)
	c.ends(exit.Done)
	contains(
		t, c.run.stdout.String(), "set copy-share=50% lock-wait=1h, by ",
		"set chunk-time=50ms copy-share=100% throttle-file="+file+" workers=4, by ",
	)
}

// TestTwoAtOnce: a command that comes while another is being carried out is told of that, and one for which it is too
// late or too early why.
func TestTwoAtOnce(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 5000, "--copy-share=1%", "--drop-old")
	c.refuses(exit.NotNow, "cutover", nil, "nothing holds the swap", "swaps by itself")
	c.phase("copy")
	// A lock on a row that is to be copied? None is needed: the copy reads what is committed. The
	// metadata lock of the shadow is what a sync waits for.
	database, _, _ := strings.Cut(c.name, ".")
	db := c.i.Open(t, database)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES t_shadow WRITE"); err != nil {
		t.Fatal(err)
	}
	c.await("a sync waits", func() bool {
		return c.query(
			"SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_schema = DATABASE() AND object_name = 't_shadow' AND lock_status = 'PENDING'",
		) != "0"
	})
	first := make(chan string, 1)
	go func() {
		_, stdout, stderr := c.tell("pause")
		first <- stdout + stderr
	}()
	c.await("a pause is under way", func() bool { return strings.HasPrefix(c.status().Command, "pause by ") })
	c.refuses(exit.NotNow, "throttle", []string{"50%"}, "another command is being carried out: pause by ", "(uid ", ", since ")
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	contains(t, <-first, "the run is paused")
	if share := c.setting("copy-share"); share != "1%" {
		t.Errorf("copy-share %s", share)
	}
	c.obeys("abort", nil, "nothing is left")
	c.ends(exit.Aborted)
}

func (c *controlling) setting(name string) string {
	c.t.Helper()
	runs, err := socket.Find(c.t.Context(), c.folder)
	if err != nil || len(runs) != 1 {
		c.t.Fatal(err)
	}
	var settings []socket.Setting
	if err := runs[0].Call(c.t.Context(), http.MethodGet, "settings", nil, &settings); err != nil {
		c.t.Fatal(err)
	}
	return settings[slices.IndexFunc(settings, func(s socket.Setting) bool { return s.Name == name })].Value
}

// TestWatch: another process sees what the run shows, and the same records; nobody else may.
func TestWatch(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 2000, "--hold", "--drop-old")
	c.phase("hold")
	entries, err := os.ReadDir(c.folder)
	if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), c.name+"-") {
		t.Fatalf("%v, %v", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %s, %v", info.Mode(), err)
	}
	if folder, err := os.Stat(c.folder); err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("mode %s, %v", folder.Mode(), err)
	}
	// A second run on the table neither takes the socket away nor removes it.
	args := append(flagsTo(t, c.i), "run", "--method=shadow", "--control-dir="+c.folder, "ALTER TABLE "+c.name+" ADD COLUMN c INT")
	if code, _, stderr := midstream(
		t,
		args...); code != exit.Busy ||
		!strings.Contains(stderr, "another run of Midstream is working on the table") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if left, err := os.ReadDir(c.folder); err != nil || len(left) != 1 || left[0].Name() != entries[0].Name() {
		t.Errorf("%v, %v", left, err)
	}
	people := start(t, command(t, "watch", "--control-dir="+c.folder))
	machine := start(t, command(t, "watch", c.name, "--json", "--control-dir="+c.folder))
	people.await(&people.stdout, "on hold until an operator")
	machine.await(&machine.stdout, `"event":"progress"`)
	database, _, _ := strings.Cut(c.name, ".")
	id, end := holding(t, c.i, "report", c.name, 0)
	code, stdout, stderr := midstream(t, "blockers", "--control-dir="+c.folder)
	end()
	if code != exit.Done || !strings.Contains(stdout, "Holding a lock of "+database+".t:") ||
		!strings.Contains(stdout, fmt.Sprintf("connection %d, ", id)) {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	c.obeys("cutover", nil, "cuts over as soon as")
	c.ends(exit.Done)
	if code := people.exit(); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, &people.stderr)
	}
	contains(t, people.stdout.String(), "cutover, by ", "locked for", "the run has ended: done (exit code 0)")
	if code := machine.exit(); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, &machine.stderr)
	}
	contains(t, machine.stdout.String(), `"event":"swapped"`, `"event":"result"`, `"outcome":"done"`)
	for line := range strings.Lines(machine.stdout.String()) {
		if _, _, err := record.Read([]byte(line)); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	if code, stdout, _ := midstream(t, "status", "--control-dir="+c.folder); code != exit.Done || stdout != noRuns+"\n" {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// TestNativeAndControl: while a statement of the server's own waits for others it may be held
// still, and its terms are changed; while the server works it can't be paused.
func TestNativeAndControl(t *testing.T) {
	sideBySide(t)
	c := beginControlled(t, 100, "--method=instant", "--hold")
	c.phase("hold")
	_, end := holding(t, c.i, "app", c.name, 0)
	c.obeys("cutover", nil, "as soon as no session blocks it")
	c.phase("native")
	c.refuses(exit.NotNow, "pause", []string{"--stop-capture"}, "the server itself changes the table")
	c.obeys("pause", nil, "the run is paused")
	c.await("the pause is seen", func() bool { return c.status().State == "paused" && c.status().Phase == "hold" })
	end()
	time.Sleep(time.Second) // it would ask for the lock, and have it
	if got := c.query(columns); got != "id,a,b" {
		t.Errorf("columns %s while it is paused", got)
	}
	_, end = holding(t, c.i, "app", c.name, 0)
	defer end()
	c.obeys("resume", nil)
	c.phase("native")
	c.obeys("hold", nil)
	c.phase("hold")
	c.obeys("cutover", nil)
	c.phase("native")
	c.obeys("set", []string{"lock-give-up=300ms"}, `lock-give-up is "300ms"`)
	c.ends(exit.Failed)
	contains(t, c.run.stderr.String(), "the server did not grant the lock within 300ms", "is untouched and nothing is left")
}

// TestNativeAtWork: what the server does can be withdrawn, and not be paused.
func TestNativeAtWork(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 100_000)
	c.begin("ALTER TABLE "+c.name+" ADD INDEX (b, a)", "--method=inplace")
	c.await("the server is at work", func() bool {
		return c.query(
			"SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_state LIKE 'alter table%' AND processlist_info LIKE CONCAT('ALTER TABLE `', DATABASE(), '`.`t` %')",
		) != "0"
	})
	c.refuses(exit.NotNow, "pause", nil, "the server itself is already changing the table")
	c.refuses(exit.NotNow, "hold", nil, "the server itself is already changing the table")
	c.obeys("abort", nil, "is untouched")
	c.ends(exit.Aborted)
}

// TestTablesAndControl: a statement on whole tables heeds the window and a hold, is listed, paused
// and aborted as a run is.
func TestTablesAndControl(t *testing.T) {
	sideBySide(t)
	c := toControl(t, 100)
	file := filepath.Join(t.TempDir(), "busy")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.begin("TRUNCATE TABLE "+c.name, "--cutover-when-gone="+file, "--drop-old")
	c.phase("hold")
	if s := c.status(); s.State != "held" || !strings.Contains(s.Why, file) || !strings.HasPrefix(s.Alter, "TRUNCATE") {
		t.Errorf("%+v", s)
	}
	c.refuses(exit.NotNow, "pause", []string{"--stop-capture"}, "cannot keep a part")
	c.obeys("pause", nil, "the run is paused")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c.await("the pause holds it", func() bool { return c.status().State == "paused" })
	_, end := holding(t, c.i, "app", c.name, 0)
	defer end()
	c.obeys("resume", nil)
	c.phase("native")
	code, stdout, _ := midstream(t, "blockers", "--control-dir="+c.folder)
	if code != exit.Done || !strings.Contains(stdout, "Holding a lock of") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	c.obeys("hold", nil)
	c.phase("hold")
	c.obeys("abort", nil, "is untouched")
	c.ends(exit.Aborted)
	if rows := c.query("SELECT COUNT(*) FROM t"); rows == "0" {
		t.Error("it was carried out")
	}
	c.begin("RENAME TABLE "+c.name+" TO "+c.name+"_moved", "--lock-give-up=300ms")
	c.ends(exit.Failed)
	contains(t, c.run.stderr.String(), "the server did not grant the lock within 300ms", "is untouched, and nothing is")
}
