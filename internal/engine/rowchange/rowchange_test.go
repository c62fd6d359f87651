package rowchange_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowchange"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// numbers is a derived table of the numbers from 0 to 9,999.
const numbers = "(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS i FROM " + digits + " a, " + digits + " b, " + digits + " c, " + digits + " e) s"

const digits = "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"

// seed makes the table t with 10,000 rows; n is 0.
func (r *rig) seed() {
	r.Helper()
	r.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT, n INT NOT NULL DEFAULT 0, text VARCHAR(40), KEY (v))",
		"INSERT INTO t (id, v, text) SELECT i, IF(i % 10 = 0, NULL, i % 100), CONCAT('Row ', i) FROM "+numbers)
}

// TestL4_EachRowOnce: whatever the key is, each row that meets the condition is changed once, and no other row is.
func TestL4_EachRowOnce(t *testing.T) {
	for _, c := range []struct {
		name, columns, key string
		values             string // of the key, for i
		not                string // versions that do not take it
	}{
		{"unsigned", "a BIGINT UNSIGNED", "a", "18446744073709551615 - i", ""},
		{"negative", "a INT", "a", "i - 5000", ""},
		{"composite", "a INT, b VARCHAR(20) COLLATE utf8mb4_general_ci, c DATE", "a, b, c", "i % 7, CONCAT(IF(i % 2, 'x', 'Y'), i), '2020-01-01' + INTERVAL i DAY", ""},
		{"descending", "a INT, b INT", "a DESC, b", "i % 10, i", "5.7 mariadb-10.11"},
		{"decimal", "a DECIMAL(20,6)", "a", "(i - 3000) / 7 * 1000", ""},
		{"binary", "a BINARY(8), b VARBINARY(9)", "a, b", "UNHEX(LPAD(HEX(i), 16, '0')), REVERSE(UNHEX(LPAD(HEX(i), 8, '0')))", ""},
		{"letters", "a VARCHAR(30)", "a", "CONCAT(CHAR(97 + i % 26), IF(i % 3, 'É', 'ß'), i, ' ')", ""},
		{"enum", "a ENUM('z','','a'), b INT", "a, b", "1 + i % 3, i", ""},
		{"char", "a CHAR(12) CHARACTER SET latin1", "a", "CONCAT('ä', i)", ""},
		{"moment", "a DATETIME(3), b TIME(2)", "a, b", "'2020-01-01' + INTERVAL i HOUR, SEC_TO_TIME(i - 4000)", ""},
		{"float", "a DOUBLE", "a", "(i - 5000) / 3e0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(r *rig) {
				for _, not := range strings.Fields(c.not) {
					if strings.HasSuffix(r.Name(), not) {
						return
					}
				}
				names := strings.ReplaceAll(c.key, " DESC", "")
				r.exec("CREATE TABLE t ("+c.columns+", v INT, n INT NOT NULL DEFAULT 0, PRIMARY KEY ("+c.key+")) DEFAULT CHARSET utf8mb4",
					"INSERT INTO t ("+names+", v) SELECT "+c.values+", i % 10 FROM "+numbers)
				result := r.must("UPDATE t SET n = n + 1 WHERE v IN (1, 4) OR v = 7")
				r.is("SELECT CONCAT(SUM(n = 1 AND v IN (1, 4, 7)), ' ', SUM(n = 0 AND v NOT IN (1, 4, 7)), ' ', COUNT(*)) FROM t", "3000 7000 10000")
				if result.Matched != 3000 || result.Rows != 3000 || result.Match != 3000 {
					r.Errorf("the result is %+v", result)
				}
				r.exec("CREATE TABLE before_it AS SELECT * FROM t WHERE v = 4")
				r.options.Rest = schema.Name{Schema: r.name, Table: "rest"}
				result = r.must("DELETE FROM t WHERE v = 4")
				if result.Rows != 1000 || result.Archived != 1000 || result.Match != 0 {
					r.Errorf("the result is %+v", result)
				}
				r.is("SELECT CONCAT(COUNT(*), ' ', SUM(v = 4)) FROM t", "9000 0")
				var same []string
				for _, name := range strings.Split(names, ", ") {
					same = append(same, "x."+name+" = y."+name)
				}
				r.is("SELECT COUNT(*) FROM rest x JOIN before_it y ON "+strings.Join(same, " AND ")+" AND x.n = y.n AND x.v = y.v", "1000")
			})
		})
	}
}

