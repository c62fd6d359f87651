package sandbox_test

import (
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/lab/sandbox"
)

// fetch returns the build, or skips the test where the version can't be had.
func fetch(t *testing.T, v sandbox.Version) *sandbox.Build {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a server")
	}
	b, err := sandbox.Fetch(t.Context(), v, func(what string) { t.Log(what) })
	if errors.Is(err, sandbox.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// start starts a server and stops it when the test ends.
func start(t *testing.T, b *sandbox.Build, o sandbox.Options) *sandbox.Server {
	t.Helper()
	s, err := b.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *sandbox.Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
	if alive(s.PID()) {
		t.Errorf("the server's process %d is still there", s.PID())
	}
}

func open(t *testing.T, s *sandbox.Server) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = "tcp", s.Address, s.User, s.Password
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec1(t *testing.T, db *sql.DB, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

func ask(t *testing.T, db *sql.DB, query string) (answer string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

// Ensure that every version can be had, works as a source of row events, and is gone after Stop.
func TestEveryVersion(t *testing.T) {
	for _, tt := range []struct {
		version sandbox.Version
		release string // prefix
	}{
		{sandbox.MySQL97, "9.7."}, {sandbox.MySQL80, "8.0."}, {sandbox.MySQL57, "5.7."}, {sandbox.MariaDB, "10.11."}, {sandbox.MariaDB11, "11.8."},
		{sandbox.Newest, ""}, {sandbox.Installed, ""},
	} {
		t.Run(string(tt.version), func(t *testing.T) {
			t.Parallel()
			b := fetch(t, tt.version)
			s := start(t, b, sandbox.Options{})
			db := open(t, s)
			if got := ask(t, db, "SELECT VERSION()"); !strings.HasPrefix(got, tt.release) || !strings.HasPrefix(b.Release, tt.release) {
				t.Errorf("version is %s, and %s to the build, want %s", got, b.Release, tt.release)
			}
			for query, want := range map[string]string{
				"SELECT @@log_bin":                                  "1",
				"SELECT @@binlog_format":                            "ROW",
				"SELECT @@performance_schema":                       "1",
				"SELECT @@bind_address":                             "127.0.0.1",
				"SELECT @@innodb_flush_log_at_trx_commit":           "2",
				"SELECT CURRENT_USER()":                             "root@%",
				"SELECT COUNT(*) FROM mysql.user WHERE user='root'": "1",
			} {
				if got := ask(t, db, query); got != want {
					t.Errorf("%s is %s, want %s", query, got, want)
				}
			}
			exec1(t, db, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)",
				"CREATE USER u@'%' IDENTIFIED BY 'secret'", "GRANT SELECT ON d.* TO u@'%'")

			stop(t, s)
			if _, err := os.Stat(filepath.Dir(s.ErrorLog())); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the server's folder is still there: %v", err)
			}
			if l, err := net.Listen("tcp", s.Address); err != nil {
				t.Errorf("the server's port is still taken: %v", err)
			} else {
				l.Close()
			}
		})
	}
}

// Ensure that a killed server comes back on its port with everything that was committed.
func TestKillAndRestart(t *testing.T) {
	for _, durable := range []bool{true, false} {
		t.Run(map[bool]string{true: "durable", false: "fast"}[durable], func(t *testing.T) {
			t.Parallel()
			s := start(t, fetch(t, sandbox.MySQL97), sandbox.Options{Durable: durable})
			db := open(t, s)
			exec1(t, db, "CREATE DATABASE d", "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, b TEXT)")
			for range 100 {
				exec1(t, db, "INSERT INTO d.t (b) VALUES (REPEAT('x', 1000))")
			}
			pid := s.PID()
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if alive(pid) {
				t.Fatal("the killed server is alive")
			}
			if err := db.PingContext(t.Context()); err == nil {
				t.Fatal("the killed server answers")
			}
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := ask(t, db, "SELECT COUNT(*) FROM d.t"); got != "100" {
				t.Errorf("%s rows after the crash, want 100", got)
			}
			if err := s.Restart(t.Context()); err != nil { // kills the running one
				t.Fatal(err)
			}
			if got := ask(t, db, "SELECT COUNT(*) FROM d.t"); got != "100" {
				t.Errorf("%s rows after the second crash, want 100", got)
			}
		})
	}
}

// Ensure that Stop tells of a crash, cleans up all the same, and may be called twice.
func TestStopTellsOfACrash(t *testing.T) {
	t.Parallel()
	s, err := fetch(t, sandbox.MySQL97).Start(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(s.PID(), syscall.SIGKILL)
	for alive(s.PID()) {
		time.Sleep(time.Millisecond)
	}
	if err := s.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("Stop returned %v", err)
	}
	if _, err := os.Stat(s.ErrorLog()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("the second Stop returned %v", err)
	}
	if s.Kill() == nil || s.Restart(t.Context()) == nil {
		t.Error("a stopped server can be restarted")
	}
}

// Ensure that Stop prints the stack of a server that crashed.
func TestStopPrintsTheStack(t *testing.T) {
	t.Parallel()
	s, err := fetch(t, sandbox.MySQL57).Start(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(s.PID(), syscall.SIGSEGV)
	<-s.Ended()
	if err := s.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "got signal 11") || !strings.Contains(err.Error(), "handle_fatal_signal") {
		t.Errorf("Stop returned %v", err)
	}
}

// Ensure that a server does not outlive a process that is killed, and that the next start sweeps its
// folder.
func TestServerDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	b := fetch(t, sandbox.MySQL97)
	cmd, pid, log := startHelper(t)
	if !alive(pid) {
		t.Fatal("the helper's server does not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for alive(pid) {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the server outlived its process")
		}
		time.Sleep(time.Millisecond)
	}
	start(t, b, sandbox.Options{})
	if _, err := os.Stat(log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead server's folder was not swept: %v", err)
	}
}

