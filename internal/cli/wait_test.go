package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"midstream/internal/ops/queue"
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