// writers insert rows, and change and delete some, until the test calls stop. They never write n.
func (r *rig) writers() (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	var all sync.WaitGroup
	for w := range 3 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := rand.IntN(10_000)
				for _, statement := range []string{
					fmt.Sprintf("UPDATE t SET text = CONCAT('x', %d) WHERE id = %d", i, id),
					fmt.Sprintf("INSERT IGNORE INTO t (id, v, text) VALUES (%d, 1000, 'new')", 10_000+w+3*i),
					fmt.Sprintf("UPDATE t SET v = v WHERE id BETWEEN %d AND %d", id, id+20),
				} {
					_, _ = r.db.ExecContext(ctx, statement)
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// TestL5_AKilledUpdateCountsEachRowOnce: an update that is not idempotent counts each row once, however often its process is killed.
func TestL5_AKilledUpdateCountsEachRowOnce(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		stop := r.writers()
		defer stop()
		kills := r.killed("UPDATE t SET n = n + 1 WHERE v < 1000 OR v IS NULL", "", 12)
		stop()
		r.Logf("%d kills", kills)
		if kills == 0 {
			r.Error("no process was killed at work")
		}
		r.is("SELECT CONCAT(COUNT(*), ' ', MIN(n), ' ', MAX(n)) FROM t WHERE id < 10000", "10000 1 1")
		r.is("SELECT IFNULL(SUM(n), 0) FROM t WHERE id >= 10000", "0")
	})
}

// TestL5_AKilledPurgeKeepsEachRowOnce: each row is in the table or in the archive, and in one of them, however often the process is killed.
func TestL5_AKilledPurgeKeepsEachRowOnce(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		r.seed()
		r.options.Rest = schema.Name{Schema: r.name, Table: "rest"}
		stop := r.writers()
		defer stop()
		r.killed("DELETE FROM t WHERE v < 50", "rest", 8)
		stop()
		r.is("SELECT COUNT(*) FROM t WHERE v < 50", "0")
		r.is("SELECT COUNT(*) FROM rest WHERE v < 50", "4500")
		r.is("SELECT COUNT(*) FROM rest", "4500")
		r.is("SELECT COUNT(*) FROM t WHERE id < 10000", "5500")
	})
}

// TestL5_ALostAnswer: a statement that is lost, or whose answer is lost, is not done twice and not left out, whichever it is.
func TestL5_ALostAnswer(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, c := range []struct {
			at   string
			deaf bool
		}{
			{"COMMIT", true}, {"COMMIT", false}, {"UPDATE `" + r.name + "`.`t` SET", true}, {"UPDATE `" + r.name + "`.`t_rows` SET state", true},
			{"START TRANSACTION", false}, {"DROP TABLE", true},
		} {
			r.exec("DROP TABLE IF EXISTS t")
			r.seed()
			proxy := fault.New(r.T, r.server.Address, fault.Rule{After: "START TRANSACTION", At: c.at, Nth: 1, Deaf: c.deaf, Cut: !c.deaf})
			r.address = proxy.Address
			const statement = "UPDATE t SET n = n + 1 WHERE v <> 7"
			_, err := r.run(r.Context(), statement)
			if _, bent := proxy.Bent(); !bent {
				r.Errorf("%s: nothing was lost", c.at)
			}
			var failed *failure.Failure
			if err != nil && (!errors.As(err, &failed) || !failed.Kept || !failed.Lost) {
				r.Errorf("%s: %v", c.at, err)
			}
			r.address = r.server.Address
			if err != nil {
				r.must(statement)
			}
			r.is("SELECT CONCAT(COUNT(*), ' ', MIN(n), ' ', MAX(n)) FROM t WHERE v <> 7", "8900 1 1")
			r.is("SELECT CONCAT(COUNT(*), ' ', MAX(n)) FROM t WHERE v = 7 OR v IS NULL", "1100 0")
		}
	})
}

