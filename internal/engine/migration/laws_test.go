package migration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// numbered makes table t with the keys 1 to n and a value each.
func (b *bench) numbered(n int) {
	b.Helper()
	b.exec("CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, v INT NOT NULL, u INT UNIQUE)",
		"CREATE TABLE "+b.schema+".digits (d INT PRIMARY KEY)",
		"INSERT INTO "+b.schema+".digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
		fmt.Sprintf("INSERT INTO %[1]s.t SELECT 1+a.d+10*b.d+100*c.d+1000*e.d AS n, 0, 1+a.d+10*b.d+100*c.d+1000*e.d"+
			" FROM %[1]s.digits a, %[1]s.digits b, %[1]s.digits c, %[1]s.digits e HAVING n <= %[2]d", b.schema, n))
}

// sums describes the rows of a table, without the column that the change adds.
func (b *bench) sums(table string) string {
	return b.value(fmt.Sprintf("SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(CONCAT_WS('/', id, v, u)))) FROM %s.%s", b.schema, table))
}

// equal fails the test unless the new table holds what the old one held at the swap.
func (b *bench) equal() {
	b.Helper()
	if new, old := b.sums("t"), b.sums("t_old"); new != old {
		b.Errorf("rows and checksum are %s, of the old table %s", new, old)
	}
}

// heldAt starts a run that adds a column, in chunks of 1,000 rows one after the other. It returns
// when the chunk that holds the key is in flight: the chunk has read its rows up to the key, and
// waits for a row of the shadow that is locked until release.
func (b *bench) heldAt(key int) (r *running, release func()) {
	b.Helper()
	b.cfg.RowCopy.MaxRows, b.settings.RowCopy.Workers = 1000, 1
	r = b.background(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCopy, func() { release = b.lockInShadow(key) }))
	b.awaited("row copy", entered(event.PhaseCopy))
	b.waitForLockWait()
	return r, release
}

// lockInShadow locks a key of the shadow by a transaction of the test's.
func (b *bench) lockInShadow(key int) (release func()) {
	b.Helper()
	conn := b.conn()
	for _, statement := range []string{
		"SET SESSION innodb_lock_wait_timeout = 100", "BEGIN",
		fmt.Sprintf("INSERT INTO %s.t_shadow (id, v) VALUES (%d, -1)", b.schema, key)} {
		if _, err := conn.ExecContext(b.ctx(), statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	return func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			b.Error(err)
		}
	}
}

// onPhase calls f once, in the run's own goroutine, when the phase begins: the run waits for f.
func onPhase(p event.Phase, f func()) event.Listener {
	is := entered(p)
	done := false
	return func(e event.Event) {
		if is(e) && !done {
			done = true
			f()
		}
	}
}

// captured waits until that many changes were captured.
func (b *bench) captured(n int64) {
	b.Helper()
	b.awaited("captured changes", func(e event.Event) bool {
		p, is := e.(event.Progress)
		return is && p.Captured >= n
	})
}

// prepareXA runs statements as an XA transaction and prepares it. end commits it or rolls it back.
// If a test fails, what it left prepared is rolled back, because a prepared transaction outlives
// its connection and would block every later test.
func (b *bench) prepareXA(xid string, statements ...string) (end func(how string)) {
	conn := b.conn()
	exec := func(statement string) {
		if _, err := conn.ExecContext(context.Background(), statement); err != nil {
			b.Errorf("%s: %v", statement, err)
		}
	}
	exec("XA START '" + xid + "'")
	for _, s := range statements {
		exec(s)
	}
	exec("XA END '" + xid + "'")
	exec("XA PREPARE '" + xid + "'")
	ended := false
	end = func(how string) {
		ended = true
		exec(how + " '" + xid + "'")
	}
	b.Cleanup(func() {
		if !ended {
			end("XA ROLLBACK")
		}
	})
	return end
}

