package cli

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/history"
	"midstream/internal/ops/queue"
)

// TestQueue: two changes of one table and one that comes after them are done in their order, each
// once, while somebody writes.
func TestQueue(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 4000)
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	q.submit("b", q.name+" ADD COLUMN d INT", "--option=drop-old")
	q.submit("c", q.database()+".u ADD COLUMN e INT", "--after=b")
	q.submit("a", q.name+" ADD COLUMN c INT", held...) // it is there
	a := q.holds("a")
	q.linked("a")
	contains(t, q.at("b").Why, "a, which was submitted earlier, also changes "+q.name)
	contains(t, q.at("c").Why, "it waits for change b")
	if a.Process == 0 || a.Began == nil || a.Ended != nil || a.ExitCode != nil || a.Table != q.name || a.SubmittedBy == "" {
		t.Errorf("%+v", a)
	}
	code, _, stderr := q.ask("submit", "ALTER TABLE "+q.name+" ADD COLUMN other INT", "--server=main", "--id=a")
	if code != exit.NotNow {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "another change has the id a", "nothing was changed", "use another id")
	if status, text := q.http(
		"POST",
		"/v1/changes/a/set",
		`{"settings":{"throttle-url":"http://127.0.0.1:1"}}`,
	); status != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", status, text)
	}
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	c := q.becomes("c", queue.StateDone)
	a, b := q.at("a"), q.at("b")
	if b.Began.Before(*a.Ended) || c.Began.Before(*b.Ended) || a.ExitCode == nil || *a.ExitCode != 0 {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	if n := strings.Count(q.daemon.stdout.String(), "change a ("+q.name+" on main) is running"); n != 1 {
		t.Errorf("it ran %d times\n%s", n, &q.daemon.stdout)
	}
	if got := q.query(columns); got != "id,a,b,c,d" {
		t.Errorf("columns %s", got)
	}
	story, err := history.Read(a.History)
	if err != nil || story.Run.Process != a.Process || story.Plan == nil || story.Result == nil {
		t.Errorf("%+v, %v", story, err)
	}
	q.daemon.interrupt()
	if code := q.daemon.exit(); code != exit.Done {
		t.Errorf("exit code %d", code)
	}
	contains(t, q.daemon.stdout.String(), "the queue is closed. No run is active.")
}

// TestDaemonIsKilled: runs go on without their daemon, and the next one finds them, at work or ended.
func TestDaemonIsKilled(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 2000)
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	before := q.holds("a")
	q.kill()
	q.serve()
	if now := q.at("a"); now.State != queue.StateRunning || now.Process != before.Process || !now.Began.Equal(*before.Began) {
		t.Errorf("%+v", now)
	}
	q.daemon.interrupt()
	if code := q.daemon.exit(); code != exit.Done {
		t.Errorf("exit code %d", code)
	}
	contains(t, q.daemon.stdout.String(), "These runs continue: a.")
	q.serve()
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	q.becomes("a", queue.StateDone)

	q.submit("b", q.name+" ADD COLUMN d INT", held...)
	q.holds("b")
	q.kill()
	q.obeys("cutover", nil)
	q.await("the end of the run", func() bool {
		entries, err := os.ReadDir(q.folder)
		return err == nil && len(entries) == 0
	})
	q.serve()
	if b := q.becomes("b", queue.StateDone); b.ExitCode == nil || *b.ExitCode != 0 || b.Ended == nil {
		t.Errorf("%+v", b)
	}
	if got := q.query(columns); got != "id,a,b,c,d" {
		t.Errorf("columns %s", got)
	}
}

