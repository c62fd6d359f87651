package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/service"
)

// TestAccountsStayInTheirFiles: a password is in no process's arguments or environment, in no answer, and in nothing that is kept.
func TestAccountsStayInTheirFiles(t *testing.T) {
	q := toQueue(t, 100)
	const secret = "Open-Sesame-4711"
	execute := executing(t, q.i, q.database())
	execute("CREATE USER 'serve'@'%' IDENTIFIED BY '"+secret+"'", "GRANT ALL ON *.* TO 'serve'@'%'")
	t.Cleanup(func() { execute("DROP USER 'serve'@'%'") })
	path := filepath.Join(q.home, "main.cnf")
	text, err := os.ReadFile(path)
	if err == nil {
		text = append(bytes.ReplaceAll(text, []byte("user="), []byte("loose-was=")), "user=serve\npassword="+secret+"\n"...)
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	a := q.holds("a")
	if who := q.query("SELECT COUNT(*) > 0 FROM information_schema.processlist WHERE user = 'serve'"); who != "1" {
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
	for _, path := range []string{"/v1/changes", "/v1/changes/a", "/v1/changes/a/status", "/v1/changes/a/settings", "/v1/servers"} {
		if status, text := q.http("GET", path, ""); status != http.StatusOK || strings.Contains(text, secret) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	q.becomes("a", service.StateDone)
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