// TestL1_PreparedXABeforeStart: the rows of an XA transaction that was prepared before the start
// position are before it in the binlog. The run may read the first row only when the transaction
// has ended.
func TestL1_PreparedXABeforeStart(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(1000)
		before := b.prepareXA("before", "UPDATE "+b.schema+".t SET v = 7 WHERE id <= 10",
			"DELETE FROM "+b.schema+".t WHERE id = 900")
		r := b.background(b.ctx(), "ADD COLUMN added INT")
		b.awaited("the note that the run waits", func(e event.Event) bool {
			n, is := e.(event.Note)
			return is && strings.Contains(n.Text, "XA")
		})
		before("XA COMMIT")
		r.wait(b)
		b.equal()
		if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t WHERE v = 7"); got != "10" {
			b.Errorf("%s rows of the XA transaction arrived, want 10", got)
		}
	})
}

// TestL2_ChangeInsideChunkInFlight: a chunk has read its rows and waits, while rows of it are
// deleted, changed and moved. The chunk must not bring the old rows back.
func TestL2_ChangeInsideChunkInFlight(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(3000)
		r, release := b.heldAt(999)
		b.exec("DELETE FROM "+b.schema+".t WHERE id = 10", "UPDATE "+b.schema+".t SET v = 5 WHERE id = 20",
			"UPDATE "+b.schema+".t SET id = 5000 WHERE id = 30", "UPDATE "+b.schema+".t SET u = NULL WHERE id = 40",
			"UPDATE "+b.schema+".t SET u = 40 WHERE id = 2500")
		b.captured(6)
		release()
		r.wait(b)
		b.equal()
	})
}

// waitForLockWait waits until a session of the run waits for a row lock.
func (b *bench) waitForLockWait() {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	for b.value("SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'INSERT INTO `"+b.schema+
		"`.`t_shadow`%' AND processlist_time >= 1") == "0" {
		if time.Now().After(deadline) {
			b.Fatal("no chunk waits for the locked row")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestL3_XARowsBecomeVisibleAtCommit: rows of XA transactions that are prepared during the copy are
// synced after their XA COMMIT, and never if they are rolled back. The swap waits for both.
func TestL3_XARowsBecomeVisibleAtCommit(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(3000)
		var kept, dropped func(string)
		r := b.background(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCopy, func() {
			kept = b.prepareXA("kept", "UPDATE "+b.schema+".t SET v = 8 WHERE id <= 20")
			dropped = b.prepareXA("dropped", "DELETE FROM "+b.schema+".t WHERE id > 2990")
		}))
		b.awaited("catching up", entered(event.PhaseCatchUp))
		kept("XA COMMIT")
		b.captured(20)
		select {
		case <-r.done:
			b.Fatalf("the swap did not wait for a prepared transaction: %v", r.err)
		case <-time.After(time.Second):
		}
		dropped("XA ROLLBACK")
		r.wait(b)
		b.equal()
		if got := b.value("SELECT SUM(v = 8) FROM " + b.schema + ".t"); got != "20" {
			b.Errorf("%s rows of the committed transaction arrived, want 20", got)
		}
	})
}

// TestL4_ChangeAheadOfFrontier: keys that the row copy has yet to read are dropped, and their
// changes arrive by the row copy.
func TestL4_ChangeAheadOfFrontier(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(3000)
		r, release := b.heldAt(999)
		b.exec("UPDATE "+b.schema+".t SET v = 5 WHERE id BETWEEN 2001 AND 2100", "DELETE FROM "+b.schema+".t WHERE id = 2200",
			"INSERT INTO "+b.schema+".t VALUES (9000, 1, 9000)")
		b.awaited("dropped keys", func(e event.Event) bool {
			p, is := e.(event.Progress)
			return is && p.Dropped == 102
		})
		release()
		result := r.wait(b)
		b.equal()
		if result.Applied != 0 {
			b.Errorf("%d keys were applied, all were ahead", result.Applied)
		}
	})
}

