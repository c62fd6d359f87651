package migration_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// onGroups runs a test on a server that swaps several tables in one step.
func onGroups(t *testing.T, test func(b *bench)) { onThese(t, []string{"9.7"}, test) }

// pair makes tables t and u with the same rows.
func (b *bench) pair(rows int) {
	b.Helper()
	for _, table := range []string{"t", "u"} {
		b.exec("CREATE TABLE "+b.schema+"."+table+" (id INT NOT NULL PRIMARY KEY, v INT NOT NULL, c VARCHAR(20) CHARACTER SET latin1)",
			fmt.Sprintf("INSERT INTO %s.%s WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, i, CONCAT('é', i) FROM n",
				b.schema, table, min(rows, 1000)))
		for n := 1000; n < rows; n *= 2 {
			b.exec(fmt.Sprintf("INSERT INTO %s.%s SELECT id + %d, v, c FROM %[1]s.%[2]s", b.schema, table, n))
		}
	}
}

// pairing has sessions write the same to both tables in each transaction, until stop.
func (b *bench) pairing(sessions, keys int) (stop func() int64) {
	b.Helper()
	ctx, end := context.WithCancel(b.ctx())
	var all sync.WaitGroup
	var done atomic.Int64
	for n := range sessions {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 11))
			for ctx.Err() == nil {
				a, c := 1+random.IntN(keys), 1+random.IntN(keys)
				statement := []string{
					"UPDATE %[1]s.%[2]s SET v = v + 1 WHERE id = %[3]d",
					"DELETE FROM %[1]s.%[2]s WHERE id = %[3]d",
					"REPLACE INTO %[1]s.%[2]s (id, v, c) VALUES (%[3]d, %[4]d, 'ü')",
					"UPDATE IGNORE %[1]s.%[2]s SET id = %[4]d WHERE id = %[3]d",
				}[random.IntN(4)]
				tx, err := b.db.BeginTx(ctx, nil)
				for _, table := range []string{"t", "u"} {
					if err == nil {
						_, err = tx.ExecContext(ctx, fmt.Sprintf(statement, b.schema, table, a, c))
					}
				}
				if tx != nil && err != nil {
					_ = tx.Rollback()
				} else if err == nil {
					err = tx.Commit()
				}
				if err != nil && ctx.Err() == nil && !dbconn.Contended(err) {
					b.Errorf("a transaction on both tables: %v", err)
					return
				}
				done.Add(1)
				rest(0)
			}
		})
	}
	return func() int64 { end(); all.Wait(); return done.Load() }
}

// probing has sessions read both tables by one statement, until stop. Each time both must have the same definition.
func (b *bench) probing(sessions int) (stop func() int64) {
	b.Helper()
	ctx, end := context.WithCancel(b.ctx())
	var all sync.WaitGroup
	var reads atomic.Int64
	for range sessions {
		all.Go(func() {
			for ctx.Err() == nil {
				var of [2]string
				query := fmt.Sprintf("SELECT CHARSET(t.c), CHARSET(u.c) FROM %[1]s.t JOIN %[1]s.u LIMIT 1", b.schema)
				err := b.db.QueryRowContext(ctx, query).Scan(&of[0], &of[1])
				switch {
				case ctx.Err() != nil || err == sql.ErrNoRows:
				case err != nil:
					b.Errorf("read both tables: %v", err)
					return
				case of[0] != of[1]:
					b.Errorf("one table has the definition with %s, and the other one that with %s", of[0], of[1])
				}
				reads.Add(1)
			}
		})
	}
	return func() int64 { end(); all.Wait(); return reads.Load() }
}

// together are the arguments of a run that gives both tables another character set and another type of the key: the keys of both go
// through temporary tables of one session.
func (b *bench) together(charset string) []string {
	var statements []string
	for _, table := range []string{"t", "u"} {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s.%s MODIFY c VARCHAR(20) CHARACTER SET %s, MODIFY id %s NOT NULL",
			b.schema, table, charset, map[string]string{"latin1": "INT", "utf8mb4": "BIGINT"}[charset]))
	}
	return []string{"run", "--together", strings.Join(statements, "; ")}
}

// charsets are the character sets of both tables.
func (b *bench) charsets() string {
	b.Helper()
	return b.value(fmt.Sprintf("SELECT GROUP_CONCAT(CHARACTER_SET_NAME ORDER BY TABLE_NAME) FROM information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA = '%s' AND COLUMN_NAME = 'c' AND TABLE_NAME IN ('t', 'u')", b.schema))
}

// mustPair fails the test unless both tables have the same rows, and drops the old tables.
func (b *bench) mustPair() {
	b.Helper()
	differ := fmt.Sprintf("SELECT (SELECT COUNT(*) FROM %[1]s.t) - (SELECT COUNT(*) FROM %[1]s.u) + (SELECT COUNT(*) FROM %[1]s.t LEFT JOIN %[1]s.u USING (id)"+
		" WHERE u.id IS NULL OR t.v <> u.v OR NOT t.c <=> u.c) * 1000000", b.schema)
	if got := b.value(differ); got != "0" {
		b.Errorf("the tables differ: %s", got)
	}
	b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_old, " + b.schema + ".u_old")
}

