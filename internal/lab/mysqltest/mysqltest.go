package mysqltest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"midstream/internal/lab/sandbox"
)

// Instance is a server that tests may use. It is safe for concurrent use.
type Instance struct {
	Network  string // "tcp" or "unix"
	Address  string
	User     string // has every privilege
	Password string
	Release  string          // as the server says, such as "9.7.4-2"
	Sandbox  *sandbox.Server // nil if the server is MIDSTREAM_TEST_DSN's

	base     *mysql.Config
	admin    *sql.DB       // of this package, for databases and looks
	patience time.Duration // how long leftovers may take to go by themselves

	mu   sync.Mutex // held while the server is looked at as a whole
	live int        // databases in use
}

// servers are those that the tests of this binary share. A test binary has one set of them, and
// TestMain, which ends it, can't be given anything: so it is global.
var servers registry

type registry struct {
	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	once     sync.Once
	instance *Instance
	err      error
}

// Main runs the tests, ends their servers, and exits. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	for _, err := range servers.stop() {
		fmt.Fprintln(os.Stderr, "mysqltest:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "mysqltest:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Server returns the server of the version (see sandbox.Version) that the tests of this binary
// share, and starts it for the first of them. The binary's TestMain must call Main.
func Server(t testing.TB, version string) *Instance {
	t.Helper()
	skipShort(t)
	if os.Getenv("MIDSTREAM_TEST_DSN") != "" {
		version = "MIDSTREAM_TEST_DSN"
	}
	e := servers.entry(version)
	// Not the test's context: the server is for those that come after it, too.
	e.once.Do(func() {
		if version == "MIDSTREAM_TEST_DSN" {
			e.instance, e.err = external(context.Background(), os.Getenv(version))
		} else {
			e.instance, e.err = launch(context.Background(), t, version, sandbox.Options{})
		}
	})
	require(t, e.err)
	return e.instance
}

// InTurn returns one of the versions, so that the tests of a commit take as long as on one server.
// The test's name and MIDSTREAM_TEST_TURN choose it, as TurnOf says.
func InTurn(t testing.TB, versions ...string) []string {
	t.Helper()
	return TurnOf(t.Name(), versions...)
}

// TurnOf returns the version that has its turn for a name. CI sets MIDSTREAM_TEST_TURN to a number
// that grows with each commit. If it is "all", as for make matrix, TurnOf returns all versions.
func TurnOf(name string, versions ...string) []string {
	number, all := turn()
	if all || len(versions) == 0 {
		return versions
	}
	n := (seed(name) + number) % uint64(len(versions))
	return versions[n : n+1]
}

// HalfInTurn returns every second of the points at which a test stops a run, and the others on other
// commits. Eight commits in a row have every pair of a point and one of up to four versions. If
// MIDSTREAM_TEST_TURN is "all", HalfInTurn returns all points.
func HalfInTurn[Point any](t testing.TB, points ...Point) (half []Point) {
	t.Helper()
	number, all := turn()
	first := seed(t.Name()) + number + number/2 + number/4
	for n, point := range points {
		if all || (first+uint64(n))%2 == 0 {
			half = append(half, point)
		}
	}
	return half
}

// Seldom has a slow test run on about one of twelve commits, and on each in make nightly: it skips it on the others. The
// test's name and MIDSTREAM_TEST_TURN choose the commit. It skips no test if tests are chosen with -run.
func Seldom(t testing.TB) {
	t.Helper()
	number, all := turn()
	if chosen := flag.Lookup("test.run"); all || chosen != nil && chosen.Value.String() != "" {
		return
	}
	if seed(fmt.Sprintf("%s, turn %d", t.Name(), number))%12 != 0 {
		t.Skip("slow: it runs on other commits, and in make nightly")
	}
}

// turn is the number in MIDSTREAM_TEST_TURN, 0 if it is not set.
func turn() (number uint64, all bool) {
	text := os.Getenv("MIDSTREAM_TEST_TURN")
	number, _ = strconv.ParseUint(text, 10, 31)
	return number, text == "all"
}

func seed(name string) uint64 {
	h := fnv.New32()
	h.Write([]byte(name))
	return uint64(h.Sum32())
}

// Own returns a server that is this test's alone, for tests that kill it or need other settings. It
// is stopped when the test ends. It is a sandbox server even if MIDSTREAM_TEST_DSN is set.
func Own(t testing.TB, version string, o sandbox.Options) *Instance {
	t.Helper()
	skipShort(t)
	i, err := launch(t.Context(), t, version, o)
	require(t, err)
	t.Cleanup(func() {
		if err := i.stop(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// OwnAll is Own for servers that belong together, which are started side by side.
func OwnAll(t testing.TB, version string, options ...sandbox.Options) []*Instance {
	t.Helper()
	skipShort(t)
	all, failed := make([]*Instance, len(options)), make([]error, len(options))
	var starting sync.WaitGroup
	for i, o := range options {
		starting.Go(func() { all[i], failed[i] = launch(t.Context(), t, version, o) })
	}
	starting.Wait()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		all := slices.DeleteFunc(all, func(i *Instance) bool { return i == nil })
		for _, i := range all {
			i.calm(ctx) // all of them, before one of them ends
		}
		var stopping sync.WaitGroup
		for _, i := range all {
			stopping.Go(func() {
				if err := i.stop(); err != nil {
					t.Error(err)
				}
			})
		}
		stopping.Wait()
	})
	for _, err := range failed {
		require(t, err)
	}
	return all
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a MySQL server")
	}
}

// require ends the test if it has no server.
func require(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, sandbox.ErrUnavailable) && os.Getenv("MIDSTREAM_TEST_STRICT") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (r *registry) entry(name string) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = make(map[string]*entry)
	}
	if r.entries[name] == nil {
		r.entries[name] = &entry{}
	}
	return r.entries[name]
}

