package cli

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// dropRig has a table with three foreign keys, their parents, and a child.
type dropRig struct {
	*statementRig
	version string
}

func newDropRig(t *testing.T, version string) *dropRig {
	i := mysqltest.Server(t, version)
	name, query := table(t, i, 100)
	database := strings.TrimSuffix(name, ".t")
	r := &dropRig{&statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)}, version}
	r.exec("CREATE TABLE p (id INT PRIMARY KEY, x INT)", "CREATE TABLE q (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1, 1)", "INSERT INTO q VALUES (1)",
		"CREATE TABLE k (id INT PRIMARY KEY, a INT, b INT, c INT, v INT, KEY of_a (a), KEY of_c (c),"+
			" CONSTRAINT `one s` FOREIGN KEY (a) REFERENCES p (id), CONSTRAINT two FOREIGN KEY (b) REFERENCES q (id) ON DELETE CASCADE,"+
			" CONSTRAINT three FOREIGN KEY (c) REFERENCES p (id))",
		"CREATE TABLE below (id INT PRIMARY KEY, kid INT, CONSTRAINT of_k FOREIGN KEY (kid) REFERENCES k (id))",
		"INSERT INTO k VALUES (1, 1, 1, 1, 1)", "INSERT INTO below VALUES (1, 1)")
	return r
}

// run gives the verb an ALTER of table k, and returns what it prints.
func (r *dropRig) run(code int, verb, clauses string, flags ...string) string {
	r.Helper()
	args := append(append([]string{verb}, flagsTo(r.T, r.i)...), flags...)
	got, stdout, stderr := midstream(r.T, append(args, "ALTER TABLE "+r.database+".k "+clauses)...)
	if got != code {
		r.Fatalf("%s of %s ended with %d and not %d:\n%s%s", verb, clauses, got, code, stdout, stderr)
	}
	return stdout + stderr
}

// left fails unless these foreign keys, and these indexes, are what table k has.
func (r *dropRig) left(foreign, indexes string) {
	r.Helper()
	const where = " WHERE table_schema = DATABASE() AND table_name = 'k'"
	if got := r.query("SELECT IFNULL(GROUP_CONCAT(constraint_name ORDER BY constraint_name), '') FROM information_schema.table_constraints" + where +
		" AND constraint_type = 'FOREIGN KEY'"); got != foreign {
		r.Errorf("foreign keys are %q, want %q", got, foreign)
	}
	if got := r.query("SELECT GROUP_CONCAT(DISTINCT index_name ORDER BY index_name) FROM information_schema.statistics" + where); got != indexes {
		r.Errorf("indexes are %q, want %q", got, indexes)
	}
	if got := r.query("SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "below,k,p,q,t" {
		r.Errorf("tables are %q", got)
	}
}

