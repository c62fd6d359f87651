package cli

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// ghOst is midstream, to be started by the name of that program.
func ghOst(t *testing.T, i *mysqltest.Instance, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, append(flagsTo(t, i), args...)...)
	cmd.Env = append(cmd.Env, "CLI_TEST_PROGRAM=gh-ost")
	return cmd
}

// ghost is that program's command line on the table.
func (d *drop) ghost(args ...string) *running {
	d.t.Helper()
	database, _, _ := strings.Cut(d.name, ".")
	return start(
		d.t,
		ghOst(
			d.t,
			d.i,
			append([]string{"--database=" + database, "--table=t", "--allow-on-master", "--throttle-additional-flag-file="}, args...)...),
	)
}

// ghosts runs it, and fails unless it ends with a code and says the texts.
func (d *drop) ghosts(code int, args []string, texts ...string) {
	d.t.Helper()
	r := d.ghost(args...)
	if got := r.exit(); got != code {
		d.t.Fatalf("%s: exit code %d\n%s\n%s", args, got, &r.stdout, &r.stderr)
	}
	contains(d.t, r.stdout.String()+r.stderr.String(), texts...)
}

// TestGhost: looks that change nothing, and runs that do, while somebody writes.
func TestGhost(t *testing.T) {
	sideBySide(t)
	d := beginDropIn(t, "9.7", 3000)
	tables := func(want string) {
		t.Helper()
		if got := d.tables(); got != want {
			t.Errorf("tables %s instead of %s", got, want)
		}
	}
	d.ghosts(0, []string{ptAlter, "--verbose"}, "INFO Migrating "+d.quoted(), "# Plan: ", "# Nothing was changed: --execute was not said\n# Done\n")
	tables("t")
	d.ghosts(
		0, []string{ptAlter, "--execute", "--verbose", "--chunk-size=500"},
		"# Migrating "+d.quoted()+"; Ghost table is "+strings.TrimSuffix(d.quoted(), "`t`")+"`_t_gho`\n",
		"--chunk-size has no effect: A chunk is as many rows as fit into 250 ms at most (chunk-time in [midstream] of ~/.my.cnf)",
		"INFO Row copy complete", "%; Applied: ", "; streamer: binlog.0", "State: migrating; ETA: due",
		"INFO Done migrating "+d.quoted(), "# Done\n",
	)
	tables("_t_del,t")
	drops := "--alter=DROP INDEX added, DROP COLUMN added, ADD COLUMN zero DATE NOT NULL DEFAULT '1970-00-00'"
	d.ghosts(1, []string{drops, "--execute"}, "FATAL ", "_t_del is an old table")
	d.ghosts(0, []string{drops, "--initially-drop-old-table", "--allow-zero-in-date"}, "_t_del is dropped first", "# Done\n")
	tables("_t_del,t")
	d.ghosts(0, []string{drops, "--execute", "--timestamp-old-table", "--quiet", "--allow-zero-in-date"}, "# Done\n")
	if got := d.query(
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name RLIKE '^_t_[0-9]{14}_del$'",
	); got != "1" {
		t.Errorf("tables %s", d.tables())
	}
	d.settle()
}

// TestGhostOn57: on a server that swaps in two sessions the new table has a name that sorts after
// the table's, and the old one gets its own.
func TestGhostOn57(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "5.7", 3000)
	d.ghosts(0, []string{ptAlter}, "# Done\n")
	d.ghosts(
		0, []string{ptAlter, "--execute", "--attempt-instant-ddl"},
		"Ghost table is "+strings.TrimSuffix(d.quoted(), "`t`")+"`t_shadow`\n", "# Done\n",
	)
	if got := d.tables(); got != "_t_del,t" {
		t.Errorf("tables %s", got)
	}
	d.settle()
}

