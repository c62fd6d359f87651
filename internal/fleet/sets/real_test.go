package sets_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/fleet/sets"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/queue"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// fleet are eight members on real servers, each with writers, and a midstream serve.
type fleet struct {
	t       *testing.T
	home    string
	binary  string
	url     string
	serve   *exec.Cmd
	log     *os.File
	dbs     []*sql.DB
	ledgers []*ledger.Ledger
	servers []*mysqltest.Instance
	tables  []schema.Name
}

const size = 8

// shared are the servers of a fleet whose members share two servers.
func shared(t *testing.T) (all []*mysqltest.Instance) {
	for n := range size {
		all = append(all, mysqltest.Server(t, []string{"9.7", "8.0"}[n%2]))
	}
	return all
}

// own are a server for each member, with as little memory as they need.
func own(t *testing.T) []*mysqltest.Instance {
	small := sandbox.Options{Settings: map[string]string{
		"innodb_buffer_pool_size": "32M", "innodb_redo_log_capacity": "32M", "performance_schema_digests_size": "1000",
		"max_connections": "60", "table_open_cache": "200", "table_definition_cache": "400", "innodb_log_buffer_size": "1M",
	}}
	four := []sandbox.Options{small, small, small, small}
	old := sandbox.Options{Settings: maps.Clone(small.Settings)}
	delete(old.Settings, "innodb_redo_log_capacity") // 8.0.30 and later
	return append(mysqltest.OwnAll(t, "9.7", four...), mysqltest.OwnAll(t, "8.0", old, old, old, old)...)
}

// newFleet has a member on each server. slow members have ten times the rows, and copy them slowly.
func newFleet(t *testing.T, servers []*mysqltest.Instance, rows int, slow ...int) *fleet {
	t.Helper()
	f := &fleet{t: t, home: t.TempDir(), servers: servers}
	f.binary = filepath.Join(f.home, "ms")
	if out, err := exec.Command("go", "build", "-o", f.binary, "midstream/cmd/midstream").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.url = "http://" + l.Addr().String()
	l.Close()
	if err := os.Mkdir(filepath.Join(f.home, "servers"), 0o700); err != nil {
		t.Fatal(err)
	}
	if f.log, err = os.Create(filepath.Join(f.home, "log")); err != nil {
		t.Fatal(err)
	}
	for n, server := range servers {
		rows, options := rows, ""
		if slices.Contains(slow, n) {
			rows, options = 10*rows, "method=shadow\ncopy-share=10%\nchunk-time=10ms\n"
		}
		f.member(n, server, rows, options)
	}
	t.Cleanup(func() {
		f.kill()
		f.clear()
		if text, err := os.ReadFile(f.log.Name()); err == nil && t.Failed() {
			t.Logf("%s", text)
		}
	})
	return f
}

