package trigger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/schema"
)

const numbered = "id BIGINT UNSIGNED PRIMARY KEY, v INT, u INT UNIQUE"

// TestL3_LaterCommitOfAnEarlierNumber: the log's numbers follow the order of statements, not of
// commits. A row that is committed later is found, although later numbers were read and deleted
// before. Neither side waits for the other: the run deletes rows next to the rows of an open
// transaction, and that transaction continues to write.
func TestL3_LaterCommitOfAnEarlierNumber(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(numbered, "id")
		r.start()
		early := r.conn()
		early("SET SESSION innodb_lock_wait_timeout = 1", "BEGIN", "INSERT INTO t (id) VALUES (1)")
		r.exec("INSERT INTO t (id) VALUES (2)")
		early("INSERT INTO t (id) VALUES (3)")
		r.exec("INSERT INTO t (id) VALUES (4), (5), (6), (7), (8)")
		r.comes("committed first", "id=2", "id=4", "id=5", "id=6", "id=7", "id=8")
		r.empties("0")
		early("UPDATE t SET v = 1 WHERE id = 3", "INSERT INTO t (id) VALUES (9)", "COMMIT")
		r.exec("UPDATE t SET v = 2 WHERE id = 5")
		r.comes("committed later", "id=1", "id=3", "id=5", "id=9")
		r.empties("0")
	})
}

// TestL3_PreparedBeforeTheTrigger: a statement that was prepared while CREATE TRIGGER waited for
// the table works when it is executed, and is captured. (MariaDB prepares it again if the trigger
// is younger, and dates the trigger by the beginning of CREATE TRIGGER; else the log is unknown to
// the statement: error 1146.)
func TestL3_PreparedBeforeTheTrigger(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(numbered, "id")
		r.exec("INSERT INTO t (id) VALUES (1), (2)")
		r.start()
		r.comes("before", "id=1", "id=2")
		r.exec("DROP TRIGGER t_changes_update")
		writer := r.conn()
		writer("BEGIN", "INSERT INTO t (id) VALUES (3)")
		created := make(chan error, 1)
		go func() { created <- r.set.Create(r.Context(), r.pool, ask) }()
		for r.value("SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE '%CREATE TRIGGER `"+r.set.Source.Schema+"%' AND processlist_state LIKE 'Waiting for%'") == "0" {
			select {
			case err := <-created:
				r.Fatalf("CREATE TRIGGER did not wait: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		update, err := r.db.PrepareContext(r.Context(), "UPDATE t SET v = 1 WHERE id = ?")
		if err != nil {
			r.Fatal(err)
		}
		defer update.Close()
		writer("COMMIT")
		if err := <-created; err != nil {
			r.Fatal(err)
		}
		if _, err := update.ExecContext(r.Context(), 2); err != nil {
			r.Error(err)
		}
		r.comes("executed", "id=2", "id=3")
	})
}

// TestL2_DeletionsWaitForNobody: the rows before and after a long stretch belong to open
// transactions. Neither side waits, and rows outside the stretch are deleted too.
func TestL2_DeletionsWaitForNobody(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(numbered, "id")
		r.reads = trigger.Config{Interval: 5 * time.Millisecond, Prune: 70, Every: 5 * time.Millisecond}
		r.start()
		var others []func(...string)
		for i := range 4 {
			other := r.conn()
			other("SET SESSION innodb_lock_wait_timeout = 1", "BEGIN", fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", 1000+i))
			others = append(others, other)
			var values []string
			for n := range 50 << i {
				values = append(values, fmt.Sprintf("(%d)", 10_000*(i+1)+n))
			}
			r.exec("INSERT INTO t (id) VALUES " + strings.Join(values, ", "))
		}
		r.empties("0")
		for i, other := range others {
			other(fmt.Sprintf("UPDATE t SET v = 1 WHERE id = %d", 1000+i), "COMMIT")
		}
		r.empties("0")
		r.exec("DELETE FROM t")
		r.empties("0")
	})
}

