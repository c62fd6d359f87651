package wholetables_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// TestU4_UndoOfATruncateTakesRowsOver: while writers insert, update and delete rows, the undo takes all of their rows
// over, and no write is lost.
func TestU4_UndoOfATruncateTakesRowsOver(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (k VARCHAR(40) PRIMARY KEY, v INT, f FLOAT, j VARCHAR(40) COLLATE utf8mb4_general_ci, g INT AS (v + 1), UNIQUE (j)) CHARSET utf8mb4",
			"INSERT INTO t (k, v, f, j) VALUES ('before 1', 1, 1.25, 'ä'), ('before 2', 2, NULL, NULL)",
			"CREATE TABLE ledger (k VARCHAR(40) PRIMARY KEY, v INT) CHARSET utf8mb4")
		r.must(r.run(r.Context(), "TRUNCATE t"))
		over := make(chan struct{})
		var writers sync.WaitGroup
		for w := range 3 {
			writers.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-over:
						return
					default:
					}
					tx, err := r.db.Begin()
					if err != nil {
						r.Error(err)
						return
					}
					key := fmt.Sprintf("w%d %d", w, n%200)
					for _, s := range []string{
						fmt.Sprintf("DELETE FROM t WHERE k = 'w%d %d'", w, (n+100)%200), fmt.Sprintf("DELETE FROM ledger WHERE k = 'w%d %d'", w, (n+100)%200),
						fmt.Sprintf("INSERT INTO t (k, v, f, j) VALUES ('%s', %d, 0.1, '%s') ON DUPLICATE KEY UPDATE v = %d", key, n, key, n),
						fmt.Sprintf("INSERT INTO ledger VALUES ('%s', %d) ON DUPLICATE KEY UPDATE v = %d", key, n, n),
					} {
						if _, err = tx.Exec(s); err != nil {
							break
						}
					}
					if err == nil {
						err = tx.Commit()
					} else {
						tx.Rollback()
					}
					if err != nil && dbconn.Number(err) != 1213 { // the writers' own deadlock
						r.Error(err)
					}
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		result, err := r.undo(r.Context(), "t", true)
		r.must(result, err)
		time.Sleep(200 * time.Millisecond)
		close(over)
		writers.Wait()
		r.Logf("%d attempts, the lock was held for %s", result.Attempts, result.LockHeld)
		r.exec("INSERT INTO ledger VALUES ('before 1', 1), ('before 2', 2)")
		if got := r.text("SELECT COUNT(*) FROM t JOIN ledger USING (k) WHERE t.v = ledger.v AND g = t.v + 1"); got != r.text("SELECT COUNT(*) FROM ledger") || got != r.text("SELECT COUNT(*) FROM t") {
			r.Errorf("%s rows are equal, of %s in the ledger and %s in the table", got, r.text("SELECT COUNT(*) FROM ledger"), r.text("SELECT COUNT(*) FROM t"))
		}
		if got := r.text("SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "ledger,t,t_undo,t_undone" {
			r.Error(got)
		}
		// The list and the end of the undo name the table with the rows that were written since the TRUNCATE.
		pool, table := r.pool(r.Context()), schema.Name{Schema: r.name, Table: "t"}
		defer pool.Close()
		kept, err := leftovers.Undoables(r.Context(), pool, &table)
		if err != nil || len(kept) != 1 || kept[0].State != leftovers.UndoOpen || kept[0].Old.Table != "t_undone" || kept[0].Record.Mode != plan.UndoRename {
			r.Errorf("the undo is %+v (%v)", kept, err)
		}
		ended, err := leftovers.EndUndo(r.Context(), pool, table, false)
		if err != nil || ended.Old.Table != "t_undone" {
			r.Errorf("the end of the undo: %+v (%v)", ended, err)
		}
		r.exec("DROP TABLE t_undone")
	})
}

// TestU4_UndoOfATruncateRefusesTakenKeys: rows whose keys are taken are refused and listed, and nothing has changed.
func TestU4_UndoOfATruncateRefusesTakenKeys(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, UNIQUE (v))", "INSERT INTO t (v) VALUES (1), (2)")
		r.must(r.run(r.Context(), "TRUNCATE t"))
		for _, rows := range []string{"(1, 7), (5, 5)", "(7, 2)"} {
			r.exec("INSERT INTO t VALUES " + rows)
			state := r.state()
			if _, err := r.undo(r.Context(), "t", true); !errors.Is(err, failure.ErrUnfit) {
				r.Errorf("%s: %v", rows, err)
			}
			if got := r.state(); got != state {
				r.Errorf("%s: %s, want %s", rows, got, state)
			}
			r.exec("DELETE FROM t")
		}
		r.exec("INSERT INTO t VALUES (5, 5)")
		r.must(r.undo(r.Context(), "t", true))
		if got := r.text("SELECT GROUP_CONCAT(id, ' ', v ORDER BY id) FROM t"); got != "1 1,2 2,5 5" {
			r.Error(got)
		}
		r.exec("INSERT INTO t (v) VALUES (9)")
		if got := r.text("SELECT id FROM t WHERE v = 9"); got != "8" { // a row had 7
			r.Errorf("the counter gave %s", got)
		}
		r.exec("DROP TABLE t_undo, t_undone")
	})
}

// TestL7_KilledMerge: an undo that takes rows over is killed before each of its commands. The same command again
// completes it; without --merge and without rows, it gives the rows back first.
func TestL7_KilledMerge(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		for _, at := range []string{"CREATE TABLE `", "INSERT INTO `", "AND EXISTS", "SET digest", "LOCK TABLES", "RENAME TABLE", "COMMENT = 'midstream truncated"} {
			for _, merge := range []bool{true, false} {
				r.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t (id, v) VALUES (1, 1), (2, 2)")
				r.must(r.run(r.Context(), "TRUNCATE t"))
				r.exec("INSERT INTO t VALUES (3, 3), (4, 4)")
				rule := ruleOf(at)
				rule.After = "COMMENT = ''"
				if !r.killedAt("merge t", rule) {
					r.Fatalf("no command has %q", at)
				}
				work, want := "merge t", "1 1,2 2,3 3,5 5"
				swapped := r.text("SELECT COUNT(*) FROM t") == "4"
				if !swapped {
					r.exec("DELETE FROM t WHERE id = 4", "INSERT INTO t VALUES (5, 5)")
					if !merge {
						r.exec("DELETE FROM t")
						work, want = "undo t", "1 1,2 2"
					}
				} else {
					want = "1 1,2 2,3 3,4 4"
				}
				if err := r.again(work); err != nil {
					r.Errorf("killed at %s, merge %t: %v", at, merge, err)
				}
				if got := r.text("SELECT GROUP_CONCAT(id, ' ', v ORDER BY id) FROM t"); got != want {
					r.Errorf("killed at %s, merge %t: the rows are %s, want %s", at, merge, got, want)
				}
				if got := r.state(); strings.Contains(got, "t_merged") || strings.Contains(got, "t_old") {
					r.Errorf("killed at %s, merge %t: %s", at, merge, got)
				}
				r.exec("DROP TABLE IF EXISTS t, t_undo, t_undone")
				if r.Failed() {
					return
				}
			}
		}
	})
}
