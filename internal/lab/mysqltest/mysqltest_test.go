package mysqltest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/lab/sandbox"
)

func TestMain(m *testing.M) { Main(m) }

// versions are tried by every test here.
var versions = []string{"9.7", "8.0", "5.7", "mariadb-10.11"}

func onEach(t *testing.T, test func(t *testing.T, i *Instance)) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) { test(t, Server(t, v)) })
	}
}

// probe is a test that the test of the tests looks at: it remembers its complaints and its cleanups.
type probe struct {
	testing.TB
	failed   bool
	errors   []string
	cleanups []func()
}

func (p *probe) Helper()                   {}
func (p *probe) Failed() bool              { return p.failed }
func (p *probe) Cleanup(f func())          { p.cleanups = append(p.cleanups, f) }
func (p *probe) Logf(f string, a ...any)   {}
func (p *probe) Errorf(f string, a ...any) { p.errors = append(p.errors, fmt.Sprintf(f, a...)) }

// end runs the cleanups, last first, and returns the complaints.
func (p *probe) end() string {
	for i := len(p.cleanups) - 1; i >= 0; i-- {
		p.cleanups[i]()
	}
	p.cleanups = nil
	return strings.Join(p.errors, "\n")
}

func mustExec(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, queries ...string) {
	t.Helper()
	for _, q := range queries {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// engine opens a connection as the engine does.
func engine(t *testing.T, i *Instance, database string) *sql.DB {
	t.Helper()
	c := i.Config(database)
	c.ConnectionAttributes = "program_name:" + mark
	db, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Ensure that a database is the test's own, usable, and dropped.
func TestDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, i *Instance) {
		p := &probe{TB: t}
		db, name := Database(p, i)
		other, otherName := Database(p, i)
		if name == otherName {
			t.Fatal("two databases have one name")
		}
		mustExec(t, db, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
		mustExec(t, other, "CREATE TABLE t (id INT PRIMARY KEY)")
		if complaints := p.end(); complaints != "" {
			t.Errorf("complaints: %s", complaints)
		}
		left, err := i.texts(
			t.Context(), "SELECT schema_name FROM information_schema.schemata WHERE schema_name IN (?, ?)", name,
			otherName,
		)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

// Ensure that each kind of leftover is found, and that it is not held against the next test.
func TestLeftoversAreFound(t *testing.T) {
	onEach(t, func(t *testing.T, i *Instance) {
		defer func(usual time.Duration) { i.patience = usual }(i.patience)
		for _, tt := range []struct {
			name  string
			leave func(t *testing.T, db *sql.DB, name string)
			want  string
		}{
			{"nothing", func(*testing.T, *sql.DB, string) {}, ""},
			{"unmarked table", func(t *testing.T, db *sql.DB, _ string) {
				mustExec(t, db, "CREATE TABLE t (id INT) COMMENT 'mine'")
			}, ""},
			{"marked table", func(t *testing.T, db *sql.DB, _ string) {
				mustExec(t, db, "CREATE TABLE t_shadow (id INT) COMMENT 'midstream shadow of x'")
			}, "table "},
			{"connection of the engine", func(t *testing.T, _ *sql.DB, _ string) {
				mustExec(t, engine(t, i, ""), "DO 1")
			}, `of program "midstream"`},
			{"connection to the database", func(t *testing.T, _ *sql.DB, name string) {
				c := i.Config(name)
				db, err := open(c)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				mustExec(t, db, "DO 1")
			}, "connection "},
			{"connection of a stranger", func(t *testing.T, _ *sql.DB, _ string) {
				c := i.Config("")
				c.ConnectionAttributes = ""
				db, err := open(c)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				mustExec(t, db, "DO 1")
			}, map[bool]string{true: `of program ""`}[i.Sandbox != nil]},
			{"advisory lock", func(t *testing.T, _ *sql.DB, _ string) {
				conn, err := engine(t, i, "").Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				mustExec(t, conn, "DO GET_LOCK('midstream 0123', 1)")
			}, map[bool]string{true: "advisory lock midstream 0123", false: "connection "}[i.Sandbox != nil && seesLocks(t, i)]},
		} {
			p := &probe{TB: t}
			db, name := Database(p, i)
			tt.leave(t, db, name)
			if tt.want != "" {
				i.patience = 300 * time.Millisecond
			}
			got := p.end()
			i.patience = 10 * time.Second
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("%s: complaints are %q, want %q", tt.name, got, tt.want)
			}
			p = &probe{TB: t}
			Database(p, i)
			if got := p.end(); got != "" {
				t.Errorf("after %s: complaints are %q", tt.name, got)
			}
		}
	})
}

func seesLocks(t *testing.T, i *Instance) bool {
	t.Helper()
	on, err := i.texts(t.Context(), "SELECT enabled FROM performance_schema.setup_instruments WHERE name = 'wait/lock/metadata/sql/mdl'")
	if err != nil {
		t.Fatal(err)
	}
	return len(on) == 1 && on[0] == "YES"
}

// Ensure that a test is not blamed for what a test beside it uses.
func TestNeighboursAreNotBlamed(t *testing.T) {
	i := Server(t, versions[0])
	neighbour := &probe{TB: t}
	_, name := Database(neighbour, i)
	db := engine(t, i, name)
	mustExec(t, db, "CREATE TABLE t_shadow (id INT) COMMENT 'midstream shadow of x'", "DO GET_LOCK('midstream 4567', 1)")

	p := &probe{TB: t}
	Database(p, i)
	if got := p.end(); got != "" {
		t.Errorf("blamed for the neighbour's: %s", got)
	}
	db.Close()
	if got := neighbour.end(); strings.Count(got, "\n") != 0 || !strings.Contains(got, "t_shadow") {
		t.Errorf("the neighbour's complaints are %q", got)
	}
}

// Ensure that a test which failed is not told a second time.
func TestFailedTestIsNotBlamed(t *testing.T) {
	i := Server(t, versions[0])
	p := &probe{TB: t, failed: true}
	db, _ := Database(p, i)
	mustExec(t, db, "CREATE TABLE t_shadow (id INT) COMMENT 'midstream shadow of x'")
	if got := p.end(); got != "" {
		t.Errorf("complaints are %q", got)
	}
}

// Ensure that tests of one binary share a server, also when they ask for it at once.
func TestServerIsShared(t *testing.T) {
	var wg sync.WaitGroup
	var got [8]*Instance
	for n := range got {
		wg.Go(func() { got[n] = Server(t, versions[0]) })
	}
	wg.Wait()
	for _, i := range got {
		if i != got[0] {
			t.Error("there are two servers of one version")
		}
	}
}

// Ensure that a server of a test's own can be killed and comes back, and ends with the test.
func TestOwn(t *testing.T) {
	var i *Instance
	t.Run("inner", func(t *testing.T) {
		i = Own(t, versions[0], sandbox.Options{Durable: true, Settings: map[string]string{"server_id": "7"}})
		db, _ := Database(t, i)
		mustExec(t, db, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
		if err := i.Sandbox.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := i.Sandbox.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		var rows, id int
		if err := db.QueryRowContext(
			t.Context(),
			"SELECT COUNT(*), @@server_id FROM t",
		).Scan(
			&rows, &id,
		); err != nil || rows != 1 ||
			id != 7 {
			t.Errorf("%d rows on server %d, %v", rows, id, err)
		}
	})
	if i == nil {
		t.Skip("no server")
	}
	if err := i.Sandbox.Kill(); err == nil {
		t.Error("the server was not stopped with its test")
	}
}

// Ensure that a server named by the environment is used for every version.
func TestExternalServer(t *testing.T) {
	real := Server(t, versions[0])
	if real.Sandbox == nil {
		t.Skip("is used already")
	}
	i, err := external(t.Context(), real.Config("ignored").FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer i.stop()
	p := &probe{TB: t}
	db, _ := Database(p, i)
	mustExec(t, db, "CREATE TABLE t (id INT)")
	if got := p.end(); got != "" || i.Release != real.Release {
		t.Errorf("release %s, complaints %q", i.Release, got)
	}
	if _, err := external(t.Context(), "nonsense"); err == nil || !strings.Contains(err.Error(), "MIDSTREAM_TEST_DSN") {
		t.Errorf("got %v", err)
	}
	if os.Getenv("MIDSTREAM_TEST_DSN") == "" && servers.entry("MIDSTREAM_TEST_DSN").instance != nil {
		t.Error("an external server was registered")
	}
}
