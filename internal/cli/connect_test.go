package cli

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// account makes an account that may do everything.
func account(t *testing.T, i *mysqltest.Instance, name, identified, require string) {
	t.Helper()
	db := i.Open(t, "")
	for _, s := range []string{"DROP USER IF EXISTS " + name, "CREATE USER " + name + " IDENTIFIED " + identified + " REQUIRE " + require,
		"GRANT ALL ON *.* TO " + name} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP USER "+name); err != nil {
			t.Error(err)
		}
	})
}

// certificates returns the folder in which the server keeps those that it made itself.
func certificates(t *testing.T, i *mysqltest.Instance) string {
	t.Helper()
	if i.Sandbox == nil {
		t.Skip("the server's files are not here")
	}
	var dir string
	if err := i.Open(t, "").QueryRowContext(t.Context(), "SELECT @@datadir").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSSLModesOnRealServers changes a table through each mode: the connection that reads
// the binlog uses it too.
func TestSSLModesOnRealServers(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // each has a server to itself
			i := mysqltest.Server(t, version)
			name, query := table(t, i, 50)
			dir, other := certificates(t, i), certificates(t, mysqltest.Server(t, map[string]string{"9.7": "8.0", "8.0": "9.7"}[version]))
			account(t, i, "tls_only", "WITH caching_sha2_password BY 'secret'", "SSL")
			account(t, i, "certified", "WITH caching_sha2_password BY 'secret'", "X509")
			account(t, i, "plain", "WITH caching_sha2_password BY 'secret'", "NONE")
			host, port, _ := strings.Cut(i.Address, ":")
			ca, pair := "--ssl-ca="+dir+"/ca.pem", []string{
				"--ssl-cert=" + dir + "/client-cert.pem", "--ssl-key=" + dir + "/client-key.pem",
			}
			n := 0
			for _, c := range []struct {
				user string
				args []string
				code int
			}{
				{"tls_only", nil, exit.Done},
				{"tls_only", []string{"--ssl-mode=DISABLED"}, exit.Failed},
				{"tls_only", []string{"--ssl-mode=required"}, exit.Done},
				{"tls_only", []string{ca}, exit.Done},
				{"tls_only", []string{ca, "--ssl-mode=VERIFY_CA"}, exit.Done},
				{"tls_only", []string{"--ssl-ca=" + other + "/ca.pem"}, exit.Failed},
				{"tls_only", []string{"--ssl-ca=" + other + "/ca.pem", "--ssl-mode=REQUIRED"}, exit.Done},
				{"tls_only", []string{ca, "--ssl-mode=VERIFY_IDENTITY"}, exit.Failed}, // it is not made out to 127.0.0.1
				{"tls_only", []string{"--ssl-mode=VERIFY_CA"}, exit.WrongUsage},
				{"certified", []string{ca}, exit.Failed},
				{"certified", append([]string{ca}, pair...), exit.Done},
				{"plain", []string{"--ssl-mode=DISABLED"}, exit.Done}, // by RSA: nothing is cached yet
				{"plain", nil, exit.Done},
			} {
				n++
				args := append([]string{"run", "--method=shadow", "--drop-old", "--host=" + host, "--port=" + port, "--user=" + c.user,
					"ALTER TABLE " + name + " ADD COLUMN c" + strconv.Itoa(n) + " INT"}, c.args...)
				cmd := command(t, args...)
				cmd.Env = append(cmd.Env, "MYSQL_PWD=secret")
				r := start(t, cmd)
				if code := r.exit(); code != c.code {
					t.Errorf("%s %q: exit code %d instead of %d\n%s\n%s", c.user, c.args, code, c.code, &r.stdout, &r.stderr)
				}
			}
			if got := query(columns); got != "id,a,b,c1,c3,c4,c5,c7,c11,c12,c13" {
				t.Errorf("columns %s", got)
			}
		})
	}
}

// TestServerWithoutTLS: PREFERRED goes on without, for the binlog too; REQUIRED doesn't.
func TestServerWithoutTLS(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Own(t, "8.0", sandbox.Options{Settings: map[string]string{"skip_ssl": ""}})
	name, query := table(t, i, 50)
	for mode, want := range map[string]int{"PREFERRED": exit.Done, "REQUIRED": exit.Failed} {
		code, stdout, stderr := midstream(t, append([]string{"run", "--method=shadow", "--drop-old", "--ssl-mode=" + mode,
			"ALTER TABLE " + name + " ADD COLUMN " + mode + " INT"}, flagsTo(t, i)...)...)
		if code != want {
			t.Errorf("%s: exit code %d\n%s\n%s", mode, code, stdout, stderr)
		}
	}
	if got := query(columns); got != "id,a,b,PREFERRED" {
		t.Errorf("columns %s", got)
	}
}

// TestSocket: over the socket, with TLS only if it is asked for.
func TestSocket(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 50)
	if i.Sandbox == nil || len(i.Sandbox.Socket) > 100 {
		t.Skip("there is no socket that a client can connect to")
	}
	for n, args := range [][]string{{"--socket=" + i.Sandbox.Socket}, {"--host=localhost", "--socket=" + i.Sandbox.Socket, "--ssl-mode=REQUIRED"}} {
		statement := "ALTER TABLE " + name + " ADD COLUMN c" + strconv.Itoa(n) + " INT"
		code, stdout, stderr := midstream(
			t,
			append([]string{"run", "--method=shadow", "--drop-old", "--user=" + i.User, statement}, args...)...)
		if code != exit.Done {
			t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
	}
	if got := query(columns); got != "id,a,b,c0,c1" {
		t.Errorf("columns %s", got)
	}
}