// TestGhostDiscardsForeignKeys: the new table has none of the table's own, whatever the ALTER itself drops.
func TestGhostDiscardsForeignKeys(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for version, rule := range map[string]string{"9.7": " ON DELETE CASCADE", "5.7": ""} {
		d := beginDropIn(t, version, 3000)
		database, _, _ := strings.Cut(d.name, ".")
		executing(t, d.i, database)(
			"CREATE TABLE parent (id INT PRIMARY KEY)", "INSERT INTO parent VALUES (1)",
			"ALTER TABLE t ADD COLUMN p INT, ADD CONSTRAINT one FOREIGN KEY (p) REFERENCES parent (id)"+rule+", ADD CONSTRAINT two FOREIGN KEY (p) REFERENCES parent (id)",
		)
		d.ghosts(
			0,
			[]string{"--alter=DROP FOREIGN KEY two, ENGINE=InnoDB", "--execute", "--discard-foreign-keys", "--ok-to-drop-table"},
			"# Done\n",
		)
		if got := d.query(
			"SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()",
		); got != "0" {
			t.Errorf("%s: %s foreign keys are left", version, got)
		}
		executing(t, d.i, database)("DROP TABLE parent")
		d.settle()
	}
}

// TestGhostPostponed: the swap waits for a file, and what an earlier run has left and tables of
// others that have its names go as the command line says.
func TestGhostPostponed(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "9.7", 3000)
	database, _, _ := strings.Cut(d.name, ".")
	executing(t, d.i, database)("CREATE TABLE _t_gho (a INT)", "CREATE TABLE _t_del (a INT)")
	file := filepath.Join(t.TempDir(), "postpone")
	args := []string{ptAlter, "--execute", "--postpone-cut-over-flag-file=" + file}
	d.ghosts(1, args, "_t_gho")
	drops := append(args, "--initially-drop-ghost-table", "--initially-drop-old-table")
	first := d.ghost(drops...)
	first.await(&first.stdout, "State: postponing cut-over; ETA: due")
	contains(t, first.stdout.String(), "# postpone-cut-over-flag-file: "+file+" [set]")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.exit()
	second := d.ghost(drops...)
	second.await(&second.stdout, "State: postponing cut-over; ETA: due")
	contains(t, second.stderr.String(), "_t_gho, which an earlier run left")
	second.interrupt()
	if code := second.exit(); code != 1 {
		t.Errorf("exit code %d\n%s\n%s", code, &second.stdout, &second.stderr)
	}
	if got := d.tables(); got != "t" {
		t.Errorf("tables %s", got)
	}
	third := d.ghost(append(args, "--checkpoint")...)
	third.await(&third.stdout, "State: postponing cut-over; ETA: due")
	third.interrupt()
	if code := third.exit(); code != 1 {
		t.Errorf("exit code %d\n%s\n%s", code, &third.stdout, &third.stderr)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.ghosts(0, []string{ptAlter, "--execute", "--resume", "--ok-to-drop-table", "--verbose"}, "Resuming from checkpoint", "# Done\n")
	d.ghosts(1, []string{ptAlter, "--execute", "--resume"}, "FATAL ")
	if got := d.tables(); got != "t" {
		t.Errorf("tables %s", got)
	}
	d.settle()
}

// says sends a command to a socket, and returns the answer.
func says(t *testing.T, network, address, command string) string {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err == nil {
		defer conn.Close()
		_, err = io.WriteString(conn, command+"\n")
	}
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(conn)
	}
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(answer)
}