// TestRunIsKilled: nobody knows what has become of it; who was to come after it fails, and the same
// statement goes on.
func TestRunIsKilled(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 2000)
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	q.submit("b", q.database()+".u ADD COLUMN c INT", "--after=a")
	a := q.holds("a")
	if err := syscall.Kill(a.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a = q.becomes("a", queue.StateUnknown)
	contains(t, a.Why, "its process was killed or has crashed")
	contains(t, a.Next, "--again --id=a resumes it", "midstream cleanup "+q.name)
	contains(t, q.becomes("b", queue.StateFailed).Why, "it depends on change a, which is unknown")
	if a.ExitCode != nil || a.Ended == nil {
		t.Errorf("%+v", a)
	}
	code, stdout, stderr := q.ask(
		"submit", "ALTER TABLE "+q.name+" ADD COLUMN c INT", "--server=main", "--wait", "--option=method=shadow",
		"--option=drop-old",
	)
	if code != exit.Done {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	contains(t, stdout, "waiting", "done")
	_, list, _ := q.ask("queue", "--json")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	var last queue.Change
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if story, err := history.Whole(
		last.History,
	); err != nil || len(story.Earlier) != 1 || story.Earlier[0].Run.Process != a.Process ||
		story.Run.Process != last.Process {
		t.Errorf("%+v, %v", story, err)
	}
	if got := q.query(columns); got != "id,a,b,c" {
		t.Errorf("columns %s", got)
	}
}

// TestLimitAndWithdraw: as many run on a server as may; one that waits can be taken back, one that
// runs can be aborted.
func TestLimitAndWithdraw(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 500)
	executing(t, q.i, q.database())("CREATE TABLE v LIKE t")
	q.serve("--limit=2")
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	q.submit("b", q.database()+".u ADD COLUMN c INT", held...)
	q.submit("c", q.database()+".v ADD COLUMN c INT")
	q.becomes("a", queue.StateRunning)
	q.becomes("b", queue.StateRunning)
	contains(t, q.at("c").Why, "at most 2 may run on main at the same time (--limit)")
	q.await("the queue to say that a is held", func() bool { return strings.HasPrefix(q.at("a").Why, "ready, and on hold: until midstream release --") })
	_, listed, _ := q.ask("queue")
	contains(t, strings.Join(strings.Fields(listed), " "), " ago: on hold: until midstream release --")
	if code, stdout, stderr := q.ask("withdraw", "c"); code != exit.Done || !strings.HasPrefix(stdout, "withdrawn c ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, _, stderr := q.ask("withdraw", "a")
	if code != exit.NotNow {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "its run is active")
	if code, _, stderr := q.ask("withdraw", "nobody"); code != exit.NoRun {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, id := range []string{"a", "b"} {
		q.await("the socket of "+id, func() bool {
			status, _ := q.http("GET", "/v1/changes/"+id+"/status", "")
			return status == http.StatusOK
		})
		if status, text := q.http("POST", "/v1/changes/"+id+"/abort", "{}"); status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
		if c := q.becomes(id, queue.StateAborted); *c.ExitCode != exit.Aborted {
			t.Errorf("%+v", c)
		}
	}
	_, stdout, _ := q.ask("queue")
	contains(t, stdout, "aborted   a  "+q.name+" on main", "withdrawn c  "+q.database()+".v on main: it was withdrawn before it began")
}

// TestRefusedSubmissions: what can't be taken is refused before it is queued, with what to do; a
// run that is refused by its plan fails.
func TestRefusedSubmissions(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 10)
	q.serve()
	for want, args := range map[string][]string{
		"unknown server \"other\"":                   {"DROP TABLE shop.t", "--server=other"},
		"To empty the table, use TRUNCATE TABLE":     {"DELETE FROM shop.t", "--server=main"},
		"the database of t is missing":               {"DROP TABLE t", "--server=main"},
		"--workers 1000: must be between 1 and 64":   {"DROP TABLE shop.t", "--server=main", "--option=workers=1000"},
		"may not set these options: host":            {"DROP TABLE shop.t", "--server=main", "--option=host=elsewhere"},
		"--drop-old and --drop-later exclude":        {"DROP TABLE shop.t", "--server=main", "--option=drop-old", "--option=drop-later"},
		"change x, which does not exist":             {"DROP TABLE shop.t", "--server=main", "--after=x"},
		"name a server of the service":               {"DROP TABLE shop.t"},
		"expected one statement":                     {"DROP", "TABLE", "shop.t", "--server=main"},
		"--lock-wait 1h: ":                           {"DROP TABLE shop.t", "--server=main", "--option=lock-wait=1h"},
		"--keep-shadow needs --rehearse":             {"DROP TABLE shop.t", "--server=main", "--option=keep-shadow"},
		"--no-verify perhaps: must be true or false": {"DROP TABLE shop.t", "--server=main", "--option=no-verify=perhaps"},
		"submit a statement, such as ALTER TABLE":    {"", "--server=main"},
		"--map b: must be old=new":                   {"DROP TABLE shop.t", "--server=main", "--option=map=a=x,b"},
	} {
		code, _, stderr := q.ask("submit", args...)
		if code != exit.WrongUsage || !strings.Contains(stderr, want) || !strings.Contains(stderr, "next:") {
			t.Errorf("%q: exit code %d\n%s", want, code, stderr)
		}
	}
	if _, stdout, _ := q.ask("queue"); stdout != "The queue is empty.\n" {
		t.Error(stdout)
	}
	q.submit("gone", q.database()+".nobody ADD COLUMN c INT")
	c := q.becomes("gone", queue.StateFailed)
	contains(t, c.Why+c.Next, "nobody", "check the table's name")
	if *c.ExitCode != exit.Refused {
		t.Errorf("%+v", c)
	}
	var answer queue.PlanAnswer
	status, text := q.http("POST", "/v1/plans", fmt.Sprintf(`{"server":"main","statement":"ALTER TABLE %s ADD COLUMN c INT"}`, q.name))
	if err := json.Unmarshal(
		[]byte(text),
		&answer,
	); err != nil || status != http.StatusOK || answer.Plan == nil ||
		answer.Result.Outcome != "done" {
		t.Errorf("%d %s, %v", status, text, err)
	}
	contains(t, answer.Text, q.name, "Method ", "OK to run")
	if status, text := q.http(
		"GET",
		"/v1/changes",
		"",
		"Authorization",
		"Bearer wrong",
	); status != http.StatusUnauthorized ||
		strings.Contains(text, "gone") {
		t.Errorf("%d %s", status, text)
	}
}

// TestServeIsRefused: what is wrong with a service is said before anything is begun.
func TestServeIsRefused(t *testing.T) {
	sideBySide(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	asks, odd := write("asks.cnf", "[client]\npassword\n"), write("odd.cnf", "[midstream]\nworker=3\n")
	file := write("file.cnf", "[midstream]\ncutover-when-gone=/tmp/hold\n")
	code, _, stderr := midstream(
		t, "serve", "--server=a="+asks, "--server=b="+odd, "--server=c="+folder+"/none", "--server=d", "--store=x",
		"--server=all="+file,
		"--limit=0", "--listen=0.0.0.0:1",
	)
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(
		t, stderr, "--server a: has a password without a value", `unknown option "worker"`,
		"--server c: option file", "--server d: must be name=file", "--store x: no --server has the name x",
		"--server all: this name stands for every server", "its option file has cutover-when-gone",
		"--limit 0: must be between 1 and 100",
		"--listen 0.0.0.0:1: other machines can reach this address: name a file with a token",
	)
}

// TestEveryFlagOfRunIsDecided: a new flag may be given by submissions or may not, and somebody has thought about it.
func TestEveryFlagOfRunIsDecided(t *testing.T) {
	not := []string{
		"table",
		"alter",
		"to", // there is a statement
		"together",
		// where
		"host",
		"port",
		"socket",
		"user",
		"password", "password-command",
		"defaults-file",
		"defaults-extra-file",
		"ssl-mode",
		"ssl-ca",
		"ssl-cert",
		"ssl-key",
		"replica",
		"skip-replica",
		"find-replicas",
		"unseen-replicas",
		"capture-from",
		"source-replicates",
		"on-replica",
		// files, queries and URLs
		"profile",
		"throttle-file",
		"throttle-query",
		"throttle-url",
		"cutover-when-gone",
		"metrics-file",
		"log-file",
		"log-format",
		"hook",
		"hook-timeout", "hook-veto", "binlog-reader", "on-signal",
		// the service's own
		"json",
		"quiet",
		"verbose",
		"no-color",
		"history-dir",
		"no-history",
		"control-dir",
		"no-control",
		"listen",
		"token-file",
		"tls-cert",
		"tls-key",
		"insecure-http",
		"result-file",
		"file",
		"ask",
		"print-address",
		"no-frontier-rule",
		"no-merge",
	} // measuring
	_, cmd := newApp(Env{}).newRun()
	var there []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		there = append(there, f.Name)
		if slices.Contains(not, f.Name) == slices.Contains(queue.Options(), f.Name) {
			t.Errorf("--%s: may a submission give it? Say so in queue.Options or here", f.Name)
		}
	})
	for _, name := range queue.Options() {
		if !slices.Contains(there, name) {
			t.Errorf("run has no --%s", name)
		}
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "serve.md"))
		if err != nil || !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/serve.md does not list %s, %v", name, err)
		}
	}
	_, undo := newApp(Env{}).newUndo()
	for _, name := range queue.UndoOptions() {
		if undo.Flags().Lookup(name) == nil {
			t.Errorf("undo has no --%s", name)
		}
	}
}