// TestL1_StatementFormatStops: a write that is in the binlog as text does not show which rows it
// changed. If it goes through a view, a trigger or a function, it does not show the table either.
// The run ends, and reports why.
func TestL1_StatementFormatStops(t *testing.T) {
	writes := map[string]struct{ prepare, write []string }{
		"by name": {nil, []string{"UPDATE t SET v = 7 WHERE id = 10"}},
		"view": {[]string{"CREATE VIEW w AS SELECT * FROM t"},
			[]string{"UPDATE w SET v = 7 WHERE id = 10"}},
		"trigger": {[]string{"CREATE TABLE o (a INT)", "CREATE TRIGGER g AFTER INSERT ON o FOR EACH ROW UPDATE t SET v = 7 WHERE id = 10"},
			[]string{"INSERT INTO o VALUES (1)"}},
		"function": {[]string{"CREATE TABLE o (a INT)",
			"CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET v = 7 WHERE id = 10; RETURN 1; END"},
			[]string{"INSERT INTO o VALUES (f())"}},
		"function, other quotes": {[]string{"CREATE TABLE o (a VARCHAR(9), b INT)",
			"CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET v = 7 WHERE id = 10; RETURN 1; END"},
			[]string{"SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'", `INSERT INTO o VALUES ('\', f())`}},
	}
	onEach(t, func(b *bench) {
		for name, c := range writes {
			b.Run(name, func(t *testing.T) {
				b := setup(t, b.version)
				b.numbered(1000)
				session := b.conn()
				exec := func(statements ...string) {
					for _, s := range statements {
						if _, err := session.ExecContext(b.ctx(), s); err != nil {
							b.Fatalf("%s: %v", s, err)
						}
					}
				}
				exec("USE "+b.schema, "SET GLOBAL log_bin_trust_function_creators = 1")
				exec(c.prepare...)
				exec("SET SESSION binlog_format = STATEMENT")
				_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseCatchUp, func() { exec(c.write...) }))
				var id string
				if err := session.QueryRowContext(b.ctx(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
					b.Fatal(err)
				}
				if !errors.Is(err, intake.ErrStatementFormat) || !strings.Contains(err.Error(), "; connection "+id+": ") {
					b.Errorf("error is %v, want %v, and the session %s", err, intake.ErrStatementFormat, id)
				}
				if got := b.value("SELECT v FROM " + b.schema + ".t WHERE id = 10"); got != "7" {
					b.Errorf("the write did not reach the source: %s", got)
				}
			})
		}
	})
}

// TestL6_NoSwapUnlessDrained: if the work under the lock can't be done within its budget, the lock
// is released, nothing has happened, and the run continues.
func TestL6_NoSwapUnlessDrained(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(1000)
		b.settings.Lock.Work = time.Microsecond
		b.settings.Backoff = 10 * time.Millisecond
		ctx, cancel := context.WithCancel(b.ctx())
		defer cancel()
		r := b.background(ctx, "ADD COLUMN added INT")
		b.awaited("a failed attempt", func(e event.Event) bool {
			n, is := e.(event.Note)
			return is && strings.Contains(n.Text, "attempt 2")
		})
		b.exec("UPDATE " + b.schema + ".t SET v = 1 WHERE id = 1") // the lock is not held
		cancel()
		<-r.done
		var ended *failure.Failure
		if !errors.As(r.err, &ended) || ended.Swapped {
			b.Fatalf("error is %v, want a failure before the swap", r.err)
		}
		if got := b.value("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '" + b.schema +
			"' AND table_name = 't' AND column_name = 'added'"); got != "0" {
			b.Error("the source was changed")
		}
	})
}

// TestL8_ForeignTableIsNotDropped: if a table that the run did not create has the shadow's name,
// the run ends and leaves the table alone.
func TestL8_ForeignTableIsNotDropped(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		_, err := b.migrate(b.ctx(), "ADD COLUMN added INT", onPhase(event.PhaseShadow, func() {
			b.exec("CREATE TABLE "+b.schema+".t_shadow (mine INT)", "INSERT INTO "+b.schema+".t_shadow VALUES (42)")
		}))
		if err == nil {
			b.Fatal("the run continued with a table of another owner")
		}
		if got := b.value("SELECT mine FROM " + b.schema + ".t_shadow"); got != "42" {
			b.Errorf("the foreign table holds %s", got)
		}
	})
}