// TestGhostCommands: a run obeys what comes by its socket and by TCP, and ends once there is a file.
func TestGhostCommands(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "9.7", 3000)
	folder := t.TempDir()
	socket, file, stop := filepath.Join(folder, "s"), filepath.Join(folder, "postpone"), filepath.Join(folder, "panic")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strings.TrimPrefix(listener.Addr().String(), "127.0.0.1:")
	listener.Close()
	args := []string{
		ptAlter, "--execute", "--postpone-cut-over-flag-file=" + file, "--serve-socket-file=" + socket,
		"--panic-flag-file=" + stop, "--force-named-panic",
	}
	first := d.ghost(append(args, "--serve-tcp-port="+port)...)
	first.await(&first.stdout, "State: postponing cut-over; ETA: due")
	if err := first.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"status", "# Migrating " + d.quoted() + "; Ghost table is "}, {"status", "State: postponing cut-over; ETA: due\n"}, {"status", "# Serving on unix socket: " + socket + "\n# Serving on TCP port: " + port + "\n"},
		{"sup", "Copy: "}, {"coordinates", "binlog.0"}, {"applier", "Host: " + d.i.Address + ", Version: "}, {"inspector", "Host: " + d.i.Address}, {"help", "available commands:\n"},
		{"chunk-size=50", "# chunk-size: 50; "}, {"chunk-size=?", "50\n"}, {"chunk-size=x", "must be a whole number"}, {"nice-ratio=1", "nice-ratio: 1.000000\n"}, {"nice-ratio=?", "1.000000\n"},
		{"max-load=Threads_running=900", "; max-load: Threads_running=900; "}, {"max-load=?", "Threads_running=900\n"}, {"critical-load=Nonsense=1", "Nonsense"}, {"critical-load=?", "\n"},
		{"throttle-query=SELECT COUNT(*) = 0 FROM t", "# throttle-query: SELECT COUNT(*) = 0 FROM t\n"}, {"throttle-query=SELECT a FROM nowhere", "nowhere"}, {"throttle-control-replicas=?", "\n"}, {"max-lag-millis=?", "1500\n"},
		{"throttle", "# Note: you may only throttle"}, {"throttle=t", "# Note: you may only throttle"}, {"no-throttle=u", "'no-throttle' names u"},
	} {
		if got := says(t, "unix", socket, c[0]); !strings.Contains(got, c[1]) {
			t.Errorf("%s: no %q in %s", c[0], c[1], got)
		}
	}
	first.await(&first.stdout, "State: throttled, commanded by user; ETA: due")
	for _, c := range [][2]string{{"no-throttle", "State: "}, {"no-throttle", "State: "}, {"panic", "must name the table"}, {"cut-over=u", "nothing is done"}, {"nonsense", "Unknown command: nonsense\n"}, {"cut-over=t", "Unpostponed\n"}} {
		if got := says(t, "tcp", "127.0.0.1:"+port, c[0]); !strings.Contains(got, c[1]) {
			t.Errorf("%s: no %q in %s", c[0], c[1], got)
		}
	}
	if code := first.exit(); code != 0 {
		t.Errorf("exit code %d\n%s\n%s", code, &first.stdout, &first.stderr)
	}
	args[0] = "--alter=DROP INDEX added, DROP COLUMN added"
	for _, panics := range []func(){func() { says(t, "unix", socket, "panic=t") }, func() { touch(t, stop) }} {
		r := d.ghost(append(args, "--initially-drop-old-table")...)
		r.await(&r.stdout, "State: postponing cut-over; ETA: due")
		d.ghosts(1, append(args, "--initially-drop-old-table"), "FATAL ")
		panics()
		if code := r.exit(); code != 1 {
			t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
		}
		contains(t, r.stderr.String(), "FATAL ")
	}
	if got := d.tables(); got != "t" {
		t.Errorf("tables %s", got)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is left")
	}
	d.settle()
}

// hookBook is a folder of programs for all moments, each of which writes down that it was called.
type hookBook struct {
	t              *testing.T
	folder, called string
	ghost          string // what the new table is called
}

func newHookBook(t *testing.T) *hookBook {
	t.Helper()
	b := &hookBook{t: t, folder: t.TempDir(), called: filepath.Join(t.TempDir(), "called"), ghost: "_t_gho"}
	for _, m := range []string{"startup", "validated", "rowcount-complete", "before-row-copy", "row-copy-complete", "before-cut-over", "begin-postponed", "interactive-command", "success", "failure", "status"} {
		b.hook(
			m+"--note",
			"echo "+m+" $GH_OST_TABLE_NAME $GH_OST_GHOST_TABLE_NAME $GH_OST_OLD_TABLE_NAME $GH_OST_DRY_RUN $GH_OST_HOOKS_HINT $GH_OST_COMMAND $GH_OST_STATUS >> "+b.called,
		)
	}
	return b
}