// TestQueueInATable: what a service keeps in a table another one goes on with, on another machine too; one at a time.
func TestQueueInATable(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 500)
	store := "--store=main/" + q.database()
	t.Cleanup(func() { executing(t, q.i, q.database())("DROP TABLE IF EXISTS midstream_service") })
	q.serve(store)
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	q.holds("a")
	code, _, stderr := midstream(t, append(append([]string{"serve"}, q.flags...), store, "--state-dir="+q.home+"/state2")...)
	if code != exit.Failed {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "midstream_service", "another service uses the store: process ", "stop the other service first")
	q.kill()
	q.await("the end of the connection", func() bool {
		return q.query(
			"SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_type LIKE 'USER%LOCK'"+
				" AND object_name = LEFT(CONCAT('midstream service ', SHA2(DATABASE(), 256)), 64)",
		) == "0"
	})
	q.serve(store)
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	a := q.becomes("a", queue.StateDone)
	kept, err := os.ReadFile(a.History)
	if err != nil {
		t.Fatal(err)
	}
	q.daemon.interrupt()
	if code := q.daemon.exit(); code != exit.Done {
		t.Errorf("exit code %d\n%s", code, &q.daemon.stderr)
	}
	elsewhere := filepath.Join(q.home, "elsewhere")
	q.serve(store, "--state-dir="+elsewhere)
	if now := q.at("a"); now.State != queue.StateDone || !now.Ended.Equal(*a.Ended) {
		t.Errorf("%+v", now)
	}
	told := q.query("SELECT CONCAT(COUNT(*), ' ', SUM(history IS NOT NULL)) FROM midstream_service WHERE id NOT LIKE '!%'") // without the journal
	if told != "2 1" || len(kept) == 0 {
		t.Errorf("%s rows and histories in the store, %d bytes of history", told, len(kept))
	}
	q.daemon.interrupt()
	q.daemon.exit()
}

