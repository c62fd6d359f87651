package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/socket"
)

// queueing is a service of a test, on a server with a table t in which somebody writes.
type queueing struct {
	*controlling
	home   string
	daemon *running
	url    string
	flags  []string // of serve
}

// toQueue makes a table with rows and a writer, and the option file of its server; a second table u is there too.
func toQueue(t *testing.T, rows int) *queueing {
	t.Helper()
	return queueOf(t, toControl(t, rows))
}

// queueOf is toQueue with a table that exists.
func queueOf(t *testing.T, c *controlling) *queueing {
	t.Helper()
	q := &queueing{controlling: c, home: t.TempDir()}
	var file strings.Builder
	file.WriteString("[client]\n")
	for _, flag := range flagsTo(t, q.i) {
		file.WriteString(strings.TrimPrefix(flag, "--") + "\n")
	}
	path := filepath.Join(q.home, "main.cnf")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	q.flags = []string{
		"--server=main=" + path, "--control-dir=" + q.folder, "--listen=127.0.0.1:0",
		"--state-dir=" + filepath.Join(q.home, "state"),
	}
	executing(t, q.i, q.database())("CREATE TABLE u LIKE t")
	t.Cleanup(q.nothingLeft)
	return q
}

func (q *queueing) database() string { database, _, _ := strings.Cut(q.name, "."); return database }

// serve starts the daemon, and waits until its queue is open.
func (q *queueing) serve(more ...string) {
	q.t.Helper()
	q.serveLater(more...)
	q.opens()
}

// serveLater starts the daemon.
func (q *queueing) serveLater(more ...string) {
	q.t.Helper()
	cmd := command(q.t, append(append([]string{"serve"}, q.flags...), more...)...)
	cmd.Env = append(cmd.Env, "HOME="+q.home, "XDG_STATE_HOME=")
	q.daemon = start(q.t, cmd)
}

// opens waits until the daemon's queue is open.
func (q *queueing) opens() {
	q.t.Helper()
	const before = "the queue is open at "
	q.daemon.await(&q.daemon.stdout, "the queue is kept in")
	_, rest, _ := strings.Cut(q.daemon.stdout.String(), before)
	q.url, _, _ = strings.Cut(rest, ",")
}

// kill ends the daemon without a warning.
func (q *queueing) kill() {
	q.t.Helper()
	if err := q.daemon.cmd.Process.Kill(); err != nil {
		q.t.Fatal(err)
	}
	<-q.daemon.done
}

// nothingLeft fails if a run, a socket or a lock is there still when the test ends.
func (q *queueing) nothingLeft() {
	locks, _ := filepath.Glob(filepath.Join(q.home, "state*", "changes", "*", "lock"))
	if len(locks) == 0 {
		q.t.Error("no change has begun")
	}
	var left string
	// a run has told its end before it ends
	until(q.t, func() string { return left }, func() bool {
		left = ""
		for _, path := range locks {
			file, err := os.Open(path)
			if err == nil {
				err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
				file.Close()
			}
			if err != nil {
				left += fmt.Sprintf("%s: %v; ", path, err)
			}
		}
		if entries, _ := os.ReadDir(q.folder); len(entries) > 0 {
			left += fmt.Sprintf("%v is left in the folder of the sockets", entries)
		}
		return left == ""
	})
}

// ask runs a verb that talks to the service.
func (q *queueing) ask(verb string, args ...string) (code int, stdout, stderr string) {
	q.t.Helper()
	cmd := command(q.t, append([]string{verb, "--to=" + q.url}, args...)...)
	cmd.Env = append(cmd.Env, "HOME="+q.home, "XDG_STATE_HOME=")
	r := start(q.t, cmd)
	code = r.exit()
	return code, r.stdout.String(), r.stderr.String()
}

// linked fails unless submit, queue and the status of the run name the page of a change that runs.
func (q *queueing) linked(id string) {
	q.t.Helper()
	c := q.at(id)
	again := []string{c.Statement, "--server=main", "--id=" + id}
	for name, value := range c.Options {
		again = append(again, "--option="+name+"="+value)
	}
	_, submitted, _ := q.ask("submit", again...)
	_, one, _ := q.ask("queue", id)
	for _, text := range []string{submitted, one} {
		contains(q.t, text, "page      "+q.url+"/changes/"+id+"\n")
	}
	_, all, _ := q.ask("queue")
	contains(q.t, all, "page      "+q.url+"/\n")
	_, status, _ := midstream(q.t, "status", "--control-dir="+q.folder, q.name)
	contains(q.t, status, "page      "+q.url+"/changes/"+id+"\n")
}

// submit puts a change of a table into the queue.
func (q *queueing) submit(id, alter string, more ...string) {
	q.t.Helper()
	code, stdout, stderr := q.ask("submit", append([]string{"ALTER TABLE " + alter, "--server=main", "--id=" + id}, more...)...)
	if code != exit.Done {
		q.t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// held are the options of a run that copies rows and waits with its swap.
var held = []string{"--option=method=shadow", "--option=hold", "--option=drop-old"}

// at is how a change stands.
func (q *queueing) at(id string) (c queue.Change) {
	q.t.Helper()
	code, stdout, stderr := q.ask("queue", id, "--json")
	if code != exit.Done {
		q.t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		q.t.Fatal(err)
	}
	return c
}

// becomes waits until a change is in a state.
func (q *queueing) becomes(id string, state queue.State) queue.Change {
	q.t.Helper()
	c := q.reaches(id, func(c queue.Change) bool { return c.State == state || c.State.Over() })
	if c.State != state {
		q.t.Fatalf("%s never: %+v\n%s\n%s", state, c, &q.daemon.stdout, &q.daemon.stderr)
	}
	return c
}

// reaches waits until a change is so.
func (q *queueing) reaches(id string, is func(queue.Change) bool) (c queue.Change) {
	q.t.Helper()
	told := func() string {
		return fmt.Sprintf("%+v, undo %+v\n%s\n%s", c, c.Undo, &q.daemon.stdout, &q.daemon.stderr)
	}
	until(q.t, told, func() bool { c = q.at(id); return is(c) })
	return c
}

// holds waits until the run of a change waits with its swap.
func (q *queueing) holds(id string) queue.Change {
	q.t.Helper()
	q.becomes(id, queue.StateRunning)
	process := 0
	until(q.t, func() string { return "it does not hold\n" + q.daemon.stdout.String() }, func() bool {
		runs, err := socket.Find(q.t.Context(), q.folder)
		if err != nil || len(runs) == 0 || runs[0].Found.State != "held" {
			return false
		}
		process = runs[0].Found.Process
		return true
	})
	c := q.at(id)
	if c.Process != process {
		q.t.Fatalf("process %d holds: %+v", process, c)
	}
	return c
}

// http asks the API as no verb does.
func (q *queueing) http(method, path, body string, header ...string) (status int, answer string) {
	q.t.Helper()
	token, err := os.ReadFile(filepath.Join(q.home, ".local", "state", "midstream", "token"))
	if err != nil {
		q.t.Fatal(err)
	}
	return q.httpAs(strings.TrimSpace(string(token)), method, path, body, header...)
}

// httpAs is http with another token.
func (q *queueing) httpAs(token, method, path, body string, header ...string) (status int, answer string) {
	q.t.Helper()
	request, err := http.NewRequestWithContext(q.t.Context(), method, q.url+path, strings.NewReader(body))
	if err != nil {
		q.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	for n := 0; n < len(header); n += 2 {
		request.Header.Set(header[n], header[n+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		q.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		q.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