func (b *hookBook) hook(name, script string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.folder, "gh-ost-on-"+name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		b.t.Fatal(err)
	}
}

// were fails unless these were called since the last time; status, which comes by the clock, may have been.
func (b *hookBook) were(moments, dry string) {
	b.t.Helper()
	text, err := os.ReadFile(b.called)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = os.Remove(b.called)
	var got, want []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "status t "+b.ghost+" _t_del false hint 'Copy: ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for m := range strings.FieldsSeq(moments) {
		line := m + " t " + b.ghost + " _t_del " + dry + " hint"
		if m == "interactive-command" {
			line += " 'sup'"
		}
		want = append(want, line)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("called %q instead of %q", got, want)
	}
}

// TestGhostHooks: programs are called at each moment, in their order and with their variables; one
// that fails ends the run before the swap.
func TestGhostHooks(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "9.7", 3000)
	b := newHookBook(t)
	socket, file := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "postpone")
	args := []string{ptAlter, "--hooks-path=" + b.folder, "--hooks-hint=hint", "--hooks-status-interval=1", "--serve-socket-file=" + socket}
	d.ghosts(0, args, "# Done\n")
	b.were("startup validated rowcount-complete success", "true")
	goOn := filepath.Join(t.TempDir(), "go-on")
	b.hook("begin-postponed--slow", "while [ ! -e "+goOn+" ]; do sleep 0.05; done")
	run := d.ghost(append(args, "--execute", "--postpone-cut-over-flag-file="+file)...)
	run.await(&run.stdout, "State: postponing cut-over; ETA: due")
	says(t, "unix", socket, "sup") // while a program runs
	touch(t, goOn)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if code := run.exit(); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, &run.stdout, &run.stderr)
	}
	b.were(
		"startup validated rowcount-complete before-row-copy row-copy-complete before-cut-over begin-postponed interactive-command success",
		"false",
	)
	args[0] = "--alter=DROP INDEX added, DROP COLUMN added"
	args = append(args, "--execute", "--initially-drop-old-table")
	b.hook("before-cut-over--refuse", "echo not now; exit 3")
	d.ghosts(1, args, "not now\n", "gh-ost-on-before-cut-over--refuse: exit status 3")
	b.were("startup validated rowcount-complete before-row-copy row-copy-complete before-cut-over failure", "false")
	b.hook("validated--refuse", "exit 4")
	d.ghosts(1, args, "gh-ost-on-validated--refuse: exit status 4")
	b.were("startup validated failure", "false")
	if got := d.tables(); got != "t" {
		t.Errorf("tables %s", got)
	}
	d.ghosts(1, append(args, "--hooks-path=/nowhere"), "FATAL --hooks-path: ")
	d.settle()
}

// TestGhostHooksTellOneName: all programs of a run are told the same name of the new table, also
// where it can't be the one of that program; where no server is reached, and where a table of that
// name is to be dropped.
func TestGhostHooksTellOneName(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	d := beginDropIn(t, "5.7", 300)
	b := newHookBook(t)
	args := []string{ptAlter, "--hooks-path=" + b.folder, "--hooks-hint=hint", "--serve-socket-file=" + filepath.Join(t.TempDir(), "s")}
	d.ghosts(1, append(args, "--port=1"), "FATAL ")
	b.were("startup failure", "true")
	b.ghost = "t_shadow"
	d.ghosts(0, args, "# Done\n")
	b.were("startup validated rowcount-complete success", "true")
	d.ghosts(0, append(args, "--execute"), "# Done\n")
	b.were("startup validated rowcount-complete before-row-copy row-copy-complete before-cut-over success", "false")
	d.settle()
	d, b.ghost = beginDropIn(t, "9.7", 300), "_t_gho"
	database, _, _ := strings.Cut(d.name, ".")
	executing(t, d.i, database)("CREATE TABLE _t_gho (a INT)")
	d.ghosts(0, append(args, "--initially-drop-ghost-table"), "_t_gho is dropped first")
	b.were("startup validated rowcount-complete success", "true")
	d.settle()
}