// TestStoreIsTaken: a service whose store another one has had meanwhile ends by itself, and says so.
func TestStoreIsTaken(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 10)
	t.Cleanup(func() { executing(t, q.i, q.database())("DROP TABLE IF EXISTS midstream_service") })
	q.serve("--store=main/" + q.database())
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	q.becomes("a", queue.StateRunning)
	executing(t, q.i, q.database())("UPDATE midstream_service SET body = '{\"version\":1,\"owner\":\"another\"}' WHERE id = ''",
		"KILL "+q.query("SELECT IS_USED_LOCK(LEFT(CONCAT('midstream service ', SHA2(DATABASE(), 256)), 64))"))
	if code := q.daemon.exit(); code != exit.Failed {
		t.Errorf("exit code %d", code)
	}
	contains(
		t, q.daemon.stderr.String(), "another service uses the store", "These runs continue: a.",
		"start this one again",
	)
	q.obeys("abort", nil)
}

// TestWaitIsEnded: Ctrl-C ends the waiting of submit, and not the change.
func TestWaitIsEnded(t *testing.T) {
	sideBySide(t)
	q := toQueue(t, 10)
	q.serve()
	q.submit("a", q.name+" ADD COLUMN c INT", held...)
	q.holds("a")
	cmd := command(t, "submit", "ALTER TABLE "+q.name+" ADD COLUMN d INT", "--server=main", "--id=b", "--wait", "--to="+q.url)
	cmd.Env = append(cmd.Env, "HOME="+q.home, "XDG_STATE_HOME=")
	waiting := start(t, cmd)
	waiting.await(&waiting.stdout, "a, which was submitted earlier")
	waiting.interrupt()
	if code := waiting.exit(); code != exit.Stopped {
		t.Errorf("exit code %d", code)
	}
	contains(t, waiting.stderr.String(), "stopped waiting for change b", "the change stays with the service: it waits for its turn",
		"midstream queue"+q.here()+"b --wait follows it again", "midstream withdraw", "b takes it out of the queue")
	if c := q.at("b"); c.State != queue.StateWaiting {
		t.Errorf("%+v", c)
	}
	if code, _, stderr := q.ask("withdraw", "b"); code != exit.Done {
		t.Error(stderr)
	}
	if code, stdout, stderr := q.ask(
		"submit",
		"ALTER TABLE "+q.name+" ADD COLUMN d INT",
		"--server=main",
		"--id=b",
		"--wait",
	); code != exit.Aborted {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if status, text := q.http("POST", "/v1/changes/a/abort", "{}"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}

// TestAskingByTLS: a service is known by the certificates of --tls-ca, and nobody is followed who sends elsewhere.
func TestAskingByTLS(t *testing.T) {
	sideBySide(t)
	folder := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer sesame":
			w.WriteHeader(http.StatusTeapot)
		case r.URL.Path == "/v1/changes":
			fmt.Fprint(w, "[]")
		default:
			http.Redirect(w, r, "/v1/changes", http.StatusFound)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	token := write("token", []byte("sesame\n"))
	ca := write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	queue := func(args ...string) (code int, stdout, stderr string) {
		return midstream(t, append([]string{"queue", "--to=" + server.URL, "--token-file=" + token}, args...)...)
	}
	if code, stdout, stderr := queue("--tls-ca=" + ca); code != exit.Done || stdout != "The queue is empty.\n" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	for want, args := range map[string][]string{"certificate": nil, "302 Found": {"--tls-ca=" + ca, "elsewhere"}, "the file has no certificate": {"--tls-ca=" + token}} {
		if code, _, stderr := queue(args...); code == exit.Done || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d\n%s", want, code, stderr)
		}
	}
}

// TestDaemonIsKilledAtAnyMoment: whenever it is killed, each change is done once: a second time its
// column would be there already.
func TestDaemonIsKilledAtAnyMoment(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 10)
	q.serve()
	const changes = 12
	want := "id,a,b"
	for n := range changes {
		column := fmt.Sprintf("c%02d", n)
		q.submit(column, q.name+" ADD COLUMN "+column+" INT")
		want += "," + column
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	moments := rand.New(rand.NewPCG(uint64(seed), 0))
	for range 15 {
		time.Sleep(time.Duration(moments.IntN(150)) * time.Millisecond)
		q.kill()
		q.serve()
	}
	for n := range changes {
		q.becomes(fmt.Sprintf("c%02d", n), queue.StateDone)
	}
	if got := q.query(columns); got != want {
		t.Errorf("columns %s", got)
	}
}
