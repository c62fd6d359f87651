package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/history"
	"midstream/internal/ops/queue"
)

// service runs a verb that talks to the service, by --service.
func (q *queueing) service(verb string, args ...string) (code int, stdout, stderr string) {
	q.t.Helper()
	cmd := command(q.t, append([]string{verb, "--service=" + q.url}, args...)...)
	cmd.Env = append(cmd.Env, "HOME="+q.home, "XDG_STATE_HOME=")
	r := start(q.t, cmd)
	code = r.exit()
	return code, r.stdout.all(), r.stderr.all()
}

// signals sends a signal to the run of a change.
func (q *queueing) signals(c queue.Change, signal syscall.Signal) {
	q.t.Helper()
	if err := syscall.Kill(c.Process, signal); err != nil {
		q.t.Fatal(err)
	}
}

// tables are those of the database.
const tablesThere = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"

// TestL9_AgainResumesUnderTheSameID: a run that was killed, and one that got a signal by hand, resume under the id of their change, also
// if the service is killed in between. An abort removes the work, and another attempt starts again. A script may repeat the command.
func TestL9_AgainResumesUnderTheSameID(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 2000)
	q.serve()
	statement := append([]string{"ALTER TABLE " + q.name + " ADD COLUMN c INT", "--server=main", "--id=a", "--again"}, held...)
	takes := func(want int, args []string, texts ...string) {
		t.Helper()
		code, stdout, stderr := q.service("submit", args...)
		if code != want {
			t.Fatalf("%q: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
		contains(t, stdout+stderr, texts...)
	}
	only := []string{"--again", "--id=a"}
	takes(exit.NoRun, only, "no such change: a")
	takes(exit.WrongUsage, []string{"--again"}, "--again needs the --id of the change")
	takes(exit.WrongUsage, []string{"--again", "--id=a", "--server=main"}, "--again without a statement takes only --id")
	takes(exit.Done, statement, "waiting")
	first := q.holds("a")
	takes(exit.NotNow, only, "it is running", "nothing was changed")
	q.signals(first, syscall.SIGKILL)
	if a := q.becomes("a", queue.StateUnknown); a.Again != "resume" || a.Attempt != 1 {
		t.Errorf("%+v", a)
	}
	_, stdout, _ := q.service("queue", "a")
	contains(t, strings.Join(strings.Fields(stdout), " "), "midstream submit --service='"+q.url+"' --again --id=a resumes it")

	// The same submission, twice; and the service is killed at once.
	takes(exit.Done, statement, "a")
	takes(exit.Done, statement, "a")
	q.kill()
	q.serve()
	second := q.holds("a")
	if second.Attempt != 2 || len(second.Attempts) != 1 || second.Attempts[0].State != queue.StateUnknown ||
		second.Process == first.Process {
		t.Errorf("%+v", second)
	}
	story, err := history.Whole(second.History)
	if err != nil || story.Run.Process != second.Process || len(story.Earlier) != 1 || story.Earlier[0].Run.Process != first.Process {
		t.Errorf("the history of the second attempt: %+v, %v", story, err)
	}
	q.signals(second, syscall.SIGTERM) // by a person
	a := q.becomes("a", queue.StateFailed)
	if a.ExitCode == nil || *a.ExitCode != exit.Stopped || a.Again != "resume" {
		t.Errorf("%+v", a)
	}
	contains(t, a.Why, "SIGTERM", "are kept")
	contains(t, a.Next, "--again --id=a) to resume from where it stopped", "midstream cleanup ")

	// By the API, with the number of the attempt.
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		if status, text := q.http("POST", "/v1/changes/a/again", `{"attempt":3}`); status != want {
			t.Errorf("%d %s", status, text)
		}
	}
	q.holds("a")
	if status, text := q.http("POST", "/v1/changes/a/abort", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if a = q.becomes("a", queue.StateAborted); a.Again != "restart" || len(a.Attempts) != 2 {
		t.Errorf("%+v", a)
	}
	if got := q.query(tablesThere); got != "t,u" {
		t.Errorf("an abort has left %s", got)
	}
	_, page := q.http("GET", "/changes/a", "", "Accept", "text/html")
	contains(t, page, `id="again-ask"`, `id="again-question"`, "Earlier attempts: 2", "This is attempt 3")
	takes(exit.Done, only, "a")
	q.holds("a")
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if a = q.becomes("a", queue.StateDone); a.Again != "" || a.Attempt != 4 || len(a.Attempts) != 3 {
		t.Errorf("%+v", a)
	}
	takes(exit.NotNow, only, "it is done")
	takes(exit.Done, statement, "done") // there is nothing to do
	_, stdout, _ = q.service("queue", "a")
	contains(t, stdout, "attempt   1, by ", "unknown at ", "attempt   2, by ", "failed (exit code 16)", "aborted (exit code 12)", "attempt   4, by ")
	if got := q.query(columns); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
}

// TestL9_ServeIsKilledBetweenAttempts: whenever the service is killed, an attempt that was taken is made, and once.
func TestL9_ServeIsKilledBetweenAttempts(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 100)
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	for attempt := 2; attempt < 6; attempt++ {
		q.signals(q.holds("a"), syscall.SIGTERM)
		if attempt%2 == 0 {
			q.kill()
			q.serve()
		}
		q.becomes("a", queue.StateFailed)
		if code, _, stderr := q.service("submit", "--again", "--id=a"); code != exit.Done {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		q.kill()
		q.serve()
		if a := q.at("a"); a.Attempt != attempt || a.State.Over() {
			t.Errorf("%+v", a)
		}
	}
	q.holds("a")
	q.obeys("cutover", nil)
	if a := q.becomes("a", queue.StateDone); len(a.Attempts) != 5-1 {
		t.Errorf("%+v", a)
	}
	names, err := filepath.Glob(filepath.Join(q.home, "state", "changes", "a", "runs", "*.jsonl"))
	if err != nil || len(names) != 5 {
		t.Errorf("%d runs, want one for each attempt: %q, %v", len(names), names, err)
	}
}

// TestABusyTableIsNoRefusal: a change whose table another run holds ends with 20 and what to do, and runs again under its id.
func TestABusyTableIsNoRefusal(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 100)
	q.serve()
	run := start(t, command(t, append(append([]string{"run", "--hold", "--method=shadow", "--control-dir=" + q.folder}, flagsTo(t, q.i)...),
		"ALTER TABLE "+q.name+" ADD COLUMN c INT")...))
	q.await("the other run to hold", func() bool { return q.found() && q.status().State == "held" })
	q.submit("b", q.name+" ADD COLUMN d INT", "--option=drop-old")
	b := q.becomes("b", queue.StateFailed)
	if b.ExitCode == nil || *b.ExitCode != exit.Busy || b.Again != "begin" {
		t.Errorf("%+v", b)
	}
	contains(t, b.Why, "another run")
	contains(t, b.Next, "--again --id=b", "when that run has ended")
	q.obeys("abort", nil)
	if code := run.exit(); code != exit.Aborted {
		t.Errorf("exit code %d", code)
	}
	if code, stdout, stderr := q.service("submit", "--again", "--id=b", "--wait"); code != exit.Done {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(q.home, "state", "changes", "b", "stdout")); err != nil {
		t.Error(err)
	}
}
