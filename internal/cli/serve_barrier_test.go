package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/fleet/driver"
	"midstream/internal/fleet/members"
	"midstream/internal/fleet/rollout"
	"midstream/internal/fleet/selector"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/queue"
)

// ofServe is a fleet whose queue is that of midstream serve, with the state of its set in memory.
type ofServe struct {
	t       *testing.T
	servers map[string]map[string]string
	tables  map[string]func(statements ...string)
	count   func(name, query string) string

	mu       sync.Mutex
	state    []byte
	revision uint64
	stored   func(rollout.State) // is called after the state is stored
}

func (f *ofServe) Servers(context.Context) (map[string]map[string]string, error) {
	return f.servers, nil
}

func (f *ofServe) Plans(context.Context, rollout.State) (map[string]rollout.Outcome, error) {
	plans := map[string]rollout.Outcome{}
	for name := range f.servers {
		plans[name] = rollout.OutcomeFit
	}
	return plans, nil
}

func (f *ofServe) Requests(context.Context, uint64) ([]rollout.Request, error) { return nil, nil }

func (f *ofServe) Finish(context.Context) error { return nil }

func (f *ofServe) Load(context.Context) (s rollout.State, revision uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return s, f.revision, json.Unmarshal(f.state, &s)
}

func (f *ofServe) Save(_ context.Context, s rollout.State, revision uint64) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if revision != f.revision {
		return 0, driver.ErrStale
	}
	f.state, _ = json.Marshal(s)
	f.revision++
	f.stored(s)
	return f.revision, nil
}