// TestL8_FormerSourceIsMarked: the old table has our mark, together with its own comment. Only the
// mark shows Cleanup what it may drop.
func TestL8_FormerSourceIsMarked(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(100)
		b.exec("ALTER TABLE " + b.schema + ".t COMMENT = 'it''s ours'")
		b.mustMigrate("ADD COLUMN added INT")
		name := schema.Name{Schema: b.schema, Table: "t"}
		comment := func(table string) string {
			return b.value(
				"SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = '" + table + "'",
			)
		}
		if was, marked := schema.MarkedOld(comment("t_old"), name); !marked || was != "it's ours" {
			b.Errorf("the comment of the old table is %q", comment("t_old"))
		}
		if got := comment("t"); got != "it's ours" {
			b.Errorf("the comment of the table is %q", got)
		}
		b.mustMigrate("DROP COLUMN added") // the mark is no leftover
		b.exec("ALTER TABLE " + b.schema + ".t_old COMMENT = ''")
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		if _, err := leftovers.Cleanup(
			b.ctx(),
			pool,
			name,
			true,
			func([]leftovers.Table) bool { return true },
			func(string) {},
		); err != nil {
			b.Fatal(err)
		}
		if got := b.value("SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = '" +
			b.schema + "'"); got != "digits,t,t_old" {
			b.Errorf("tables are %s", got)
		}
	})
}

// TestL9_FailedStartLeavesNothing: the connection is lost while the run creates its tables. The run
// reports that nothing is left, and that is true, whether or not the server got the statement.
func TestL9_FailedStartLeavesNothing(t *testing.T) {
	sideBySide(t)
	for _, statement := range []string{"CREATE TABLE `%s`.`t_midstream`", "INSERT INTO `%s`.`t_midstream`",
		"CREATE TABLE `%s`.`t_shadow`", "ALTER TABLE `%s`.`t_shadow` COMMENT", "ALTER TABLE `%s`.`t_shadow` ADD"} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/answer lost %t", strings.Fields(statement)[0], lost), func(t *testing.T) {
				onEach(t, func(b *bench) {
					b.numbered(100)
					w := b.cutAt(fmt.Sprintf(statement, b.schema), lost)
					_, err := b.migrate(b.ctx(), "ADD COLUMN added INT")
					var failed *failure.Failure
					if !bent(w) || !errors.As(err, &failed) || !strings.Contains(failed.Left, "nothing is left") {
						b.Errorf("the error is %v", err)
					}
					if got := b.value(
						"SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = '" +
							b.schema + "'",
					); got != "digits,t" {
						b.Errorf("tables are %s", got)
					}
				})
			})
		}
	}
}

// TestRowsAreOverwritten: if the key is the only unique key of the shadow, apply overwrites rows,
// and every change of a row in the source arrives in the shadow.
func TestRowsAreOverwritten(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec(
			"CREATE TABLE "+b.schema+".t (id VARCHAR(10) COLLATE utf8mb4_general_ci PRIMARY KEY, v VARCHAR(10) COLLATE utf8mb4_general_ci,"+
				" u DOUBLE, j JSON, at TIMESTAMP NULL DEFAULT '2001-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP)",
			"INSERT INTO "+b.schema+".t (id, v, u, j) VALUES ('a', 'x', 0, '1'), ('b', 'x', 0, NULL), ('c', NULL, 1, '[]'), ('d', 'x', 2, '{}'), ('e', 'x', 3, '3')",
		)
		blocker := b.conn()
		if _, err := blocker.ExecContext(b.ctx(), "BEGIN"); err != nil {
			b.Fatal(err)
		}
		var rows int
		if err := blocker.QueryRowContext(b.ctx(), "SELECT COUNT(*) FROM "+b.schema+".t").Scan(&rows); err != nil {
			b.Fatal(err)
		}
		r := b.background(b.ctx(), "ADD COLUMN added TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, ADD COLUMN number INT DEFAULT 7")
		b.awaited("catching up", entered(event.PhaseCatchUp))
		for _, change := range []string{
			"UPDATE t SET v = 'X' WHERE id = 'a'", "UPDATE t SET u = -0.0e0, at = NULL WHERE id = 'b'", "UPDATE t SET id = 'C', j = NULL WHERE id = 'c'",
			"DELETE FROM t WHERE id = 'd'", "INSERT INTO t (id) VALUES ('f')",
			"DELETE FROM t WHERE id = 'e'", "INSERT INTO t (id, v) VALUES ('E', 'again')",
		} {
			b.exec(strings.Replace(strings.Replace(change, "UPDATE t", "UPDATE "+b.schema+".t", 1), " t ", " "+b.schema+".t ", 1))
			b.awaited("applied changes", func(e event.Event) bool {
				p, is := e.(event.Progress)
				return is && p.Backlog == 0 && p.Captured == p.Applied+p.Dropped+p.Merged
			})
		}
		if _, err := blocker.ExecContext(b.ctx(), "ROLLBACK"); err != nil {
			b.Fatal(err)
		}
		r.wait(b)
		all := "SELECT GROUP_CONCAT(CONCAT_WS('/', HEX(id), HEX(v), u, j, at%s) ORDER BY id) FROM " + b.schema + "."
		if new, old := b.value(fmt.Sprintf(all, ", added, number")+"t"), b.value(fmt.Sprintf(all, ", 7")+"t_old"); new != old {
			b.Errorf("rows are\n%s, of the old table\n%s", new, old)
		}
	})
}