// Ensure that the end of the thread that Start was called on is not the end of the server.
func TestServerSurvivesTheCallersThread(t *testing.T) {
	t.Parallel()
	b := fetch(t, sandbox.MySQL97)
	var s *sandbox.Server
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		s, err = b.Start(t.Context(), sandbox.Options{})
	}()
	<-done
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	for range 20 { // make the scheduler turn its threads over
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { runtime.LockOSThread() })
		}
		wg.Wait()
	}
	if got := ask(t, open(t, s), "SELECT 1"); got != "1" || !alive(s.PID()) {
		t.Error("the server is gone")
	}
}

// Ensure that a folder of the caller's is kept, taken up again, and used by one server at a time.
func TestOwnFolderIsKept(t *testing.T) {
	t.Parallel()
	b := fetch(t, sandbox.MySQL97)
	o := sandbox.Options{Dir: filepath.Join(t.TempDir(), "server"), Password: `it's a \ "secret"`, Durable: true}
	s := start(t, b, o)
	exec1(t, open(t, s), "CREATE DATABASE kept")
	if _, err := b.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "using it") {
		t.Errorf("a second server in the same folder: %v", err)
	}
	stop(t, s)

	s = start(t, b, o)
	db := open(t, s)
	if got := ask(t, db, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name='kept'"); got != "1" {
		t.Error("the database is gone")
	}
	if got := ask(t, db, "SELECT CONCAT(@@sync_binlog, @@innodb_flush_log_at_trx_commit)"); got != "11" {
		t.Errorf("durability is %s, want 11", got)
	}
	none := mysql.NewConfig()
	none.Net, none.Addr, none.User = "tcp", s.Address, s.User
	connector, err := mysql.NewConnector(none)
	if err != nil {
		t.Fatal(err)
	}
	bare := sql.OpenDB(connector)
	defer bare.Close()
	if bare.PingContext(t.Context()) == nil {
		t.Error("the administrator gets in without the password")
	}
}

// Ensure that settings replace defaults however they are written, and that those which count from
// initialisation on do.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := start(t, fetch(t, sandbox.MySQL97), sandbox.Options{Settings: map[string]string{
		"lower_case_table_names":  "1",
		"innodb-buffer-pool-size": "128M",
		"server_id":               "77",
		"gtid_mode":               "ON", "enforce_gtid_consistency": "ON",
	}})
	db := open(t, s)
	for variable, want := range map[string]string{
		"lower_case_table_names": "1", "innodb_buffer_pool_size": "134217728", "server_id": "77", "gtid_mode": "ON",
	} {
		if got := ask(t, db, "SELECT @@"+variable); got != want {
			t.Errorf("%s is %s, want %s", variable, got, want)
		}
	}
}

// Ensure that a server which can't start says why.
func TestStartSaysWhyNot(t *testing.T) {
	t.Parallel()
	b := fetch(t, sandbox.MySQL97)
	if _, err := b.Start(t.Context(), sandbox.Options{Settings: map[string]string{"no_such_setting": "1"}}); err == nil ||
		!strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("got %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := b.Start(t.Context(), sandbox.Options{Port: l.Addr().(*net.TCPAddr).Port}); err == nil ||
		!strings.Contains(err.Error(), "port is taken") {
		t.Errorf("got %v", err)
	}
}

// Ensure that every server has a port and an identity of its own, also when they start together.
func TestStartsTogether(t *testing.T) {
	t.Parallel()
	b := fetch(t, sandbox.MySQL97)
	const n = 4
	var servers [n]*sandbox.Server
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var err error
			if servers[i], err = b.Start(t.Context(), sandbox.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ids := map[string]bool{}
	for _, s := range servers {
		if s == nil {
			continue
		}
		t.Cleanup(func() { stop(t, s) })
		ids[ask(t, open(t, s), "SELECT CONCAT(@@port, @@server_uuid)")] = true
	}
	if len(ids) != n {
		t.Errorf("%d servers have %d identities", n, len(ids))
	}
}

// Ensure that client programs reach servers, also those of builds that have no clients.
func TestClient(t *testing.T) {
	t.Parallel()
	b := fetch(t, sandbox.MySQL97)
	for _, v := range []sandbox.Version{sandbox.MySQL97, sandbox.MySQL80} {
		t.Run(string(v), func(t *testing.T) {
			s := start(t, fetch(t, v), sandbox.Options{Password: "secret"})
			exec1(
				t, open(t, s), "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(20))",
				"INSERT INTO d.t VALUES (1, 'grüße')",
			)
			out, err := b.Client(t.Context(), "mysqldump", append(s.ClientArgs(), "--single-transaction", "d")...).Output()
			if err != nil || !strings.Contains(string(out), "(1,'grüße')") {
				t.Errorf("mysqldump: %v, %s", err, out)
			}
			cmd := b.Client(t.Context(), "mysql", append(s.ClientArgs(), "--batch", "--skip-column-names")...)
			cmd.Stdin = strings.NewReader("SELECT COUNT(*) FROM d.t")
			if out, err := cmd.Output(); err != nil || string(out) != "1\n" {
				t.Errorf("mysql: %v, %q", err, out)
			}
		})
	}
	if err := b.Client(t.Context(), "no-such-tool").Run(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a missing client: %v", err)
	}
}
