package wholetables_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/mysql/schema"
)

// cleanup gives up what a killed child has begun on a table, and drops what is known of it, also old tables.
func (r *rig) cleanup(ctx context.Context, table string) {
	r.Helper()
	r.giveUp(table)
	pool := r.pool(ctx)
	defer pool.Close()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) { // the server looks at the last access
		_, err := leftovers.Cleanup(ctx, pool, schema.Name{Schema: r.name, Table: table}, true,
			func([]leftovers.Table) bool { return true }, func(string) {})
		if err == nil || time.Since(began) > 20*time.Second {
			if err != nil {
				r.Errorf("cleanup of %s: %v", table, err)
			}
			return
		}
	}
}

// TestL8_EachTableOfAKilledStatementIsKnown: a statement without an undo is killed before each of its commands. Cleanup knows each table
// that it has left; and the same command completes it, and leaves none.
func TestL8_EachTableOfAKilledStatementIsKnown(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE k (id INT)")
		for _, c := range []struct {
			work, left string // what the command leaves
			at         fault.Rule
			cleaned    string
		}{
			{"plain TRUNCATE t", "t 0", fault.Rule{At: "INSERT INTO `"}, "t 2"},
			{"plain TRUNCATE t", "t 0", fault.Rule{At: "LIKE `"}, "t 2"},
			{"plain TRUNCATE t", "t 0", fault.Rule{At: "RENAME TABLE"}, "t 2"},
			{"plain TRUNCATE t", "t 0", fault.Rule{After: "RENAME TABLE", At: "COMMENT = 'midstream truncated"}, "t 0"},
			{"plain TRUNCATE t", "t 0", fault.Rule{After: "COMMENT = 'midstream truncated", At: "_undo`"}, "t 0"},
			// A second TRUNCATE puts its table aside, too: the record is gone.
			{"plain TRUNCATE t", "t 0, t_old 2", fault.Rule{After: "RENAME TABLE", At: "DROP TABLE IF EXISTS `" + r.name + "`.`t_old`"}, "t 0"},
			{"later TRUNCATE t", "t 0, t_old 2", fault.Rule{At: "RENAME TABLE"}, "t 2"},
			{"later TRUNCATE t", "t 0, t_old 2", fault.Rule{After: "RENAME TABLE", At: "COMMENT = 'midstream truncated"}, "t 0"},
			{"plain DROP TABLE t", "", fault.Rule{At: "RENAME TO"}, "t 2"},
			{"plain DROP TABLE t", "t_old 2", fault.Rule{After: "RENAME TO", At: "DROP TABLE"}, ""},
		} {
			for _, again := range []bool{false, true} {
				what := fmt.Sprintf("%s, killed at %q", c.work, c.at.At)
				r.exec("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'own'", "INSERT INTO t VALUES (1), (2)")
				if !r.killedAt(c.work, c.at) {
					r.Errorf("%s: no such command", what)
				}
				want := c.cleaned
				if again {
					var refused *plan.Refused
					if err := r.again(c.work); err != nil && !(errors.As(err, &refused) && strings.Contains(err.Error(), "no such table")) {
						r.Errorf("%s, then again: %v", what, err)
					}
					want = c.left
				} else {
					r.cleanup(r.Context(), "t")
				}
				if got := strings.TrimPrefix(strings.TrimPrefix(r.state(), "k 0"), ", "); got != want {
					r.Errorf("%s, again %t: %q, want %q", what, again, got, want)
				}
				if t, is := strings.CutPrefix(r.text("SELECT table_comment FROM information_schema.tables WHERE table_name = 't' AND table_schema = '"+r.name+"'"),
					"midstream"); is {
					r.Errorf("%s, again %t: t has a mark: %s", what, again, t)
				}
				r.exec("DROP TABLE IF EXISTS t, t_old, t_old2, t_undo, t_shadow")
			}
		}
	})
}