// TestL2_KeysThatMayBecomeOneAreRefused: the sync of a deleted key would delete another row whose
// key has become equal.
func TestL2_KeysThatMayBecomeOneAreRefused(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE " + b.schema + ".t (id DATETIME(3) PRIMARY KEY, v INT)")
		for _, clauses := range []string{"MODIFY id DATETIME", "MODIFY id DATE", "MODIFY id DATETIME(1)"} {
			if _, err := b.migrate(b.ctx(), clauses); !errors.Is(err, plan.ErrRefused) {
				b.Errorf("%s: %v", clauses, err)
			}
		}
		b.mustMigrate("MODIFY id DATETIME(6)")
		b.exec(
			"DROP TABLE "+b.schema+".t, "+b.schema+".t_old",
			"CREATE TABLE "+b.schema+".t (id VARCHAR(20) CHARACTER SET cp932 COLLATE cp932_bin PRIMARY KEY, v INT)",
		)
		for _, clauses := range []string{"MODIFY id INT", "MODIFY id DATE", "MODIFY id ENUM('a','b')"} {
			if _, err := b.migrate(b.ctx(), clauses); !errors.Is(err, plan.ErrRefused) {
				b.Errorf("%s: %v", clauses, err)
			}
		}
	})
}

// TestL9_RefusedValueIsNamed: if a value doesn't fit, the message names the row by its key.
func TestL9_RefusedValueIsNamed(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.cfg.NoPrescan = true
		b.numbered(1000)
		b.exec("UPDATE "+b.schema+".t SET v = 70000 WHERE id = 777", "UPDATE "+b.schema+".t SET u = NULL WHERE id = 778")
		for clauses, change := range map[string]string{
			"MODIFY v SMALLINT UNSIGNED": "DO 1", "MODIFY u INT NOT NULL": "DO 1",
			"ADD COLUMN added INT CHECK (added > 0), MODIFY v INT UNSIGNED": "UPDATE " + b.schema + ".t SET v = -1 WHERE id = 779",
		} {
			_, err := b.migrate(b.ctx(), clauses, onPhase(event.PhaseCatchUp, func() { b.exec(change) }))
			if err == nil || !strings.Contains(err.Error(), "row with key (77") {
				b.Errorf("%s: %v", clauses, err)
			}
		}
	})
}

// TestClaimIsGivenUpAtOnce: an ended run does not count as a run at work.
func TestClaimIsGivenUpAtOnce(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.numbered(10)
		pool, err := b.open(b.ctx())
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		for n := range 300 {
			_, err := leftovers.Cleanup(b.ctx(), pool, schema.Name{Schema: b.schema, Table: "t"}, false, nil, nil)
			if err != nil {
				b.Fatalf("claim %d: %v", n, err)
			}
		}
	})
}

