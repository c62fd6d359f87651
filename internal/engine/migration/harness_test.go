package migration_test

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/ledger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) {
	if os.Getenv(asMidstream) != "" {
		beMidstream()
	}
	flag.Parse()
	if *servers != "" {
		versions, all = strings.Split(*servers, ","), strings.Split(*servers, ",")
	}
	mysqltest.Main(m)
}

var (
	servers = flag.String("servers", "", "versions of the server for every test, see package sandbox, with commas between them")
	// versions are the servers that the engine is tested on: what `make matrix` sets, or the newest
	// server and one of the oldest.
	versions = []string{"9.7", "8.0"}
	// all are the servers that take turns in tests of what differs most: the contents of a binlog,
	// and the swap of tables.
	all = []string{"9.7", "8.0", "5.7", "mariadb-10.11"}
)

// onTwo runs a test of what differs most between servers, on one of all, in turn.
func onTwo(t *testing.T, test func(b *bench)) { onThese(t, inTurn(t, all), test) }

// inTurn is one of the versions, chosen by mysqltest.InTurn, or all if -servers names them.
func inTurn(t *testing.T, list []string) []string {
	if *servers != "" {
		return list
	}
	return mysqltest.InTurn(t, list...)
}

// halfInTurn is every second point at which a test stops runs, chosen by mysqltest.HalfInTurn. With
// -servers and -every-pair it is all of them.
func halfInTurn[Point any](t *testing.T, points []Point) []Point {
	if *servers != "" || *everyPair {
		return points
	}
	return mysqltest.HalfInTurn(t, points...)
}

// modern are the versions with MySQL 8.0's types, collations and settings, on which they are tested.
func modern() (list []string) {
	for _, v := range versions {
		if v != "5.7" && !isMariaDB(v) {
			list = append(list, v)
		}
	}
	return list
}

// in is a profile with the version's replacements of MySQL 8.0's collations; false if it has none.
func in(p ledger.Profile, version string) (ledger.Profile, bool) {
	const collation = "utf8mb4_0900_ai_ci"
	p.Columns = slices.Clone(p.Columns)
	for i, c := range p.Columns {
		switch {
		case !strings.Contains(c.Definition, collation):
		case isMariaDB(version):
			p.Columns[i].Definition = strings.Replace(c.Definition, collation, "utf8mb4_uca1400_nopad_ai_ci", 1)
		case version == "5.7": // all of its collations pad
			return p, false
		}
	}
	return p, true
}

// captured makes the runs of all tests capture changes in that way: the laws hold in both ways.
var captured = flag.String("capture", "", "binlog or trigger; else the plan's choice")

// bench is one test's server, database and events of runs.
type bench struct {
	*testing.T
	version  string
	server   *mysqltest.Instance
	address  string // the server's address for a run
	binlog   string // the binlog's server; "" is address
	db       *sql.DB
	schema   string
	cfg      migration.Config
	settings operator.Settings
	wish     plan.Wish
	filter   string // of rows, as plan.Options has it
	set      plan.Settings
	into     plan.Into
	capture  plan.Capture // "" for the flag's way
	// steered makes runs give way to the writers, as they do by default. Otherwise the suite would
	// take an hour.
	steered bool
	told    *told
	freed   time.Time // when a blocker went
}

// setup gives a test a database of its own.
func setup(t *testing.T, version string) *bench {
	t.Helper()
	return on(t, version, mysqltest.Server(t, version))
}

// on gives a test a database of its own on a server.
func on(t *testing.T, version string, server *mysqltest.Instance) *bench {
	t.Helper()
	db, name := mysqltest.Database(t, server)
	b := &bench{T: t, version: version, server: server, address: server.Address, db: db, schema: name, told: newTold()}
	b.settings.Lock.Work = patientWork
	return b
}

// patientWork is the time for the work under the lock in tests that are not about this time. With the usual 250 ms, a swap of a
// group on a machine that is five times slower has an attempt each ten seconds, and does not end.
const patientWork = 2 * time.Second

