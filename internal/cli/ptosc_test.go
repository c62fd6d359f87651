package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// drop is a test of pt-online-schema-change's command line, on a table in which a ledger writes.
type drop struct {
	t      *testing.T
	i      *mysqltest.Instance
	ledger *ledger.Ledger
	name   string
	query  func(string) string
}

// beginDropIn begins to write in a table t of rows.
func beginDropIn(t *testing.T, version string, rows int) *drop {
	t.Helper()
	return beginDropInOn(t, mysqltest.Server(t, version), rows)
}

// beginDropInOn is the same on a server.
func beginDropInOn(t *testing.T, i *mysqltest.Instance, rows int) *drop {
	t.Helper()
	d := &drop{t: t, i: i}
	db, database := mysqltest.Database(t, d.i)
	d.name = database + ".t"
	d.query = func(q string) (text string) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), q).Scan(&text); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return text
	}
	l, err := ledger.New(db, d.name, ledger.Int(), ledger.Options{Number: dbconn.Number, Writers: 2, Rate: 100})
	if err == nil {
		err = l.Create(t.Context())
	}
	if err == nil {
		err = l.Seed(t.Context(), rows, nil)
	}
	if err == nil {
		err = l.Start(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Stop() })
	d.ledger = l
	return d
}

// dsn is the server's, with more parts.
func dsn(t *testing.T, i *mysqltest.Instance, more string) string {
	t.Helper()
	parts := []string{}
	for _, flag := range flagsTo(t, i) {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		parts = append(parts, map[string]string{"host": "h", "port": "P", "user": "u", "password": "p", "socket": "S"}[name]+"="+value)
	}
	return strings.Join(append(parts, more), ",")
}

// ptOSC is midstream, to be started by the name of that program.
func ptOSC(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, args...)
	cmd.Env = append(cmd.Env, "CLI_TEST_PROGRAM=pt-online-schema-change")
	return cmd
}

// command is that program's on the table.
func (d *drop) command(args ...string) *exec.Cmd {
	d.t.Helper()
	database, _, _ := strings.Cut(d.name, ".")
	return ptOSC(d.t, append([]string{dsn(d.t, d.i, "D="+database+",t=t"), "--no-version-check"}, args...)...)
}

// does runs it, and fails unless it ends with a code and says the texts.
func (d *drop) does(code int, args []string, texts ...string) string {
	d.t.Helper()
	r := start(d.t, d.command(args...))
	if got := r.exit(); got != code {
		d.t.Fatalf("%s: exit code %d\n%s\n%s", args, got, &r.stdout, &r.stderr)
	}
	contains(d.t, r.stdout.String()+r.stderr.String(), texts...)
	return r.stdout.String()
}

// quoted is the table's name as that program writes it.
func (d *drop) quoted() string { return "`" + strings.ReplaceAll(d.name, ".", "`.`") + "`" }

func (d *drop) tables() string {
	d.t.Helper()
	return d.query(
		"SELECT GROUP_CONCAT(table_name ORDER BY BINARY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()",
	)
}

// settle stops the writers and compares the table with the ledger.
func (d *drop) settle() {
	d.t.Helper()
	if err := d.ledger.Stop(); err != nil {
		d.t.Errorf("writer: %v", err)
	}
	proof, err := d.ledger.Compare(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if !proof.Equal() {
		d.t.Errorf("table differs from the ledger: %s", proof)
	}
}

const ptAlter = "--alter=ADD COLUMN added VARCHAR(40) NOT NULL DEFAULT 'x', ADD INDEX added (added)"

// TestPtOSC: looks that change nothing, a run without the swap, and ones with it, while somebody writes.
func TestPtOSC(t *testing.T) {
	sideBySide(t)
	d := beginDropIn(t, "9.7", 3000)
	d.does(1, []string{ptAlter}, "Exiting without altering "+d.quoted()+" because neither --dry-run nor --execute was specified.")
	d.does(
		0, []string{ptAlter, "--dry-run", "--print"}, "Starting a dry run.  "+d.quoted()+" will not be altered.",
		"Not copying rows because this is a dry run.", "Dry run complete.  "+d.quoted()+" was not altered.",
	)
	d.does(0, []string{ptAlter, "--execute", "--no-swap-tables"}, "Copying approximately ", "Copied rows OK.", "all equal.",
		"Not dropping old table because --no-swap-tables was specified.", "Dropped new table OK.", "Successfully altered "+d.quoted()+".")
	if got := d.tables(); got != "t" {
		t.Errorf("tables %s", got)
	}
	d.copies("_t_new")
	d.does(0, []string{"--alter=DROP INDEX added, DROP COLUMN added", "--execute", "-q"})
	d.settle()
	if got := d.tables(); got != "_t_old,t" {
		t.Errorf("tables %s", got)
	}
}

// TestPtOSCOn57: on a server that swaps in two sessions the new table has a name that sorts after the table's.
func TestPtOSCOn57(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "5.7", 3000)
	d.copies("t_shadow")
	d.settle()
}

