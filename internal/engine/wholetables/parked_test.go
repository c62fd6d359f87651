package wholetables_test

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// rows are those of a table with id and v.
func (r *rig) rows(table string) string {
	return r.text("SELECT GROUP_CONCAT(id, ' ', v ORDER BY id) FROM " + table)
}

// parked is the last event of parked rows.
func (r *rig) parked() (last event.Parked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if p, is := e.(event.Parked); is {
			last = p
		}
	}
	return last
}

// TestU4_RowsSinceATruncateAreKeptAside: a TRUNCATE resets the counter, so most rows that are written since have taken keys. The undo
// takes over the others, and keeps these. No row is lost, and no row is in both tables.
func TestU4_RowsSinceATruncateAreKeptAside(t *testing.T) {
	onEach(t, func(r *rig) {
		both := plan.TableOptions{Merge: true, Park: true}
		r.exec("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, UNIQUE (v))", "INSERT INTO t (v) VALUES (1), (2)")
		for n, c := range []struct {
			since        string
			how          plan.TableOptions
			rows, parked string
			keys         []string
		}{
			{"(1, 7), (5, 5), (7, 2), (8, 8)", both, "1 1,2 2,5 5,8 8", "1 7,7 2", []string{"id=1", "id=7"}},
			{"(1, 9), (20, 20)", plan.TableOptions{Park: true}, "1 1,2 2,5 5,8 8", "1 9,20 20", []string{"id=1", "id=20"}},
			{"(30, 30)", both, "1 1,2 2,5 5,8 8,30 30", "", nil},
		} {
			if n == 0 {
				r.must(r.run(r.Context(), "TRUNCATE t"))
			} else {
				r.must(r.undo(r.Context(), "t", false)) // the redo
			}
			r.exec("INSERT INTO t VALUES " + c.since)
			r.must(r.back(r.Context(), "t", c.how))
			if got := r.rows("t"); got != c.rows {
				r.Errorf("%s: the rows are %s", c.since, got)
			}
			name := []string{"t_parked", "t_parked2", "t_parked3"}[n]
			if c.parked == "" {
				if got := r.state(); strings.Contains(got, name) {
					r.Errorf("%s: %s", c.since, got)
				}
				continue
			}
			if got := r.rows(name); got != c.parked {
				r.Errorf("%s: the parked rows are %s", c.since, got)
			}
			if got := r.parked(); got.Table != r.name+"."+name || got.Rows != 2 || !slices.Equal(got.Keys, c.keys) {
				r.Errorf("%s: %+v", c.since, got)
			}
			if got := r.create(name); !strings.Contains(got, "midstream parked of "+r.name+".t") {
				r.Error(got)
			}
		}
		if got := r.state(); strings.Contains(got, "t_merged") || strings.Contains(got, "t_undone") {
			r.Error(got)
		}
		r.exec("DROP TABLE t_undo, t_parked, t_parked2")
	})
}

// TestU4_ATruncateIsTakenBackAgainAndAgain: each undo finds a free name for the table that it puts aside, as that of an ALTER does.
func TestU4_ATruncateIsTakenBackAgainAndAgain(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
		r.must(r.run(r.Context(), "TRUNCATE t"))
		for n, since := range []string{"(2, 2)", "(3, 3)", "(4, 4)"} {
			if n > 0 {
				r.must(r.undo(r.Context(), "t", false))
			}
			r.exec("INSERT INTO t VALUES " + since)
			r.must(r.undo(r.Context(), "t", true))
		}
		if got := r.rows("t"); got != "1 1,2 2,3 3,4 4" {
			r.Error(got)
		}
		if got := r.text("SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "t,t_undo,t_undone,t_undone2,t_undone3" {
			r.Error(got)
		}
		r.exec("DROP TABLE t_undo, t_undone, t_undone2, t_undone3")
	})
}

// TestL7_KilledWhileRowsAreKeptAside: an undo is killed before each of its commands. The same command again completes it.
func TestL7_KilledWhileRowsAreKeptAside(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		for _, at := range []string{"SET digest", "RENAME TABLE", "COMMENT = 'midstream parked", "DELETE FROM `" + r.name + "`.`t_parked`", "DROP TABLE"} {
			r.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t (id, v) VALUES (1, 1), (2, 2)")
			r.must(r.run(r.Context(), "TRUNCATE t"))
			r.exec("INSERT INTO t VALUES (2, 20), (4, 4)")
			rule := ruleOf(at)
			rule.After = "COMMENT = ''"
			if !r.killedAt("park t", rule) {
				r.Fatalf("no command has %q", at)
			}
			if err := r.again("park t"); err != nil {
				r.Errorf("killed at %s: %v", at, err)
			}
			if rows, parked := r.rows("t"), r.rows("t_parked"); rows != "1 1,2 2,4 4" || parked != "2 20" {
				r.Errorf("killed at %s: the rows are %s, and %s are parked", at, rows, parked)
			}
			if got := r.state(); strings.Contains(got, "t_merged") || strings.Contains(got, "t_old") {
				r.Errorf("killed at %s: %s", at, got)
			}
			r.exec("DROP TABLE t, t_undo, t_parked")
		}
	})
}

// TestU3_CleanupDropsTablesThatNoUndoNeeds: a table that an undo before the last change has put aside is of no use to the undo of the
// last one.
func TestU3_CleanupDropsTablesThatNoUndoNeeds(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
		r.must(r.run(r.Context(), "TRUNCATE t"))
		r.exec("INSERT INTO t VALUES (2, 2)")
		r.must(r.undo(r.Context(), "t", true))
		r.must(r.undo(r.Context(), "t", false))
		pool := r.pool(r.Context())
		defer pool.Close()
		cleaner := leftovers.New(pool, schema.Name{Schema: r.name, Table: "t"}, plan.Altering)
		found, err := cleaner.Find(r.Context(), true)
		if err != nil {
			r.Fatal(err)
		}
		spared := map[string]bool{}
		for _, f := range found {
			spared[f.Name.Table] = f.Spared
		}
		if !spared["t_old"] || spared["t_undone"] || len(spared) != 2 {
			r.Errorf("%+v", found)
		}
		r.must(r.undo(r.Context(), "t", false))
		r.exec("DROP TABLE t_undo, t_undone")
	})
}
