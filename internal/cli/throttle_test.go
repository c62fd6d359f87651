package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestGatesOfARun: a run waits while a gate is closed, says for what, and goes on when it opens.
func TestGatesOfARun(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	file := filepath.Join(t.TempDir(), "wait")
	var busy atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if busy.Load() {
			http.Error(w, "not now", http.StatusTooManyRequests)
		}
	}))
	defer service.Close()
	for _, c := range []struct {
		flag        string
		told        string
		close, open func(exec func(...string))
	}{
		{"--throttle-file=" + file, "waiting: the file " + file + " exists",
			func(func(...string)) {
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}, func(func(...string)) { os.Remove(file) }},
		{"--throttle-query=SELECT COUNT(*) FROM %s.busy", "waiting: the query returns 1",
			func(exec func(...string)) { exec("INSERT INTO busy VALUES (1)") }, func(exec func(...string)) { exec("DELETE FROM busy") }},
		{"--throttle-url=" + service.URL, "answers 429 Too Many Requests not now",
			func(func(...string)) { busy.Store(true) }, func(func(...string)) { busy.Store(false) }},
	} {
		name, query := table(t, i, 2000)
		database, _, _ := strings.Cut(name, ".")
		exec := executing(t, i, database)
		exec("CREATE TABLE busy (a INT)")
		c.close(exec)
		flag := c.flag
		if strings.Contains(flag, "%s") {
			flag = fmt.Sprintf(flag, database)
		}
		r := start(
			t,
			command(t, append(flagsTo(t, i), "run", "--drop-old", "--method=shadow", flag, "ALTER TABLE "+name+" ADD COLUMN c INT")...),
		)
		r.await(&r.stdout, c.told)
		if got := query("SELECT COUNT(*) FROM t_shadow"); got != "0" {
			t.Errorf("%s: %s rows are copied", flag, got)
		}
		if got := query(columns); got != "id,a,b" {
			t.Errorf("%s: columns %s", flag, got)
		}
		c.open(exec)
		if code := r.exit(); code != exit.Done {
			t.Errorf("%s: exit code %d\n%s\n%s", flag, code, &r.stdout, &r.stderr)
		}
		contains(t, r.stdout.String(), "resumed")
		exec("DROP TABLE busy")
	}
}

// TestLimitsOfARun: above one a run waits, and Ctrl-C ends the waiting; above the other it ends; a name that is
// no status variable's is refused before anything is done.
func TestLimitsOfARun(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, query := table(t, i, 2000)
	args := append(flagsTo(t, i), "run", "--drop-old", "--on-signal=remove", "--method=shadow", "ALTER TABLE "+name+" ADD COLUMN c INT")
	r := start(t, command(t, append(args, "--max-load=Threads_connected=0")...))
	r.await(&r.stdout, "waiting: Threads_connected is ")
	r.interrupt()
	if code := r.exit(); code != exit.Aborted {
		t.Errorf("exit code %d\n%s\n%s", code, &r.stdout, &r.stderr)
	}
	code, stdout, stderr := midstream(t, append(args, "--critical-load=Threads_connected=0")...)
	if code != exit.Stopped {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, stderr, "the server is in a critical state: Threads_connected is ")
	if code, stdout, stderr := midstream(t, append(flagsTo(t, i), "cleanup", "--yes", name)...); code != exit.Done || query(allTables) != "t" {
		t.Errorf("exit code %d, tables %s\n%s\n%s", code, query(allTables), stdout, stderr)
	}
	code, _, stderr = midstream(t, append(args, "--max-load=Threads_flying=3")...)
	if code == exit.Done {
		t.Error("a variable that is not there")
	}
	contains(t, stderr, "no status variable Threads_flying", "nothing was written")
	code, _, stderr = midstream(t, append(args, "--replica=127.0.0.1:1")...)
	if code == exit.Done {
		t.Error("a replica that is not there")
	}
	contains(t, stderr, "cannot reach a replica", "--unseen-replicas=ignore", "nothing was written")
	code, _, stderr = midstream(t, append(args, "--max-load=Threads", "--replica=db2", "--min-free-disk=much", "--throttle-url=db2")...)
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "Threads_running=50", "must be host:port", "500M or 20G", "begins with http://")
	if got := query(columns); got != "id,a,b" {
		t.Errorf("columns %s", got)
	}
}

// TestL9_ThePlanTriesTheThrottle: plan refuses a query or variable that the server does not take, as
// run does before it writes.
func TestL9_ThePlanTriesTheThrottle(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	for flag, says := range map[string]string{
		"--throttle-query=SELECT nonsense": "nonsense", "--throttle-query=SELECT 'much'": "not a number",
		"--max-load=Threads_flying=3": "no status variable Threads_flying", "--critical-load=Threads_flying=3": "no status variable Threads_flying",
	} {
		for _, verb := range []string{"plan", "run"} {
			code, stdout, stderr := midstream(t, append(flagsTo(t, i), verb, "--method=shadow", flag, "ALTER TABLE "+name+" ADD COLUMN c INT")...)
			if code == exit.Done || verb == "plan" && stdout != "" {
				t.Errorf("%s %s: exit code %d\n%s", verb, flag, code, stdout)
			}
			contains(t, stderr, says, "nothing was written")
		}
	}
	code, _, stderr := midstream(t, append(flagsTo(t, i), "plan", "--throttle-query=SELECT 0", "--max-load=Threads_connected=900",
		"ALTER TABLE "+name+" ADD COLUMN c INT")...)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
