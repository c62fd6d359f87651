package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/queue"
)

// TestL9_AttemptsUseTheFilesOfTheStore: a change by files is carried out from the text that the service keeps, at each attempt, whatever
// becomes of the user's folder and of the folder of the change. What loses values is refused until it is permitted.
func TestL9_AttemptsUseTheFilesOfTheStore(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 1000)
	q.serve()
	const body = " (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(200), c INT, KEY by_a (a))"
	folder := files(t, map[string]string{"t.sql": "CREATE TABLE t" + body + ";", "fresh.sql": "CREATE TABLE fresh (id INT PRIMARY KEY);"})
	submit := append([]string{"--files=" + folder, "--database=" + q.database(), "--server=main", "--id=f", "--option=allow-loss", "--again"}, held...)
	code, stdout, stderr := q.service("submit", submit...)
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	first := q.holds("f")
	q.kill()
	q.signals(first, syscall.SIGKILL)
	if err := os.RemoveAll(filepath.Join(q.home, "state", "changes", "f", "files")); err != nil {
		t.Fatal(err)
	}
	q.serve()
	q.becomes("f", queue.StateUnknown)
	if code, _, stderr := q.service("submit", "--again", "--id=f"); code != exit.Done {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	q.holds("f")
	if status, text := q.http("POST", "/v1/changes/f/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	q.await("the new table to be held as well", func() bool {
		_, status := q.http("GET", "/v1/changes/f/status", "")
		return strings.Contains(status, q.database()+".fresh") && strings.Contains(status, `"state":"held"`)
	})
	if status, text := q.http("POST", "/v1/changes/f/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	f := q.becomes("f", queue.StateDone)
	states := map[string]string{}
	for _, one := range f.Results {
		states[one.Table] = one.State
	}
	if states[q.name] != "changed" || len(states) != 2 || states[q.database()+".fresh"] == "" || f.Attempt != 2 {
		t.Errorf("%v: %+v", states, f)
	}
	if got := q.query(columns); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
	_, stdout, _ = q.service("queue", "f")
	contains(t, stdout, "CREATE TABLE statements of fresh.sql, t.sql", q.name+": changed")

	// A loss, in the plan and as a change.
	less := []queue.File{{Name: "t.sql", Text: "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT);"}}
	asked, err := json.Marshal(queue.PlanQuestion{Server: "main", Files: less, Options: map[string]string{"database": q.database()}})
	if err != nil {
		t.Fatal(err)
	}
	status, text := q.http("POST", "/v1/plans", string(asked))
	if status != http.StatusOK || !strings.Contains(text, `"code":"loss"`) || strings.Contains(text, "/files-") {
		t.Errorf("%d %s", status, text)
	}
	if left, _ := filepath.Glob(filepath.Join(q.home, "state", "files-*")); len(left) > 0 {
		t.Errorf("a plan has left %q", left)
	}
	folder = files(t, map[string]string{"t.sql": less[0].Text})
	code, _, stderr = q.service("submit", "--files="+folder, "--database="+q.database(), "--server=main", "--id=less", "--wait")
	if code != exit.Refused {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	contains(t, stderr, "--allow-loss")

	// What is refused before it is in the queue.
	large := files(t, map[string]string{"t.sql": "-- " + strings.Repeat("x", 1<<20)})
	none := files(t, map[string]string{"t.txt": "x"})
	wrong := files(t, map[string]string{"t.sql": "DROP TABLE t"})
	for want, args := range map[string][]string{
		"at most 1048576 (1 MiB)":        {"--files=" + large, "--server=main"},
		"no file whose name ends in":     {"--files=" + none, "--server=main"},
		"change: t.sql: the file has no": {"--files=" + wrong, "--server=main"},
		"--files takes no statement":     {"--files=" + folder, "--server=main", "DROP TABLE x"},
		"another change has the id less": {"--files=" + wrong, "--server=main", "--id=less"},
	} {
		code, _, stderr := q.service("submit", args...)
		if code != exit.WrongUsage && code != exit.NotNow {
			t.Errorf("%q: exit code %d", args, code)
		}
		contains(t, stderr, want)
		if strings.Contains(stderr, "/files-") {
			t.Errorf("it names the folder of the service: %s", stderr)
		}
	}
	for _, name := range []string{"../t.sql", "a/b.sql", ".sql", "t.txt"} {
		asked, _ := json.Marshal(queue.Submission{Server: "main", Files: []queue.File{{Name: name, Text: less[0].Text}}})
		if status, text := q.http("POST", "/v1/changes", string(asked)); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}
