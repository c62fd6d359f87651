package cli

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// killedRig is a table whose undo is killed, with the folders of one user.
type killedRig struct {
	*flagRig
	i        *mysqltest.Instance
	database string
	env      []string
}

func newKilledRig(t *testing.T) *killedRig {
	i := mysqltest.Server(t, "9.7")
	_, database := mysqltest.Database(t, i)
	executing(t, i, database)("CREATE TABLE t (id INT PRIMARY KEY, a INT, note VARCHAR(20) NOT NULL)", "INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y')")
	r := &killedRig{&flagRig{t, flagsTo(t, i), database + ".t"}, i, database, nil}
	r.env = append(command(t).Env, "XDG_STATE_HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
	return r
}

// user runs a command of the user. Commands in what it prints lack the flags that reach the server, unlike in raw.
func (r *killedRig) user(want int, args ...string) string { return unreaching(r.raw(want, args...)) }

func (r *killedRig) raw(want int, args ...string) string {
	r.Helper()
	cmd := command(r.T, args...)
	cmd.Env = r.env
	run := start(r.T, cmd)
	if code := run.exit(); code != want {
		r.Errorf("%q: exit code %d, want %d\n%s\n%s", args, code, want, &run.stdout, &run.stderr)
	}
	return strings.Join(strings.Fields(run.stdout.all()+run.stderr.all()), " ")
}

// kill runs a command until its process reports the state, and kills it there.
func (r *killedRig) kill(state string, args ...string) {
	r.Helper()
	cmd := command(r.T, slices.Concat(args, r.flags)...)
	cmd.Env = r.env
	run := start(r.T, cmd)
	for late := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		status := command(r.T, "status", "--json")
		status.Env = r.env
		if text, _ := status.Output(); strings.Contains(string(text), state) {
			break
		}
		if time.Now().After(late) {
			r.Fatalf("it never reports %s\n%s\n%s", state, &run.stdout, &run.stderr)
		}
	}
	if err := run.cmd.Process.Kill(); err != nil {
		r.Fatal(err)
	}
	<-run.done
}

// killBlocked kills a command while a transaction that has read a table blocks it.
func (r *killedRig) killBlocked(table string, args ...string) {
	r.Helper()
	tx, err := r.i.Open(r.T, r.database).Begin()
	if err == nil {
		_, err = tx.Exec("SELECT * FROM " + table)
	}
	if err != nil {
		r.Fatal(err)
	}
	r.kill(`"blocked":{`, args...)
	_ = tx.Rollback()
}

// server runs a command of the user at the server.
func (r *killedRig) server(want int, args ...string) string {
	r.Helper()
	return r.user(want, slices.Concat(args, r.flags)...)
}

// typed runs a command as it was printed, in a shell.
func (r *killedRig) typed(text string) {
	r.Helper()
	cmd := command(r.T)
	run := exec.Command("bash", "-c", `midstream() { "$MIDSTREAM" "$@"; }; `+text)
	run.Env = append(slices.Clone(r.env), "MIDSTREAM="+cmd.Path)
	if out, err := run.CombinedOutput(); err != nil {
		r.Errorf("%s: %v\n%s", text, err, out)
	}
}

// printed is the command that resumes what was killed.
func (r *killedRig) printed(text, until string) string {
	r.Helper()
	found := regexp.MustCompile(`(midstream undo [^;]*?) ` + until).FindStringSubmatch(text)
	if found == nil {
		r.Fatalf("no command in %s", text)
	}
	return found[1]
}

// TestStatusSaysThatAnUndoWasKilled: without a server, midstream status says that an undo or a redo was killed, and prints the command
// that does exactly the same again. So does midstream undo --list.
func TestStatusSaysThatAnUndoWasKilled(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	r := newKilledRig(t)
	exec := executing(t, r.i, r.database)
	r.server(exit.Done, "run", "--undo=1h", "ALTER TABLE "+r.name+" DROP COLUMN note, MODIFY a BIGINT")
	exec("INSERT INTO t VALUES (3, 3), (4, 5000000000)")
	{
		r.killBlocked("t", "undo", r.name, "--cold", "--park", "--lock-wait=100ms", `--undo-fill=note="it's new"`)
		for _, args := range [][]string{{"status"}, {"status", r.name}} {
			contains(t, r.user(exit.Done, args...), "its undo on ", " was killed (process ", ` in step "catch up"`, "--cold --park --lock-wait=100ms --undo-fill ",
				"midstream cleanup "+r.name+" gives this attempt up")
		}
		contains(t, r.raw(exit.Done, "status", "--json"), `"state":"killed"`, `"resume":"midstream undo --host=`)
		listed := r.server(exit.Done, "undo", "--list", r.name)
		contains(t, listed, ": stopped", "midstream undo --cold --park --lock-wait=100ms --undo-fill ")
		lacks(t, listed, "New rows", "note=''") // the command has a value
		contains(t, r.server(exit.Done, "undo", "--list", "--json", r.name), `"resume":"midstream undo --cold --park`)
		// More time for the undo does not change that.
		r.server(exit.Done, "undo", "--extend=5h", r.name)
		contains(t, r.user(exit.Done, "status"), " was killed (process ")
		r.typed(r.printed(r.raw(exit.Done, "status"), "resumes it"))
	}
	var parked, filled int
	db := r.i.Open(t, r.database)
	if err := db.QueryRow("SELECT (SELECT COUNT(*) FROM t_parked), (SELECT COUNT(*) FROM t WHERE note = \"it's new\")").Scan(&parked, &filled); err != nil ||
		parked != 1 || filled != 1 {
		t.Errorf("%d rows were parked and %d filled, %v", parked, filled, err)
	}
	if text := r.user(exit.Done, "status"); strings.Contains(text, "killed") {
		t.Errorf("once it was resumed: %s", text)
	}
	exec("DROP TABLE t_parked")
	r.ends(false)
}

