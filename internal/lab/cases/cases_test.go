package cases

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/cli"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/oracle"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/password"
)

const asMidstream = "CASES_TEST_MIDSTREAM"

// TestMain turns this binary into midstream itself, if the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv(asMidstream) != "" {
		ctx, interrupts := cli.WatchInterrupts(context.Background(), os.Exit)
		os.Exit(cli.Main(ctx, cli.Env{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
			Home: os.Getenv("HOME"), Executable: os.Args[0], Version: "test", Interrupts: interrupts, Wipe: password.Wipe,
		}))
	}
	flag.Parse()
	mysqltest.Main(m)
}

// every has each case run on all servers that it names; without, on one of them, in turn.
var every = flag.Bool("every", false, "run each case on every server that it names")

// servers are the versions of package sandbox by the names of the cases.
var servers = []struct{ name, version string }{
	{"mysql-9.7", "9.7"},
	{"mysql-8.0.12", "8.0"},
	{"mysql-5.7", "5.7"},
	{"mariadb-10.11", "mariadb-10.11"},
	{"mariadb-11.8", "mariadb-11.8"},
}

// TestL11_Cases: each case of testdata has an outcome that it expects.
func TestL11_Cases(t *testing.T) {
	folders, err := filepath.Glob("testdata/*/expect")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all []*folder
	for _, f := range folders {
		all = append(all, readFolder(t, filepath.Dir(f)))
	}
	for _, s := range servers {
		t.Run(s.version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, s.version)
			for _, f := range all { // one after the other: they set global variables
				if f.runsOn(s.name) {
					t.Run(f.name, func(t *testing.T) { (&running{T: t, folder: f, server: server}).check() })
				}
			}
		})
	}
}

// folder is a case as it was read.
type folder struct {
	name, setup, create, alter, during, teardown, expect, says string
	table, account                                             string
	versions                                                   []string
}

func readFolder(t *testing.T, path string) *folder {
	t.Helper()
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(path, file))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.TrimRight(string(text), "\n")
	}
	f := &folder{
		name: filepath.Base(path), setup: read("setup.sql"), create: read("create.sql"), alter: read("alter"), during: read("during.sql"),
		teardown: read("teardown.sql"), expect: read("expect"), says: read("says"), table: read("table"), account: read("account"),
		versions: strings.Fields(read("versions")),
	}
	if f.table == "" {
		f.table = "t"
	}
	known := func(name string) bool {
		return slices.ContainsFunc(servers, func(s struct{ name, version string }) bool { return s.name == name })
	}
	for _, name := range f.versions {
		if !known(name) {
			t.Errorf("%s: versions names %q, which is no server of ours", path, name)
		}
	}
	if len(f.versions) == 0 {
		t.Errorf("%s: versions names no server", path)
	}
	return f
}

// runsOn says that the case names the server and, without -every, that it is the server's turn.
func (f *folder) runsOn(name string) bool {
	named := f.versions
	if !*every {
		named = mysqltest.TurnOf(f.name, named...)
	}
	return slices.Contains(named, name)
}

// running is a case on a server.
type running struct {
	*testing.T
	folder *folder
	server *mysqltest.Instance
}

// The databases of a case: the one that the run changes, and the twin that the server changes by itself.
const (
	changed = "test"
	twin    = "twin"
)

// writing lets a session of the test write and alter tables, whatever the case has set for the server.
const (
	writing       = "SET SESSION TRANSACTION READ WRITE"
	nativeAllowed = writing + "; /*M!100301 SET SESSION alter_algorithm = 'DEFAULT' */"
)