// TestL5_RowsStayUntilTheirKeysAreSynced: a run that begins again finds in the log what was
// received and not synced.
func TestL5_RowsStayUntilTheirKeysAreSynced(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(numbered, "id")
		r.start()
		r.apply(false)
		r.exec("INSERT INTO t (id) VALUES (1), (2)")
		if err := r.log.Fence(r.Context()); err != nil {
			r.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		if n := r.value("SELECT COUNT(*) FROM t_changes"); n != "2" {
			r.Errorf("%s rows are left in the log before they are synced, want 2", n)
		}
		if n := r.backlog.Len(); n != 2 {
			r.Errorf("%d keys in the backlog, want 2", n)
		}
		r.apply(true)
		r.empties("0")
	})
}

// TestL2_DeletionsGiveWay: while the application needs the entire server, the run leaves rows that
// it has read, up to a number of rows and a number of gaps. Behind more gaps, each read would read
// all of them again.
func TestL2_DeletionsGiveWay(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(numbered, "id")
		r.reads = trigger.Config{Interval: 5 * time.Millisecond, Prune: 10, Every: 5 * time.Millisecond, Keep: 100}
		r.busy.Store(true)
		r.start()
		insert := func(from, n int) {
			var values []string
			for i := range n {
				values = append(values, fmt.Sprintf("(%d)", from+i))
			}
			r.exec("INSERT INTO t (id) VALUES " + strings.Join(values, ", "))
			if got := len(r.keys()); got != n {
				r.Fatalf("%d keys have come, want %d", got, n)
			}
		}
		insert(0, 90)
		time.Sleep(100 * time.Millisecond)
		if n := r.value("SELECT COUNT(*) FROM t_changes"); n != "90" {
			r.Errorf("%s rows are left while the server is busy, want 90", n)
		}
		insert(1000, 60)
		r.empties("100")
		r.busy.Store(false)
		r.empties("0")
		r.busy.Store(true)
		conn := r.conn()
		for i := range 110 {
			conn("BEGIN", fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", 5000+i), "ROLLBACK")
			if i%2 == 0 {
				insert(10_000+i, 1)
			}
		}
		if n := r.value("SELECT COUNT(*) FROM t_changes"); n != "55" {
			r.Errorf("%s rows are left with fewer gaps than make it worth, want 55", n)
		}
		for i := range 110 {
			conn("BEGIN", fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", 5000+i), "ROLLBACK")
			insert(20_000+i, 1)
		}
		deadline := time.Now().Add(5 * time.Second)
		for r.value("SELECT COUNT(*) < 100 FROM t_changes") != "1" {
			if time.Now().After(deadline) {
				r.Fatalf("%s rows are left, with a gap next to each", r.value("SELECT COUNT(*) FROM t_changes"))
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// TestEveryKindOfStatement: any committed change of a row, by any kind of statement, is in the log,
// and the session that wrote it notices nothing.
func TestEveryKindOfStatement(t *testing.T) {
	onServers(t, func(r *rig) {
		r.exec("CREATE TABLE other (n INT)", "INSERT INTO other VALUES (20), (21)")
		r.source("id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT, u INT UNIQUE", "id")
		r.start()
		for _, c := range []struct {
			statement string
			keys      []string
		}{
			{"INSERT INTO t (id, u) VALUES (1, 1), (2, 2), (18446744073709551000, NULL)", []string{"id=1", "id=18446744073709551000", "id=2"}},
			{"INSERT INTO t (id, v) SELECT n, 1 FROM other", []string{"id=20", "id=21"}},
			{"INSERT INTO t (id, u) VALUES (9, 1) ON DUPLICATE KEY UPDATE v = 7", []string{"id=1"}},
			{"REPLACE INTO t (id, u) VALUES (3, 2)", []string{"id=2", "id=3"}},
			{"UPDATE t SET v = v + 1 WHERE id IN (20, 21)", []string{"id=20", "id=21"}},
			{"UPDATE t SET id = 30 WHERE id = 20", []string{"id=20", "id=30"}},
			{"UPDATE t, other SET t.v = 5 WHERE t.id = other.n", []string{"id=21"}},
			{"DELETE t FROM t, other WHERE t.id = other.n", []string{"id=21"}},
			{"INSERT IGNORE INTO t (id) VALUES (1), (40)", []string{"id=40"}},
			{"DELETE FROM t WHERE id = 40", []string{"id=40"}},
		} {
			r.exec(c.statement)
			r.comes(c.statement, c.keys...)
		}
		conn := r.conn()
		conn("BEGIN", "DELETE FROM t", "ROLLBACK")
		r.comes("a rollback")
		conn("SET SESSION sql_log_bin = 0", "UPDATE t SET v = 8 WHERE id = 3", "SET SESSION sql_log_bin = 1")
		r.comes("a session without a binlog", "id=3")
		r.empties("1") // replicas don't have it
		conn("XA START 'x'", "UPDATE t SET v = 9 WHERE id = 30", "XA END 'x'", "XA PREPARE 'x'")
		r.comes("XA PREPARE")
		conn("XA COMMIT 'x'")
		r.comes("XA COMMIT", "id=30")
	})
}

// TestTheApplicationSeesNothing: the application sees neither numbers nor warnings of the triggers'
// inserts.
func TestTheApplicationSeesNothing(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source("id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT, at DATETIME NULL", "id")
		c, err := r.db.Conn(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		defer c.Close()
		if _, err := c.ExecContext(r.Context(), "INSERT INTO t (id) VALUES (100)"); err != nil {
			r.Fatal(err)
		}
		result, err := c.ExecContext(r.Context(), "INSERT INTO t (v) VALUES (1), (2)")
		if err != nil {
			r.Fatal(err)
		}
		if id, _ := result.LastInsertId(); id != 101 {
			r.Errorf("the client gets number %d, want 101", id)
		}
		if n, _ := result.RowsAffected(); n != 2 {
			r.Errorf("the client gets a count of %d rows, want 2", n)
		}
		var seen string
		if err := c.QueryRowContext(
			r.Context(),
			"SELECT CONCAT_WS(' ', LAST_INSERT_ID(), ROW_COUNT(), @@warning_count)",
		).Scan(
			&seen,
		); err != nil ||
			seen != "101 2 0" {
			r.Errorf("number, rows and warnings are %s (%v), want 101 2 0", seen, err)
		}
		if result, err = c.ExecContext(r.Context(), "UPDATE t SET id = id + 1000, v = 3 WHERE id > 100"); err != nil {
			r.Fatal(err)
		}
		if n, _ := result.RowsAffected(); n != 2 {
			r.Errorf("the client gets a count of %d rows, want 2", n)
		}
		if err := c.QueryRowContext(
			r.Context(),
			"SELECT CONCAT_WS(' ', LAST_INSERT_ID(), @@warning_count)",
		).Scan(
			&seen,
		); err != nil ||
			seen != "101 0" {
			r.Errorf("number and warnings are %s (%v), want 101 0", seen, err)
		}
	})
}

// TestKeysOfAllTypes: the log holds the exact values of the source, whatever the session's
// sql_mode, charset and time zone.
func TestKeysOfAllTypes(t *testing.T) {
	onServers(t, func(r *rig) {
		const columns = `a VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, b VARCHAR(20) CHARACTER SET latin1, c CHAR(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
			d BINARY(4), e VARBINARY(9), f FLOAT, g DOUBLE, h DECIMAL(20,5), i BIGINT UNSIGNED, j DATETIME(6), k TIMESTAMP(3) NOT NULL DEFAULT '2020-01-01 00:00:00'`
		const rest = `l TIME(2), m ENUM('x','it''s','ä'), n SET('p','q'), o BIT(9), p YEAR, q DATE, s MEDIUMINT, u INT(5) UNSIGNED ZEROFILL, n0 INT`
		r.source(columns+", "+rest+", PRIMARY KEY (a, b, c, d, e, f, g, h, i), UNIQUE (j, k, l, m, n, o, p, q, s, u)",
			"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "s", "u")
		r.start()
		conn := r.conn()
		conn("SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '-03:30'")
		rows := []string{
			"'a😀', 'é', 'x ', X'00', X'FF00', 0.1, 1e300, -12.50000, 18446744073709551615, '2024-02-31 00:00:00.000001', '2024-03-01 00:00:00.125', '-100:00:00.01', 'it''s', 'p,q', b'100000001', 2155, '0000-00-00', -8388608, 7, 1",
			"'', '', '', '', '', 0, 0, 0, 0, '0000-00-00', '2001-01-01 00:00:00', '00:00:00', '', '', 0, 0, '2024-02-31', 0, 0, 1",
		}
		conn("SET NAMES utf8mb4", "INSERT INTO t VALUES ("+strings.Join(rows, "), (")+")")
		want := r.sourceKeys()
		r.comes("inserted", want...)
		conn("SET NAMES latin1", "SET SESSION time_zone = '+02:00', sql_mode = ''", "UPDATE t SET n0 = 2")
		r.comes("updated", want...)
		conn("SET SESSION sql_mode = 'TRADITIONAL'", "DELETE FROM t")
		r.comes("deleted", want...)
	})
}

// TestKeysOfFixedLength: the log holds UUIDs and addresses (MariaDB) as the source does, and a CHAR
// without the blanks that an sql_mode puts behind it.
func TestKeysOfFixedLength(t *testing.T) {
	onServers(t, func(r *rig) {
		columns, key, rows := "c CHAR(5) CHARACTER SET latin1, n INT, PRIMARY KEY (c)", []string{"c"}, "('x', 1), ('', 1)"
		if r.set.Dated { // MariaDB
			columns = "u UUID, a INET4, b INET6, c CHAR(5) CHARACTER SET latin1, n INT, PRIMARY KEY (u, a, b, c)"
			key = []string{"u", "a", "b", "c"}
			rows = "('123e4567-e89b-12d3-a456-426655440000', '10.0.0.0', '2001:db8::', 'x', 1), " +
				"('01901640-0000-7000-8000-000000000000', '0.0.0.0', '::ffff:1.2.3.4', '', 1)"
		}
		r.source(columns, key...)
		r.start()
		conn := r.conn()
		conn("SET SESSION sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", "INSERT INTO t VALUES "+rows)
		want := r.sourceKeys()
		r.comes("inserted", want...)
		conn("UPDATE t SET n = 2")
		r.comes("updated", want...)
		conn("DELETE FROM t")
		r.comes("deleted", want...)
	})
}

// TestMovedKeys: an UPDATE that changes the key logs both keys, even if the server treats them as
// equal.
func TestMovedKeys(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(
			"a VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, k TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00', PRIMARY KEY (a, k)",
			"a", "k",
		)
		r.start()
		r.exec("INSERT INTO t (a) VALUES ('a')")
		before := r.keys()
		r.exec("UPDATE t SET a = 'Á'")
		r.comes("another spelling", append(before, r.sourceKeys()...)...)
		before = r.sourceKeys()
		r.exec("UPDATE t SET k = k + INTERVAL 1 SECOND")
		r.comes("another time", append(before, r.sourceKeys()...)...)
	})
}

// TestL8_AnotherTriggerOfTheName: a trigger of another owner with our name is not touched. Other
// triggers of the table stay, and continue to fire.
func TestL8_AnotherTriggerOfTheName(t *testing.T) {
	onServers(t, func(r *rig) {
		r.exec("CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY)", "CREATE TABLE elsewhere LIKE t", "CREATE TABLE audit (n BIGINT UNSIGNED)",
			"CREATE TRIGGER t_changes_update AFTER INSERT ON elsewhere FOR EACH ROW INSERT INTO audit VALUES (NEW.id)",
			"CREATE TRIGGER mine AFTER INSERT ON t FOR EACH ROW INSERT INTO audit VALUES (NEW.id)")
		r.key("id")
		session, err := r.pool.Session(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		defer session.Close()
		if err := r.set.CreateLog(r.Context(), session); err != nil {
			r.Fatal(err)
		}
		if err := r.set.Create(r.Context(), r.pool, ask); !errors.Is(err, trigger.ErrTaken) {
			r.Errorf("creating them: %v", err)
		}
		r.exec("INSERT INTO t VALUES (2)")
		if err := trigger.Drop(r.Context(), r.pool, r.set.Log, ask); err != nil {
			r.Fatal(err)
		}
		r.exec("INSERT INTO elsewhere VALUES (1)", "INSERT INTO t VALUES (3)")
		if got := r.value("SELECT GROUP_CONCAT(n ORDER BY n) FROM audit"); got != "1,2,3" {
			r.Errorf("the others have written %s, want 1,2,3", got)
		}
	})
}

// TestLook: what the triggers can't capture is noticed.
func TestLook(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(numbered, "id")
		look := func() trigger.Sight {
			s, err := trigger.Look(r.Context(), r.db, r.set.Source, r.set.Log)
			if err != nil {
				r.Fatal(err)
			}
			return s
		}
		before := look()
		r.exec("INSERT INTO t (id) VALUES (1)", "ANALYZE TABLE t")
		if now := look(); now.String() != before.String() || !now.Whole(r.set) {
			r.Errorf("after an insert: %v, before %v", now, before)
		}
		r.exec("TRUNCATE TABLE t")
		if now := look(); now.String() == before.String() || !now.Whole(r.set) {
			r.Errorf("after TRUNCATE: %v, before %v", now, before)
		}
		before = look()
		r.exec("TRUNCATE TABLE t_changes")
		if now := look(); now.String() == before.String() || !now.Whole(r.set) {
			r.Errorf("after TRUNCATE of the log: %v, before %v", now, before)
		}
		before = look()
		r.exec("DROP TRIGGER t_changes_update")
		if now := look(); now.String() == before.String() || now.Whole(r.set) {
			r.Errorf("after DROP TRIGGER: %v, before %v", now, before)
		}
		time.Sleep(20 * time.Millisecond)
		if err := r.set.Create(r.Context(), r.pool, ask); err != nil {
			r.Fatal(err)
		}
		if now := look(); now.String() == before.String() || !now.Whole(r.set) {
			r.Errorf("after it was created again: %v, before %v", now, before)
		}
	})
}

// TestL6_TheLogIsReadToItsEndUnderTheLock: the session that has the lock reads it. The rows of a
// prepared XA transaction are counted.
func TestL6_TheLogIsReadToItsEndUnderTheLock(t *testing.T) {
	onServers(t, func(r *rig) {
		r.source(numbered, "id")
		r.start()
		holder, err := r.pool.Session(r.Context(), "SET SESSION autocommit = 0")
		if err != nil {
			r.Fatal(err)
		}
		defer holder.Close()
		for n := range 20 {
			r.exec(fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", n), fmt.Sprintf("UPDATE t SET v = 1 WHERE id = %d", n))
			r.log.Ready()
			began := time.Now()
			if _, err := holder.Exec(r.Context(), "LOCK TABLES "+r.set.Source.Quoted()+" WRITE, "+r.set.Log.Quoted()+" WRITE"); err != nil {
				r.Fatal(err)
			}
			if err := r.log.Received(r.Context()); err != nil {
				r.Fatal(err)
			}
			if err := r.log.Last(r.Context(), holder); err != nil {
				r.Fatal(err)
			}
			prepared, err := r.log.Prepared(r.Context(), holder)
			if err != nil || prepared != 0 {
				r.Errorf("prepared: %d, %v", prepared, err)
			}
			r.take()
			if left := r.backlog.Len(); left != 0 {
				r.Errorf("%d keys are left", left)
			}
			if _, err := holder.Exec(r.Context(), "UNLOCK TABLES"); err != nil {
				r.Fatal(err)
			}
			r.log.Unfreeze()
			if took := time.Since(began); took > 900*time.Millisecond {
				r.Errorf("the lock was held for %s", took)
			}
			if got := r.keys(); len(got) != 1 {
				r.Errorf("keys %v, want one", got)
			}
		}
		r.empties("0")
	})
}

// TestL9_TriggersOfAGarbledNameGoBeforeTheirLog: MySQL does not show a trigger as it was created if
// a name has a backtick. The log stays as long as its triggers exist: otherwise each write of the
// application would fail.
func TestL9_TriggersOfAGarbledNameGoBeforeTheirLog(t *testing.T) {
	onServers(t, func(r *rig) {
		r.exec(
			"CREATE TABLE t ("+numbered+")",
			"CREATE TABLE `l``g` (origin INT UNSIGNED, logged INT, k0 BIGINT UNSIGNED)",
			"CREATE TRIGGER `l``g_insert` AFTER INSERT ON t FOR EACH ROW "+schema.IntoLog(
				r.set.Source.Sibling("l`g"),
			)+"k0) VALUES (1, 1, NEW.id)",
		)
		if err := trigger.Drop(r.Context(), r.pool, r.set.Source.Sibling("l`g"), ask); err != nil {
			r.Fatal(err)
		}
		r.exec("INSERT INTO t (id) VALUES (1)")
		if n := r.value(
			"SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
		) + r.value(
			"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()",
		); n != "01" {
			r.Errorf("triggers and tables: %s", n)
		}
	})
}