// TestStatusSaysThatAFollowerWasKilled: the same holds for the process that follows a table after a run, and for a redo. After a
// cleanup, status is silent about it.
func TestStatusSaysThatAFollowerWasKilled(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	r := newKilledRig(t)
	r.kill(`"phase":"hold"`, "run", "--undo=1h", "--undo-mode=warm", "--method=shadow", "--lock-wait=100ms", "ALTER TABLE "+r.name+" MODIFY a BIGINT")
	follows := "the process that followed it for an undo on "
	text := r.user(exit.Done, "status", r.name)
	contains(t, text, follows, " was killed (process ", "--hold --lazy --lock-wait=100ms "+r.name+" follows the table again", "--lock-wait=100ms "+r.name+" takes the change back now")
	contains(t, r.server(exit.Done, "undo", "--list", r.name), "midstream undo --hold --lazy --lock-wait=100ms "+r.name+" follows")
	r.server(exit.Done, "undo", "--extend=5h", r.name)
	contains(t, r.user(exit.Done, "status", r.name), follows, " was killed (process ")
	r.server(exit.Done, "cleanup", "--yes", r.name)
	if text := r.user(exit.Done, "status"); strings.Contains(text, "killed") {
		t.Errorf("after a cleanup: %s", text)
	}
	r.server(exit.Done, "undo", r.name)
	r.kill(`"phase":"hold"`, "undo", "--hold", r.name)
	contains(t, r.user(exit.Done, "status", r.name), follows, " was killed", "--hold "+r.name+" follows the table again")
	r.typed(r.printed(r.raw(exit.Done, "status", r.name), "takes the change back now"))
	text = r.user(exit.Done, "status")
	contains(t, text, "undo possible until 20", "midstream status "+r.name+" shows more")
	if strings.Contains(text, "killed") {
		t.Errorf("after the redo: %s", text)
	}
	r.ends(false)
}

// TestAHiddenValueIsNotTaken: the command that resumes a killed undo has *** for a URL that may have a secret. The text around it says
// so, and the command is refused until the reader has given the value: *** is no URL.
func TestAHiddenValueIsNotTaken(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	r := newKilledRig(t)
	gate := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer gate.Close()
	const secret, hidden = "/Open-Sesame", "*** stands for a value that is hidden: give the value"
	r.server(exit.Done, "run", "--undo=1h", "--method=shadow", "ALTER TABLE "+r.name+" MODIFY a BIGINT")
	r.killBlocked("t", "undo", "--lock-wait=100ms", "--throttle-url="+gate.URL+secret, "--hook=on-success="+gate.URL+secret, r.name)
	for _, text := range []string{r.user(exit.Done, "status"), r.server(exit.Done, "undo", "--list", r.name)} {
		contains(t, text, "--throttle-url '"+gate.URL+"/***'", "--hook 'on-success="+gate.URL+"/***'", "resumes it ("+hidden+" instead)")
		lacks(t, text, secret)
	}
	contains(t, r.server(exit.WrongUsage, "undo", "--throttle-url="+gate.URL+"/***", r.name), "--throttle-url", hidden+" again")
	contains(t, r.server(exit.WrongUsage, "undo", "--hook=on-success="+gate.URL+"/***", r.name), "--hook", hidden+" again")
	contains(t, r.user(exit.Done, "status"), " was killed (process ")
	r.typed(strings.ReplaceAll(r.printed(r.raw(exit.Done, "status"), "resumes it"), "/***", secret))
	lacks(t, r.user(exit.Done, "status"), " was killed")
	r.ends(false)
}

// TestBytesThatAreNotUTF8AreRefused: a record could not keep such bytes, and the printed command would have others. They are escaped
// where the error shows them, and nothing is written.
func TestBytesThatAreNotUTF8AreRefused(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	r := newFlagRig(t, mysqltest.Server(t, "9.7"))
	r.with(exit.Done, "run", "--undo=1h", "--method=shadow", "ALTER TABLE t DROP COLUMN a")
	const why = "the value has bytes that are not UTF-8; in an expression, write bytes in hexadecimal, such as x'FF'"
	contains(t, r.with(exit.WrongUsage, "undo", "--undo-fill=a='\xff\xfe'", r.name), `--undo-fill a='\xff\xfe': `+why)
	contains(t, r.with(exit.WrongUsage, "undo", "--throttle-query=SELECT '\xff'", r.name), "--throttle-query", why)
	contains(t, r.with(exit.WrongUsage, "run", "--undo=1h", "--undo-mode=warm", "--throttle-query=SELECT '\xff'", "ALTER TABLE t ADD COLUMN b INT"),
		"--throttle-query", why)
	code, stdout, stderr := midstream(t, "submit", "--undo=x", "--option", "undo-fill=a='\xff'")
	contains(t, stdout+stderr, `'\xff'`, why)
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, r.with(exit.Done, "undo", "--list", "--quiet", r.name), r.name+" open ")
	r.with(exit.Done, "undo", "--undo-fill=a=x'31' + 0", r.name)
	r.ends(false)
}