// TestGhostStatusIsCurrent: what is answered by the socket holds at that moment.
func TestGhostStatusIsCurrent(t *testing.T) {
	sideBySide(t)
	d := beginDropIn(t, "9.7", 300)
	socket, file := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "postpone")
	run := d.ghost(ptAlter, "--execute", "--postpone-cut-over-flag-file="+file, "--serve-socket-file="+socket)
	run.await(&run.stdout, "State: postponing cut-over; ETA: due")
	places := map[string]bool{}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		places[says(t, "unix", socket, "coordinates")] = true
	}
	if len(places) < 6 { // twice a second something was told that needed no question
		t.Errorf("%d places in the binlog: %v", len(places), places)
	}
	for _, c := range [][2]string{{"throttle", "State: throttled, commanded by user;"}, {"no-throttle", "State: postponing cut-over;"}} {
		contains(t, says(t, "unix", socket, c[0]), c[1])
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if code := run.exit(); code != 0 {
		t.Errorf("exit code %d\n%s\n%s", code, &run.stdout, &run.stderr)
	}
	d.settle()
}

// touch makes a file.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGhostFails: what can't be done has that program's exit codes, and leaves nothing.
func TestGhostFails(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 50)
	database, _, _ := strings.Cut(name, ".")
	executing(
		t, i, database,
	)(
		"CREATE TABLE keyless (a INT, b VARCHAR(9))", "CREATE TABLE twice (id INT PRIMARY KEY, a INT)",
		"INSERT INTO twice VALUES (1, 5), (2, 5)",
	)
	before := query("SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()")
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{2, []string{"--bogus"}, "flag provided but not defined: -bogus"},
		{1, []string{"--table=t", "--alter=ADD COLUMN c INT", "--revert"}, "FATAL --revert must be called with --old-table"},
		{1, []string{"--table=t", "--alter=ADD COLUMN c INT", "--execute"}, "--allow-on-master"},
		{1, []string{"--table=t", "--alter=ADD COLUMN c INT", "--port=1"}, "FATAL "},
		{1, []string{"--table=keyless", "--alter=ADD COLUMN c INT", "--execute", "--allow-on-master"}, "FATAL "},
		{1, []string{"--table=twice", "--alter=ADD UNIQUE (a)", "--execute", "--allow-on-master"}, "ERROR 2 rows"},
		{1, []string{"--table=nothing", "--alter=FORCE", "--execute", "--allow-on-master"}, "nothing"},
		{1, []string{"--table=t", "--alter=ADD COLUMN c INTT", "--allow-on-master"}, "FATAL "},
		{1, []string{"--table=t", "--alter=ADD COLUMN c INT", "--execute", "--allow-on-master", "--throttle-query=SELECT nonsense"}, "nonsense"},
		{1, []string{"--table=t", "--alter=ADD COLUMN c INT", "--execute", "--allow-on-master", "--max-load=Nonsense=1"}, "Nonsense"},
		{1, []string{"--table=t", "--alter=ADD COLUMN c INT", "--execute", "--allow-on-master", "--resume"}, "is gone"},
		{0, []string{"--table=t", "--alter=ADD COLUMN c INT", "--allow-on-master", "--attempt-instant-ddl", "--verbose"}, "Method: instant"},
		{1, []string{"--table=t", "--alter=ADD COLUMN z DATE NOT NULL DEFAULT '1970-00-00'", "--allow-on-master"}, "Invalid default value for 'z'"},
		{0, []string{"--table=t", "--alter=ADD COLUMN z DATE NOT NULL DEFAULT '1970-00-00'", "--allow-on-master", "--allow-zero-in-date"}, "# Done"},
		{0, []string{"--check-flag", "--chunk-size=1"}, ""},
	} {
		r := start(t, ghOst(t, i, append([]string{"--database=" + database}, c.args...)...))
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
}

