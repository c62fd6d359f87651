package migration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// pairUndo starts the undo of both tables, which names one of them.
func (b *bench) pairUndo(table string, flags ...string) *child {
	b.Helper()
	return b.process("", nil, append([]string{"undo", b.schema + "." + table}, flags...)...)
}

// pairOnly fails the test if tables or triggers are left, other than these.
func (b *bench) pairOnly(want string) {
	b.Helper()
	if got := b.value("SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != want {
		b.Errorf("the tables are %s, want %s", got, want)
	}
}

// TestU1_AGroupIsTakenBackInOneStep: sessions write to two tables in one transaction, and others read both by one statement. Both changes
// are taken back, made again, and taken back again, each time by one name. No session sees one table with its old definition and the
// other with its new one, and no write is lost.
func TestU1_AGroupIsTakenBackInOneStep(t *testing.T) {
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes, reads := b.pairing(2, 2500), b.probing(2)
		b.process("", nil, append(b.together("utf8mb4"), "--undo=1h")...).mustEnd()
		for i, how := range [][]string{{"t"}, {"u"}, {"t", "--cold"}, {"u", "--lazy"}} {
			want := []string{"latin1", "utf8mb4"}[i%2]
			b.pairUndo(how[0], how[1:]...).mustEnd()
			if got := b.charsets(); got != want+","+want {
				b.Fatalf("after %s: the tables have %s", how, got)
			}
		}
		wrote, read := writes(), reads()
		b.Logf("%d transactions, %d reads of both tables", wrote, read)
		if wrote < leastWrites || read < 100 {
			b.Errorf("only %d transactions and %d reads", wrote, read)
		}
		b.pairUndo("u", "--end").mustEnd()
		b.mustPair()
		b.exec("DROP TABLE IF EXISTS t_undone, u_undone")
		b.pairOnly("t,u")
	})
}

// TestU4_AGroupOverForeignKeysIsTakenBack: INT to BIGINT over a parent with a foreign key to itself and two children is taken back and made
// again while sessions use the tables. At no moment is an orphan accepted, or a good row refused.
func TestU4_AGroupOverForeignKeysIsTakenBack(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.clan(1000)
		alive := b.clanAlive()
		b.process("", nil, "run", "--together", "--undo=1h", "--lock-work=3s", b.clanTo("bigint")).mustEnd()
		for i, table := range []string{"kid", "boss", "heir"} {
			b.pairUndo(table, "--lock-work=3s").mustEnd()
			if got, want := b.clanTypes(), []string{"int", "bigint"}[i%2]; got != want {
				b.Fatalf("the types are %s, want %s", got, want)
			}
			b.mustBeClan()
		}
		did, heirs := alive()
		if did < 100 {
			b.Errorf("only %d statements", did)
		}
		b.mustBeClan()
		sums := b.clanSums()
		if got := b.value("SELECT COUNT(*) - 1000 FROM heir"); got != fmt.Sprint(heirs) {
			b.Errorf("%s heirs were added, want %d", got, heirs)
		}
		b.pairUndo("heir", "--lock-work=3s").mustEnd()
		if got := b.clanSums(); got != sums {
			b.Errorf("the tables have %s, want %s", got, sums)
		}
		b.pairUndo("boss", "--end").mustEnd()
	})
}

// TestL7_AKilledUndoOfAGroupIsWholeAndResumed: the undo of two tables is killed at several points. Both have the old definition then, or
// both have the new one, and the same command comes to its end.
func TestL7_AKilledUndoOfAGroupIsWholeAndResumed(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		writes := b.pairing(2, 2500)
		b.process("", nil, append(b.together("utf8mb4"), "--undo=1h")...).mustEnd()
		charset := "utf8mb4"
		for _, at := range []string{
			"CREATE TABLE `%s`.`u_midstream`", "INSERT INTO `%s`.`u_undo` (id", "SET state = CASE id", "LOCK TABLES", "RENAME TABLE `%s`.`t`",
			"midstream old of ", "DROP TABLE IF EXISTS `%s`.`t_undo`", "RENAME TO `%s`.`t_undo`", "RENAME TO `%s`.`u_undo`",
		} {
			rule := fault.Rule{At: strings.ReplaceAll(at, "%s", b.schema)}
			before := charset
			charset = map[string]string{"latin1": "utf8mb4", "utf8mb4": "latin1"}[charset]
			code, last := b.killIf(rule, func() *child { return b.pairUndo("t") })
			if code != -1 {
				b.Fatalf("%s: exit code %d: %s", rule.At, code, last)
			}
			if got := b.charsets(); got != before+","+before && got != charset+","+charset {
				b.Fatalf("killed at %s: the tables have %s", rule.At, got)
			}
			b.pairUndo("u").mustEnd()
			if got := b.charsets(); got != charset+","+charset {
				b.Fatalf("killed at %s and run again: the tables have %s", rule.At, got)
			}
		}
		writes()
		b.pairUndo("t", "--end").mustEnd()
		b.mustPair()
	})
}

