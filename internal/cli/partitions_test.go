package cli

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/cli/exit"
)

// ofPartitions are statements on the partitions of tables r (RANGE) and h (HASH) that the server itself carries out.
var ofPartitions = []struct{ table, clause string }{
	{"r", "ADD PARTITION (PARTITION p2 VALUES LESS THAN (3000))"},
	{"r", "REORGANIZE PARTITION p1 INTO (PARTITION p1a VALUES LESS THAN (1500), PARTITION p1b VALUES LESS THAN (2000))"},
	{"h", "ADD PARTITION PARTITIONS 2"},
	{"h", "COALESCE PARTITION 1"},
}

// TestL11_StatementsOnPartitions: 5.7 and MariaDB take no ALGORITHM and no LOCK with these clauses. The run lets the server carry
// them out, or a new table has the same definition and rows. MariaDB would lose rows if a copy of its own were withdrawn, so there the
// run copies.
func TestL11_StatementsOnPartitions(t *testing.T) {
	sideBySide(t)
	onEveryKind(t, func(r *statementRig) {
		for _, s := range ofPartitions {
			for _, flags := range [][]string{{"--method=auto", "--drop-old", "--lock-work=2s"}, {"--method=shadow", "--drop-old", "--lock-work=2s"}} {
				r.partitioned()
				r.exec("ALTER TABLE " + s.table + " " + s.clause)
				want := showCreate(r, s.table)
				r.partitioned()
				rows := r.query("SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(v)) FROM " + s.table)
				says := "server: the server changes the table itself"
				if flags[0] != "--method=auto" || r.losesRows() && !strings.Contains(s.clause, "VALUES LESS THAN (3000)") {
					says = "all rows verified"
				}
				r.says("run", exit.Done, "ALTER TABLE "+s.table+" "+s.clause, flags, says)
				if got := showCreate(r, s.table); got != want {
					r.Errorf("%s %s: the table is\n%s\nwant\n%s", s.clause, flags[0], got, want)
				}
				if got := r.query("SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(v)) FROM " + s.table); got != rows {
					r.Errorf("%s %s: the rows are %s, want %s", s.clause, flags[0], got, rows)
				}
			}
		}
		r.partitioned()
		if r.losesRows() {
			r.says("run", exit.Refused, "ALTER TABLE h COALESCE PARTITION 1", []string{"--method=copy"}, "MariaDB loses the rows of the partitions if the statement is interrupted")
		}
		r.says("plan", exit.Done, "ALTER TABLE r "+ofPartitions[0].clause, nil, "INPLACE: the server changes only its dictionary")
		// The reason is the server's for the clause, and not that it takes no ALGORITHM.
		r.says("run", exit.Refused, "ALTER TABLE r ADD PARTITION (PARTITION p2 VALUES LESS THAN (5))", nil, "strictly increasing")
		for _, clause := range []string{"DROP PARTITION p0", "TRUNCATE PARTITION p0", "EXCHANGE PARTITION p0 WITH TABLE x"} {
			r.says("run", exit.Refused, "ALTER TABLE r "+clause, nil, "the server works under the table's exclusive lock", "lock_wait_timeout", "docs/partitions.md")
		}
	})
}

// losesRows reports whether the server loses rows if KILL QUERY meets a statement that copies the rows of partitions.
func (r *statementRig) losesRows() bool {
	return strings.Contains(r.query("SELECT VERSION()"), "MariaDB")
}

// partitioned makes the tables again.
func (r *statementRig) partitioned() {
	r.Helper()
	r.exec("DROP TABLE IF EXISTS r, h, x, r_old, h_old", "CREATE TABLE r (id INT NOT NULL PRIMARY KEY, v INT) "+
		"PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000), PARTITION p1 VALUES LESS THAN (2000))",
		"CREATE TABLE h (id INT NOT NULL PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 4", "CREATE TABLE x (id INT NOT NULL PRIMARY KEY, v INT)",
		"INSERT INTO r VALUES (1, 1), (2, 2), (1001, 3), (1501, 4), (1999, 5)", "INSERT INTO h SELECT * FROM r")
}

// TestNoQueryWaitsForAStatementOnPartitions: a transaction has read the table, and the statement must wait for it. No other query waits
// behind the statement for longer than the budget, and the statement comes through in the end.
func TestNoQueryWaitsForAStatementOnPartitions(t *testing.T) {
	sideBySide(t)
	onEveryKind(t, func(r *statementRig) {
		for _, s := range ofPartitions {
			r.partitioned()
			db := r.i.Open(r.T, r.database)
			reader, err := db.BeginTx(context.Background(), nil)
			if err == nil {
				_, err = reader.Exec("SELECT * FROM " + s.table)
			}
			if err != nil {
				r.Fatal(err)
			}
			ctx, end := context.WithCancel(context.Background())
			var writer sync.WaitGroup
			var longest time.Duration
			writer.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					if _, err := db.Exec("UPDATE " + s.table + " SET v = v + 1 WHERE id = 1501"); err != nil {
						r.Errorf("%s: %v", s.clause, err)
						return
					}
					longest = max(longest, time.Since(began))
					time.Sleep(2 * time.Millisecond)
				}
			})
			time.AfterFunc(1500*time.Millisecond, func() { reader.Rollback() })
			began := time.Now()
			r.says("run", exit.Done, "ALTER TABLE "+s.table+" "+s.clause, nil, "Done in")
			if took := time.Since(began); took < time.Second {
				r.Errorf("%s: done after %s: it did not wait", s.clause, took)
			}
			end()
			writer.Wait()
			if longest > 1300*time.Millisecond { // 250 ms to wait, and the work; the reader would hold it for 1.5 s
				r.Errorf("%s: a query took %s", s.clause, longest)
			}
			r.Logf("%s: a query took %s at most", strings.Fields(s.clause)[0], longest)
		}
	})
}
