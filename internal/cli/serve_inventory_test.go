package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// inventoried is a queue whose servers come from a folder.
type inventoried struct {
	*queueing
	servers string // the folder
}

func toInventory(t *testing.T) *inventoried {
	t.Helper()
	q := &inventoried{queueing: toQueue(t, 500)}
	q.servers = filepath.Join(q.home, "servers")
	if err := os.Mkdir(q.servers, 0o700); err != nil {
		t.Fatal(err)
	}
	q.flags[0] = "--inventory=" + q.servers
	return q
}

// file is that of a server, which is the test's under another name.
func (q *inventoried) file(name string) string { return filepath.Join(q.servers, name+".cnf") }

// write writes the option file of a server.
func (q *inventoried) write(name, settings string) {
	q.t.Helper()
	account, err := os.ReadFile(filepath.Join(q.home, "main.cnf"))
	if err == nil {
		err = os.WriteFile(q.file(name), fmt.Appendf(account, "[midstream]\n%s\n", settings), 0o600)
	}
	if err != nil {
		q.t.Fatal(err)
	}
}

// hear waits until the answer to a question has texts; it lacks those that begin with an exclamation mark.
func (q *inventoried) hear(path string, want ...string) {
	q.t.Helper()
	var answer string
	until(q.t, func() string { return answer + "\n" + q.daemon.stdout.String() }, func() bool {
		_, answer = q.http("GET", path, "")
		for _, one := range want {
			if text, absent := strings.CutPrefix(one, "!"); strings.Contains(answer, text) == absent {
				return false
			}
		}
		return true
	})
}

// TestInventoryOfServe: the servers of the service come from a folder, and are read again while it works. A new server takes changes; one
// that leaves keeps its running change, takes no new ones, and may come back; a file that becomes wrong is named, and its server stays.
func TestInventoryOfServe(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toInventory(t)
	q.write("main", "labels = env=prod,shard=0")
	q.write("wrong", "labels = env")
	q.serve()
	q.hear("/v1/servers", `{"name":"main","labels":{"env":"prod","shard":"0"},"problem":"","limit":1`, "!wrong")
	q.hear("/v1/inventory", `"source":"folder `+q.servers, `"problems":[{"server":"wrong","error":"`)
	contains(t, q.daemon.stdout.String(), "server wrong of the inventory is wrong")

	q.write("second", "labels = env=test\nno-color = true")
	q.hear("/v1/servers", `{"name":"second","labels":{"env":"test"}`)
	contains(t, q.daemon.stdout.String(), "1 server may have changes now: second")
	q.submit("a", q.name+" ADD COLUMN c INT", append([]string{"--server=second"}, held...)...)
	q.holds("a")
	q.submit("b", q.name+" ADD COLUMN d INT", "--server=second")
	if err := os.Remove(q.file("second")); err != nil {
		t.Fatal(err)
	}
	q.hear("/v1/servers", "!second")
	q.hear("/v1/inventory", `"left":["second"]`)
	contains(t, q.daemon.stdout.String(), "1 server left the inventory: changes that run go on, and no new ones are taken: second")
	code, _, stderr := q.ask("submit", "ALTER TABLE "+q.name+" ADD COLUMN e INT", "--server=second")
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "second is no longer a server of this service: it takes no new changes", "put it back into the inventory")
	if status, text := q.http("POST", "/v1/changes/a/cutover", "{}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	a := q.becomes("a", queue.StateDone)
	if b := q.at("b"); b.State != queue.StateWaiting || a.ExitCode == nil || !strings.Contains(b.Why, "no longer has a server second") {
		t.Errorf("%+v", b)
	}
	q.write("second", "labels = env=back")
	q.becomes("b", queue.StateDone)
	q.hear("/v1/servers", `{"name":"second","labels":{"env":"back"}`)

	q.write("main", "labels = env=prod,env=twice")
	q.hear("/v1/servers", `{"name":"main","labels":{"env":"prod","shard":"0"},"problem":"`, "env")
	q.submit("c", q.name+" ADD COLUMN f INT")
	q.becomes("c", queue.StateDone)
	q.write("second", "cutover-when-gone = /tmp/x")
	q.hear("/v1/servers", `"name":"second","labels":{"env":"back"},"problem":"its option file has cutover-when-gone`)
	if err := os.Rename(q.servers, q.servers+".away"); err != nil {
		t.Fatal(err)
	}
	q.hear("/v1/inventory", `"error":"open `)
	q.hear("/v1/servers", "main", "second")
	if err := os.Rename(q.servers+".away", q.servers); err != nil {
		t.Fatal(err)
	}
	q.write("main", "")
	q.write("second", "")
	q.write("wrong", "")
	q.hear("/v1/inventory", `"error":"","problems":[]`)
	q.hear("/v1/servers", "wrong", "!env")
	q.kill()
	q.serve()
	q.hear("/v1/servers", "main", "second", "wrong")
}