// TestL7_AKilledUndoOfAGroupOverForeignKeys: the undo is killed at each kind of statement of its swap. What it leaves refuses what the
// constraints forbid, and takes what they allow; the same command ends it, and cleanup leaves nothing.
func TestL7_AKilledUndoOfAGroupOverForeignKeys(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onGroups(t, func(b *bench) {
		for _, at := range []string{
			"ALTER TABLE `SCHEMA`.`boss_old` ADD CONSTRAINT",
			"ALTER TABLE `SCHEMA`.`kid_old` ADD CONSTRAINT",
			"RENAME TABLE `SCHEMA`.`boss` TO",
			"ALTER TABLE `SCHEMA`.`boss_undone` DROP FOREIGN KEY",
			"ALTER TABLE `SCHEMA`.`boss` DROP FOREIGN KEY",
			"ALTER TABLE `SCHEMA`.`heir_undone` DROP FOREIGN KEY",
			"ALTER TABLE `SCHEMA`.`kid` DROP FOREIGN KEY",
		} {
			for _, next := range []string{"undo", "cleanup"} {
				b.Run(at+", then "+next, func(t *testing.T) {
					b := setup(t, b.version)
					b.clan(200)
					b.process("", nil, "run", "--together", "--undo=1h", "--lock-work=3s", b.clanTo("bigint")).mustEnd()
					rule := fault.Rule{At: strings.ReplaceAll(at, "SCHEMA", b.schema)}
					if strings.Contains(at, "ADD CONSTRAINT") {
						rule.After = "LOCK TABLES"
					}
					code, last := b.killIf(rule, func() *child { return b.pairUndo("kid", "--lock-work=3s") })
					if code != -1 {
						b.Fatalf("exit code %d: %s", code, last)
					}
					alive := b.clanAlive()
					if next == "cleanup" {
						for _, table := range clan {
							b.nextCleanupOf(table)
						}
					} else {
						b.pairUndo("heir", "--lock-work=3s").mustEnd()
						if got := b.clanTypes(); got != "int" {
							b.Errorf("the types are %s", got)
						}
					}
					time.Sleep(100 * time.Millisecond)
					alive()
					b.mustBeClan()
					b.pairUndo("boss", "--end").mustEnd()
					b.exec("DROP TABLE IF EXISTS kid_old, heir_old, boss_old, kid_undone, heir_undone, boss_undone")
					b.pairOnly("boss,heir,kid")
				})
			}
		}
	})
}

// TestU4_ARowThatDoesNotFitEndsTheUndoOfAGroup: a row of one table does not fit its old definition. No table is taken back, and the undo
// stays open; with --park, both go back, and the redo brings the row back.
func TestU4_ARowThatDoesNotFitEndsTheUndoOfAGroup(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(1000)
		b.process("", nil, append(b.together("utf8mb4"), "--undo=1h")...).mustEnd()
		b.exec("INSERT INTO u (id, v, c) VALUES (5000000000, 1, 'a')", "INSERT INTO t (id, v, c) VALUES (2000, 1, 'a')")
		code, last := b.pairUndo("t").wait()
		if code != 17 || !strings.Contains(last, "5000000000") || !strings.Contains(last, `.u","place":"","state":"failed"`) {
			b.Errorf("exit code %d: %s", code, last)
		}
		if got := b.charsets(); got != "utf8mb4,utf8mb4" {
			b.Errorf("the tables have %s", got)
		}
		b.pairUndo("t", "--park").mustEnd()
		if got := b.charsets() + " " + b.value("SELECT COUNT(*) FROM u_parked"); got != "latin1,latin1 1" {
			b.Errorf("after the undo: %s", got)
		}
		b.pairUndo("t").mustEnd()
		if got := b.charsets() + " " + b.value("SELECT COUNT(*) FROM u WHERE id = 5000000000"); got != "utf8mb4,utf8mb4 1" {
			b.Errorf("after the redo: %s", got)
		}
		b.pairUndo("u", "--end").mustEnd()
		b.exec("DROP TABLE IF EXISTS u_parked, t_parked, u_parked_values, t_parked_values")
	})
}

// TestU1_ATableOfAGroupIsTakenBackByAllRowsIfItMust: one table was truncated, so its changes cannot be known by keys. Its part of the undo
// begins again by all rows, and both are swapped in one step.
func TestU1_ATableOfAGroupIsTakenBackByAllRowsIfItMust(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(1000)
		reads := b.probing(1)
		b.process("", nil, append(b.together("utf8mb4"), "--undo=1h")...).mustEnd()
		b.exec("UPDATE u SET v = v + 1 WHERE id < 100", "TRUNCATE t", "INSERT INTO t SELECT * FROM u")
		undo := b.pairUndo("u")
		undo.mustEnd()
		if !undo.heard("the undo begins again, by all rows") {
			b.Error("no table began again")
		}
		if got := b.charsets(); got != "latin1,latin1" {
			b.Errorf("the tables have %s", got)
		}
		reads()
		b.pairUndo("u", "--end").mustEnd()
		b.mustPair()
	})
}

// TestL7_AGroupThatWasKilledBehindItsSwapIsTakenBack: a run on two tables was killed before it had kept the undo of each. The undo of
// either completes the work of the run first, and takes both back.
func TestL7_AGroupThatWasKilledBehindItsSwapIsTakenBack(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(1000)
		charset := "latin1"
		for _, table := range []string{"t", "u"} {
			run := func() *child { return b.process("", nil, append(b.together("utf8mb4"), "--undo=1h", "--end-undo")...) }
			at := fmt.Sprintf("RENAME TO `%s`.`%s_undo`", b.schema, table)
			if code, last := b.killIf(fault.Rule{At: at}, run); code != -1 {
				b.Fatalf("exit code %d: %s", code, last)
			}
			b.exec("UPDATE t SET v = v + 1 WHERE id < 50", "UPDATE u SET v = v + 1 WHERE id < 50")
			b.pairUndo("t").mustEnd()
			if got := b.charsets(); got != charset+","+charset {
				b.Fatalf("killed at %s: the tables have %s", at, got)
			}
			b.pairUndo("u", "--end").mustEnd()
			b.exec("DROP TABLE IF EXISTS t_undone, u_undone, t_old, u_old")
		}
		b.mustPair()
		b.pairOnly("t,u")
	})
}