// TestL6_AGroupIsSwappedInOneStep: sessions write to two tables in one transaction, and others read both in one statement. The tables are
// changed together again and again. No session sees one table with its old definition and the other with its new one, and no write is
// lost.
func TestL6_AGroupIsSwappedInOneStep(t *testing.T) {
	swaps := 3
	if *servers != "" {
		swaps = 20
	}
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes, reads := b.pairing(2, 2500), b.probing(2)
		for i := range swaps {
			charset := []string{"utf8mb4", "latin1"}[i%2]
			b.process("", nil, b.together(charset)...).mustEnd()
			if got := b.charsets(); got != charset+","+charset {
				b.Fatalf("the tables have %s", got)
			}
			b.exec("DROP TABLE " + b.schema + ".t_old, " + b.schema + ".u_old")
		}
		wrote, read := writes(), reads()
		b.Logf("%d transactions, %d reads of both tables", wrote, read)
		if wrote < leastWrites || read < 100*int64(swaps) {
			b.Errorf("only %d transactions and %d reads", wrote, read)
		}
		b.mustPair()
	})
}

// TestL7_AKilledGroupIsWholeAndResumed: a run on two tables is killed at several points. Then both tables have the old definition, or
// both have the new one, and the same command comes to its end.
func TestL7_AKilledGroupIsWholeAndResumed(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes := b.pairing(2, 2500)
		charset := "latin1"
		for _, rule := range []fault.Rule{
			{At: "CREATE TABLE " + schema.Quote(b.schema) + ".`u_shadow"}, {At: "LOCK TABLES"}, {At: "RENAME TABLE"}, {At: "midstream old of "},
		} {
			before := charset
			charset = map[string]string{"latin1": "utf8mb4", "utf8mb4": "latin1"}[charset]
			code, last := b.killIf(rule, func() *child { return b.process("", nil, b.together(charset)...) })
			if code != -1 {
				b.Fatalf("%s: exit code %d: %s", rule.At, code, last)
			}
			if got := b.charsets(); got != before+","+before && got != charset+","+charset {
				b.Fatalf("killed at %s: the tables have %s", rule.At, got)
			}
			b.process("", nil, b.together(charset)...).mustEnd()
			if got := b.charsets(); got != charset+","+charset {
				b.Fatalf("killed at %s and run again: the tables have %s", rule.At, got)
			}
			b.exec("DROP TABLE " + b.schema + ".t_old, " + b.schema + ".u_old")
		}
		writes()
		b.mustPair()
	})
}

// TestL7_NoTableOfAGroupIsSwappedAlone: a run on two tables was killed. A run on one of them does not take its work.
func TestL7_NoTableOfAGroupIsSwappedAlone(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		if code, last := b.killIf(fault.Rule{At: "LOCK TABLES"}, func() *child { return b.process("", nil, b.together("utf8mb4")...) }); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		alone := b.process("", nil, "run", "--method=shadow", "ALTER TABLE "+b.schema+".t MODIFY c VARCHAR(20) CHARACTER SET utf8mb4")
		if code, last := alone.wait(); code != 11 || !strings.Contains(last, "together with") {
			b.Errorf("exit code %d: %s", code, last)
		}
		b.process("", nil, b.together("utf8mb4")...).mustEnd()
		b.mustPair()
	})
}

// TestL7_AGroupThatWasSwappedIsNotChangedAgain: a run on two tables was killed behind its swap, and the work of one of them is
// complete. The same command completes the other one, and copies nothing.
func TestL7_AGroupThatWasSwappedIsNotChangedAgain(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(1000)
		charset := "latin1"
		for _, table := range []string{"t", "u"} {
			charset = map[string]string{"latin1": "utf8mb4", "utf8mb4": "latin1"}[charset]
			if code, last := b.killIf(fault.Rule{At: "midstream old of "}, func() *child { return b.process("", nil, b.together(charset)...) }); code != -1 {
				b.Fatalf("exit code %d: %s", code, last)
			}
			b.process("", nil, "run", "--method=shadow", fmt.Sprintf("ALTER TABLE %s.%s MODIFY c VARCHAR(20) CHARACTER SET %s, MODIFY id %s NOT NULL",
				b.schema, table, charset, map[string]string{"latin1": "INT", "utf8mb4": "BIGINT"}[charset])).mustEnd()
			again := b.process("", nil, b.together(charset)...)
			again.mustEnd()
			if again.heard(phaseLine(event.PhaseCopy)) {
				b.Errorf("after %s was completed alone, rows are copied again", table)
			}
			if got := b.charsets(); got != charset+","+charset {
				b.Errorf("the tables have %s", got)
			}
			b.exec("DROP TABLE " + b.schema + ".t_old, " + b.schema + ".u_old")
		}
		b.mustPair()
	})
}

