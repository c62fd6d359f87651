package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// TestCleanupDropsOnlyOurs (law L8): a name proves nothing, a mark for another table
// neither.
func TestCleanupDropsOnlyOurs(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database := name[:len(name)-2]
	exec := executing(t, i, database)
	tables := func() string {
		return query("SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()")
	}
	cleanup := func(args ...string) (int, string, string) {
		return midstream(t, append(append([]string{"cleanup", "--yes", name}, args...), flagsTo(t, i)...)...)
	}
	exec("CREATE TABLE t_shadow (a INT)", "CREATE TABLE t_midstream (a INT)", "CREATE TABLE t_old (a INT)",
		"CREATE TABLE u_shadow (a INT) COMMENT='midstream shadow of "+database+".u'")
	code, stdout, stderr := cleanup()
	if code != exit.Done || tables() != "t,t_midstream,t_old,t_shadow,u_shadow" {
		t.Errorf("exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}
	contains(t, stdout, "Nothing is left")
	exec("ALTER TABLE t_old COMMENT='midstream old of " + name + "; it was: '")
	_, stdout, _ = cleanup()
	contains(t, stdout, "Nothing unfinished is left of earlier runs on "+name+".", "Old tables: "+name+"_old. To drop them: midstream cleanup ", "--old "+name)
	exec("ALTER TABLE t_old COMMENT=''")

	exec("ALTER TABLE t_shadow COMMENT='midstream shadow of "+name+"'", "ALTER TABLE t_midstream COMMENT='midstream state of "+name+"'")
	code, stdout, stderr = cleanup()
	if code != exit.Done || tables() != "t,t_old,u_shadow" {
		t.Errorf("exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}

	// The mark goes from the shadow before the swap; the state table's checkpoint stays.
	exec("CREATE TABLE t_shadow (a INT)",
		"CREATE TABLE t_midstream (id INT, beat INT, state LONGTEXT) COMMENT='midstream state of "+name+"'")
	if code, stdout, stderr = cleanup(); code != exit.Refused || tables() != "t,t_midstream,t_old,t_shadow,u_shadow" {
		t.Errorf("exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}
	contains(t, stderr, "t_shadow has no mark", "nothing was dropped", "rename", database+".t_shadow, or drop it")
	exec("DROP TABLE t_midstream")
	state := func(start string) []string {
		return []string{
			"CREATE TABLE t_midstream (id INT, beat INT, run VARCHAR(32), state LONGTEXT) COMMENT='midstream state of " + name + "'",
			`INSERT INTO t_midstream VALUES (1, 1, 'r', NULL), (2, 0, 'r', '{"Version": 2, "Unmarked": true}'), (3, 0, 'r', ` + start + `)`,
		}
	}
	exec(state(`'{"Shadow": {"Columns": [{"Name": "b", "Definition": "int DEFAULT NULL"}]}}'`)...)
	if code, stdout, stderr = cleanup(); code != exit.Done || tables() != "t,t_old,t_shadow,u_shadow" {
		t.Errorf("another table under the name: exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}
	exec(state(`'{"Shadow": {"Columns": [{"Name": "a", "Definition": "int DEFAULT NULL"}]}}'`)...)
	if code, stdout, stderr = cleanup(); code != exit.Done || tables() != "t,t_old,u_shadow" {
		t.Errorf("exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}
	// A state table that says no more than that the shadow is about to be created.
	exec(append(state("NULL"), "CREATE TABLE t_shadow (a INT)", "INSERT INTO t_shadow VALUES (1)")...)
	if code, stdout, stderr = cleanup(); code != exit.Done || tables() != "t,t_old,t_shadow,u_shadow" {
		t.Errorf("rows that nobody copied: exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}
	exec("TRUNCATE t_shadow")
	for query("SELECT NOW() > create_time FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 't_shadow'") == "0" {
		time.Sleep(50 * time.Millisecond) // the server's clock of creations has seconds
	}
	exec(state("NULL")...)
	if code, stdout, stderr = cleanup(); code != exit.Done || tables() != "t,t_old,t_shadow,u_shadow" {
		t.Errorf("an older table: exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}
	exec("DROP TABLE t_shadow")
	exec(append(state("NULL"), "CREATE TABLE t_shadow LIKE t")...)
	if code, stdout, stderr = cleanup(); code != exit.Done || tables() != "t,t_old,u_shadow" {
		t.Errorf("exit code %d, tables %s\n%s\n%s", code, tables(), stdout, stderr)
	}
	exec("DROP TABLE u_shadow")
}

// TestCleanupOfNothing: a name that is spelt wrong is not a job done. Leftovers of a table
// that is gone are dropped.
func TestCleanupOfNothing(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	code, stdout, stderr := midstream(t, append([]string{"cleanup", "--yes", name + "x"}, flagsTo(t, i)...)...)
	if code != exit.Refused || stdout != "" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stderr, name+"x: no such table", "cleanup found nothing of earlier runs", "check the table's name")

	db := i.Open(t, name[:len(name)-2])
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE tx_shadow (a INT) COMMENT='midstream shadow of "+name+"x'"); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = midstream(t, append([]string{"cleanup", name + "x"}, flagsTo(t, i)...)...)
	if code != exit.WrongUsage || !strings.Contains(stdout, "tx_shadow, about 0 rows") || !strings.Contains(stderr, "midstream cleanup --") {
		t.Errorf("without a terminal: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if code, stdout, stderr := midstream(t, append([]string{"cleanup", name}, flagsTo(t, i)...)...); code != exit.Done {
		t.Errorf("nothing to ask: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = midstream(t, append([]string{"cleanup", "--yes", name + "x"}, flagsTo(t, i)...)...)
	if got := query(
		"SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()",
	); code != exit.Done ||
		got != "t" {
		t.Errorf("exit code %d, tables %s\n%s\n%s", code, got, stdout, stderr)
	}
}

// TestCleanupOfTheOldTable: it goes only if told, if it is marked, if the new one is there,
// and if nobody uses it.
func TestCleanupOfTheOldTable(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	database := name[:len(name)-2]
	db := i.Open(t, database)
	cleanup := func(args ...string) (int, string, string) {
		return midstream(t, append(append([]string{"cleanup", "--old", "--yes", name}, args...), flagsTo(t, i)...)...)
	}
	if _, err := db.ExecContext(t.Context(), "RENAME TABLE t TO t_old"); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := cleanup(); code != exit.Refused || query("SELECT COUNT(*) FROM t_old") != "10" {
		t.Errorf("without the table: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	for _, s := range []string{"CREATE TABLE t LIKE t_old", "CREATE TABLE t_old2 LIKE t_old", "ALTER TABLE t_old COMMENT='midstream old of " + name + "; it was: x'"} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	user, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Exec("UPDATE t_old SET a = 1"); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := cleanup()
	if code != exit.Refused {
		t.Errorf("in use: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stderr, "the table is in use", "holds a lock on it")
	if err := user.Rollback(); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = cleanup()
	if code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stdout, "Dropped 1 table.", "t_old2 is left alone: it has no mark of an old table")
	if got := query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t,t_old2" {
		t.Errorf("tables %s", got)
	}
}

// TestCleanupTellsOfTriggers: those that go with what is dropped are named and counted, also where
// nothing else is left.
func TestCleanupTellsOfTriggers(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 500)
	database := name[:len(name)-2]
	exec := executing(t, i, database)
	cleanup := func(says ...string) {
		t.Helper()
		code, stdout, stderr := midstream(t, append([]string{"cleanup", "--yes", name}, flagsTo(t, i)...)...)
		if code != exit.Done || query("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()") != "0" {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		contains(t, stdout, says...)
	}
	exec(
		"CREATE TABLE t_shadow (a INT) COMMENT='midstream shadow of "+name+"'",
		"CREATE TRIGGER midstream_0123456789abcdef BEFORE INSERT ON t_shadow FOR EACH ROW SET NEW.a = 1",
	)
	cleanup("    trigger "+database+".midstream_0123456789abcdef on "+database+".t_shadow\n", "Dropped 1 table and 1 trigger.\n")
	left := func() {
		t.Helper()
		run := start(
			t,
			command(
				t,
				append(flagsTo(t, i), "run", "--method=shadow", "--capture=trigger", "--hold", "ALTER TABLE "+name+" ADD COLUMN n INT")...),
		)
		run.await(&run.stdout, "until midstream cutover")
		if err := run.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		run.exit()
	}
	left()
	cleanup(
		"  "+database+".t_capture, about ", "    trigger "+database+".t_capture_insert on "+name+"\n",
		"    trigger "+database+".t_capture_delete on "+name+"\n", "Dropped 3 tables and 3 triggers.\n",
	)
	left()
	exec("DROP TABLE t_capture, t_shadow, t_midstream")
	cleanup(
		"  triggers that write to "+database+".t_capture (it does not exist, ",
		"    trigger "+database+".t_capture_update on "+name+"\n", "Dropped 3 triggers.\n",
	)
}

// TestCtrlCAtTheQuestion: it is an abort, and nothing is dropped.
func TestCtrlCAtTheQuestion(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 10)
	db := i.Open(t, name[:len(name)-2])
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t_shadow (a INT) COMMENT='midstream shadow of "+name+"'"); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, append([]string{"cleanup", name}, flagsTo(t, i)...)...)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	screen := watch(terminal)
	screen.await(t, "Drop them? [y/N] ")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the exit code says it
	ended.Stop()
	<-screen.done
	if code := cmd.ProcessState.ExitCode(); code != exit.Aborted {
		t.Errorf("exit code %d\n%s", code, screen)
	}
	contains(t, screen.String(), "midstream: aborted: interrupted", "left:  nothing was dropped")
	if got := query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "2" {
		t.Errorf("%s tables", got)
	}
	if _, err := db.ExecContext(t.Context(), "DROP TABLE t_shadow"); err != nil {
		t.Error(err)
	}
}

// TestCleanupWithoutPrivileges: it is refused with every GRANT that is missing, and nothing
// is dropped.
func TestCleanupWithoutPrivileges(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		i := mysqltest.Server(t, version)
		name, query := table(t, i, 10)
		database := name[:len(name)-2]
		exec := executing(t, i, database)
		exec("CREATE TABLE t_old LIKE t", "ALTER TABLE t_old COMMENT='midstream old of "+name+"; it was: '",
			"DROP USER IF EXISTS cleaner", "CREATE USER cleaner IDENTIFIED BY 'secret'", "GRANT SELECT ON "+database+".* TO cleaner")
		t.Cleanup(func() { exec("DROP USER cleaner") })
		host, port, _ := strings.Cut(i.Address, ":")
		args := []string{"cleanup", "--old", "--yes", "--host=" + host, "--port=" + port, "--user=cleaner", "--password=secret", name}
		for granted := 0; ; granted++ {
			code, stdout, stderr := midstream(t, args...)
			if code == exit.Done && granted > 1 {
				contains(t, stdout, "Dropped 1 table.")
				break
			}
			if code != exit.Refused || granted > 1 ||
				query("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()") != "2" {
				t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			contains(t, stderr, "nothing was dropped", "fix: GRANT", "next:  midstream cleanup --old "+name)
			for line := range strings.Lines(stderr) {
				if _, grant, is := strings.Cut(line, "fix: "); is {
					exec(grant)
				}
			}
		}
	}
}

// TestTheSizeOfAnOldTableIsThatOfNow: MySQL 8.0 and later keep the size that a session has read for a day. What is listed is
// the size that the table has.
func TestTheSizeOfAnOldTableIsThatOfNow(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		i := mysqltest.Server(t, version)
		name, query := table(t, i, 10)
		database, _, _ := strings.Cut(name, ".")
		exec := executing(t, i, database)
		exec("CREATE TABLE old LIKE t", "ALTER TABLE old COMMENT '"+schema.MarkOld(schema.NameOf(name), "")+"'", "RENAME TABLE old TO t_old")
		const size = "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 't_old'"
		before := query(size)
		exec("INSERT INTO t_old (a, b) SELECT x.a, REPEAT('b', 100) FROM t x, t y, t z, t u") // 10,000 rows
		until(t, func() string { return "the server has new statistics" }, func() bool {
			return query("SELECT n_rows > 5000 FROM mysql.innodb_table_stats WHERE database_name = DATABASE() AND table_name = 't_old'") == "1"
		})
		if now := query(size); now != before {
			t.Fatalf("a session of another program sees %s rows, and not %s", now, before)
		}
		code, stdout, stderr := midstream(t, append(flagsTo(t, i), "cleanup", "--old", "--yes", name)...)
		if code != exit.Done || !regexp.MustCompile(`t_old, about (9|1\d),\d{3} rows, \d\.\d MB`).MatchString(stdout) {
			t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
	}
}
