package migration_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/dbconn"
)

// kin is table t with parents only: p, which refuses, q, which cascades, and far in another
// database, which sets NULL; and an application that depends on these constraints.
type kin struct {
	*family
	// gone are parents in p that came, had a row in t, and were deleted.
	gone      atomic.Int64
	deadlocks atomic.Int64
}

// kin makes the tables, with rows.
func (b *bench) kin() (k *kin, rows int) {
	b.Helper()
	_, other := mysqltest.Database(b.T, b.server)
	k = &kin{family: &family{bench: b, other: other}}
	b.exec(
		"CREATE TABLE p (id INT PRIMARY KEY)",
		"CREATE TABLE q (id INT PRIMARY KEY)",
		"CREATE TABLE "+other+".far (id INT PRIMARY KEY)",
		"INSERT INTO p VALUES (1), (2)",
		"INSERT INTO q VALUES (1), (2)",
		"INSERT INTO "+other+".far VALUES (1)",
		`CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, pid INT NOT NULL, qid INT NOT NULL, fid INT, v INT NOT NULL DEFAULT 0, KEY named (pid),
			CONSTRAINT chosen FOREIGN KEY (pid) REFERENCES p (id), FOREIGN KEY (qid) REFERENCES q (id) ON DELETE CASCADE ON UPDATE CASCADE,
			CONSTRAINT loose FOREIGN KEY (fid) REFERENCES `+other+`.far (id) ON DELETE SET NULL ON UPDATE NO ACTION)`,
		"INSERT INTO t (pid, qid, fid) VALUES (1, 1, 1), (2, 1, NULL)",
	)
	for rows = 2; rows < 8000; rows *= 2 {
		b.exec("INSERT INTO t (pid, qid, fid) SELECT pid, qid, fid FROM t")
	}
	b.Cleanup(func() { b.db.Exec("DROP TABLE t") }) // before the other database is dropped
	return k, rows
}

// sow adds rows.
func (k *kin) sow(conn *sql.Conn, n int) {
	k.do(conn, 0, "INSERT INTO t (pid, qid, fid) VALUES (?, 2, 1)", 1+n%2)
	k.grown.Add(1)
	k.kept.Add(2)
}

// forbid does what the constraints forbid.
func (k *kin) forbid(conn *sql.Conn, _ int) {
	k.do(conn, noParent, "INSERT INTO t (pid, qid) VALUES (3, 1)")
	k.do(conn, noParent, "INSERT INTO t (pid, qid) VALUES (1, 1000000000)")
	k.do(conn, noParent, "UPDATE t SET fid = 7 WHERE id = 1")
	k.do(conn, hasChild, "DELETE FROM p WHERE id = 2")
	k.do(conn, hasChild, "UPDATE "+k.other+".far SET id = 5 WHERE id = 1")
}

// pass inserts a parent, gives it a row, deletes the row, and deletes the parent: no stale row may
// refer to it.
func (k *kin) pass(conn *sql.Conn, _ int) {
	id := 10 + k.gone.Add(1)
	k.do(conn, 0, "INSERT INTO p VALUES (?)", id)
	row := k.do(conn, 0, "INSERT INTO t (pid, qid) VALUES (?, 1)", id)
	time.Sleep(time.Duration(rand.Intn(60)) * time.Millisecond)
	k.do(conn, 0, "DELETE FROM t WHERE id = ?", row)
	k.do(conn, 0, "DELETE FROM p WHERE id = ?", id)
}

// cascade changes parents of t, which changes rows of t.
func (k *kin) cascade(conn *sql.Conn, n int) {
	const away = 1000000
	k.do(conn, 0, "INSERT INTO q VALUES (?)", 10+n)
	k.do(conn, 0, "INSERT INTO "+k.other+".far VALUES (?)", 10+n)
	for range 3 {
		k.do(conn, 0, "INSERT INTO t (pid, qid, fid) VALUES (2, ?, ?)", 10+n, 10+n)
	}
	k.do(conn, 0, "DELETE FROM "+k.other+".far WHERE id = ?", 10+n)
	k.do(conn, 0, "UPDATE q SET id = id + ? WHERE id = ?", away, 10+n)
	if n%2 == 0 {
		k.do(conn, 0, "DELETE FROM q WHERE id = ?", away+10+n)
		return
	}
	k.grown.Add(3)
	k.kept.Add(int64(3 * (away + 10 + n)))
}

// replace is the family's replace. But a deadlock with a sync, which is rare, ends the transaction,
// and it begins again.
func (k *kin) replace(conn *sql.Conn, n int) {
	id := k.doomed(conn, n)
	for !k.anew(conn, id) {
		k.deadlocks.Add(1)
	}
}