// TestL9_AnAbortEndsAGroup: the run of one table is aborted while the swap is held. That ends both, the result names both, and nothing is
// left.
func TestL9_AnAbortEndsAGroup(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(1000)
		for _, table := range []string{"t", "u"} {
			sockets := "--control-dir=" + filepath.Join(b.TempDir(), "sockets")
			held := b.process("", nil, append(b.together("utf8mb4"), "--hold", sockets)...)
			held.await("ready for the swap, together with " + b.schema + ".t")
			held.await("ready for the swap, together with " + b.schema + ".u")
			if code := b.commanding("abort", b.schema+"."+table, sockets); code != 0 {
				b.Errorf("exit code %d of the abort", code)
			}
			if code, last := held.wait(); code != 12 || !strings.Contains(last, fmt.Sprintf(`"object":"%[1]s.t, %[1]s.u"`, b.schema)) {
				b.Errorf("abort of %s: exit code %d: %s", table, code, last)
			}
			if got := b.value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + b.schema + "'"); got != "2" {
				b.Errorf("%s tables are there", got)
			}
		}
	})
}

// TestL6_ARowThatDoesNotFitEndsTheGroup: a row of one table does not fit. No table is changed, and nothing is left.
func TestL6_ARowThatDoesNotFitEndsTheGroup(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		b.exec("UPDATE " + b.schema + ".u SET v = 1000 WHERE id = 7")
		code, last := b.process("", nil, "run", "--together", fmt.Sprintf(
			"ALTER TABLE %[1]s.t MODIFY v SMALLINT NOT NULL; ALTER TABLE %[1]s.u MODIFY v TINYINT NOT NULL", b.schema)).wait()
		if code != 17 || !strings.Contains(last, `"state":"failed"`) {
			b.Errorf("exit code %d: %s", code, last)
		}
		if got := b.value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + b.schema + "'"); got != "2" {
			b.Errorf("%s tables are there", got)
		}
	})
}

// TestL6_AnOperatorHoldsAGroup: the swap of both tables is held, and the other commands know that they belong together. One cutover, of
// any of them, releases both.
func TestL6_AnOperatorHoldsAGroup(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes, charset := b.pairing(1, 2500), "latin1"
		for _, command := range [][]string{{"t"}, {"u"}, {"", "--yes"}} {
			sockets, before := "--control-dir="+filepath.Join(b.TempDir(), "sockets"), charset
			charset = map[string]string{"latin1": "utf8mb4", "utf8mb4": "latin1"}[charset]
			held := b.process("", nil, append(b.together(charset), "--hold", sockets)...)
			held.await("ready for the swap, together with " + b.schema + ".t")
			held.await("ready for the swap, together with " + b.schema + ".u")
			if code, status := b.printed("status", sockets); code != 0 ||
				!strings.Contains(status, "together  swapped in one step with "+b.schema+".t") ||
				!strings.Contains(status, "together  swapped in one step with "+b.schema+".u") {
				b.Errorf("exit code %d of status:\n%s", code, status)
			}
			if got := b.charsets(); got != before+","+before {
				b.Errorf("while the swap is held, the tables have %s", got)
			}
			if code, text := b.printed("pause", "--stop-capture", b.schema+".u", sockets); code != 19 || !strings.Contains(text, "would all end") {
				b.Errorf("exit code %d of pause --stop-capture: %s", code, text)
			}
			args := append([]string{"cutover", sockets}, command[1:]...)
			if command[0] != "" {
				args = append(args, b.schema+"."+command[0])
			}
			if code, text := b.printed(args...); code != 0 || !strings.Contains(text, "all tables are swapped in one step") {
				b.Errorf("exit code %d of %s: %s", code, args, text)
			}
			held.mustEnd()
			if got := b.charsets(); got != charset+","+charset {
				b.Errorf("the tables have %s", got)
			}
			b.exec("DROP TABLE " + b.schema + ".t_old, " + b.schema + ".u_old")
		}
		writes()
		b.mustPair()
	})
}

// TestAGroupIsRefused: this server cannot swap several tables in one step, or a foreign key would bind columns of different types:
// nothing is written.
func TestAGroupIsRefused(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		key, why := ", FOREIGN KEY (t) REFERENCES "+b.schema+".t (id)", "needs the type bigint as well"
		if b.version != "9.7" {
			key, why = "", `"code":"together"`
		}
		b.exec("CREATE TABLE "+b.schema+".t (id INT NOT NULL PRIMARY KEY)", "CREATE TABLE "+b.schema+".u (id INT NOT NULL PRIMARY KEY, t INT"+key+")")
		code, last := b.process("", nil, "run", "--together", fmt.Sprintf("ALTER TABLE %[1]s.t MODIFY id BIGINT NOT NULL; ALTER TABLE %[1]s.u ADD COLUMN n INT", b.schema)).wait()
		if code != 11 || !strings.Contains(last, why) {
			b.Errorf("exit code %d: %s", code, last)
		}
	})
}

// commanding runs a verb that commands a run, and returns its exit code.
func (b *bench) commanding(args ...string) int {
	code, _ := b.printed(args...)
	return code
}

// printed runs a verb, and returns its exit code and what it prints.
func (b *bench) printed(args ...string) (code int, printed string) {
	b.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asMidstream+"=1")
	out, _ := c.CombinedOutput() // the exit code has it
	return c.ProcessState.ExitCode(), string(out)
}