// TestL11_DropForeignKey: an ALTER that drops foreign keys, and perhaps indexes, is a change of the server's dictionary,
// and the run makes it under the bounded lock.
func TestL11_DropForeignKey(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newDropRig(t, version)
			mariadb := strings.HasPrefix(version, "mariadb")
			contains(t, r.run(exit.Done, "plan", "DROP FOREIGN KEY `one s`", "--verbose"), "INPLACE: the server changes only its dictionary")
			r.left("one s,three,two", "of_a,of_c,PRIMARY,two")
			contains(t, r.run(exit.Done, "run", "DROP FOREIGN KEY `one s`"), "altered")
			r.left("three,two", "of_a,of_c,PRIMARY,two")

			contains(t, r.run(exit.Refused, "plan", "DROP FOREIGN KEY nosuch"), "foreign key nosuch")
			contains(t, r.run(exit.Refused, "plan", "DROP FOREIGN KEY _two"), "foreign key _two", "Write DROP FOREIGN KEY `two`")
			contains(t, r.run(exit.Refused, "run", "DROP FOREIGN KEY two, DROP FOREIGN KEY nosuch"), "foreign key nosuch")
			contains(t, r.run(exit.Refused, "run", "DROP FOREIGN KEY two", "--method=shadow"), "only drops a foreign key")
			contains(t, r.run(exit.Refused, "run", "DROP FOREIGN KEY two", "--undo=24h"), "cannot be undone", "without a parent", "--undo-method=auto")
			contains(t, r.run(exit.Refused, "run", "DROP FOREIGN KEY two", "--together", "ALTER TABLE "+r.database+".q ADD y INT"),
				map[bool]string{true: "only drops a foreign key", false: "in one step"}[version == "9.7"])
			r.left("three,two", "of_a,of_c,PRIMARY,two")

			if mariadb {
				contains(t, r.run(exit.Done, "run", "DROP FOREIGN KEY IF EXISTS nosuch"), "nothing")
				r.run(exit.Done, "run", "DROP FOREIGN KEY IF EXISTS nosuch, DROP FOREIGN KEY IF EXISTS two")
			} else {
				r.run(exit.Done, "run", "DROP FOREIGN KEY two", "--undo=24h", "--undo-method=auto")
			}
			r.left("three", "of_a,of_c,PRIMARY,two")
			contains(t, r.run(exit.Done, "plan", "DROP FOREIGN KEY three, DROP INDEX of_c, DROP KEY of_a", "--verbose"), "INPLACE: the server changes only its dictionary")
			r.run(exit.Done, "run", "DROP FOREIGN KEY three, DROP INDEX of_c, DROP KEY of_a")
			r.left("", "PRIMARY,two")

			r.exec("ALTER TABLE k ADD CONSTRAINT again FOREIGN KEY (b) REFERENCES q (id), ADD CONSTRAINT more FOREIGN KEY (c) REFERENCES p (id)")
			drop := "DROP CONSTRAINT again, DROP FOREIGN KEY more"
			if version == "5.7" || version == "8.0" { // 8.0.12 has no DROP CONSTRAINT
				drop = "DROP FOREIGN KEY again, DROP FOREIGN KEY more"
			}
			r.run(exit.Done, "run", drop)
			r.left("", "again,more,PRIMARY")
			r.exec("ALTER TABLE k ADD CONSTRAINT again FOREIGN KEY (b) REFERENCES q (id), ADD CONSTRAINT more FOREIGN KEY (c) REFERENCES p (id)")
			for _, cmd := range []*exec.Cmd{
				ptOSC(t, dsn(t, r.i, "D="+r.database+",t=k"), "--no-version-check", "--execute", "--no-drop-old-table", "--alter", "drop foreign key `_again`"), // the name on pt-osc's copy
				ghOst(t, r.i, "--database="+r.database, "--table=k", "--allow-on-master", "--execute", "--alter=DROP FOREIGN KEY more"),
			} {
				if link := start(t, cmd); link.exit() != 0 {
					t.Errorf("%s: %s%s", cmd.Env[len(cmd.Env)-1], &link.stdout, &link.stderr)
				}
			}
			r.left("", "again,more,PRIMARY")
			if version != "5.7" {
				contains(t, r.run(exit.Refused, "run", "ADD COLUMN z INT, ALGORITHM=INSTANT", "--method=copy"), "ALGORITHM=INSTANT")
			}
			if got := r.query("SELECT CONCAT_WS(',', id, a, b, c, v) FROM k"); got != "1,1,1,1,1" {
				t.Errorf("the row is %s", got)
			}
		})
	}
}

// TestL9_DropForeignKeyWaitsForTheParent: the server locks the parent of a foreign key that is dropped. While a transaction
// has read the parent, the run withdraws its request, and no session waits for it longer than the budget.
func TestL9_DropForeignKeyWaitsForTheParent(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newDropRig(t, version)
			for _, held := range []string{"q", "k"} {
				tx, err := r.i.Open(t, r.database).BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var n int
				if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+held).Scan(&n); err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				var longest time.Duration
				go func() {
					defer close(done)
					for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
						began := time.Now()
						r.exec("SELECT COUNT(*) FROM " + held)
						longest = max(longest, time.Since(began))
					}
				}()
				args := append([]string{"run", "--lock-give-up=2s"}, flagsTo(t, r.i)...)
				code, stdout, stderr := midstream(t, append(args, "ALTER TABLE "+r.database+".k DROP FOREIGN KEY two")...)
				<-done
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
				locks := held == "k" || code != exit.Done
				if held == "k" && code == exit.Done {
					t.Errorf("ended with %d:\n%s%s", code, stdout, stderr)
				}
				t.Logf("%s read: ended with %d, longest query %s, locks %t", held, code, longest, locks)
				if longest > time.Second {
					t.Errorf("a query of %s waited for %s", held, longest)
				}
				if held == "q" && code == exit.Done { // this server does not lock the parent
					r.exec("ALTER TABLE k ADD CONSTRAINT two FOREIGN KEY (b) REFERENCES q (id) ON DELETE CASCADE")
				}
			}
			r.run(exit.Done, "run", "DROP FOREIGN KEY two")
			r.left("one s,three", "of_a,of_c,PRIMARY,two")
		})
	}
}