// TestEveryRowGetsANumberOfItsOwn: the plan's warning of an added AUTO_INCREMENT column holds, with
// rows that change while they are numbered.
func TestEveryRowGetsANumberOfItsOwn(t *testing.T) {
	onEach(t, func(b *bench) {
		b.numbered(6000)
		b.cfg.RowCopy.MaxRows = 500
		change := func() {
			b.exec("UPDATE "+b.schema+".t SET v = v + 1 WHERE id % 7 = 0", "DELETE FROM "+b.schema+".t WHERE id % 1001 = 0",
				"REPLACE INTO "+b.schema+".t SELECT id + 10000, v, u + 10000 FROM "+b.schema+".t WHERE id % 500 = 1")
		}
		b.mustMigrate("DROP PRIMARY KEY, ADD n INT AUTO_INCREMENT PRIMARY KEY FIRST, ADD UNIQUE (id)",
			onPhase(event.PhaseCopy, change), onPhase(event.PhaseCatchUp, change))
		b.equal()
		if got := b.value("SELECT CONCAT_WS(' ', COUNT(DISTINCT n) = COUNT(*), MIN(n) > 0) FROM " + b.schema + ".t"); got != "1 1" {
			b.Errorf("numbers are unique, and above 0: %s", got)
		}
		b.Logf("numbers and rows: %s", b.value("SELECT CONCAT_WS(' ', MAX(n), COUNT(*)) FROM "+b.schema+".t"))
	})
}

// TestL9_ValueThatDoesNotFitStops: a value that the new type can't hold ends the run, and is never
// truncated or wrapped. MySQL 8.0.12 copies the bytes of most of these columns unchanged:
// 4294967295 would become -1, and 70,000 characters the first 4,464.
func TestL9_ValueThatDoesNotFitStops(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	for _, c := range []struct{ from, to, value string }{
		{"TINYINT UNSIGNED", "TINYINT", "200"},
		{"SMALLINT UNSIGNED", "SMALLINT", "65535"},
		{"MEDIUMINT UNSIGNED", "MEDIUMINT", "16777215"},
		{"INT UNSIGNED", "INT", "4294967295"},
		{"BIGINT UNSIGNED", "BIGINT", "18446744073709551615"},
		{"INT", "INT UNSIGNED", "-1"},
		{"INT", "SMALLINT", "70000"},
		{"LONGTEXT", "TEXT", "REPEAT('a', 70000)"},
		{"LONGTEXT", "BLOB", "REPEAT('a', 70000)"},
		{"MEDIUMBLOB", "TINYBLOB", "REPEAT('a', 300)"},
		{"JSON", "TEXT", "JSON_ARRAY(REPEAT('a', 70000))"},
		{"VARCHAR(400)", "TINYTEXT", "REPEAT('a', 300)"},
		{"VARBINARY(400)", "TINYBLOB", "REPEAT('a', 300)"},
		{"VARCHAR(40)", "VARCHAR(30)", "REPEAT('a', 40)"},
		{"VARCHAR(40)", "VARCHAR(40) CHARACTER SET latin1", "CONVERT(UNHEX('E8AA9E') USING utf8mb4)"},
		{"DOUBLE", "DOUBLE(12,2)", "1e100"},
		{"DOUBLE", "FLOAT", "1e100"},
		{"DOUBLE", "VARCHAR(5)", "0.12345678"},
		{"DECIMAL(10,2)", "DECIMAL(6,2)", "123456"},
		{"DATETIME", "TIMESTAMP NULL", "'1960-01-01 00:00:00'"},
		{"VARCHAR(40)", "INT", "'7 apples'"},
		{"ENUM('a','b')", "ENUM('a')", "'b'"},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			onEach(t, func(b *bench) {
				b.cfg.NoPrescan = true
				b.exec(
					"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, a "+c.from+")",
					"INSERT INTO "+b.schema+".t VALUES (1, "+c.value+")",
				)
				_, err := b.migrate(b.ctx(), "MODIFY a "+c.to)
				if !dbconn.Unconvertible(err) || !strings.Contains(err.Error(), "untouched") {
					b.Errorf("the error is %v; the table has %.50s", err, b.value("SELECT a FROM "+b.schema+".t"))
				}
			})
		})
	}
}