// TestL7_AKilledRenameEndsTheUndoOfEachTable: a RENAME of several tables with --end-undo is killed. The undos of all of them are open, or
// have ended, whichever table is the first that has one.
func TestL7_AKilledRenameEndsTheUndoOfEachTable(t *testing.T) {
	onEach(t, func(r *rig) {
		const statement = "end RENAME TABLE a TO x, b TO y, c TO z"
		for _, undos := range [][]string{{"a", "b", "c"}, {"b", "c"}} {
			for _, c := range []struct {
				at   fault.Rule
				made bool
			}{
				{fault.Rule{After: "RENAME TABLE", Nth: 1}, false}, // the record has the statement too
				{fault.Rule{After: "RENAME TABLE", At: "DROP TABLE"}, true},
				{fault.Rule{After: "DROP TABLE IF EXISTS `" + r.name + "`.`b_undo`", At: "DROP TABLE"}, true},
				{fault.Rule{After: "DROP TABLE IF EXISTS `" + r.name + "`.`c_undo`", At: "DROP TABLE"}, true},
			} {
				for _, again := range []bool{true, false} {
					what := fmt.Sprintf("undos of %v, killed at %q after %q, again %t", undos, c.at.At, c.at.After, again)
					var undone, olds string
					for _, table := range []string{"a", "b", "c"} {
						r.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY)", "INSERT INTO "+table+" VALUES (1), (2)")
					}
					for _, table := range undos {
						r.must(r.run(r.Context(), "TRUNCATE "+table))
						undone, olds = undone+table+" open ", olds+table+"_old 2, "
					}
					before := r.state()
					if !r.killedAt(statement, c.at) {
						r.Errorf("%s: no such command", what)
					}
					if again {
						if err := r.again(statement); err != nil {
							r.Errorf("%s: %v", what, err)
						}
					} else {
						r.giveUp("a")
					}
					want := olds + "x 0, y 0, z 0"
					if len(undos) == 2 {
						want = olds + "x 2, y 0, z 0"
					}
					if !again && !c.made {
						want = before
					}
					if got := r.state(); got != want {
						r.Errorf("%s: %s, want %s", what, got, want)
					}
					if got := r.undoables(); !again && !c.made && got != undone || (again || c.made) && got != "" {
						r.Errorf("%s: the undos are %s", what, got)
					}
					r.exec("DROP TABLE IF EXISTS a, b, c, x, y, z, a_old, b_old, c_old, a_undo, b_undo, c_undo")
				}
			}
		}
	})
}

// undoables are the tables of the database that have an undo, with its state.
func (r *rig) undoables() (all string) {
	r.Helper()
	pool := r.pool(r.Context())
	defer pool.Close()
	found, err := leftovers.Undoables(r.Context(), pool, nil)
	if err != nil {
		r.Error(err)
	}
	for _, u := range found {
		if u.Table.Schema == r.name {
			all += u.Table.Table + " " + string(u.State) + " "
		}
	}
	return all
}

// TestL8_AnotherStatementAfterAKilledTruncate: a TRUNCATE without an undo was killed after its RENAME. Another change of the table
// completes it first, and an undo of the change before, whose time is over, is as it was.
func TestL8_AnotherStatementAfterAKilledTruncate(t *testing.T) {
	onEach(t, func(r *rig) {
		at := fault.Rule{After: "RENAME TABLE", At: "COMMENT = 'midstream truncated"}
		for _, then := range []string{"plain DROP TABLE t", "plain RENAME TABLE t TO n"} {
			r.exec("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'own'", "INSERT INTO t VALUES (1), (2)")
			if _, err := r.runWith(r.Context(), "TRUNCATE t", plan.TableOptions{Undo: time.Millisecond}); err != nil {
				r.Fatal(err)
			}
			r.exec("INSERT INTO t VALUES (3)")
			if !r.killedAt("plain TRUNCATE t", at) {
				r.Fatal("not killed")
			}
			if err := r.again(then); err != nil {
				r.Errorf("%s: %v", then, err)
			}
			if got := r.text("SELECT GROUP_CONCAT(table_name, ' ', table_comment ORDER BY table_name) FROM information_schema.tables WHERE table_schema = '" +
				r.name + "' AND table_name LIKE '%old%'"); strings.Count(got, "midstream truncated") != 2 {
				r.Errorf("%s: the old tables are %s", then, got)
			}
			if got := r.undoables(); got != "t ended " {
				r.Errorf("%s: the undo before is %q", then, got)
			}
			r.exec("DROP TABLE IF EXISTS t, n, t_old, t_old2, t_undo, t_shadow")
		}
	})
}
