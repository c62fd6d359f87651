package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
)

// testFleet is an inventory of servers that each have a table orders in a database of their own.
type testFleet struct {
	t      *testing.T
	folder string
	exec   map[string]func(...string) // by server
	tables map[string]func() string
}

func newFleet(t *testing.T) *testFleet {
	return &testFleet{t: t, folder: t.TempDir(), exec: map[string]func(...string){}, tables: map[string]func() string{}}
}

// file writes the option file of a server.
func (f *testFleet) file(name, address, rest string) {
	f.t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		f.t.Fatal(err)
	}
	text := fmt.Sprintf("[client]\nhost=%s\nport=%s\n%s\nlabels = app=shop,shard=%s\n", host, port, rest, name)
	if err := os.WriteFile(filepath.Join(f.folder, name+".cnf"), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// server adds a server with its table.
func (f *testFleet) server(name string, i *mysqltest.Instance) {
	f.t.Helper()
	db, database := mysqltest.Database(f.t, i)
	f.exec[name] = func(statements ...string) { mysqltest.Exec(f.t, db, statements...) }
	f.tables[name] = func() string {
		return mysqltest.Text(db, "SHOW TABLES") + mysqltest.Text(db, "SHOW CREATE TABLE orders")
	}
	f.exec[name]("CREATE TABLE orders (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL DEFAULT '', n INT DEFAULT 0, KEY by_n (n))"+
		" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci", "INSERT INTO orders (name, n) VALUES ('a', 1), ('b', 2)")
	f.file(name, i.Address, fmt.Sprintf("user=%s\npassword=%s\n[midstream]\ndatabase=%s", i.User, i.Password, database))
}

// plan returns the exit code and the output of fleet plan.
func (f *testFleet) plan(selector, statement string, flags ...string) (code int, out, complaint string) {
	f.t.Helper()
	cmd := command(f.t, append([]string{"fleet", "plan", selector, statement, "--inventory", f.folder}, flags...)...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code shows it
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// report is fleet plan as JSON.
func (f *testFleet) report(selector, statement string, flags ...string) (r fleetplan.Report) {
	f.t.Helper()
	code, out, complaint := f.plan(selector, statement, append(flags, "--format=json")...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		f.t.Fatalf("%v: %s %s", err, out, complaint)
	}
	if r.ExitCode != code {
		f.t.Errorf("exit code %d, reported as %d", code, r.ExitCode)
	}
	return r
}

// grouping has the groups of a report, in short.
func grouping(r fleetplan.Report) string {
	var all []string
	for _, g := range r.Groups {
		all = append(all, strings.TrimSpace(fmt.Sprint(g.Outcome, " ", g.Method))+fmt.Sprint(" ", g.Servers))
	}
	return strings.Join(all, "\n")
}

// TestFleetPlan: servers of all versions, one with drift, one with a row that does not fit, one that has the change and one that is
// down, are each named before the first write; and nothing is written.
func TestFleetPlan(t *testing.T) {
	mysqltest.Seldom(t)
	f := newFleet(t)
	for i, version := range []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"} {
		f.server(fmt.Sprintf("00%d", i), mysqltest.Server(t, version))
	}
	small := sandbox.Options{Settings: map[string]string{"innodb_buffer_pool_size": "33554432"}}
	for i, s := range mysqltest.OwnAll(t, "8.0", small, small, small) {
		f.server(fmt.Sprintf("00%d", 5+i), s)
	}
	for _, exec := range f.exec { // MySQL and MariaDB show these in different ways
		exec("ALTER TABLE orders ADD COLUMN doc JSON, ADD COLUMN twice INT AS (IF(n > 3, n * 2, 0))")
	}
	const change = "ALTER TABLE orders ADD COLUMN note VARCHAR(40), ADD KEY (note)"
	f.exec["001"](change)
	f.exec["003"]("ALTER TABLE orders ADD COLUMN note VARCHAR(20)")
	f.exec["004"]("INSERT INTO orders (name, n) VALUES ('much too long', 9)")
	f.exec["005"]("ALTER TABLE orders ADD KEY extra (n, name)")
	f.file("down", "127.0.0.1:1", "user=root\n[midstream]\ndatabase=shop")
	before := map[string]string{}
	for name, show := range f.tables {
		before[name] = show()
	}

	r := f.report("app=shop", change, "--skip-applied")
	if got, want := grouping(r), "fits inplace [000 002 004 005 006 007]\ndone [001]\nrefused [003]\nfailed [down]"; got != want {
		t.Errorf("groups\n%s\nwant\n%s", got, want)
	}
	if len(r.Drift) != 2 || r.Common.Servers != 6 || !slices.Contains(r.Common.Lines, "KEY `by_n` (`n`)") {
		t.Errorf("common %+v, drift %+v", r.Common, r.Drift)
	}
	for _, d := range r.Drift {
		want := map[string]string{"003": "`note` varchar(20) COLLATE utf8mb4_general_ci", "005": "KEY `extra` (`n`,`name`)"}[d.Servers[0]]
		if len(d.Servers) != 1 || len(d.Lacks) != 0 || !slices.Equal(d.Has, []string{want}) {
			t.Errorf("drift %+v", d)
		}
	}
	code, out, complaint := f.plan("app=shop", change)
	if code != exit.Refused {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "refused: the ", "column note", "Duplicate column name", "003", "connection refused", "KEY `extra`", "Not yet: of 9 servers, 2 cannot be changed, 1 without a plan, 3 with another")
	contains(t, complaint, "nothing was written", "--skip-applied")
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}

	const narrow = "ALTER TABLE orders MODIFY name VARCHAR(10) NOT NULL DEFAULT ''"
	r = f.report("shard notin (001,003,005,down)", narrow, "--check", "--parallel=3")
	if r.ExitCode != exit.Unfit || r.Count(fleetplan.Unfit) != 1 || r.Count(fleetplan.Fits) != 4 {
		t.Errorf("exit code %d: %s", r.ExitCode, grouping(r))
	}
	for _, m := range r.Members {
		if m.Server == "004" && (len(m.Findings) != 1 || m.Findings[0].Rows != 1 || !slices.Equal(m.Findings[0].Keys, []string{"id=3"})) || !m.Checked {
			t.Errorf("%+v", m)
		}
	}
	if r = f.report("shard in (000,001,002)", "ALTER TABLE orders ADD COLUMN other INT", "--allow-drift", "--check"); r.ExitCode != exit.Done {
		t.Errorf("exit code %d: %s", r.ExitCode, grouping(r))
	}
	_, out, _ = f.plan("server in (000,006)", narrow, "--format=md", "--option=method=shadow")
	contains(t, out, "### server in (000,006): 2 servers", "```sql", "| 2 | a new table", "**Next** the same command with --check")
	for name, show := range f.tables {
		if now := show(); now != before[name] {
			t.Errorf("%s was changed: %s\n%s", name, before[name], now)
		}
	}
}

// TestFleetPlanApplied: what a server already has is found by asking it, on every version.
func TestFleetPlanApplied(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		f := newFleet(t)
		f.server("a", mysqltest.Server(t, version))
		for _, c := range []struct {
			change, other string // other is a change of the same names that is not this one
		}{
			{"ADD COLUMN note VARCHAR(40) NOT NULL DEFAULT 'x' COMMENT 'y'", "ADD COLUMN note VARCHAR(40)"},
			{"ADD COLUMN first INT FIRST, ADD KEY named (first, n)", "ADD COLUMN first INT, ADD KEY named (first, n)"},
			{"ADD UNIQUE KEY u (n, id)", "ADD KEY u (n, id)"},
			{"DROP KEY by_n", ""}, {"DROP COLUMN n", ""}, {"MODIFY n BIGINT", "MODIFY n BIGINT NOT NULL"},
		} {
			for _, made := range []string{c.change, c.other} {
				if made == "" {
					continue
				}
				f.exec["a"]("CREATE TABLE kept LIKE orders", "ALTER TABLE orders "+made)
				r := f.report("*", "ALTER TABLE orders "+c.change, "--skip-applied")
				if done := r.Count(fleetplan.Done) == 1; done != (made == c.change) {
					t.Errorf("%s, after %s: %s is %s: %s", version, made, c.change, grouping(r), r.Groups[0].Reason)
				}
				f.exec["a"]("DROP TABLE orders", "RENAME TABLE kept TO orders")
			}
		}
	}
}