// TestL9_AnInterruptKeepsTheCheckpoint: an interrupt ends the chunk, and the same statement resumes. Another statement is refused until
// then, and so is a change of the table.
func TestL9_AnInterruptKeepsTheCheckpoint(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		const statement = "UPDATE t SET n = n + 1 WHERE TRUE"
		stopped := func() *failure.Failure {
			ctx, stop := context.WithCancelCause(r.Context())
			r.control = slow()
			before := r.text("SELECT SUM(n) FROM t")
			go r.once("SELECT SUM(n) FROM t", before, func() { stop(fmt.Errorf("%w", failure.ErrKeep)) })
			_, err := r.run(ctx, statement)
			var failed *failure.Failure
			if !errors.As(err, &failed) || !failed.Kept || !errors.Is(err, failure.ErrKeep) {
				r.Fatalf("an interrupted run ends with %v", err)
			}
			return failed
		}
		if failed := stopped(); !strings.Contains(failed.Left, "t_rows") {
			r.Errorf("left: %s", failed.Left)
		}
		for _, other := range []string{"UPDATE t SET n = n + 2 WHERE TRUE", "DELETE FROM t WHERE TRUE", "UPDATE t SET n = n + 1 WHERE v = 1"} {
			if _, err := r.run(r.Context(), other); !errors.Is(err, failure.ErrOtherAlter) {
				r.Errorf("%s over the checkpoint of another statement: %v", other, err)
			}
		}
		pool, err := open(r.Context(), r.address, r.server.User, r.server.Password)
		if err != nil {
			r.Fatal(err)
		}
		defer pool.Close()
		r.control = nil
		if p, err := r.plan("update t set n=n+1 where true"); err != nil || p.Former == "" {
			r.Errorf("the same statement does not resume: %v", err)
		}
		result := r.must(statement)
		if !result.Resumed || result.Rows != 10_000 {
			r.Errorf("the result is %+v", result)
		}
		r.is("SELECT CONCAT(MIN(n), ' ', MAX(n)) FROM t", "1 1")

		stopped()
		name := schema.Name{Schema: r.name, Table: "t"}
		found, err := leftovers.Cleanup(r.Context(), pool, name, false, func([]leftovers.Table) bool { return true }, func(string) {})
		if err != nil || len(found) != 1 || found[0].Name != plan.RowsOf(name) {
			r.Errorf("cleanup finds %v (%v)", found, err)
		}
	})
}

// once does something when a query has another value than before.
func (r *rig) once(query, before string, do func()) {
	for r.Context().Err() == nil && r.text(query) == before {
		time.Sleep(20 * time.Millisecond)
	}
	do()
}

// slow is the control of a run that rests for most of its time.
func slow() *operator.Control {
	s := settings()
	s.Rest = 0.98
	return operator.NewControl(s)
}

// TestL9_AnAbortRemovesTheCheckpoint: the changed rows stay as they are.
func TestL9_AnAbortRemovesTheCheckpoint(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		r.control = slow()
		ctx, stop := context.WithCancelCause(r.Context())
		go r.once("SELECT COUNT(*) FROM t", "10000", func() { stop(errors.New("aborted")) })
		_, err := r.run(ctx, "DELETE FROM t WHERE v < 90")
		var failed *failure.Failure
		if !errors.As(err, &failed) || failed.Kept {
			r.Errorf("an aborted run ends with %v", err)
		}
		r.is("SHOW TABLES LIKE 't_rows'", "sql: no rows in result set")
	})
}

// TestL5_OneRunAtATime: no two row changes work on a table at once.
func TestL5_OneRunAtATime(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		pool, err := open(r.Context(), r.address, r.server.User, r.server.Password)
		if err != nil {
			r.Fatal(err)
		}
		defer pool.Close()
		claim, err := leftovers.ClaimTable(r.Context(), pool, schema.Name{Schema: r.name, Table: "t"}, func(error) {})
		if err != nil {
			r.Fatal(err)
		}
		_, err = r.run(r.Context(), "DELETE FROM t WHERE v < 90")
		claim.Release()
		var refused *plan.Refused
		if !errors.As(err, &refused) || refused.Blocking[0].Code != plan.CodeAtWork {
			r.Errorf("a second run: %v", err)
		}
	})
}