// anew reports false after a deadlock.
func (k *kin) anew(conn *sql.Conn, id int) bool {
	for _, s := range []string{"START TRANSACTION", fmt.Sprintf("DELETE FROM q WHERE id = %d", id), fmt.Sprintf("INSERT INTO q VALUES (%d)", id), "COMMIT"} {
		_, err := conn.ExecContext(context.Background(), s)
		if dbconn.Number(err) == deadlock {
			return false
		}
		if err != nil {
			k.Errorf("%s: %v", s, err)
		}
	}
	return true
}

const deadlock = 1213

// proved checks that everything is complete after so many rows, and that t is unchanged except for
// its column v.
func (k *kin) proved(rows int, was string) {
	k.Helper()
	k.rest()
	for query, want := range map[string]int64{
		"SELECT COUNT(*) FROM t": int64(rows) + k.grown.Load(),
		"SELECT SUM(qid) FROM t": int64(rows) + k.kept.Load(),
		"SELECT COUNT(*) FROM t LEFT JOIN p ON p.id = pid LEFT JOIN q ON q.id = qid LEFT JOIN " + k.other + ".far AS f ON f.id = fid WHERE p.id IS NULL OR q.id IS NULL OR fid IS NOT NULL AND f.id IS NULL": 0,
		"SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()":                                                                                               3,
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('t_shadow', 't_midstream')":                                                                       0,
	} {
		if got := k.value(query); got != fmt.Sprint(want) {
			k.Errorf("%s: %s, want %d", query, got, want)
		}
	}
	if k.refused.Load() == 0 {
		k.Error("nothing was refused")
	}
	if got := k.create("t"); got != was {
		k.Errorf("t is\n%s\nwant\n%s", got, was)
	}
}

// widened is a definition of t after the ALTER of v.
func (k *kin) widened(was string) string {
	now := strings.NewReplacer("`v` int NOT NULL", "`v` bigint NOT NULL", "`v` int(11) NOT NULL", "`v` bigint(20) NOT NULL").Replace(was)
	if now == was {
		k.Fatalf("t is\n%s", was)
	}
	return now
}

// twoSessions are the versions on which the swap takes two sessions and a child can have a shadow.
func twoSessions() (list []string) {
	for _, v := range all {
		if v == "5.7" || isMariaDB(v) {
			list = append(list, v)
		}
	}
	return list
}

const widening = "MODIFY v BIGINT NOT NULL DEFAULT 0"

// TestL6_ForeignKeysOfAChild: a table with parents is changed by a swap of two sessions while it
// and they are written to. Every constraint holds at every moment, none refuses a valid row, and
// the names stay. In the end a replica has the same.
func TestL6_ForeignKeysOfAChild(t *testing.T) {
	t.Parallel()
	test := func(b, replica *bench) {
		k, rows := b.kin()
		was := k.create("t")
		k.live(k.sow, k.forbid, k.cascade, k.pass, k.pass, k.pass)
		for i := range 2 {
			clauses, want := widening, k.widened(was)
			if i == 1 {
				clauses, want = "MODIFY v INT NOT NULL DEFAULT 0", was
			}
			result := b.mustMigrate(clauses)
			if got := k.create("t"); got != want {
				b.Errorf("t is\n%s\nwant\n%s", got, want)
			}
			if old := k.create(result.Old); strings.Contains(old, "CONSTRAINT") {
				b.Errorf("the old table is\n%s", old)
			}
			b.Logf(
				"lock held %s in %d attempts; %d rows grown, %d refused, %d parents gone", result.LockHeld,
				result.Attempts, k.grown.Load(), k.refused.Load(), k.gone.Load(),
			)
		}
		time.Sleep(200 * time.Millisecond)
		k.proved(rows, was)
		replica.catchUpWith(b)
		replica.db = replica.server.Open(replica.T, b.schema)
		if got := (&family{bench: replica}).create("t"); got != was {
			b.Errorf("the replica's t is\n%s\nwant\n%s", got, was)
		}
		const sums = "SELECT CONCAT_WS(' ', COUNT(*), SUM(id), SUM(pid), SUM(qid), SUM(fid)) FROM t"
		if here, there := b.value(sums), replica.value(sums); here != there {
			b.Errorf("%s, and %s on the replica", here, there)
		}
	}
	for _, version := range inTurn(t, twoSessions()) {
		t.Run(version, func(t *testing.T) { withReplica(t, version, test) })
	}
}