// member gives a server a table with a writer, and an option file.
func (f *fleet) member(n int, server *mysqltest.Instance, rows int, options string) {
	f.t.Helper()
	db, name := mysqltest.Database(f.t, server)
	mysqltest.Exec(f.t, db, "ALTER DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
	book, err := ledger.New(db, name+".orders", ledger.Int(),
		ledger.Options{Number: dbconn.Number, Writers: 1, Rate: 20, Reconnect: 2 * time.Minute})
	if err == nil {
		err = book.Create(f.t.Context())
	}
	mysqltest.Exec(f.t, db, "ALTER TABLE orders CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
	if err == nil {
		err = book.Seed(f.t.Context(), rows, nil)
	}
	if err == nil {
		err = book.Start(f.t.Context())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(server.Address)
	text := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n[midstream]\ndatabase=%s\nlabels=app=shop,n=m%d,host=h%d\nno-color\n%s",
		host, port, server.User, server.Password, name, n, n%4, options)
	if err := os.WriteFile(filepath.Join(f.home, "servers", fmt.Sprintf("m%d.cnf", n)), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.dbs, f.ledgers, f.tables = append(f.dbs, db), append(f.ledgers, book), append(f.tables, schema.Name{Schema: name, Table: "orders"})
}

// option adds a line to the option file of a member.
func (f *fleet) option(n int, line string) {
	f.t.Helper()
	path := filepath.Join(f.home, "servers", fmt.Sprintf("m%d.cnf", n))
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, line+"\n"...), 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// clear drops what the redo of an undo needs: another set would be refused.
func (f *fleet) clear() {
	for _, db := range f.dbs {
		if _, err := db.Exec("DROP TABLE IF EXISTS orders_undo, orders_undone, orders_old"); err != nil {
			f.t.Error(err)
		}
	}
}

func (f *fleet) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.binary, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+f.home)
	return cmd
}

// begin starts the service; kill kills it.
func (f *fleet) begin() {
	f.t.Helper()
	f.serve = f.command("serve", "--inventory="+filepath.Join(f.home, "servers"), "--state-dir="+filepath.Join(f.home, "state"),
		"--control-dir="+filepath.Join(f.home, "c"), "--listen="+strings.TrimPrefix(f.url, "http://"))
	f.serve.Stdout, f.serve.Stderr = f.log, f.log
	if err := f.serve.Start(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) kill() {
	if f.serve != nil {
		_ = f.serve.Process.Signal(syscall.SIGKILL)
		_ = f.serve.Wait()
		f.serve = nil
	}
}

// ask runs a verb below fleet, and returns its exit code and output.
func (f *fleet) ask(args ...string) (int, string) {
	var out bytes.Buffer
	cmd := f.command(append(append([]string{"fleet"}, args...), "--service="+f.url)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String()
}

// says fails unless a verb has an exit code, and its output texts. It asks again while the service begins.
func (f *fleet) says(code int, texts []string, args ...string) {
	f.t.Helper()
	got, out := f.ask(args...)
	for end := time.Now().Add(20 * time.Second); (strings.Contains(out, "cannot reach") || strings.Contains(out, "cannot read the token")) && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
		got, out = f.ask(args...)
	}
	if got != code {
		f.t.Fatalf("%q: %d, not %d\n%s", args, got, code, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			f.t.Errorf("%q lacks %q:\n%s", args, text, out)
		}
	}
}

// view is a set, or nothing if the service does not answer.
func (f *fleet) view(id string) (v sets.View) {
	cmd := f.command("fleet", "status", id, "--json", "--service="+f.url)
	if out, err := cmd.Output(); err == nil {
		_ = json.Unmarshal(out, &v)
	}
	return v
}

// until waits until a set is as wanted.
func (f *fleet) until(id string, is func(sets.View) bool) sets.View {
	f.t.Helper()
	var v sets.View
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if v = f.view(id); v.ID != "" && is(v) {
			return v
		}
	}
	f.t.Fatalf("set %s: %+v", id, v)
	return v
}

// proves compares all tables with their ledgers, and looks which members have a column.
func (f *fleet) proves(column string, without ...int) {
	f.t.Helper()
	for n := range f.dbs {
		want := "1"
		if slices.Contains(without, n) || slices.Contains(without, -1) {
			want = "0"
		}
		if got := f.has(n, column); got != want {
			f.t.Errorf("m%d: %s columns %s, not %s", n, got, column, want)
		}
		if err := f.ledgers[n].Pause(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
		proof, err := f.ledgers[n].Compare(f.t.Context())
		if err != nil {
			f.t.Errorf("m%d: %s %v", n, proof, err)
		}
		f.ledgers[n].Resume()
	}
}

// submit writes and submits a set.
func (f *fleet) submit(code int, id, column string, texts []string, more ...string) {
	f.t.Helper()
	path := filepath.Join(f.home, id+".yaml")
	text := "id: " + id + "\nstatement: ALTER TABLE orders ADD COLUMN " + column + " INT NOT NULL DEFAULT 7, ENGINE=InnoDB\n" + `selector: app=shop
waves:
  - {name: canary, selector: n=m0, soak: 1s}
  - {name: some, selector: "n in (m1,m2,m3)"}
  - {name: rest}
limits: {all: 4, per_host: 1}
retry: {attempts: 2, wait: 1s}
undo: 24h
swap: {when: wave_ready}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.says(code, texts, append([]string{"submit", path}, more...)...)
}

// killRun kills the run of a change.
func (f *fleet) killRun(id string) {
	f.t.Helper()
	var c queue.Change
	for end := time.Now().Add(time.Minute); c.Process == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if out, err := f.command("queue", id, "--json", "--service="+f.url).Output(); err == nil {
			_ = json.Unmarshal(out, &c)
		}
	}
	if c.Process <= 0 { // 0 would be this process, and its group
		f.t.Fatalf("change %s has no process: %+v", id, c)
	}
	if err := syscall.Kill(c.Process, syscall.SIGKILL); err != nil {
		f.t.Fatalf("%+v: %v", c, err)
	}
}

// has is the number of a member's columns with a name.
func (f *fleet) has(n int, column string) string {
	return mysqltest.Text(f.dbs[n], "SELECT COUNT(*) FROM information_schema.columns"+
		" WHERE table_schema = DATABASE() AND table_name = 'orders' AND column_name = '"+column+"'")
}

// crash kills the server of a member (SIGKILL) while its rows are copied.
func (f *fleet) crash(n int) {
	f.t.Helper()
	shadow := "SELECT COUNT(*) FROM " + plan.NamesOf(f.tables[n]).Shadow.String()
	var rows, of int
	for end := time.Now().Add(2 * time.Minute); rows == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_ = f.dbs[n].QueryRow(shadow).Scan(&rows) // there is none yet
	}
	if err := f.dbs[n].QueryRow("SELECT COUNT(*) FROM orders").Scan(&of); err != nil || rows == 0 || rows > of*3/4 {
		f.t.Fatalf("m%d has copied %d rows of %d: %v", n, rows, of, err)
	}
	if err := f.servers[n].Sandbox.Kill(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Logf("m%d was killed with %d of %d rows copied", n, rows, of)
}

// restart starts a server that was killed.
func (f *fleet) restart(n int) {
	f.t.Helper()
	if err := f.servers[n].Sandbox.Restart(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// memory is that of all servers, in MB.
func (f *fleet) memory() (mb int) {
	for _, s := range f.servers {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Sandbox.PID()))
		for line := range strings.Lines(string(status)) {
			var kb int
			if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
				mb += kb / 1024
			}
		}
	}
	return mb
}

// TestASetOnEightServers: each member has a server process of its own, with a writer. A drifted member is named before anything is
// written, and skipped. A run that is killed goes on, and so does one whose server is killed and is back in time. A server that is
// killed and stays away stops the set: no other member of its wave swaps. Once it is back, the set goes on, and is taken back. Each
// table equals its ledger.
func TestASetOnEightServers(t *testing.T) {
	mysqltest.Seldom(t)
	f := newFleet(t, own(t), 3000, 3, 7)
	mysqltest.Exec(t, f.dbs[5], "ALTER TABLE orders ADD COLUMN own INT")
	f.option(3, "reconnect=2m")
	f.option(7, "reconnect=2s")
	f.begin()
	f.submit(11, "note", "note", []string{"m5 does not fit", "drifted"}, "--wait")
	f.proves("note", -1)
	f.says(0, nil, "skip", "note", "--server=m5")
	f.killRun("note@m1")
	f.crash(3)
	f.restart(3)
	f.until("note", func(v sets.View) bool { return len(v.Waves) == 3 && v.Waves[1].State == "passed" })
	for n := range 4 {
		if got := f.has(n, "note"); got != "1" {
			t.Errorf("m%d has %s columns", n, got)
		}
	}

	f.crash(7)
	f.says(16, []string{"m7: failed"}, "status", "note", "--wait")
	t.Logf("seven servers have %d MB", f.memory())
	for n := 4; n < 7; n++ {
		if got := f.has(n, "note"); got != "0" {
			t.Errorf("m%d has swapped without m7", n)
		}
	}
	f.restart(7)
	f.says(0, []string{"finished", "do not have it: m5"}, "again", "note", "--server=m7", "--wait")
	for _, m := range f.view("note").Members {
		if want := map[string]int{"m3": 1, "m5": 0, "m7": 3}[m.Server]; m.Server != "m1" && m.Attempt != max(want, 1) && m.Server != "m5" {
			t.Errorf("%+v", m)
		}
	}
	f.proves("note", 5)
	mb := f.memory()
	t.Logf("eight servers have %d MB", mb)
	if mb > 6000 {
		t.Errorf("the servers have %d MB", mb)
	}
	f.says(0, []string{"undone"}, "undo", "note", "--wait")
	f.proves("note", -1)
}

// TestServeIsKilledDuringASet: a service that is killed at any moment forgets nothing, and does nothing twice.
func TestServeIsKilledDuringASet(t *testing.T) {
	mysqltest.Seldom(t)
	kills := 10
	if os.Getenv("MIDSTREAM_TEST_TURN") == "all" { // make nightly
		kills = 50
	}
	f := newFleet(t, shared(t), 300)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	killed := 0
	f.begin()
	die := func(id, state string) {
		reached, longest := "", 4500
		for {
			time.Sleep(time.Duration(500+moments.IntN(longest)) * time.Millisecond)
			v := f.view(id)
			if v.State == state {
				return
			}
			longest = min(2*longest, 60_000) // a slow machine gets nowhere in a few seconds
			if now := fmt.Sprint(v.State, v.Counts, v.Work); now != reached {
				reached, longest = now, 4500
			}
			if killed++; killed > 4*kills {
				t.Fatalf("set %s does not end: %+v", id, f.view(id))
			}
			f.kill()
			f.begin()
		}
	}
	for round := 0; killed < kills; round++ {
		id := fmt.Sprint("k", round)
		f.submit(0, id, id, nil)
		die(id, "finished")
		f.proves(id)
		f.says(0, nil, "undo", id)
		die(id, "undone")
		f.proves(id, -1)
		f.clear()
		v := f.view(id)
		for _, m := range v.Members {
			if m.Attempt != 2 || len(v.Unchanged) != size {
				t.Errorf("%s of %s: %+v", m.Server, id, m)
			}
		}
	}
	t.Logf("%d kills", killed)
}
