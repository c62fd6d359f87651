package cli

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// TestL5_RowsInTheQueue: serve takes a purge and an update. They go on without serve, obey commands and a freeze, and after a kill of the
// run the next attempt resumes: no row is changed twice.
func TestL5_RowsInTheQueue(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 30_000)
	q.stopWriting()
	q.serve()
	update := "UPDATE " + q.name + " SET a = a + 1000000 WHERE id > 0"
	slow := []string{update, "--server=main", "--id=rows", "--option=chunk-time=10ms", "--option=copy-share=3%"}
	if code, stdout, stderr := q.ask("submit", slow...); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	const changed = "SELECT SUM(a >= 1000000) FROM t"
	moves := func(when string) {
		t.Helper()
		before := q.query(changed)
		q.await("changed rows "+when, func() bool { return q.query(changed) != before })
	}
	rests := func(when string) {
		t.Helper()
		before := q.query(changed)
		time.Sleep(500 * time.Millisecond) // there is no event for what does not happen
		if after := q.query(changed); after != before {
			t.Errorf("%s: %s rows were changed, and %s later", when, before, after)
		}
	}
	moves("at the start")
	q.submit("later", q.name+" ADD COLUMN c INT")
	contains(t, q.at("later").Why, "rows, which was submitted earlier, also changes "+q.name)
	before := q.at("rows")
	q.kill()
	moves("without serve")
	q.serve()
	if now := q.at("rows"); now.State != queue.StateRunning || now.Process != before.Process {
		t.Errorf("after the kill of serve: %+v", now)
	}
	post := func(command string) {
		t.Helper()
		if status, text := q.http("POST", "/v1/changes/rows/"+command, "{}"); status != http.StatusOK {
			t.Fatalf("%s: %d %s", command, status, text)
		}
	}
	post("pause")
	rests("at a pause")
	post("resume")
	moves("after a pause")
	if code, _, stderr := q.ask("freeze", "--server=main", "--reason=incident"); code != exit.Done {
		t.Fatal(stderr)
	}
	q.await("the freeze", func() bool {
		_, text := q.http("GET", "/v1/changes/rows/status", "")
		return strings.Contains(text, "frozen/main") && strings.Contains(text, `"state":"waiting"`)
	})
	rests("in a freeze")
	contains(t, q.at("rows").Why, "it changes no rows: ", "incident")
	if code, _, stderr := q.ask("unfreeze", "--server=main"); code != exit.Done {
		t.Fatal(stderr)
	}
	moves("after a freeze")
	for _, path := range []string{"/changes/rows", "/v1/changes/rows/settings"} {
		if status, text := q.http("GET", path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if code, _, stderr := q.ask("withdraw", "later"); code != exit.Done {
		t.Error(stderr)
	}
	if err := syscall.Kill(before.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	contains(t, q.becomes("rows", queue.StateUnknown).Next, "--again --id=rows resumes it", "midstream cleanup "+q.name)
	if code, stdout, stderr := q.ask("submit", "--again", "--id=rows"); code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	moves("at the second attempt")
	code, stdout, stderr := midstream(t, "set", "--control-dir="+q.folder, q.name, "copy-share=100%", "chunk-time=500ms")
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	contains(t, q.becomes("rows", queue.StateDone).Why, "rows updated")
	if got := q.query("SELECT CONCAT(MIN(a) DIV 1000000, ' ', MAX(a) DIV 1000000) FROM t"); got != "1 1" {
		t.Errorf("the rows were changed %s times", got)
	}
}

// TestPurgeIsSubmitted: the plan writes nothing, what a purge does not take is refused, a person approves, and submit waits for the end.
func TestPurgeIsSubmitted(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 2000)
	q.stopWriting()
	q.serve()
	purge := "DELETE FROM " + q.name + " WHERE id <= 1000"
	goes := q.query("SELECT COUNT(*) FROM t WHERE id <= 1000")
	body := `{"server":"main","statement":"` + purge + `","options":{"rest":"` + q.database() + `.rest"}}`
	status, text := q.http("POST", "/v1/plans", body)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	contains(t, text, "walk the rows once by PRIMARY", "create "+q.database()+".rest like")
	for option, want := range map[string]string{"drop-old": "may not set these options: drop-old", "chunk-time=x": "--chunk-time"} {
		code, _, stderr := q.ask("submit", purge, "--server=main", "--option="+option)
		if code != exit.WrongUsage {
			t.Errorf("%s: exit code %d", option, code)
		}
		contains(t, stderr, want)
	}
	code, stdout, stderr := q.ask("submit", purge, "--server=main", "--id=purge", "--option=rest="+q.database()+".rest", "--wait")
	if code != exit.Done {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	c := q.at("purge")
	contains(t, c.Why, "rows deleted", "kept by --rest")
	if len(c.Tables) != 2 || q.query("SELECT COUNT(*) FROM t WHERE id <= 1000") != "0" || q.query("SELECT COUNT(*) FROM rest") != goes {
		t.Errorf("%+v", c)
	}
	status, text = q.http("GET", "/v1/changes/purge/report.md", "")
	if status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	contains(t, text, "DELETE FROM", goes+" deleted")
}

// TestEveryOptionOfRowsIsAFlag: purge has each option that a submission may set.
func TestEveryOptionOfRowsIsAFlag(t *testing.T) {
	for _, name := range queue.RowOptions() {
		if newApp(Env{}).newPurge().cmd.Flags().Lookup(name) == nil {
			t.Errorf("purge has no --%s", name)
		}
	}
}