// copies has the table copied and swapped. fresh is what the new one is called.
func (d *drop) copies(fresh string) {
	d.t.Helper()
	out := d.does(
		0, []string{ptAlter, "--execute", "--no-drop-old-table", "--statistics"}, "Altering "+d.quoted()+"...",
		"Created new table "+strings.TrimSuffix(d.name, "t")+fresh+" OK.", "Swapped original and new tables OK.",
		"Not dropping old table because --no-drop-old-table was specified.", "# Event ", "# rows_copied",
	)
	if !strings.HasSuffix(out, "Successfully altered "+d.quoted()+".\n") {
		d.t.Errorf("the end is not told:\n%s", out)
	}
	if got := d.tables(); got != "_t_old,t" {
		d.t.Errorf("tables %s", got)
	}
}

// TestPtOSCHistory: a job that was killed, and then one that a signal has ended, is gone on with by
// its number, and its table tells that it is done.
func TestPtOSCHistory(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "9.7", 8000)
	jobs := strings.TrimSuffix(d.name, "t") + "jobs"
	slow := []string{
		ptAlter, "--execute", "--no-drop-old-table", "--history-table=" + jobs, "--chunk-time=0.01", "--sleep=1",
		"--progress=time,0",
	}
	begin := func(args ...string) *running {
		t.Helper()
		r := start(t, d.command(append(slow, args...)...))
		r.await(&r.stdout, "Job 1 started")
		r.await(&r.stderr, "Copying "+d.quoted()+": ")
		r.await(&r.stderr, "% ") // and a time: "Copying `shop`.`orders`:  50% 00:01 remain"
		r.await(&r.stderr, " remain\n")
		return r
	}
	first := begin("--history")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.exit()
	second := begin("--resume=1")
	contains(t, second.stdout.String(), "Resuming an earlier run")
	second.interrupt()
	if code := second.exit(); code != 1 {
		t.Errorf("exit code %d\n%s\n%s", code, &second.stdout, &second.stderr)
	}
	contains(t, second.stdout.String(), "History saved. Job id: 1", d.quoted()+" was not altered.")
	if got := d.query("SELECT done FROM jobs WHERE job_id = 1"); got != "no" {
		t.Errorf("done: %s", got)
	}
	d.does(17, append(slow, "--resume=7"), "has no job 7")
	d.does(17, []string{"--alter=ENGINE=InnoDB", "--execute", "--history-table=" + jobs, "--resume=1"}, "job 1 is of ALTER TABLE")
	d.does(
		0, []string{ptAlter, "--execute", "--no-drop-old-table", "--history-table=" + jobs, "--resume=1"},
		"Job 1 finished successfully.", "Successfully altered ",
	)
	if got := d.query("SELECT CONCAT_WS(' ', tbl, altr, done) FROM jobs"); got != "t "+strings.TrimPrefix(ptAlter, "--alter=")+" yes" {
		t.Errorf("the job is %s", got)
	}
	d.does(17, append(slow, "--resume=1"), "job 1 is done")
	d.settle()
}

