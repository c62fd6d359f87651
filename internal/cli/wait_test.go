package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/session"
)

// TestWaitOutlivesTheService: submit --wait goes on when the service is gone for a while, as it is
// when it is started again; the run goes on meanwhile, too.
func TestWaitOutlivesTheService(t *testing.T) {
	sideBySide(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	code := 16
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := queue.Change{ID: "a", Server: "main", Table: "a.t", State: queue.StateRunning}
		switch asked.Add(1) {
		case 1: // submitted
		case 2, 3: // it ends within an answer, and what stands before it says that nobody is there
			panic(http.ErrAbortHandler)
		case 4:
			w.WriteHeader(http.StatusBadGateway)
			return
		default:
			c.State, c.ExitCode = queue.StateFailed, &code
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c)
	}))
	defer s.Close()
	got, stdout, stderr := midstream(
		t,
		"submit",
		"--to="+s.URL,
		"--token-file="+token,
		"--server=main",
		"--wait",
		"ALTER TABLE a.t ADD COLUMN c INT",
	)
	if got != code {
		t.Errorf("exit code %d\n%s\n%s", got, stdout, stderr)
	}
}

// TestWaitTellsWhatARunWaitsFor: submit --wait prints that the run is on hold, once.
func TestWaitTellsWhatARunWaitsFor(t *testing.T) {
	sideBySide(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	code := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := queue.Change{ID: "a", Server: "main", Table: "a.t", State: queue.StateRunning}
		switch asked.Add(1) {
		case 1: // submitted
		case 2, 3:
			c.Why = "on hold: until midstream cutover"
		default:
			c.State, c.ExitCode = queue.StateDone, &code
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c)
	}))
	defer s.Close()
	args := []string{"submit", "--to=" + s.URL, "--token-file=" + token, "--server=main", "--wait", "ALTER TABLE a.t ADD COLUMN c INT"}
	got, stdout, stderr := midstream(t, args...)
	if got != code || strings.Count(stdout, "on hold: until midstream cutover") != 1 {
		t.Errorf("exit code %d\n%s\n%s", got, stdout, stderr)
	}
}

// TestWaitTakesKeys: on a terminal, p pauses and resumes the change that submit --wait and queue --wait follow, and Ctrl-C asks what to do.
// Without a terminal, a signal leaves the change to the service.
func TestWaitTakesKeys(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 100)
	q.serve()
	follow := func(args ...string) (terminal *os.File, screen *terminalOutput, ends func(want int)) {
		t.Helper()
		cmd := command(t, append(args, "--service="+q.url)...)
		cmd.Env = append(cmd.Env, "HOME="+q.home, "XDG_STATE_HOME=")
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 120})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); terminal.Close() })
		screen = watch(terminal)
		return terminal, screen, func(want int) {
			t.Helper()
			_ = cmd.Wait()
			<-screen.done
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, screen)
			}
			if !lineMode(t, terminal) {
				t.Error("the terminal is not as it was")
			}
		}
	}
	keys := func(terminal *os.File, screen *terminalOutput, keys, want string) {
		t.Helper()
		seen := strings.Count(screen.String(), want)
		if _, err := io.WriteString(terminal, keys); err != nil {
			t.Fatal(err)
		}
		q.await("the answer to "+keys, func() bool { return strings.Count(screen.String(), want) > seen })
	}
	paused := func() bool {
		_, text := q.http("GET", "/v1/changes/a/status", "")
		return strings.Contains(text, `"state":"paused"`)
	}
	terminal, screen, ends := follow("submit", "ALTER TABLE "+q.name+" ADD COLUMN c INT", "--server=main", "--id=a", "--wait",
		"--option=method=shadow", "--option=hold")
	screen.await(t, "p: pause or resume   Ctrl-C: leave it to the service, or cancel it")
	q.holds("a")
	keys(terminal, screen, "p", "answer")
	q.await("the pause", paused)
	keys(terminal, screen, "p", "answer")
	q.await("the end of the pause", func() bool { return !paused() })
	keys(terminal, screen, "\x03", "l: leave it to the service   c: cancel it   any other key: wait on")
	keys(terminal, screen, "x", "waiting on")
	time.Sleep(session.Echo)
	keys(terminal, screen, "\x03", "l: leave it to the service")
	keys(terminal, screen, "l", "stopped waiting for change a")
	ends(exit.Stopped)
	contains(t, screen.String(), "the change stays with the service: its run continues", "a --wait follows it again")
	if c := q.at("a"); c.State != queue.StateRunning {
		t.Errorf("%+v", c)
	}

	cmd := command(t, "queue", "a", "--wait", "--service="+q.url)
	cmd.Env = append(cmd.Env, "HOME="+q.home, "XDG_STATE_HOME=")
	waiting := start(t, cmd)
	waiting.await(&waiting.stdout, "running")
	sendSignal(t, waiting, syscall.SIGTERM)
	if code := waiting.exit(); code != exit.Stopped {
		t.Errorf("SIGTERM: exit code %d", code)
	}
	contains(t, waiting.stderr.String(), "stopped waiting for change a", "a --wait follows it again")

	terminal, screen, ends = follow("queue", "a", "--wait")
	screen.await(t, "p: pause or resume")
	keys(terminal, screen, "\x03", "c: cancel it")
	keys(terminal, screen, "c", "answer")
	ends(exit.Aborted)
	if c := q.at("a"); c.State != queue.StateAborted {
		t.Errorf("%+v", c)
	}
}