// TestFleetUsage: all that is wrong is said at once, before any server is reached.
func TestFleetUsage(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.file("a", "127.0.0.1:1", "user=x")
	for _, c := range []struct {
		selector, statement string
		flags, wants        []string
	}{
		{"a b", "DROP TABLE t.t", []string{"--option=hook=x", "--parallel=0", "--json", "--format=md"},
			[]string{"5 problems", "condition \"a b\"", "for ALTER TABLE, not for", "options: hook", "--parallel 0", "--json and --format=md"}},
		{"", "ALTER TABLE t.t ADD c INT", nil, []string{"the selector is empty"}},
		{"shard=b", "ALTER TABLE t.t ADD c INT", nil, []string{"takes none of 1 servers"}},
		{"*", "ALTER TABLE", nil, []string{"midstream fleet plan"}},
		{"*", "ALTER TABLE t.t ADD c INT", []string{"--inventory-command=true"}, []string{"not both"}},
	} {
		code, out, complaint := f.plan(c.selector, c.statement, c.flags...)
		if code != exit.WrongUsage || out != "" {
			t.Errorf("%q: exit code %d: %s", c.selector, code, out)
		}
		contains(t, complaint, c.wants...)
	}
	f.folder += "/none"
	if code, _, complaint := f.plan("*", "ALTER TABLE t.t ADD c INT"); code != exit.WrongUsage || !strings.Contains(complaint, "no such file") {
		t.Errorf("exit code %d: %s", code, complaint)
	}
}

// TestFleetPlanIsEscaped: an option file and a server cannot write to the terminal.
func TestFleetPlanIsEscaped(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.file("a", "127.0.0.1:1", "user=x\x1b[31m\n[midstream]\nnonsense\x1b[31m = 1")
	f.file("b", "127.0.0.1:1", "user=x\x1b[31m\n[midstream]")
	_, out, complaint := f.plan("*", "ALTER TABLE t.t ADD c INT")
	_, page, _ := f.plan("*", "ALTER TABLE t.t ADD c INT", "--format=md")
	if all := out + complaint + page; strings.Contains(all, "\x1b") || !strings.Contains(all, "nonsense") {
		t.Errorf("%q", all)
	}
}
