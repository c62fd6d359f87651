package wholetables_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/engine/wholetables"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// The environment of a child, which carries out one statement, or an undo, and can be killed.
const (
	childAddress  = "MIDSTREAM_TEST_WHOLE_ADDRESS"
	childUser     = "MIDSTREAM_TEST_WHOLE_USER"
	childPassword = "MIDSTREAM_TEST_WHOLE_PASSWORD"
	childDatabase = "MIDSTREAM_TEST_WHOLE_DATABASE"
	childWork     = "MIDSTREAM_TEST_WHOLE_WORK"
)

// beChild is the main function of a child.
func beChild() int {
	r := &rig{
		T: &testing.T{}, address: os.Getenv(childAddress), name: os.Getenv(childDatabase),
		server: &mysqltest.Instance{User: os.Getenv(childUser), Password: os.Getenv(childPassword)},
	}
	if err := r.work(context.Background(), os.Getenv(childWork)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// work carries out a statement, or the undo of the last statement on a table: "undo t", "merge t" or "park t". "plain "
// before a statement lets it keep no undo, "later " lets it keep the old table alone, and "end " lets it end the undo of the change before.
func (r *rig) work(ctx context.Context, text string) error {
	var err error
	if table, is := strings.CutPrefix(text, "undo "); is {
		_, err = r.undo(ctx, table, false)
	} else if table, is := strings.CutPrefix(text, "merge "); is {
		_, err = r.undo(ctx, table, true)
	} else if table, is := strings.CutPrefix(text, "park "); is {
		_, err = r.back(ctx, table, plan.TableOptions{Merge: true, Park: true})
	} else if statement, is := strings.CutPrefix(text, "plain "); is {
		_, err = r.runWith(ctx, statement, plan.TableOptions{})
	} else if statement, is := strings.CutPrefix(text, "later "); is {
		_, err = r.runWith(ctx, statement, plan.TableOptions{Keep: true})
	} else if statement, is := strings.CutPrefix(text, "end "); is {
		_, err = r.runWith(ctx, statement, plan.TableOptions{EndUndo: true})
	} else {
		_, err = r.run(ctx, text)
	}
	return err
}

// killedAt does the work in a child that is killed just before a command reaches the server. It reports whether the
// child came so far.
func (r *rig) killedAt(work string, at fault.Rule) bool {
	r.Helper()
	child := exec.Command(os.Args[0])
	at.Cut = true
	at.Call = func() { child.Process.Kill() }
	proxy := fault.New(r.T, r.server.Address, at)
	defer proxy.Close()
	child.Env = append(os.Environ(), childAddress+"="+proxy.Address, childUser+"="+r.server.User, childPassword+"="+r.server.Password,
		childDatabase+"="+r.name, childWork+"="+work)
	said, err := child.CombinedOutput()
	if _, bent := proxy.Bent(); !bent {
		if err != nil {
			r.Fatalf("%s: %v: %s", work, err, said)
		}
		return false
	}
	return true
}

// again does the work once the server has noticed that the child is gone.
func (r *rig) again(work string) error {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := r.work(r.Context(), work)
		if !errors.Is(err, leftovers.ErrClaimed) && !strings.Contains(fmt.Sprint(err), "another run of Midstream is working") || time.Since(began) > 20*time.Second {
			return err
		}
	}
}

// TestL7_KilledStatementsAndUndos: a run is killed before each command that changes something. The tables show what
// happened; the same command again completes it, and nothing is done twice.
func TestL7_KilledStatementsAndUndos(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		for _, c := range []struct {
			statement, table, made string
			forth, back            []string // the commands
		}{
			{
				"DROP TABLE c", "c", "c_old 2, c_undo 3, p 2, t 2",
				[]string{"CREATE TABLE", "INSERT INTO", "RENAME TO", "UPDATE"}, []string{"RENAME INDEX", "UPDATE", "RENAME TO", "UPDATE 2"},
			},
			{
				"RENAME TABLE t TO n, c TO t", "t", "n 2, p 2, t 2, t_undo 3",
				[]string{"CREATE TABLE", "INSERT INTO", "RENAME TABLE", "UPDATE"}, []string{"UPDATE", "RENAME TABLE", "UPDATE 2"},
			},
			{
				"TRUNCATE t", "t", "c 2, p 2, t 0, t_old 2, t_undo 3",
				[]string{"CREATE TABLE", "INSERT INTO", "LIKE", "RENAME TABLE", "UPDATE", "COMMENT = 'midstream truncated"},
				[]string{"UPDATE", "COMMENT = 'own'", "LOCK TABLES", "RENAME TABLE", "COMMENT = 'midstream truncated", "DROP TABLE IF EXISTS", "UPDATE 2"},
			},
		} {
			r.exec("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)",
				"CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fp FOREIGN KEY (p) REFERENCES p (id)) COMMENT 'own'", "INSERT INTO c VALUES (1, 1), (2, 2)",
				"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT) COMMENT 'own'", "INSERT INTO t VALUES (1), (2)")
			before, definitions := r.state(), r.create("c")+r.create("t")
			undo := c.table + "_undo"
			for _, at := range c.forth {
				rule := ruleOf(at)
				if !r.killedAt(c.statement, rule) {
					r.Fatalf("%s: no command has %q", c.statement, at)
				}
				if err := r.again(c.statement); err != nil {
					r.Errorf("%s, killed at %s, then again: %v", c.statement, at, err)
				}
				if got := r.state(); got != c.made {
					r.Errorf("%s, killed at %s: %s, want %s", c.statement, at, got, c.made)
				}
				if err := r.again("undo " + c.table); err != nil {
					r.Errorf("%s, killed at %s, then undone: %v", c.statement, at, err)
				}
				r.unchanged(c.statement+", killed at "+at, undo, before, definitions)
				r.exec("DROP TABLE " + undo)
				if r.Failed() {
					return
				}
			}
			for _, at := range c.back {
				r.must(migration.Result{}, r.again(c.statement))
				if !r.killedAt("undo "+c.table, ruleOf(at)) {
					r.Fatalf("undo of %s: no command has %q", c.statement, at)
				}
				if err := r.again("undo " + c.table); err != nil {
					r.Errorf("undo of %s, killed at %s, then again: %v", c.statement, at, err)
				}
				r.unchanged("undo of "+c.statement+", killed at "+at, undo, before, definitions)
				r.exec("DROP TABLE " + undo)
				if r.Failed() {
					return
				}
			}
			r.exec("DROP TABLE t, c, p")
		}
	})
}