// TestGhostSaysWhichPrivilegeItLacks: an account that may not see from whom a server replicates is
// told so, with the GRANT; where the command line says which server is the primary nobody looks.
func TestGhostSaysWhichPrivilegeItLacks(t *testing.T) {
	sideBySide(t)
	for version, lacks := range map[string]string{"9.7": "REPLICATION CLIENT", "mariadb-10.11": "REPLICA MONITOR"} {
		i := mysqltest.Server(t, version)
		name, _ := table(t, i, 50)
		database, _, _ := strings.Cut(name, ".")
		executing(t, i, "")("DROP USER IF EXISTS narrow", "CREATE USER narrow IDENTIFIED BY 'x'", "GRANT ALL ON `"+database+"`.* TO narrow")
		args := []string{
			"--user=narrow", "--password=x", "--database=" + database, "--table=t", "--alter=ADD COLUMN c INT",
			"--allow-on-master",
		}
		r := start(t, ghOst(t, i, args...))
		if code := r.exit(); code != 1 {
			t.Errorf("%s: exit code %d", version, code)
		}
		contains(
			t, unwrapped(r.stderr.String()),
			"account narrow@% lacks "+lacks+" on *.*, and it shows which server a server replicates from\n",
			"  next:  GRANT "+lacks+" ON *.* TO 'narrow'@'%'; or name the primary by --assume-master-host",
		)
		r = start(t, ghOst(t, i, append(args, "--assume-master-host="+i.Address)...))
		if code := r.exit(); code != 1 {
			t.Errorf("%s: exit code %d", version, code)
		}
		contains(t, r.stderr.String(), "cannot change ", "account narrow@% lacks ")
	}
}

// TestGhostAsAVerb: midstream gh-ost is the same, and needs no server for help and version.
func TestGhostAsAVerb(t *testing.T) {
	sideBySide(t)
	for flag, says := range map[string]string{"--version": "1.1.9\n", "-help": "-postpone-cut-over-flag-file string"} {
		code, stdout, stderr := midstream(t, "gh-ost", flag)
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		contains(t, stdout, says)
		if flag == "--version" && (stdout != says || stderr != "midstream test\n") {
			t.Errorf("ghost_adapter reads all of standard output as a number: %q, %q", stdout, stderr)
		}
	}
}

// primaryAndReplica are two servers, the second of which replicates from the first. They are the test's own.
func primaryAndReplica(t *testing.T, version, id string) (primary, replica *mysqltest.Instance) {
	t.Helper()
	settings := func(id string) sandbox.Options {
		return sandbox.Options{
			Settings: map[string]string{"server_id": id, "log_replica_updates": "ON", "gtid_mode": "ON", "enforce_gtid_consistency": "ON"},
		}
	}
	servers := mysqltest.OwnAll(t, version, settings(id+"1"), settings(id+"2"))
	host, port, _ := strings.Cut(servers[0].Address, ":")
	executing(t, servers[0], "")("CREATE USER repl IDENTIFIED BY 'repl'", "GRANT REPLICATION SLAVE ON *.* TO repl")
	onReplica := executing(t, servers[1], "")
	onReplica(
		"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '"+host+"', SOURCE_PORT = "+port+", SOURCE_USER = 'repl', SOURCE_PASSWORD = 'repl', "+
			"SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
		"START REPLICA",
	)
	t.Cleanup(func() { onReplica("STOP REPLICA", "RESET REPLICA ALL") })
	return servers[0], servers[1]
}