// TestL4_ALockedRowIsWaitedFor: a row that another transaction has locked holds the run up until that ends; nothing is left out.
func TestL4_ALockedRowIsWaitedFor(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		tx, err := r.db.Begin()
		if err != nil {
			r.Fatal(err)
		}
		if _, err := tx.Exec("UPDATE t SET text = 'locked' WHERE id = 3333"); err != nil {
			r.Fatal(err)
		}
		time.AfterFunc(15*time.Second, func() { _ = tx.Commit() })
		result := r.must("DELETE FROM t WHERE id < 5000")
		if result.Rows != 5000 || result.Retries == 0 {
			r.Errorf("the result is %+v", result)
		}
		if !strings.Contains(r.notes(), "is locked by another transaction") {
			r.Errorf("no note names the row: %s", r.notes())
		}
	})
}

// TestL4_ARefusedRowIsNamed: a row that the server refuses stops the run with its key, and all rows before it are done.
func TestL4_ARefusedRowIsNamed(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		r.exec("CREATE TABLE child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id))", "INSERT INTO child VALUES (1, 4444)")
		const statement = "DELETE FROM t WHERE id < 5000"
		p, err := r.plan(statement)
		if err != nil {
			r.Skip(err) // 8.0.12 of the sandbox knows no foreign keys
		}
		if len(p.Risks) == 0 || p.Risks[0].Code != plan.CodeReferenced {
			r.Errorf("the plan does not name the child: %v", p.Risks)
		}
		_, err = r.run(r.Context(), statement)
		var failed *failure.Failure
		if !errors.As(err, &failed) || !failed.Kept || !strings.Contains(err.Error(), "row id=4444") {
			r.Errorf("a row with a child: %v", err)
		}
		r.is("SELECT MIN(id) FROM t", "4444")
		r.exec("DELETE FROM child")
		r.must(statement)
		r.is("SELECT MIN(id) FROM t", "5000")
	})
}

// TestL5_APauseStopsEverything: while the run is paused no row changes.
func TestL5_APauseStopsEverything(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		r.control = slow()
		done := make(chan error, 1)
		go func() {
			_, err := r.run(r.Context(), "UPDATE t SET n = n + 1 WHERE TRUE")
			done <- err
		}()
		for !r.control.AtWork() {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		if _, err := r.control.Pause(r.Context(), "a test"); err != nil {
			r.Fatal(err)
		}
		before := r.text("SELECT SUM(n) FROM t")
		time.Sleep(700 * time.Millisecond)
		r.is("SELECT SUM(n) FROM t", before)
		if before == "10000" {
			r.Error("the run was done before the pause")
		}
		if err := r.control.Resume(); err != nil {
			r.Error(err)
		}
		if err := r.control.Set(r.Context(), map[string]string{"copy-share": "100%"}); err != nil {
			r.Error(err)
		}
		if err := <-done; err != nil {
			r.Error(err)
		}
		r.is("SELECT CONCAT(MIN(n), ' ', MAX(n)) FROM t", "1 1")
	})
}

// TestL5_AKillRightAfterTheStateTableWasMade: the table has no rows then. The same command begins, and leaves nothing.
func TestL5_AKillRightAfterTheStateTableWasMade(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		p, err := r.plan("DELETE FROM t WHERE v < 90")
		if err != nil {
			r.Fatal(err)
		}
		pool, err := open(r.Context(), r.address, r.server.User, r.server.Password)
		if err != nil {
			r.Fatal(err)
		}
		defer pool.Close()
		session, err := pool.Session(r.Context())
		if err == nil {
			err = checkpoint.New(p.State(), p.Source.Name, pool.Name(), p.Server.UUID).CreateAs(r.Context(), session, plan.RowsKind)
			session.Close()
		}
		if err != nil {
			r.Fatal(err)
		}
		if result := r.must("DELETE FROM t WHERE v < 90"); result.Resumed {
			r.Errorf("it resumed: %+v", result)
		}
		r.is("SELECT COUNT(*) FROM t WHERE v < 90", "0")
	})
}