// TestL3_CascadesIntoAChild: parents change rows of the table by cascades, which the binlog does
// not show. A run that is killed during that, and resumes, misses none of them.
func TestL3_CascadesIntoAChild(t *testing.T) {
	t.Parallel()
	onThese(t, inTurn(t, twoSessions()), func(b *bench) {
		k, rows := b.kin()
		want := k.widened(k.create("t"))
		b.exec("INSERT INTO q VALUES (5)", "INSERT INTO t (pid, qid) SELECT 1, 5 FROM t LIMIT 10") // cascades delete these rows
		k.live(k.sow, k.forbid, k.cascade, k.replace, k.replace)
		b.child(widening, phaseLine(event.PhaseVerify), (*child).kill, slowly...).wait()
		b.exec("DELETE FROM q WHERE id = 5")
		last := b.child(widening, "", nil, slowly...)
		last.mustEnd()
		if !last.heard(`"rows_repaired":0,`) {
			b.Error("rows differed when they were compared")
		}
		if !last.heard("resuming an earlier run") {
			b.Error("it began again")
		}
		time.Sleep(100 * time.Millisecond)
		k.proved(rows, want)
		b.Logf("%d rows grown, %d parents replaced, %d deadlocks", k.grown.Load(), k.replaced.Load(), k.deadlocks.Load())
		if k.deadlocks.Load() > 3 {
			b.Error("deadlocks are not seldom")
		}
	})
}

// TestL7_ForeignKeysOfAChildKilled: the swap takes two sessions. A run is killed at each kind of
// statement from its lock on, or loses the connection of one of its sessions. What it leaves still
// refuses what the constraints forbid, and the next command repairs it.
func TestL7_ForeignKeysOfAChildKilled(t *testing.T) {
	t.Parallel()
	type point struct {
		at string
		// next comes after a kill; "" if the run survives.
		next    string
		swapped bool
	}
	onThese(t, inTurn(t, twoSessions()), func(b *bench) {
		for _, c := range halfInTurn(t, []point{
			{"ALTER TABLE `SCHEMA`.`t_shadow` ADD CONSTRAINT", "cleanup", false},
			{"RENAME TABLE `SCHEMA`.`t` TO", "run", true},
			{"RENAME TABLE `SCHEMA`.`t` TO", "", true},
			{"LOCK TABLES `SCHEMA`.`t` WRITE, `SCHEMA`.`t_old` WRITE", "", true},
			{"LOCK TABLES `SCHEMA`.`p` WRITE", "cleanup", false},
			{"DROP TABLE `SCHEMA`.`t_old`", "run", true},
			{"UNLOCK TABLES", "", true},
			{"ALTER TABLE `SCHEMA`.`t_old` DROP FOREIGN KEY", "cleanup", true},
			{"ALTER TABLE `SCHEMA`.`t_old` DROP FOREIGN KEY", "", true},
			{"ALTER TABLE `SCHEMA`.`t` DROP FOREIGN KEY", "run", true},
		}) {
			if strings.Contains(c.at, "`p`") && b.version != "5.7" {
				// There the source's lock blocks writers of its parents.
				continue
			}
			b.Run(fmt.Sprintf("%s, then %q", c.at, c.next), func(t *testing.T) {
				b := setup(t, b.version)
				// A failed attempt would withdraw by similar statements.
				b.cfg.NoVerify, b.settings.Lock.Work = true, 3*time.Second
				k, rows := b.kin()
				want := k.create("t")
				if c.swapped {
					want = k.widened(want)
				}
				k.live(k.forbid, k.sow)
				rule := fault.Rule{
					After: "LOCK TABLES `" + b.schema + "`.`t` WRITE",
					At:    strings.ReplaceAll(c.at, "SCHEMA", b.schema),
					Cut:   true,
				}
				if c.next == "" {
					w := b.wire(rule)
					b.mustMigrate(widening)
					if !bent(w) {
						b.Error("no connection was lost")
					}
				} else {
					b.killedBy(rule, widening, "--no-verify", "--lock-work=3s")
					time.Sleep(100 * time.Millisecond)
					if c.next == "cleanup" {
						b.nextCleanup()
					} else {
						// If the earlier run had swapped, this one finds nothing to do.
						b.child(widening, "", nil).wait()
					}
				}
				k.live(k.cascade, k.pass)
				time.Sleep(100 * time.Millisecond)
				k.proved(rows, want)
			})
		}
	})
}

// TestL7_ForeignKeysOfAChildServerKilled: the server is killed at a statement under the lock of the
// swap, or of the command after it. The run resumes from what it finds then.
func TestL7_ForeignKeysOfAChildServerKilled(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, version := range inTurn(t, twoSessions()) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Own(t, version, sandbox.Options{Durable: true})
			for _, at := range []string{"RENAME TABLE `SCHEMA`.`t` TO", "ALTER TABLE `SCHEMA`.`t_old` DROP FOREIGN KEY", "ALTER TABLE `SCHEMA`.`t` DROP FOREIGN KEY"} {
				t.Run(at, func(t *testing.T) {
					b := on(t, version, server)
					k, rows := b.kin()
					want := k.widened(k.create("t"))
					w := b.wire(
						fault.Rule{
							After: "LOCK TABLES `" + b.schema + "`.`t` WRITE",
							At:    strings.ReplaceAll(at, "SCHEMA", b.schema),
							Cut:   true,
							Call: func() {
								if err := server.Sandbox.Restart(b.ctx()); err != nil {
									b.Error(err)
								}
							},
						},
					)
					b.child(widening, "", nil, "--lock-work=3s").wait() // a run that had swapped reports it
					if !bent(w) {
						b.Error("the server was not killed")
					}
					k.live(k.forbid, k.sow, k.cascade, k.pass)
					time.Sleep(100 * time.Millisecond)
					k.proved(rows, want)
				})
			}
		})
	}
}

