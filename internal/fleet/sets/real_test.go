package sets_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"midstream/internal/fleet/sets"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/queue"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// door leads to a server, until it is shut.
type door struct {
	to     string
	listen net.Listener
	mu     sync.Mutex
	shut   bool
	open   []net.Conn
}

func newDoor(t *testing.T, to string) *door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{to: to, listen: l}
	t.Cleanup(func() { l.Close(); d.set(true) })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go d.lead(client)
		}
	}()
	return d
}

func (d *door) lead(client net.Conn) {
	server, err := net.Dial("tcp", d.to)
	d.mu.Lock()
	if err != nil || d.shut {
		client.Close()
		if err == nil {
			server.Close()
		}
		d.mu.Unlock()
		return
	}
	d.open = append(d.open, client, server)
	d.mu.Unlock()
	go func() { io.Copy(server, client); server.Close() }()
	io.Copy(client, server)
	client.Close()
}

func (d *door) set(shut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = shut
	for _, c := range d.open {
		c.Close()
	}
	d.open = nil
}

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
	doors   []*door
}

const size = 8

func newFleet(t *testing.T, rows int) *fleet {
	t.Helper()
	f := &fleet{t: t, home: t.TempDir()}
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
	for n := range size {
		server := mysqltest.Server(t, []string{"9.7", "8.0"}[n%2])
		db, name := mysqltest.Database(t, server)
		mysqltest.Exec(t, db, "ALTER DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
		book, err := ledger.New(db, name+".orders", ledger.Int(), ledger.Options{Number: dbconn.Number, Writers: 1, Rate: 20})
		if err == nil {
			err = book.Create(t.Context())
		}
		mysqltest.Exec(t, db, "ALTER TABLE orders CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
		if err == nil {
			err = book.Seed(t.Context(), rows, nil)
		}
		if err == nil {
			err = book.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		d := newDoor(t, server.Address)
		_, port, _ := net.SplitHostPort(d.listen.Addr().String())
		text := fmt.Sprintf("[client]\nhost=127.0.0.1\nport=%s\nuser=%s\npassword=%s\n[midstream]\ndatabase=%s\nlabels=app=shop,n=m%d,host=h%d\nreconnect=2s\nno-color\n",
			port, server.User, server.Password, name, n, n%4)
		if err := os.WriteFile(filepath.Join(f.home, "servers", fmt.Sprintf("m%d.cnf", n)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f.dbs, f.ledgers, f.doors = append(f.dbs, db), append(f.ledgers, book), append(f.doors, d)
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
	for n, db := range f.dbs {
		want := "1"
		for _, one := range without {
			if n == one || one < 0 {
				want = "0"
			}
		}
		query := "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders' AND column_name = '" + column + "'"
		if got := mysqltest.Text(db, query); got != want {
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
	if err := syscall.Kill(c.Process, syscall.SIGKILL); c.Process == 0 || err != nil {
		f.t.Fatalf("%+v: %v", c, err)
	}
}

// TestASetOnEightServers: a drifted member is named before anything is written, a run that is killed goes on, a member whose server goes
// away stops the set, and then the set goes on, and is taken back. Each table equals its ledger.
func TestASetOnEightServers(t *testing.T) {
	mysqltest.Seldom(t)
	f := newFleet(t, 3000)
	mysqltest.Exec(t, f.dbs[5], "ALTER TABLE orders ADD COLUMN own INT")
	f.begin()
	f.submit(11, "note", "note", []string{"m5 does not fit", "drifted"}, "--wait")
	f.proves("note", -1)
	f.says(0, nil, "skip", "note", "--server=m5")
	f.killRun("note@m1")
	f.until("note", func(v sets.View) bool {
		for _, m := range v.Members {
			if m.Server == "m7" && m.State == "started" {
				return true
			}
		}
		return false
	})
	if got := mysqltest.Text(f.dbs[1], "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders' AND column_name = 'note'"); got != "1" {
		t.Errorf("the member whose run was killed has %s columns", got)
	}
	f.doors[7].set(true)
	f.says(16, []string{"m7: failed"}, "status", "note", "--wait")
	f.doors[7].set(false)
	f.says(0, []string{"finished", "do not have it: m5"}, "again", "note", "--server=m7", "--wait")
	f.proves("note", 5)
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
	f := newFleet(t, 300)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	killed := 0
	f.begin()
	die := func(id, state string) {
		for {
			time.Sleep(time.Duration(500+moments.IntN(4500)) * time.Millisecond)
			if v := f.view(id); v.State == state {
				return
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