// TestL4_RowsThatBeginToMatchAreCounted: rows that the application writes behind the frontier are counted at the end.
func TestL4_RowsThatBeginToMatchAreCounted(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		r.exec("CREATE TRIGGER again AFTER DELETE ON t FOR EACH ROW INSERT INTO other (v) VALUES (OLD.v)", "CREATE TABLE other (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
		if p, err := r.plan("DELETE FROM t WHERE v = 5"); err != nil || len(p.Risks) != 1 || p.Risks[0].Code != plan.CodeTrigger {
			r.Errorf("the plan does not name the trigger: %v, %v", p, err)
		}
		r.control = slow()
		inserted := make(chan struct{})
		go func() {
			defer close(inserted)
			for n := 0; n == 0; time.Sleep(5 * time.Millisecond) { // until the first rows are deleted
				if r.db.QueryRow("SELECT COUNT(*) FROM other").Scan(&n) != nil {
					return
				}
			}
			_, _ = r.db.Exec("INSERT INTO t (id, v) VALUES (-1, 5), (-2, 5)")
			_ = r.control.Set(context.Background(), map[string]string{"copy-share": "100%"})
		}()
		result := r.must("DELETE FROM t WHERE v < 90")
		<-inserted
		if result.Match != 2 {
			r.Errorf("the result is %+v", result)
		}
		r.is("SELECT COUNT(*) FROM t WHERE v < 90", "2")
		r.is("SELECT COUNT(*) FROM other", fmt.Sprint(result.Rows))
	})
}

// TestRefusals: what cannot be done in chunks is refused, and nothing is written.
func TestRefusals(t *testing.T) {
	onEach(t, func(r *rig) {
		r.seed()
		r.exec("CREATE VIEW seen AS SELECT * FROM t", "CREATE TABLE keyless (a INT, b INT)", "CREATE TABLE nulls (a INT, b INT, UNIQUE KEY (a))",
			"CREATE TABLE log (a INT PRIMARY KEY) ENGINE=MyISAM",
			"CREATE TABLE other_columns (id INT PRIMARY KEY, v BIGINT)")
		notNull := " NOT NULL"
		if strings.Contains(r.Name(), "mariadb") { // it takes none there, so the key may be NULL
			notNull = ""
		}
		r.exec("CREATE TABLE computed (a INT, b INT AS (a + 1) STORED" + notNull + " UNIQUE, c INT)")
		for _, c := range []struct{ statement, reason, rest string }{
			{"DELETE FROM t WHERE v < 5 AND id < RAND() * 100", "may not mean the same", ""},
			{"DELETE FROM t WHERE text < NOW()", "it is '", ""},
			{"DELETE FROM t WHERE id IN (SELECT a FROM log)", "subquery", ""},
			{"DELETE FROM t WHERE v < @x", "variable", ""},
			{"DELETE FROM t WHERE t.v < 5", "without the name of the table", ""},
			{"DELETE FROM t WHERE w < 5", "w", ""},
			{"DELETE FROM t WHERE (v < 5", "parenthes", ""},
			{"UPDATE t SET id = id + 1 WHERE v = 5", "a column of the key", ""},
			{"UPDATE t SET text = UUID() WHERE v = 5", "the value of text", ""},
			{"UPDATE t SET text = SLEEP(1) WHERE v = 5", "the value of text", ""},
			{"UPDATE t SET w = 5 WHERE v = 5", "w", ""},
			{"UPDATE computed SET a = 7 WHERE a = 1", "key", ""},
			{"DELETE FROM keyless WHERE a = 1", "no usable key", ""},
			{"DELETE FROM nulls WHERE a = 1", "may be NULL", ""},
			{"DELETE FROM log WHERE a = 1", "MyISAM", ""},
			{"DELETE FROM seen WHERE v = 1", "view", ""},
			{"DELETE FROM nowhere WHERE v = 1", "", ""},
			{"DELETE FROM t WHERE v = 1", "other columns", "other_columns"},
			{"DELETE FROM t WHERE v = 1", "itself", "t"},
			{"DELETE FROM t WHERE v = 1", "MyISAM", "log"},
			{"UPDATE t SET v = 2 WHERE v = 1", "no rows out", "rest"},
		} {
			r.options = rowchange.Options{}
			if c.rest != "" {
				r.options.Rest = schema.Name{Schema: r.name, Table: c.rest}
			}
			_, err := r.plan(c.statement)
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.reason)) {
				r.Errorf("%s: %v, and not %q", c.statement, err, c.reason)
			}
			known := func(target error) bool { return errors.Is(err, target) }
			if !slices.ContainsFunc([]error{plan.ErrRefused, ddl.ErrNotRowChange, schema.ErrNotFound, schema.ErrNotBaseTable}, known) {
				r.Errorf("%s: %v is no refusal", c.statement, err)
			}
		}
		r.is("SELECT CONCAT(COUNT(*), ' ', SUM(n)) FROM t", "10000 0")
	})
}