// TestNoQueryOfAParentWaitsLongerThanTheBudget: a transaction holds a parent for a second while the
// run wants to cut over. Sessions that use the parents and the table wait for no longer than an
// attempt.
func TestNoQueryOfAParentWaitsLongerThanTheBudget(t *testing.T) {
	t.Parallel()
	onThese(t, inTurn(t, twoSessions()), func(b *bench) {
		k, rows := b.kin()
		was := k.create("t")
		b.exec("CREATE TABLE beside (id INT PRIMARY KEY)", "INSERT INTO beside VALUES (1)")
		s := &stall{stop: func() {}}
		timed := func(took func(time.Duration, string, error), queries ...string) func(*sql.Conn, int) {
			return func(conn *sql.Conn, n int) {
				query, began := queries[n%len(queries)], time.Now()
				_, err := conn.ExecContext(context.Background(), query)
				took(time.Since(began), query, err)
			}
		}
		used := timed(s.took, "SELECT COUNT(*) FROM p", "UPDATE q SET id = id", "UPDATE t SET v = v + 1 WHERE id = 1")
		k.live(used, used, used, k.sow, k.forbid, timed(s.tookBeside, "SELECT COUNT(*) FROM beside"))
		blocker := b.conn()
		held := make(chan struct{})
		result := b.mustMigrate(widening, onPhase(event.PhaseCutover, func() {
			for _, query := range []string{"BEGIN", "SELECT COUNT(*) FROM p WHERE id = 1"} {
				k.do(blocker, 0, query)
			}
			go func() {
				defer close(held)
				time.Sleep(time.Second)
				k.do(blocker, 0, "COMMIT")
			}()
		}))
		<-held
		k.proved(rows, k.widened(was))
		s.within(b, result.LockHeld+250*time.Millisecond)
		b.Logf("%d attempts, longest wait %s", result.Attempts, s.worst)
	})
}

// TestForeignKeysOfAChildByTriggers: the lock includes the triggers' log, the constraints' indexes
// are built after the copy, and the ALTER drops one of the constraints. A rehearsal comes first.
func TestForeignKeysOfAChildByTriggers(t *testing.T) {
	t.Parallel()
	onThese(t, inTurn(t, twoSessions()), func(b *bench) {
		b.capture, b.cfg.Indexes = plan.CaptureTrigger, migration.DeferYes
		b.exec(
			"CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2), (3)",
			"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b INT, v INT NOT NULL DEFAULT 0, CONSTRAINT one FOREIGN KEY (a) REFERENCES p (id), CONSTRAINT two FOREIGN KEY (b) REFERENCES p (id))",
			"INSERT INTO t (a, b) VALUES (1, 2)",
		)
		k := &kin{family: &family{bench: b}}
		b.mustRehearse(migration.Rehearsal{Lock: true}, widening)
		was := k.create("t")
		k.live(func(conn *sql.Conn, n int) {
			k.do(conn, noParent, "INSERT INTO t (a, b) VALUES (9, 1)")
			k.do(conn, hasChild, "DELETE FROM p WHERE id = 1")
			k.do(conn, 0, "INSERT INTO p VALUES (?)", 10+n)
			row := k.do(conn, 0, "INSERT INTO t (a) VALUES (?)", 10+n)
			time.Sleep(time.Duration(rand.Intn(30)) * time.Millisecond)
			k.do(conn, 0, "DELETE FROM t WHERE id = ?", row)
			k.do(conn, 0, "DELETE FROM p WHERE id = ?", 10+n)
		})
		result := b.mustMigrate("DROP FOREIGN KEY two, " + widening)
		time.Sleep(100 * time.Millisecond)
		k.rest()
		want := strings.Replace(k.widened(was), ",\n  CONSTRAINT `two` FOREIGN KEY (`b`) REFERENCES `p` (`id`)", "", 1)
		if got := k.create("t"); got != want {
			b.Errorf("t is\n%s\nwant\n%s", got, want)
		}
		if old := k.create(result.Old); strings.Contains(old, "CONSTRAINT") {
			b.Errorf("the old table is\n%s", old)
		}
		if got := b.value("SELECT CONCAT_WS(' ', COUNT(*), SUM(a), SUM(b)) FROM t"); got != "1 1 2" {
			b.Errorf("the rows are %s", got)
		}
	})
}