// stop ends every server and returns what went wrong with them.
// REQUIRES: no test runs.
func (r *registry) stop() (failures []error) {
	for _, e := range r.entries {
		if e.instance == nil {
			continue
		}
		if err := e.instance.stop(); err != nil {
			failures = append(failures, err)
		}
	}
	return failures
}

// launch starts a sandbox server.
func launch(ctx context.Context, t testing.TB, version string, o sandbox.Options) (*Instance, error) {
	build, err := sandbox.Fetch(ctx, sandbox.Version(version), func(what string) { t.Log(what) })
	if err != nil {
		return nil, err
	}
	o.InMemory = !o.Durable // it takes a tenth of the processor time of tests less
	s, err := build.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	base := mysql.NewConfig()
	base.Net, base.Addr, base.User, base.Passwd = "tcp", s.Address, s.User, s.Password
	i, err := newInstance(ctx, base)
	if err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	i.Sandbox = s
	return i, nil
}

// external takes a server that is there already.
func external(ctx context.Context, dsn string) (*Instance, error) {
	base, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("read MIDSTREAM_TEST_DSN: %w", err)
	}
	base.DBName = ""
	i, err := newInstance(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("use the server of MIDSTREAM_TEST_DSN: %w", err)
	}
	return i, nil
}

// program marks this package's connections; the engine's carry another name.
const program = "mysqltest"

func newInstance(ctx context.Context, base *mysql.Config) (*Instance, error) {
	base.ConnectionAttributes = "program_name:" + program
	base.Logger = &mysql.NopLogger{} // what goes wrong is returned
	i := &Instance{Network: base.Net, Address: base.Addr, User: base.User, Password: base.Passwd,
		base: base, patience: 10 * time.Second}
	config := i.Config("")
	config.Params = map[string]string{"lock_wait_timeout": "20"} // dropping a database that is locked
	var err error
	if i.admin, err = open(config); err != nil {
		return nil, err
	}
	i.admin.SetMaxOpenConns(2)
	if err := i.admin.QueryRowContext(ctx, "SELECT VERSION()").Scan(&i.Release); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", i.Address, err), i.admin.Close())
	}
	return i, nil
}

// stop ends the server if it is ours.
func (i *Instance) stop() error {
	if i.Sandbox == nil {
		return i.admin.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	i.calm(ctx)
	return errors.Join(i.admin.Close(), i.Sandbox.Stop(ctx))
}

// calm ends replication from another server, and the event scheduler: MySQL 8.0 and later may take
// eight seconds to shut down while the former runs, and the latter loops for all of that time. It is
// a courtesy: the server may be killed already.
func (i *Instance) calm(ctx context.Context) {
	if _, err := i.admin.ExecContext(ctx, "STOP REPLICA"); err != nil {
		_, _ = i.admin.ExecContext(ctx, "STOP SLAVE") // before 8.0.22
	}
	_, _ = i.admin.ExecContext(ctx, "SET GLOBAL event_scheduler = OFF")
}

// Config returns a driver configuration for the server and a database, which may be "". It is the
// caller's to change; its connections are known as a test's.
func (i *Instance) Config(database string) *mysql.Config {
	c := i.base.Clone()
	c.DBName = database
	return c
}

// Open returns a pool of connections to a database, which may be "". It is closed when the test
// ends.
func (i *Instance) Open(t testing.TB, database string) *sql.DB {
	t.Helper()
	db, err := open(i.Config(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func open(config *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Addr, err)
	}
	return sql.OpenDB(connector), nil
}
