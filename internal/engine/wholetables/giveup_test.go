package wholetables_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/wholetables"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// giveUp gives up what a killed child has begun on a table, once the server has noticed that the child is gone.
func (r *rig) giveUp(table string) *leftovers.Killed {
	r.Helper()
	pool := r.pool(r.Context())
	defer pool.Close()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		name, agree := schema.Name{Schema: r.name, Table: table}, func(leftovers.Killed) bool { return true }
		k, err := wholetables.GiveUp(r.Context(), pool, name, agree, r.listen)
		if errors.Is(err, leftovers.ErrClaimed) && time.Since(began) < 20*time.Second {
			continue
		}
		if err != nil {
			r.Errorf("give up: %v", err)
		}
		return k
	}
}

// cleansUp wants that a cleanup drops one table, and no other.
func (r *rig) cleansUp(table, left string) {
	r.Helper()
	pool := r.pool(r.Context())
	defer pool.Close()
	found, err := leftovers.Cleanup(r.Context(), pool, schema.Name{Schema: r.name, Table: table}, false,
		func([]leftovers.Table) bool { return true }, func(string) {})
	if err != nil || len(found) != 1 || found[0].Name.Table != left {
		r.Errorf("the cleanup found %+v, %v", found, err)
	}
}

// killable is a statement of which the run, and the undo, are killed before each of these commands.
type killable struct {
	statement, table, made string
	forth, back            []string
}

// TestL7_KilledStatementsAreGivenUp: a run, an undo or a redo is killed before each command that changes something, and is given up
// then. Either it was done, and can be taken back; or nothing of it is left, and it can be begun again.
func TestL7_KilledStatementsAreGivenUp(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		for _, c := range []killable{
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
			undo, again := c.table+"_undo", "undo "+c.table
			for _, at := range c.forth {
				what := c.statement + ", killed at " + at
				if !r.killedAt(c.statement, ruleOf(at)) {
					r.Fatalf("%s: no command", what)
				}
				if k := r.giveUp(c.table); k == nil || !k.Made {
					if strings.Contains(r.state(), undo+" 0") { // midstream cleanup lists the empty table
						r.cleansUp(c.table, undo)
					}
					if got := r.state(); got != before {
						r.Errorf("%s: %s, want %s", what, got, before)
					}
					r.unchanged(what, undo, before, definitions)
					r.does(what, c.statement)
				}
				if got := r.state(); got != c.made {
					r.Errorf("%s: %s, want %s", what, got, c.made)
				}
				r.does(what, again)
				r.unchanged(what, undo, before, definitions)
				r.exec("DROP TABLE " + undo)
				if r.Failed() {
					return
				}
			}
			for _, at := range c.back {
				what := "undo of " + c.statement + ", killed at " + at
				r.does(what, c.statement)
				if !r.killedAt(again, ruleOf(at)) {
					r.Fatalf("%s: no command", what)
				}
				if k := r.giveUp(c.table); k == nil || !k.Made {
					if got := r.state(); got != c.made {
						r.Errorf("%s: %s, want %s", what, got, c.made)
					}
					r.does(what, again)
				}
				r.unchanged(what, undo, before, definitions)
				for _, at := range c.forth[min(2, len(c.forth)):] { // the redo has its record already
					what := "redo of " + c.statement + ", killed at " + at
					if !r.killedAt(again, ruleOf(at)) {
						r.Fatalf("%s: no command", what)
					}
					if k := r.giveUp(c.table); k == nil || !k.Made {
						r.unchanged(what, undo, before, definitions)
						r.does(what, again)
					}
					if got := r.state(); got != c.made {
						r.Errorf("%s: %s, want %s", what, got, c.made)
					}
					r.does(what, again)
					r.unchanged(what, undo, before, definitions)
				}
				r.exec("DROP TABLE " + undo)
				if r.Failed() {
					return
				}
			}
			r.exec("DROP TABLE t, c, p")
		}
	})
}

// does does the work, which must succeed.
func (r *rig) does(what, work string) {
	r.Helper()
	if err := r.again(work); err != nil {
		r.Errorf("%s, then %s: %v", what, work, err)
	}
}

// TestL7_AKilledMergeIsGivenUp: the undo of a TRUNCATE was killed while it took over rows. Given up, the old table has only its own
// rows, and no table of Midstream is left but those of the undo.
func TestL7_AKilledMergeIsGivenUp(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		for _, at := range []fault.Rule{
			{At: "digest VARBINARY"}, {At: "digest) SELECT"}, {After: "digest) SELECT", At: "SET digest"}, {At: "LOCK TABLES"}, {At: "RENAME TABLE"},
		} {
			r.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT) COMMENT 'own'", "INSERT INTO t VALUES (1, 1), (2, 2)")
			r.does("", "TRUNCATE t")
			r.exec("INSERT INTO t VALUES (7, 7), (8, 8)")
			old := r.create("t_old")
			if !r.killedAt("merge t", at) {
				r.Fatalf("no command has %q", at.At)
			}
			if k := r.giveUp("t"); k == nil || k.Made || !k.Undoes {
				r.Errorf("killed at %q: %+v", at.At, k)
			}
			if got := r.state(); got != "t 2, t_old 2, t_undo 3" {
				r.Errorf("killed at %q: %s", at.At, got)
			}
			if got := r.create("t_old"); got != old {
				r.Errorf("killed at %q: the old table was\n%s, and is\n%s", at.At, old, got)
			}
			r.does("given up", "merge t")
			if got := r.text("SELECT GROUP_CONCAT(id ORDER BY id) FROM t"); got != "1,2,7,8" {
				r.Errorf("killed at %q: %s", at.At, got)
			}
			r.exec("DROP TABLE IF EXISTS t, t_undo, t_undone")
		}
	})
}

// TestGiveUpNeedsAConsent: without it, nothing is changed.
func TestGiveUpNeedsAConsent(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'own'", "INSERT INTO t VALUES (1), (2)")
		if !r.killedAt("TRUNCATE t", ruleOf("RENAME TABLE")) {
			r.Fatal("not killed")
		}
		pool := r.pool(context.Background())
		defer pool.Close()
		asked := ""
		for began := time.Now(); asked == "" && time.Since(began) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
			k, err := wholetables.GiveUp(r.Context(), pool, schema.Name{Schema: r.name, Table: "t"}, func(k leftovers.Killed) bool {
				asked = k.What()
				return false
			}, r.listen)
			if k != nil || err != nil && !errors.Is(err, leftovers.ErrClaimed) {
				r.Fatal(k, err)
			}
		}
		if !strings.HasPrefix(asked, "TRUNCATE") || r.state() != "t 2, t_shadow 0, t_undo 3" {
			r.Errorf("asked about %q: %s", asked, r.state())
		}
		if k := r.giveUp("t"); k == nil || k.Made || r.state() != "t 2" {
			r.Errorf("%+v: %s", k, r.state())
		}
	})
}
