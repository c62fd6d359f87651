package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/queue"
)

// TestAccountsStayInTheirFiles: a password is in no process's arguments or environment, in no
// answer, and in nothing that is kept.
func TestAccountsStayInTheirFiles(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 100)
	const secret = "Open-Sesame-4711"
	execute := executing(t, q.i, q.database())
	execute("CREATE USER 'serve'@'%' IDENTIFIED BY '"+secret+"'", "GRANT ALL ON *.* TO 'serve'@'%'")
	t.Cleanup(func() { execute("DROP USER 'serve'@'%'") })
	path := filepath.Join(q.home, "main.cnf")
	text, err := os.ReadFile(path)
	if err == nil {
		told := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
		t.Cleanup(told.Close)
		url := strings.Replace(told.URL, "//", "//us:"+secret+"@", 1) + "/" + secret + "?token=" + secret + "#" + secret
		text = append(
			bytes.ReplaceAll(text, []byte("user="), []byte("loose-was=")),
			"user=serve\npassword="+secret+"\n[midstream]\nthrottle-url="+url+
				"\nhook=on-success="+url+"\n"...)
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	a := q.holds("a")
	if who := q.query("SELECT COUNT(*) > 0 FROM performance_schema.threads WHERE processlist_user = 'serve'"); who != "1" {
		t.Error("the run has another account")
	}
	for _, process := range []int{a.Process, q.daemon.cmd.Process.Pid} {
		for _, part := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", process, part))
			if err != nil || len(text) == 0 || bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s of process %d: %q, %v", part, process, text, err)
			}
		}
	}
	for _, path := range []string{"/v1/changes", "/v1/changes/a", "/v1/changes/a/status", "/v1/changes/a/settings", "/v1/servers", "/v1/changes/a/report.json", "/v1/changes/a/report.html",
		"/v1/changes/a/report.md", "/v1/changes/a/blockers", "/metrics", "/", "/changes/a", "/parts/changes"} {
		if status, text := q.http("GET", path, ""); status != http.StatusOK || strings.Contains(text, secret) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := q.http(
		"POST",
		"/v1/plans",
		fmt.Sprintf(`{"server":"main","statement":"DROP TABLE %s"}`, q.name),
	); status != http.StatusOK ||
		strings.Contains(text, secret) {
		t.Errorf("%d %s", status, text)
	}
	for _, args := range [][]string{nil, {"throttle-url=http://us:" + secret + "@127.0.0.1:1/" + secret}, {"throttle-url="}, {"throttle-url=ftp://us:" + secret + "@db1"}} {
		if _, stdout, stderr := q.tell(
			"set",
			args...); strings.Contains(stdout+stderr, secret) ||
			!strings.Contains(stdout+stderr, "throttle-url") {
			t.Errorf("midstream set %s: %s\n%s", args, stdout, stderr)
		}
	}
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	q.becomes("a", queue.StateDone)
	files := 0
	err = filepath.WalkDir(filepath.Join(q.home, "state"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s has it", path)
		}
		return err
	})
	if err != nil || files < 4 || strings.Contains(q.daemon.stdout.String()+q.daemon.stderr.String(), secret) {
		t.Errorf("%d files, %v\n%s\n%s", files, err, &q.daemon.stdout, &q.daemon.stderr)
	}
}

// TestAWrongValueTellsNoSecret: an error about a value does not repeat it if it may hold a secret.
func TestAWrongValueTellsNoSecret(t *testing.T) {
	sideBySide(t)
	const secret = "Open-Sesame-4711"
	folder := t.TempDir()
	for _, line := range []string{"throttle-url=ftp://us:" + secret + "@db1/", "hook=whenever=http://us:" + secret + "@db1/", "hook=on-success=http://%zz" + secret,
		"hook=http://us:" + secret + "@db1/?token=" + secret} {
		path := filepath.Join(folder, "main.cnf")
		if err := os.WriteFile(path, []byte("[midstream]\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"serve", "--server=main=" + path, "--state-dir=" + folder + "/s"}, {"plan", "DROP TABLE a.b", "--" + line}, {"plan", "DROP TABLE a.b", "--defaults-file=" + path, "--json"}} {
			code, stdout, stderr := midstream(t, args...)
			name, _, _ := strings.Cut(line, "=")
			if code != exit.WrongUsage || strings.Contains(stdout+stderr, secret) || !strings.Contains(stdout+stderr, name) {
				t.Errorf("%s: exit code %d\n%s\n%s", args, code, stdout, stderr)
			}
		}
	}
}