func (r *running) check() {
	r.exec(
		"", writing, "DROP DATABASE IF EXISTS "+changed, "DROP DATABASE IF EXISTS "+twin, "CREATE DATABASE "+changed,
		"CREATE DATABASE "+twin,
	)
	r.Cleanup(func() {
		r.exec("", r.folder.teardown, writing, "DROP DATABASE IF EXISTS "+changed, "DROP DATABASE IF EXISTS "+twin)
	})
	f := r.folder
	r.exec("", f.setup)
	r.exec(changed, f.create)
	if f.expectsEqual() {
		r.exec(twin, f.create)
	}
	before := r.table(changed)
	m := r.begin()
	code := m.untilHeld()
	if m.held {
		r.exec(changed, f.during)
		code = m.cutOver()
	}
	var wrong []string
	for _, outcome := range strings.Split(f.expect, " | ") {
		why := r.judge(outcome, code, m, before)
		if why == "" && !strings.Contains(m.output(), f.says) {
			why = "the program does not say " + f.says
		}
		if why == "" {
			return
		}
		wrong = append(wrong, why)
	}
	r.Errorf("%s\n%s", strings.Join(wrong, "\n"), m.output())
}

func (f *folder) expectsEqual() bool { return slices.Contains(strings.Split(f.expect, " | "), "equal") }

// judge returns why the outcome was not this one, or "".
func (r *running) judge(outcome string, code int, m *program, before string) string {
	query, value, asks := strings.Cut(outcome, " => ")
	switch {
	case strings.HasPrefix(outcome, "refused: "):
		return r.refused(code, m, before)
	case code != 0:
		return "the exit code is not 0"
	case asks:
		if got := r.ask(query); got != value {
			return query + " gives " + got
		}
		return ""
	}
	return r.equals()
}

func (r *running) equals() string {
	r.exec(twin, r.folder.during, nativeAllowed, "ALTER TABLE "+schema.Quote(r.folder.table)+" "+r.folder.alter)
	differences, err := oracle.Differences(r.Context(), r.server.Open(r.T, ""),
		schema.Name{Schema: changed, Table: r.folder.table}, schema.Name{Schema: twin, Table: r.folder.table})
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(differences, "\n")
}

func (r *running) refused(code int, m *program, before string) string {
	if code != 11 && code != 17 {
		return "the exit code is neither 11 nor 17"
	}
	if r.table(changed) != before {
		return "refused, but the table was changed"
	}
	left := r.ask(
		"SELECT COALESCE(GROUP_CONCAT(table_name), '') FROM information_schema.tables WHERE table_schema = 'test' AND (table_comment LIKE 'midstream%' OR table_name LIKE '%!_shadow' ESCAPE '!')",
	)
	if left != "" {
		return "refused, but these tables are left: " + left
	}
	r.Logf("refused:\n%s", m.output())
	return ""
}

// table is the definition of the table and the number of its rows.
func (r *running) table(database string) string {
	db := r.unlimited(database)
	var name, text, rows string
	if err := db.QueryRowContext(r.Context(), "SHOW CREATE TABLE "+schema.Quote(r.folder.table)).Scan(&name, &text); err != nil {
		r.Fatal(err)
	}
	if err := db.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM "+schema.Quote(r.folder.table)).Scan(&rows); err != nil {
		r.Fatal(err)
	}
	return text + rows
}

func (r *running) ask(query string) string {
	var answer sql.NullString
	if err := r.unlimited("").QueryRowContext(r.Context(), query).Scan(&answer); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
	return answer.String
}

// unlimited is a pool of connections whose queries take as long as they take.
func (r *running) unlimited(database string) *sql.DB {
	config := r.server.Config(database)
	config.Params = map[string]string{"SESSION /*!50708 max_execution_time *//*M! max_statement_time */": "0"}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		r.Fatal(err)
	}
	db := sql.OpenDB(connector)
	r.Cleanup(func() { db.Close() })
	return db
}

// exec runs statements by a new connection of root's, as `mysql < file` does.
func (r *running) exec(database string, texts ...string) {
	r.Helper()
	config := r.server.Config(database)
	config.MultiStatements = true
	config.Params = map[string]string{"lock_wait_timeout": "20"}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		r.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	defer conn.Close()
	for _, text := range append([]string{"SET NAMES utf8mb4"}, texts...) {
		if text == "" {
			continue
		}
		if _, err := conn.ExecContext(context.Background(), text); err != nil {
			r.Fatalf("%.300s: %v", text, err)
		}
	}
}