// ruleOf finds the command that has a text. UPDATE is one of the undo table; UPDATE 2 is the one after the RENAME.
func ruleOf(at string) fault.Rule {
	switch at {
	case "CREATE TABLE", "INSERT INTO", "UPDATE":
		return fault.Rule{At: at + " `"}
	case "UPDATE 2":
		return fault.Rule{After: "RENAME T", At: "UPDATE `"}
	}
	return fault.Rule{At: at}
}

// unchanged checks that the tables are as before the statement.
func (r *rig) unchanged(what, undo, before, definitions string) {
	r.Helper()
	if got := strings.Replace(r.state(), ", "+undo+" 3", "", 1); got != before {
		r.Errorf("%s: %s, want %s", what, got, before)
	}
	if got := r.create("c") + r.create("t"); got != definitions {
		r.Errorf("%s: the tables were\n%s, and are\n%s", what, definitions, got)
	}
}

// TestL8_AChangeAfterAKilledTruncate: a TRUNCATE was killed before its statement, and has left an empty table. A change by the
// server takes the place of its record, and nothing of the TRUNCATE is left.
func TestL8_AChangeAfterAKilledTruncate(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'own'", "INSERT INTO t VALUES (1), (2)")
		if !r.killedAt("TRUNCATE t", ruleOf("RENAME TABLE")) {
			r.Fatal("not killed")
		}
		if got := r.state(); got != "t 2, t_shadow 0, t_undo 3" {
			r.Fatal(got)
		}
		pool := r.pool(r.Context())
		defer pool.Close()
		alter := &ddl.Alter{Table: schema.Name{Schema: r.name, Table: "t"}, Clauses: "COMMENT 'other'"}
		for began := time.Now(); r.state() != "t 2" && time.Since(began) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
			if _, err := planning.Make(r.Context(), planning.Server{Pool: pool}, alter, planning.Options{}); err != nil {
				r.Fatal(err)
			}
		}
		if got := r.state(); got != "t 2" {
			r.Error(got)
		}
	})
}

