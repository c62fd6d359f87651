package cli

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// serverOf returns the port of a demo's server, and its data folder as the server's
// arguments tell it.
func serverOf(t *testing.T, r *running) (address, folder string) {
	t.Helper()
	r.await(&r.stdout, "every commit synced to disk")
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(r.stdout.String())
	_, port, _ := net.SplitHostPort(address)
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well-formed
	for _, path := range lines {
		text, _ := os.ReadFile(path) // it may be gone
		if !strings.Contains(string(text), "\x00--port="+port+"\x00") {
			continue
		}
		for arg := range strings.SplitSeq(string(text), "\x00") {
			if dir, is := strings.CutPrefix(arg, "--datadir="); is {
				return address, dir
			}
		}
	}
	t.Fatalf("no server process on %s", address)
	return "", ""
}

// gone fails unless neither server nor folder is left.
func gone(t *testing.T, address, folder string) {
	t.Helper()
	if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		conn.Close()
		t.Errorf("a server is left on %s", address)
	}
	if _, err := os.Stat(filepath.Dir(folder)); err == nil {
		t.Errorf("%s is left", filepath.Dir(folder))
	}
}

// needsServer skips the test where there is none.
func needsServer(t *testing.T) {
	t.Helper()
	mysqltest.Server(t, string(sandbox.MySQL97))
}

func TestDemo(t *testing.T) {
	sideBySide(t)
	needsServer(t)
	r := start(
		t,
		command(t, "demo", "--rows=3000", "--rate=100", "--alter=DROP COLUMN legacy, RENAME COLUMN remark TO words, ADD INDEX (city)"),
	)
	address, folder := serverOf(t, r)
	if code := r.exit(); code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
	contains(
		t, strings.Join(strings.Fields(r.stdout.String()), " "), "3,000 rows", "locked for", "Proof", "equal ",
		" rows of 20 columns compared", "0 differing, 0 missing, 0 extra", "the table was altered",
		"elapsed", "captured", "no statement of the writers took longer", "held for", "of memory at most",
		"its data folder removed",
	)
	gone(t, address, folder)
	t.Logf("%s", &r.stdout)
}

// TestDemoLeavesNothing: Ctrl-C in each of its steps.
func TestDemoLeavesNothing(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	needsServer(t)
	for _, at := range []string{"every commit synced", "with 20,000 rows", "copying rows"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := start(t, command(t, "demo", "--rows=20000", "--rate=100"))
			address, folder := serverOf(t, r)
			r.await(&r.stdout, at)
			r.interrupt()
			if code := r.exit(); code != exit.Aborted {
				t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
			}
			gone(t, address, folder)
		})
	}
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		r := start(t, command(t, "demo", "--rows=20000"))
		address, folder := serverOf(t, r)
		r.await(&r.stdout, "with 20,000 rows")
		r.interrupt()
		r.await(&r.stderr, "interrupted: stopping") // two signals at once may be one
		r.interrupt()
		if code := r.exit(); code != exit.AtOnce && code != exit.Aborted {
			t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
		}
		gone(t, address, folder)
	})
}

// TestSandboxEndsWithItsServer: it is not left behind without one, and says what became of it.
func TestSandboxEndsWithItsServer(t *testing.T) {
	sideBySide(t)
	needsServer(t)
	r := start(t, command(t, "sandbox", "run"))
	r.await(&r.stdout, "}\n")
	var ready sandbox.Reach
	if err := json.Unmarshal([]byte(r.stdout.String()), &ready); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(ready.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := r.exit(); code != exit.Failed || !strings.Contains(r.stderr.String(), "ended by itself") {
		t.Errorf("exit code %d\n%s", code, &r.stderr)
	}
}

func TestSandboxRun(t *testing.T) {
	sideBySide(t)
	needsServer(t)
	r := start(t, command(t, "sandbox", "run", "--set", "max_connections=77"))
	r.await(&r.stdout, "}\n")
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(r.stdout.String())
	contains(t, r.stdout.String(), `"address":"127.0.0.1:`, `"user":"root"`, `"socket":"`, `"pid":`)
	if conn, err := net.Dial("tcp", address); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	r.interrupt()
	if code := r.exit(); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, &r.stderr)
	}
	if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		conn.Close()
		t.Error("the server is left")
	}
}