// TestInventoryCommandOfServe: a command prints the servers, which share an option file; --server gives others.
func TestInventoryCommandOfServe(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	q := toQueue(t, 10)
	list := filepath.Join(q.home, "list.json")
	file := filepath.Join(q.home, "main.cnf")
	text := fmt.Sprintf(`{"servers":[{"name":"x","file":%q,"labels":{"cell":"eu1"}},{"name":"main","file":%[1]q}]}`, file)
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	q.serve("--inventory-command=cat "+list, "--approve=y", "--keep-old=z=7d")
	contains(t, q.daemon.stdout.String(), "--approve y: no server has the name y now", "--keep-old z: ")
	var servers []queue.ServerInfo
	var found queue.Inventory
	for path, to := range map[string]any{"/v1/servers": &servers, "/v1/inventory": &found} {
		if status, text := q.http("GET", path, ""); status != http.StatusOK || json.Unmarshal([]byte(text), to) != nil {
			t.Fatalf("%d %s", status, text)
		}
	}
	if len(servers) != 2 || servers[1].Name != "x" || servers[1].Labels["cell"] != "eu1" || found.Source != "inventory command" ||
		len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Error, "--server has this name too") {
		t.Errorf("%+v, %+v", servers, found)
	}
	q.submit("a", q.name+" ADD COLUMN c INT", "--server=x")
	q.becomes("a", queue.StateDone)
}

// TestFleetPlanOfServe: the API plans a change for the servers that a selector takes, and answers as midstream fleet plan --json does.
// What is wrong with the question is refused, and so is who may only see.
func TestFleetPlanOfServe(t *testing.T) {
	sideBySide(t)
	q := toInventory(t)
	q.write("a", "labels = app=shop")
	q.write("b", "labels = app=shop")
	q.write("other", "labels = app=log")
	q.write("wrong", "labels = app")
	q.serve()
	ask := func(body string) (status int, answer string) { return q.http("POST", "/v1/fleet/plan", body) }
	status, text := ask(`{"selector":"app=shop","statement":"ALTER TABLE ` + q.name + ` ADD COLUMN note VARCHAR(40)","options":{"undo":"1h"}}`)
	var r fleetplan.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	if r.Count(fleetplan.Fits) != 2 || r.Count(fleetplan.Wrong) != 1 || r.ExitCode != exit.WrongUsage || r.Selector != "app=shop" || len(r.Same) != 1 {
		t.Errorf("%s", text)
	}
	for want, body := range map[string]string{
		"takes none of 3 servers": `{"selector":"app=nothing","statement":"ALTER TABLE a.b ADD COLUMN c INT"}`,
		"for ALTER TABLE":         `{"selector":"*","statement":"DROP TABLE a.b"}`,
		"selector":                `{"selector":"a=","statement":"ALTER TABLE a.b ADD COLUMN c INT"}`,
		"host":                    `{"selector":"*","statement":"ALTER TABLE a.b ADD COLUMN c INT","options":{"host":"x"}}`,
	} {
		if status, text := ask(body); status != http.StatusUnprocessableEntity || !strings.Contains(text, want) {
			t.Errorf("%d %s", status, text)
		}
	}
	q.submit("done", q.name+" ADD COLUMN c INT", "--server=a")
	q.becomes("done", queue.StateDone)
}
