package cli

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// grantee is an account that has the privileges that refusals ask for, and nothing else.
type grantee struct {
	t      *testing.T
	exec   func(...string)
	query  func(string) string
	name   string // as GRANT spells it
	table  string
	own    []string    // flags that reach the server as the account
	grants [][2]string // a privilege, and on what
}

// granteeOf makes an account without privileges, and a table.
func granteeOf(t *testing.T, i *mysqltest.Instance) *grantee {
	t.Helper()
	name, query := table(t, i, 30)
	database, _, _ := strings.Cut(name, ".")
	user := "g" + database[len(database)-8:]
	g := &grantee{t: t, query: query, exec: executing(t, i, database), name: "'" + user + "'@'%'", table: name}
	g.exec("CREATE USER "+g.name+" IDENTIFIED BY 'pw'", "CREATE TABLE kept LIKE t", "INSERT INTO kept SELECT * FROM t",
		"GRANT SELECT ON "+name+" TO "+g.name)
	t.Cleanup(func() { g.exec("DROP USER " + g.name) })
	history := "--history-dir=" + t.TempDir()
	g.own = append(slices.DeleteFunc(flagsTo(t, i), func(f string) bool { return strings.HasPrefix(f, "--user") || strings.HasPrefix(f, "--password") }),
		"--user="+user, "--password=pw", history)
	return g
}

// run runs a verb as the account.
func (g *grantee) run(verb string, args ...string) (code int, stderr string) {
	g.t.Helper()
	code, _, stderr = midstream(g.t, slices.Concat([]string{verb}, g.own, args)...)
	return code, stderr
}

// grow grants what refusals of a change with an undo ask for, until none is refused.
func (g *grantee) grow(statement, method string) {
	g.t.Helper()
	for {
		code, stdout, stderr := midstream(g.t, slices.Concat([]string{"plan"}, g.own, []string{"--json", "--undo=1h", "--method=" + cmp.Or(method, "auto"), statement})...)
		if code == exit.Done {
			return
		}
		before := len(g.grants)
		for line := range strings.Lines(stdout) {
			var record struct {
				Problems []struct{ Fix string }
			}
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				g.t.Fatal(err)
			}
			for _, p := range record.Problems {
				list, on, is := strings.Cut(strings.TrimPrefix(p.Fix, "GRANT "), " ON ")
				if !is {
					g.t.Errorf("not for a GRANT: %q", p.Fix)
					continue
				}
				g.exec(p.Fix)
				on, _, _ = strings.Cut(on, " TO ")
				for _, privilege := range strings.Split(list, ", ") {
					g.grants = append(g.grants, [2]string{privilege, on})
				}
			}
		}
		if len(g.grants) == before {
			g.t.Fatalf("exit code %d, and no GRANT\n%s", code, stderr)
		}
	}
}

// state is what a refused command must leave as it is.
func (g *grantee) state() string {
	return g.query("SELECT GROUP_CONCAT(CONCAT(table_name, ' ', create_time) ORDER BY table_name) FROM information_schema.tables " +
		"WHERE table_schema = DATABASE()")
}

// reset makes the tables as they were.
func (g *grantee) reset() {
	for _, name := range strings.Split(g.query("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"), ",") {
		if name != "kept" {
			g.exec("DROP TABLE `" + name + "`")
		}
	}
	g.exec("CREATE TABLE t LIKE kept", "INSERT INTO t SELECT * FROM kept")
}

// TestU3_AnUndoNeedsNoMoreThanThePrintedGrants: what the plan of a change with --undo calls enough is enough for the change, its undo
// and its redo. Without one of these privileges, each is refused before it has written anything, or needs it not.
func TestU3_AnUndoNeedsNoMoreThanThePrintedGrants(t *testing.T) {
	mysqltest.Seldom(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "5.7", "mariadb-10.11") {
		t.Run(version, func(t *testing.T) {
			for name, c := range map[string]struct {
				change string
				method string
				undo   []string
				unfit  string // a statement that makes an unfit row, with --park
			}{
				"dropped":  {change: "ALTER TABLE t DROP COLUMN b, ADD COLUMN added INT, ENGINE=InnoDB"},
				"parked":   {method: "shadow", change: "ALTER TABLE t MODIFY a BIGINT, MODIFY id BIGINT NOT NULL AUTO_INCREMENT", undo: []string{"--park"}, unfit: "UPDATE t SET a = 99999999999 WHERE id = 1"},
				"native":   {change: "ALTER TABLE t ADD COLUMN added INT"},
				"truncate": {change: "TRUNCATE TABLE t", undo: []string{"--merge"}},
				"drop":     {change: "DROP TABLE t"},
				"rename":   {change: "RENAME TABLE t TO @.t2"},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					g := granteeOf(t, mysqltest.Server(t, version))
					change := strings.NewReplacer("TABLE t", "TABLE "+g.table, "@", strings.TrimSuffix(g.table, ".t")).Replace(c.change)
					g.grow(change, c.method)
					undo := func() (int, string) { return g.run("undo", append(slices.Clone(c.undo), g.table)...) }
					redo := func() (int, string) {
						if strings.HasPrefix(change, "TRUNCATE") { // it takes no --merge
							return g.run("undo", g.table)
						}
						return undo()
					}
					run := func() (int, string) { return g.run("run", "--undo=1h", "--method="+cmp.Or(c.method, "auto"), change) }
					unfit := func() {
						if c.unfit != "" {
							g.exec(c.unfit)
						}
					}
					// without tries a step without each privilege: it is refused before it has written anything, or works.
					without := func(what string, step func() (int, string), restore func()) {
						for _, p := range g.grants {
							g.exec("REVOKE " + p[0] + " ON " + p[1] + " FROM " + g.name)
							before := g.state()
							code, stderr := step()
							g.exec("GRANT " + p[0] + " ON " + p[1] + " TO " + g.name)
							switch {
							case code == exit.Refused && g.state() == before:
								contains(t, stderr, p[0])
							case code == exit.Done:
								restore()
							default:
								t.Errorf("%s without %s: exit code %d\n%s", what, p, code, stderr)
							}
						}
					}
					must := func(step func() (int, string)) {
						t.Helper()
						if code, stderr := step(); code != exit.Done {
							t.Fatalf("exit code %d\n%s", code, stderr)
						}
					}
					without("the change", run, g.reset)
					must(run)
					unfit()
					without("the undo", undo, func() {
						must(redo)
						unfit()
					})
					must(undo)
					must(redo)
					unfit()
					must(undo)
					g.reset()
				})
			}
		})
	}
}
