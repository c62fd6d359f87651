package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/password"
	"midstream/internal/ops/record"
)

// TestMain turns this binary into midstream itself, if asked: a process of its own, with
// its own arguments, signals and terminal.
func TestMain(m *testing.M) {
	if os.Getenv("CLI_TEST_MIDSTREAM") != "" {
		ctx, interrupts := WatchInterrupts(context.Background(), os.Exit)
		os.Exit(Main(ctx, Env{
			Program: os.Getenv(
				"CLI_TEST_PROGRAM",
			),
			Args:       os.Args[1:],
			Stdin:      os.Stdin,
			Stdout:     os.Stdout,
			Stderr:     os.Stderr,
			Getenv:     os.Getenv,
			Home:       os.Getenv("HOME"),
			Executable: os.Args[0],
			Version:    "test",
			Interrupts: interrupts,
			Wipe:       password.Wipe,
		}))
	}
	mysqltest.Main(m)
}

// command is midstream, to be started. It finds no option files and no MYSQL_ variables
// but those that the test gives it, and its cache where it is.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cache := os.Getenv("MIDSTREAM_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "midstream")
	}
	cmd.Env = append(
		dbconn.WithoutEnv(os.Environ()), "CLI_TEST_MIDSTREAM=1", "HOME="+t.TempDir(), "MIDSTREAM_CACHE="+cache,
		"TERM=xterm-256color",
	)
	return cmd
}

// patience is how long a test waits for what must come. It costs nothing where all is well, and a
// machine that has much else to do may need it.
const patience = 5 * time.Minute

// sideBySide lets a test run next to others on the same servers. A test that changes a server as a
// whole (its settings, its locks), that kills or counts sessions of others, that holds a snapshot
// for long, or that measures how long something takes, must not call it: Go runs such tests one
// after the other, before all others.
func sideBySide(t *testing.T) {
	if os.Getenv("MIDSTREAM_TEST_DSN") == "" { // all have the same one
		t.Parallel()
	}
}

// onBoth runs a test on the oldest or the newest version of MySQL 8 and later, in turn.
func onBoth(t *testing.T, test func(t *testing.T, i *mysqltest.Instance)) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, mysqltest.Server(t, version))
		})
	}
}

// outputs of a process that may still run.
type outputs struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *outputs) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// String returns what was written, without the flags by which commands in it reach a server: TestPrintedCommandsReachTheServer
// looks at them, in all.
func (o *outputs) String() string { return unreaching(o.all()) }

func (o *outputs) all() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

var reaching = regexp.MustCompile(
	`(midstream [a-z]+)(?: (?:--(?:host|port|socket|user|defaults-file|defaults-extra-file|ssl-[a-z]+)=(?:'[^']*'|\\.|[^ '"\\])+|-p))+`)

func unreaching(text string) string { return reaching.ReplaceAllString(text, "$1") }

// running is a midstream that was started.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout outputs
	stderr outputs
	done   chan struct{}
}

func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{t: t, cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		_ = cmd.Wait() // the exit code is looked at by exit
	}()
	t.Cleanup(func() {
		select {
		case <-r.done:
		default:
			_ = cmd.Process.Kill()
			<-r.done
		}
	})
	return r
}

// exit waits for the end and returns the exit code.
func (r *running) exit() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		_ = r.cmd.Process.Signal(syscall.SIGQUIT)
		<-r.done
		r.t.Fatalf("it does not end\n%s\n%s", &r.stdout, &r.stderr)
	}
	code := r.cmd.ProcessState.ExitCode()
	if code > exit.Done && r.cmd.Stderr == &r.stderr {
		r.fiveParts(code)
	}
	return code
}

// fiveParts looks that the end of a verb was told in all its parts: this is so of every error of every test.
func (r *running) fiveParts(code int) {
	r.t.Helper()
	if slices.ContainsFunc(append(r.cmd.Args, r.cmd.Env...), func(arg string) bool {
		return slices.ContainsFunc(dropIns, func(name string) bool { return arg == name || arg == "CLI_TEST_PROGRAM="+name })
	}) {
		return // it tells in that program's words
	}
	text := r.stderr.String()
	for _, part := range []string{"midstream: ", "\n  where: ", "\n  left:  ", "\n  next:  "} {
		if !strings.Contains("\n"+text, part) {
			r.t.Errorf("%q, exit code %d: no %q is told in\n%s", r.cmd.Args[1:], code, part, text)
		}
	}
	lines := strings.Split(strings.TrimSpace(r.stdout.String()), "\n")
	var told record.Result
	if json.Unmarshal([]byte(lines[len(lines)-1]), &told) != nil || told.Event != record.NameResult {
		return
	}
	if told.ExitCode != code || told.Error == "" || told.Stage == "" || told.Object == "" || told.Left == "" || told.Next == "" {
		r.t.Errorf("%q, exit code %d: not all is told in %s", r.cmd.Args[1:], code, lines[len(lines)-1])
	}
}

// await waits until the text stands in the output.
func (r *running) await(out *outputs, text string) {
	r.t.Helper()
	end := time.After(patience)
	for !strings.Contains(out.String(), text) {
		select {
		case <-end:
			r.t.Fatalf("no %q in\n%s\n%s", text, &r.stdout, &r.stderr)
		case <-r.done:
			if !strings.Contains(out.String(), text) {
				r.t.Fatalf("it ended without %q\n%s\n%s", text, &r.stdout, &r.stderr)
			}
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (r *running) interrupt() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
}

// midstream runs a verb to its end.
func midstream(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	r := start(t, command(t, args...))
	code = r.exit()
	return code, r.stdout.String(), r.stderr.String()
}

// flagsTo are the flags that reach the server.
func flagsTo(t *testing.T, i *mysqltest.Instance) []string {
	t.Helper()
	if i.Network != "tcp" {
		return []string{"--socket=" + i.Address, "--user=" + i.User, "--password=" + i.Password}
	}
	host, port, ok := strings.Cut(i.Address, ":")
	if !ok {
		t.Fatalf("address %s", i.Address)
	}
	args := []string{"--host=" + host, "--port=" + port, "--user=" + i.User}
	if i.Password != "" {
		args = append(args, "--password="+i.Password)
	}
	return args
}

// table makes a table with rows in a database of the test's own.
func table(t *testing.T, i *mysqltest.Instance, rows int) (name string, query func(string) string) {
	t.Helper()
	db, database := mysqltest.Database(t, i)
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	exec("CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(200), KEY (a))")
	exec("INSERT INTO t (a, b) VALUES (1, REPEAT('x', 100))")
	for n := 1; n < rows; n *= 2 {
		exec("INSERT INTO t (a, b) SELECT id, b FROM t LIMIT " + strconv.Itoa(rows-n))
	}
	exec("ANALYZE TABLE t")
	return database + ".t", func(q string) (text string) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), q).Scan(&text); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return text
	}
}

// until waits until something is so, and fails the test with what is told of it if it never is.
func until(t *testing.T, told func() string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", told())
		}
	}
}

// executing returns what runs statements in a database.
func executing(t *testing.T, i *mysqltest.Instance, database string) func(statements ...string) {
	db := i.Open(t, database)
	return func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := db.ExecContext(context.Background(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
}

// columns of the table that the tests change.
const columns = "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns " +
	"WHERE table_schema = DATABASE() AND table_name = 't'"

// contains fails unless all texts are in one.
func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}