// TestPtOSCFails: what can't be done has that program's exit codes, and leaves nothing.
func TestPtOSCFails(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 50)
	database, _, _ := strings.Cut(name, ".")
	executing(
		t, i, database,
	)(
		"CREATE TABLE keyless (a INT, b VARCHAR(9))", "CREATE TABLE twice (id INT PRIMARY KEY, a INT)",
		"INSERT INTO twice VALUES (1, 5), (2, 5)", "CREATE TABLE _t_new (a INT)",
		"CREATE TABLE dsns (id INT PRIMARY KEY, dsn VARCHAR(99))", "INSERT INTO dsns VALUES (1, 'h=127.0.0.1,P=1')",
	)
	before := query("SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()")
	pid := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(pid, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	on := func(table string) string { return dsn(t, i, "D="+database+",t="+table) }
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{1, []string{on("t"), "--execute", "--bogus"}, "  * Error parsing options"},
		{1, []string{on("t"), "--execute", "--reverse-triggers"}, "--reverse-triggers requires --no-drop-old-table"},
		{1, []string{on("t"), "--execute", "--max-load=Nonsense"}, "Variable Nonsense does not exist"},
		{1, []string{on("t"), "--execute", "--set-vars=nonsense=1"}, "Unknown system variable 'nonsense'"},
		{1, []string{on("t"), "--execute", "--pid=" + pid}, "PID file " + pid + " exists and PID 1 is running"},
		{1, []string{on("twice"), "--execute", "--alter=ADD UNIQUE (a)"}, "`" + database + "`.`twice` was not altered."},
		{1, []string{on("t"), "--execute", "--recursion-method=dsn=t=" + database + ".dsns", "--no-drop-old-table"}, "127.0.0.1:1"},
		{4, []string{on("keyless"), "--execute", "--no-drop-old-table"}, "does not have a PRIMARY KEY or a unique index"},
		{5, []string{on("t"), "--execute", "--plugin=x.pm"}, "--plugin can't be taken"},
		{10, []string{on("t"), "--execute", "--new-table-name=_t_new", "--no-drop-old-table"}, "_t_new"},
		{11, []string{on("nothing"), "--execute"}, "The original table `" + database + "`.`nothing` does not exist."},
		{11, []string{on("t"), "--execute", "--alter=ADD COLUMN c INTT"}, "`" + database + "`.`t` was not altered."},
		{11, []string{on("t"), "--execute", "--alter=ALTER TABLE t ADD COLUMN c INT"}, "leave out ALTER TABLE"},
		{11, []string{on("t"), "--execute", "--alter=DROP COLUMN nothing"}, "nothing"},
		{11, []string{on("t"), "--dry-run", "--no-drop-old-table", "--alter=ADD COLUMN z DATE NOT NULL DEFAULT '1970-00-00'"}, "Invalid default value for 'z'"},
		{11, []string{on("t"), "--dry-run", "--alter=DROP COLUMN nothing"}, "Dry run complete.  `" + database + "`.`t` was not altered."},
		{17, []string{on("t"), "--execute", "--alter=RENAME TO u"}, "renames the table"},
		{18, []string{"h=127.0.0.1,P=1,u=root,D=a,t=t", "--execute"}, "Cannot connect to MySQL: "},
	} {
		r := start(t, ptOSC(t, c.args...))
		if code := r.exit(); code != c.code {
			t.Errorf("%s: exit code %d instead of %d\n%s\n%s", c.args, code, c.code, &r.stdout, &r.stderr)
		}
		contains(t, r.stdout.String()+r.stderr.String(), c.says)
	}
	if got := query(
		"SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()",
	); got != before {
		t.Errorf("tables %s instead of %s", got, before)
	}
	// Another's _t_new is not in the way.
	r := start(t, ptOSC(t, on("t"), "--execute", "--no-drop-old-table"))
	if code := r.exit(); code != 0 {
		t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
	contains(t, r.stdout.String(), "Created new table "+database+".__t_new OK.")
}

// TestPtOSCAsAVerb: midstream pt-online-schema-change is the same, and needs no server for help and version.
func TestPtOSCAsAVerb(t *testing.T) {
	sideBySide(t)
	for flag, says := range map[string]string{"--version": "pt-online-schema-change 3.7.1\n", "--help": "--[no]swap-tables"} {
		code, stdout, stderr := midstream(t, "pt-online-schema-change", flag)
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		contains(t, stdout, says)
		if flag == "--version" && (stdout != says || stderr != "midstream test\n") {
			t.Errorf("programs compare the line of the version: %q, %q", stdout, stderr)
		}
	}
	code, stdout, _ := midstream(t, "pt-online-schema-change", "-p", "secret", "D=a")
	if code != 1 || strings.Contains(stdout, "secret") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	contains(t, stdout, "  * The DSN must specify a database (D) and a table (t)")
}

// TestPtOSCReplicas: replicas are named by DSNs, in an option or in a table; one whose replication
// has stopped ends the run with 128, unless nobody looks.
func TestPtOSCReplicas(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	primary, follower := primaryAndReplica(t, "9.7", "2")
	onReplica := executing(t, follower, "")
	name, query := table(t, primary, 500)
	database, _, _ := strings.Cut(name, ".")
	replica := dsn(t, follower, "")
	executing(
		t, primary, database,
	)(
		"CREATE TABLE dsns (id INT PRIMARY KEY, dsn VARCHAR(99))",
		"INSERT INTO dsns VALUES (1, '"+strings.TrimSuffix(replica, ",")+"')",
	)
	run := func(code int, says string, args ...string) {
		t.Helper()
		r := start(t, ptOSC(t, append([]string{dsn(t, primary, "D="+database+",t=t"), "--execute", "--no-drop-old-table"}, args...)...))
		if got := r.exit(); got != code {
			t.Fatalf("%s: exit code %d\n%s\n%s", args, got, &r.stdout, &r.stderr)
		}
		contains(t, r.stdout.String()+r.stderr.String(), says)
	}
	run(
		0, "Will check replica lag on:\n"+follower.Address, "--alter=ADD COLUMN c INT",
		"--check-replica-lag="+strings.TrimSuffix(replica, ","),
	)
	onReplica("STOP REPLICA SQL_THREAD")
	run(128, "Replica '"+follower.Address+"' is stopped.", "--alter=ADD COLUMN d INT", "--recursion-method=dsn=D="+database+",t=dsns")
	if got := query(columns); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
	run(0, "Ignoring all replicas because --recursion-method=none was specified", "--alter=ADD COLUMN d INT", "--recursion-method=none")
	onReplica("START REPLICA SQL_THREAD")
}