// TestL8_KilledBeforeItHasEndedTheUndoBefore: a statement with --end-undo, which keeps no undo itself, is killed before it, or just after
// it. Then the former undo is open again, or it has ended, and the same command completes the work: nothing of that undo is left.
func TestL8_KilledBeforeItHasEndedTheUndoBefore(t *testing.T) {
	onEach(t, func(r *rig) {
		source := schema.Name{Schema: r.name, Table: "t"}
		state := func() string {
			pool := r.pool(r.Context())
			defer pool.Close()
			var states []string
			for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
				all, err := leftovers.Undoables(r.Context(), pool, &source)
				if err != nil {
					r.Fatal(err)
				}
				states = nil
				for _, u := range all {
					states = append(states, string(u.State))
				}
				if !slices.Contains(states, "running") || time.Since(began) > 20*time.Second { // until the server has noticed the kill
					return strings.Join(states, ",")
				}
			}
		}
		for _, c := range []struct {
			statement, left string
			at              fault.Rule
			made            bool
		}{
			{"TRUNCATE t", "t 0, t_old 2", ruleOf("RENAME T"), false},
			{"TRUNCATE t", "t 0, t_old 2", fault.Rule{After: "RENAME T", At: "ALTER TABLE"}, true},
			{"TRUNCATE t", "t 0, t_old 2", fault.Rule{After: "RENAME T", At: "DROP TABLE IF EXISTS"}, true},
			{"DROP TABLE t", "t_old 2", ruleOf("RENAME T"), false},
			{"DROP TABLE t", "t_old 2", fault.Rule{After: "RENAME T", At: "DROP TABLE IF EXISTS"}, true},
			{"RENAME TABLE t TO n", "n 1, t_old 2", fault.Rule{After: "UPDATE `", Nth: 1}, false}, // the record has the statement too
			{"RENAME TABLE t TO n", "n 1, t_old 2", fault.Rule{After: "UPDATE `", At: "DROP TABLE IF EXISTS"}, true},
		} {
			what := fmt.Sprintf("%s, killed at %q", c.statement, c.at.At)
			r.exec("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'own'", "INSERT INTO t VALUES (1), (2)")
			r.must(r.run(r.Context(), "TRUNCATE t"))
			r.exec("INSERT INTO t VALUES (3)")
			if !r.killedAt("end "+c.statement, c.at) {
				r.Errorf("%s: no such command", what)
			}
			if got := state(); got != "stopped" {
				r.Errorf("%s: the undo is %q", what, got)
			}
			if !c.made {
				pool := r.pool(r.Context())
				given, err := wholetables.GiveUp(r.Context(), pool, source, func(leftovers.Killed) bool { return true }, r.listen)
				pool.Close()
				if err != nil || given == nil || given.Made {
					r.Errorf("%s: given up %+v: %v", what, given, err)
				}
				if got := state(); got != "open" {
					r.Errorf("%s, then given up: the former undo is %q", what, got)
				}
			}
			if err := r.again("end " + c.statement); err != nil {
				r.Errorf("%s, then again: %v", what, err)
			}
			if got := r.state(); got != c.left {
				r.Errorf("%s, then again: %s, want %s", what, got, c.left)
			}
			r.exec("DROP TABLE IF EXISTS t, n, t_old, t_old2, t_undo, t_shadow")
		}
	})
}