// TestWhereAPasswordMayStand: in an option file, in the environment, on the command line.
func TestWhereAPasswordMayStand(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	account(t, i, "keeper", "BY 'p#1 \"x'", "NONE")
	host, port, _ := strings.Cut(i.Address, ":")
	file := filepath.Join(t.TempDir(), "client.cnf")
	text := "[client]\nhost=" + host + "\nport=" + port + "\nuser=keeper\npassword='p#1 \\\"x'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	statement := "ALTER TABLE " + name + " ADD COLUMN c INT"
	reach := []string{"--host=" + host, "--port=" + port, "--user=keeper", statement}
	for _, c := range []struct {
		what string
		args []string
		env  string
		home bool
		code int
	}{
		{"--defaults-file", []string{"plan", "--defaults-file=" + file, statement}, "", false, exit.Done},
		{"--defaults-extra-file", []string{"plan", "--defaults-extra-file=" + file, statement}, "", false, exit.Done},
		{"~/.my.cnf", []string{"plan", statement}, "", true, exit.Done},
		{"environment", append([]string{"plan"}, reach...), `MYSQL_PWD=p#1 "x`, false, exit.Done},
		{"file before environment", []string{"plan", "--defaults-file=" + file, statement}, "MYSQL_PWD=wrong", false, exit.Done},
		{"flag before file", []string{"plan", "--defaults-file=" + file, "--password=wrong", statement}, "", false, exit.Failed},
		{"-p attached", append([]string{"plan", `-pp#1 "x`}, reach...), "", false, exit.Done},
		{"--password=", append([]string{"plan", `--password=p#1 "x`}, reach...), "", false, exit.Done},
		{"none", append([]string{"plan"}, reach...), "", false, exit.Failed},
		{"nobody to ask", append([]string{"plan", "-p"}, reach...), "", false, exit.WrongUsage},
	} {
		cmd := command(t, c.args...)
		ownSession(cmd) // no terminal
		cmd.Env = append(cmd.Env, c.env)
		if c.home {
			home := filepath.Dir(file)
			if err := os.Rename(file, filepath.Join(home, ".my.cnf")); err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(cmd.Env, "HOME="+home)
		}
		r := start(t, cmd)
		if code := r.exit(); code != c.code {
			t.Errorf("%s: exit code %d instead of %d\n%s\n%s", c.what, code, c.code, &r.stdout, &r.stderr)
		}
		if said := r.stdout.String() + r.stderr.String(); strings.Contains(said, "p#1") || strings.Contains(said, "wrong") {
			t.Errorf("%s: the password is printed:\n%s", c.what, said)
		}
		if c.home {
			if err := os.Rename(filepath.Join(filepath.Dir(file), ".my.cnf"), file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPasswordFromThePrompt types one on a terminal, which doesn't echo it.
func TestPasswordFromThePrompt(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	account(t, i, "typist", "BY 'typed-secret'", "NONE")
	host, port, _ := strings.Cut(i.Address, ":")
	cmd := command(
		t, "plan", "--method=shadow", "-p", "--host="+host, "--port="+port, "--user=typist",
		"ALTER TABLE "+name+" ADD COLUMN c INT",
	)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	screen := watch(terminal)
	screen.await(t, "Enter password: ")
	if _, err := io.WriteString(terminal, "typed-secret\n"); err != nil {
		t.Fatal(err)
	}
	screen.await(t, "Method ")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(screen.String(), "typed-secret") {
		t.Errorf("the terminal echoes:\n%s", screen)
	}
}

// TestPasswordIsNotInPs looks at the arguments that the system shows of the process
// while it waits for a server that says nothing.
func TestPasswordIsNotInPs(t *testing.T) {
	sideBySide(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, arg := range []string{"-pHIDE-ME", "--password=HIDE-ME"} {
		r := start(t, command(t, "run", "--host=127.0.0.1", "--port="+port, arg, "--user=u", "ALTER TABLE a.b ADD COLUMN c INT"))
		conn, err := listener.Accept() // it has read its arguments by now
		if err != nil {
			t.Fatal(err)
		}
		line, err := os.ReadFile("/proc/" + strconv.Itoa(r.cmd.Process.Pid) + "/cmdline")
		if err != nil {
			t.Skip(err)
		}
		if shown := string(line); strings.Contains(shown, "HIDE") || !strings.Contains(shown, "--user=u") {
			t.Errorf("%s: ps shows %q", arg, shown)
		}
		r.interrupt()
		if code := r.exit(); code != exit.Aborted {
			t.Errorf("exit code %d\n%s", code, &r.stderr)
		}
		contains(t, r.stderr.String(), "other users can see a password on the command line", "midstream: aborted: interrupted\n")
		conn.Close()
	}
}

// terminalOutput is what a terminal was sent.
type terminalOutput struct {
	outputs
	done chan struct{}
}

func watch(terminal *os.File) *terminalOutput {
	s := &terminalOutput{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_, _ = io.Copy(s, terminal) // ends with the process
	}()
	return s
}

func (s *terminalOutput) await(t *testing.T, text string) {
	t.Helper()
	end := time.After(patience)
	for !strings.Contains(s.String(), text) {
		select {
		case <-end:
			t.Fatalf("no %q in:\n%q", text, s)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