// hurried gives a test the usual time for the work under the lock.
func (b *bench) hurried() { b.settings.Lock.Work = 0 }

// onEach runs a test on one of the versions, in turn.
func onEach(t *testing.T, test func(b *bench)) { onThese(t, inTurn(t, versions), test) }

func onThese(t *testing.T, chosen []string, test func(b *bench)) {
	for _, v := range chosen {
		t.Run(v, func(t *testing.T) {
			sideBySide(t)
			test(setup(t, v))
		})
	}
}

// sideBySide lets a test run next to others on the same servers. Some tests must not call it: tests
// that change a server as a whole (its settings, its locks, its logs, sessions of others), and
// tests that measure times. Go runs these one after the other, before all others.
func sideBySide(t *testing.T) {
	if os.Getenv("MIDSTREAM_TEST_DSN") == "" { // all have the same one
		t.Parallel()
	}
}

// onEachAlone is onEach for tests that must not call sideBySide: they run one after the other.
func onEachAlone(t *testing.T, test func(b *bench)) {
	for _, v := range inTurn(t, versions) {
		t.Run(v, func(t *testing.T) { test(setup(t, v)) })
	}
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	b.Cleanup(cancel)
	return ctx
}

// exec runs statements. The schema is the default database.
func (b *bench) exec(statements ...string) {
	b.Helper()
	for _, s := range statements {
		if _, err := b.db.ExecContext(b.ctx(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
}

// value reads one value as text.
func (b *bench) value(query string) string {
	b.Helper()
	var v sql.NullString
	if err := b.db.QueryRowContext(b.ctx(), query).Scan(&v); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return v.String
}

// conn is a connection of its own.
func (b *bench) conn() *sql.Conn {
	b.Helper()
	c, err := b.db.Conn(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

// plan makes the plan of an ALTER of table t.
func (b *bench) plan(pool *dbconn.Pool, clauses string, options plan.Options) (*plan.Plan, error) {
	b.Helper()
	name := schema.Name{Schema: b.schema, Table: "t"}
	alter, err := ddl.Parse("ALTER TABLE " + name.Quoted() + " " + clauses)
	if err != nil {
		return nil, err
	}
	if options.Capture == "" {
		options.Capture = plan.Capture(cmp.Or(string(b.capture), *captured))
	}
	options.Filter, options.Set, options.Into = b.filter, b.set, b.into
	server := planning.Server{Pool: pool, Binlog: b.binlogServer(), Address: b.address}
	return planning.Make(b.ctx(), server, alter, planning.Options{
		Plan: options, Config: b.cfg, Settings: b.settings, FactsOnly: !alter.AddsForeignKey,
	})
}

// open connects to the test's server as a run does.
func (b *bench) open(ctx context.Context) (*dbconn.Pool, error) {
	return dbconn.Open(ctx, dbconn.Config{
		Network: "tcp", Address: b.address, User: b.server.User, Password: dbconn.Secret(b.server.Password)}, nil)
}

// planned connects to the test's server as a run does, and plans an ALTER of table t.
func (b *bench) planned(clauses string) (*dbconn.Pool, *plan.Plan) {
	b.Helper()
	pool, err := b.open(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pool.Close() })
	p, err := b.plan(pool, clauses, plan.Options{Names: b.wish})
	if err != nil {
		b.Fatal(err)
	}
	return pool, p
}

// control returns a control with the settings of the test's runs.
func (b *bench) control() *operator.Control {
	settings := b.settings
	settings.FullSpeed = !b.steered
	return operator.NewControl(settings)
}

// migrate runs an ALTER of table t to its end.
func (b *bench) migrate(ctx context.Context, clauses string, listeners ...event.Listener) (migration.Result, error) {
	b.Helper()
	pool, err := b.open(ctx)
	if err != nil {
		return migration.Result{}, err
	}
	defer pool.Close()
	p, err := b.plan(pool, clauses, plan.Options{Names: b.wish})
	if err != nil {
		return migration.Result{}, err
	}
	return migration.New(pool, b.binlogServer(), p, b.cfg, b.control(), event.Tee(append(listeners, b.told.listen)...)).Run(ctx)
}

// mustMigrate is migrate for tests that expect it to succeed.
func (b *bench) mustMigrate(clauses string, listeners ...event.Listener) migration.Result {
	b.Helper()
	result, err := b.migrate(b.ctx(), clauses, listeners...)
	if err != nil {
		b.Fatalf("ALTER TABLE t %s: %v", clauses, err)
	}
	return result
}

// commitRate bounds the transactions per second of a ledger that names no rate, on a commit: tests
// of other packages need the processors too. At night (-servers) such a ledger writes at full speed.
const commitRate = 300

// rest comes between the statements of a writer that is not a ledger's, for the same reason. At night
// it is no longer than usual.
func rest(usual time.Duration) {
	if *servers == "" {
		usual = max(usual, 3*time.Millisecond)
	}
	time.Sleep(usual)
}

// ledger makes table t with that many rows, and its writer.
func (b *bench) ledger(profile ledger.Profile, rows int, opts ledger.Options) *ledger.Ledger {
	b.Helper()
	opts.Number = dbconn.Number
	if opts.Rate == 0 && *servers == "" {
		opts.Rate = commitRate
	}
	l, err := ledger.New(b.db, b.schema+".t", profile, opts)
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Create(b.ctx()); err != nil {
		b.Fatal(err)
	}
	if err := l.Seed(b.ctx(), rows, nil); err != nil {
		b.Fatal(err)
	}
	return l
}

// start starts a ledger's writers; the test fails if they can't be stopped cleanly.
func (b *bench) start(l *ledger.Ledger) {
	b.Helper()
	if err := l.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Stop() })
}

// mustMatchLedger stops the writers and compares the table with the ledger: the most important check.
func (b *bench) mustMatchLedger(l *ledger.Ledger) {
	b.Helper()
	if err := l.Stop(); err != nil {
		b.Errorf("writer: %v", err)
	}
	proof, err := l.Compare(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	if !proof.Equal() {
		b.Errorf("table differs from the ledger: %s", proof)
	}
}

// told remembers the events of a run, and lets a test wait for one.
type told struct {
	mu      sync.Mutex
	events  []event.Event
	changed chan struct{}
}

func newTold() *told { return &told{changed: make(chan struct{})} }

func (t *told) listen(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	close(t.changed)
	t.changed = make(chan struct{})
}

// wait blocks until an event satisfies the condition, starting with the first event.
func (t *told) wait(ctx context.Context, what string, is func(event.Event) bool) (event.Event, error) {
	seen := 0
	for {
		t.mu.Lock()
		events, changed := t.events, t.changed
		t.mu.Unlock()
		for ; seen < len(events); seen++ {
			if is(events[seen]) {
				return events[seen], nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-changed:
		}
	}
}

func entered(p event.Phase) func(event.Event) bool {
	return func(e event.Event) bool {
		entered, is := e.(event.PhaseEntered)
		return is && entered.Phase == p
	}
}

// awaited fails the test if the event doesn't come.
func (b *bench) awaited(what string, is func(event.Event) bool) event.Event {
	b.Helper()
	e, err := b.told.wait(b.ctx(), what, is)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// running is a migration in the background.
type running struct {
	done   chan struct{}
	result migration.Result
	err    error
}

// background starts a migration and returns at once.
func (b *bench) background(ctx context.Context, clauses string, listeners ...event.Listener) *running {
	b.Helper()
	r := &running{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.result, r.err = b.migrate(ctx, clauses, listeners...)
	}()
	b.Cleanup(func() { <-r.done })
	return r
}

func (r *running) wait(b *bench) migration.Result {
	b.Helper()
	<-r.done
	if r.err != nil {
		b.Fatal(r.err)
	}
	return r.result
}