// swapped are the servers on which the column has its new type.
func (f *ofServe) swapped() (names []string) {
	for name := range f.servers {
		if strings.HasPrefix(f.count(name, "SELECT column_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' AND column_name = 'v'"), "bigint") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// barrierDatabase is the database of the fleet's tables, on each of its servers.
const barrierDatabase = "midstream_barrier"

// newOfServe makes a fleet of two servers with a table each, and the flags of serve. blocked runs statements in a session of the first
// server.
func newOfServe(t *testing.T, home string) (f *ofServe, flags []string, blocked func(statements ...string)) {
	t.Helper()
	f = &ofServe{t: t, servers: map[string]map[string]string{}, tables: map[string]func(...string){}}
	flags = []string{"--control-dir=" + filepath.Join(home, "c"), "--state-dir=" + filepath.Join(home, "state")}
	dbs := map[string]func(query string) string{}
	for i, version := range []string{"9.7", "mariadb-10.11"} {
		name, server := fmt.Sprintf("s%d", i), mysqltest.Server(t, version)
		executing(t, server, "")("DROP DATABASE IF EXISTS "+barrierDatabase, "CREATE DATABASE "+barrierDatabase)
		t.Cleanup(func() { executing(t, server, "")("DROP DATABASE IF EXISTS " + barrierDatabase) })
		run := executing(t, server, barrierDatabase)
		run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
		db := server.Open(t, barrierDatabase)
		dbs[name] = func(query string) (text string) {
			if err := db.QueryRowContext(context.Background(), query).Scan(&text); err != nil {
				t.Fatal(err)
			}
			return text
		}
		file := "[client]\n"
		for _, flag := range flagsTo(t, server) {
			file += strings.TrimPrefix(flag, "--") + "\n"
		}
		path := filepath.Join(home, name+".cnf")
		if err := os.WriteFile(path, []byte(file+"[midstream]\nlock-wait = 100ms\nlock-work = 2s\ndrop-old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--server="+name+"="+path)
		f.servers[name], f.tables[name] = map[string]string{"server": name}, run
		if i == 0 {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			blocked = func(statements ...string) {
				for _, s := range statements {
					if _, err := conn.ExecContext(context.Background(), s); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	f.count = func(name, query string) string { return dbs[name](query) }
	return f, flags, blocked
}

// TestServeMakesABarrier: a change set with a barrier through midstream serve. A blocked member keeps all from swapping; once it is free,
// all swap by one decision, although serve is killed just after it.
func TestServeMakesABarrier(t *testing.T) {
	mysqltest.Seldom(t)
	home := t.TempDir()
	f, flags, blocked := newOfServe(t, home)
	daemon, at := servingAt(t, home, flags, "127.0.0.1:0")
	set := f.set()

	const rounds = 2 // in which the member is blocked
	free, decided := make(chan struct{}), make(chan struct{})
	var once, killed sync.Once
	f.stored = func(s rollout.State) {
		switch w := s.Waves[0]; {
		case w.Open:
			killed.Do(func() { close(decided) })
			_ = daemon.cmd.Process.Kill()
		case w.Round > rounds:
			once.Do(func() { close(free) })
		}
	}
	blocked("BEGIN", "SELECT COUNT(*) FROM t")
	client := clientOf(home, at)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d := &driver.Driver{
		Set: set, Store: f, Every: 20 * time.Millisecond, Resend: 20,
		Fleet: &members.Fleet{Set: set, Queue: client, World: f},
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	wait := func(what string, c chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case err := <-ended:
			t.Fatalf("%s: the driver has ended: %v", what, err)
		case <-ctx.Done():
			list, err := client.Members(t.Context(), "b")
			t.Fatalf("%s: %s, %+v, %v\n%s", what, f.state, list, err, &daemon.stdout)
		}
	}
	wait("two rounds", free)
	if names := f.swapped(); len(names) > 0 {
		t.Errorf("%v are swapped while a member is blocked", names)
	}
	blocked("COMMIT")
	wait("the decision", decided)
	<-daemon.done
	time.Sleep(set.Swap.Hold + time.Second) // longer than the lock is held
	if names := f.swapped(); len(names) > 0 {
		t.Errorf("%v are swapped without a commit", names)
	}
	for name, run := range f.tables {
		began := time.Now()
		run("UPDATE t SET v = v + 1 WHERE id = 1")
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("the table of %s is locked for %s", name, took)
		}
	}
	servingAt(t, home, flags, strings.TrimPrefix(at, "http://"))
	if err := <-ended; err != nil {
		list, _ := client.Members(t.Context(), "b")
		t.Fatalf("%v: %s, %+v", err, f.state, list)
	}
	if names := f.swapped(); len(names) != len(f.servers) {
		t.Errorf("swapped: %v", names)
	}
}

// unfrozen is a queue whose freezes a driver does not know yet.
type unfrozen struct{ *queue.Client }

func (unfrozen) Freezes(context.Context) ([]queue.Freeze, error) { return nil, nil }

// TestAFrozenServerDoesNotSwapAfterTheDecision: a server is frozen after the decision of a barrier, and before its commit. It swaps once
// the freeze ends, also if the driver does not know of it.
func TestAFrozenServerDoesNotSwapAfterTheDecision(t *testing.T) {
	mysqltest.Seldom(t)
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprintf("the driver knows: %t", knows), func(t *testing.T) { frozenAfterTheDecision(t, knows) })
	}
}

func frozenAfterTheDecision(t *testing.T, knows bool) {
	home := t.TempDir()
	f, flags, _ := newOfServe(t, home)
	_, at := servingAt(t, home, flags, "127.0.0.1:0")
	set := f.set()
	client := clientOf(home, at)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	frozen := make(chan struct{})
	var once sync.Once
	f.stored = func(s rollout.State) {
		if s.Waves[0].Open {
			once.Do(func() {
				if _, err := client.Freeze(ctx, queue.FreezeRequest{Server: "s1", Reason: "a sale"}); err != nil {
					t.Error(err)
				}
				close(frozen)
			})
		}
	}
	fleet := &members.Fleet{Set: set, Queue: client, World: f}
	if !knows {
		fleet.Queue = unfrozen{client}
	}
	d := &driver.Driver{Set: set, Store: f, Every: 20 * time.Millisecond, Resend: 20, Fleet: fleet}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	await := func(what string, is func() bool) {
		t.Helper()
		for !is() {
			select {
			case err := <-ended:
				t.Fatalf("%s: the driver has ended: %v", what, err)
			case <-ctx.Done():
				t.Fatalf("%s: %s", what, f.state)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	await("the decision", func() bool {
		select {
		case <-frozen:
			return true
		default:
			return false
		}
	})
	await("the other server swaps", func() bool { return slices.Contains(f.swapped(), "s0") })
	// longer than its lock
	for end := time.Now().Add(set.Swap.Hold + time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if slices.Contains(f.swapped(), "s1") {
			t.Fatal("the frozen server has swapped")
		}
	}
	if _, err := client.Unfreeze(ctx, "s1"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v: %s", err, f.state)
	}
	if names := f.swapped(); len(names) != len(f.servers) {
		t.Errorf("swapped: %v", names)
	}
}

// set is a set with a barrier over the servers, which is stored.
func (f *ofServe) set() rollout.Set {
	f.t.Helper()
	all, err := selector.Parse("*")
	if err != nil {
		f.t.Fatal(err)
	}
	set := rollout.Set{
		ID: "b", Statement: "ALTER TABLE " + barrierDatabase + ".t MODIFY v BIGINT", Author: "anna", Selector: all, Waves: []rollout.Wave{{Name: "all"}},
		Swap: rollout.Swap{When: rollout.WhenBarrier, Hold: 2 * time.Second, Margin: 40 * time.Millisecond},
	}.Defaults()
	state, err := rollout.Begin(set, f.servers)
	if err != nil {
		f.t.Fatal(err)
	}
	f.state, _ = json.Marshal(state)
	return set
}

// clientOf asks the service of a home.
func clientOf(home, at string) *queue.Client {
	return &queue.Client{At: at, Token: func() (string, error) {
		text, err := os.ReadFile(filepath.Join(home, ".local/state/midstream/token"))
		return strings.TrimSpace(string(text)), err
	}, HTTP: http.DefaultClient}
}

// servingAt starts midstream serve with servers, and returns it with its URL.
func servingAt(t *testing.T, home string, flags []string, listen string) (daemon *running, url string) {
	t.Helper()
	cmd := command(t, append([]string{"serve", "--listen=" + listen}, flags...)...)
	cmd.Env = append(cmd.Env, "HOME="+home, "XDG_STATE_HOME=")
	daemon = start(t, cmd)
	daemon.await(&daemon.stdout, "the queue is kept in")
	_, rest, _ := strings.Cut(daemon.stdout.String(), "the queue is open at ")
	url, _, _ = strings.Cut(rest, ",")
	return daemon, url
}
