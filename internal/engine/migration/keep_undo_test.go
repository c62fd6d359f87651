package migration_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/park"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/schema"
)

// filtered makes table t of rows 0 to keys - 1, of which every third one meets "s = 1", adds column n to them, and keeps an undo. The
// rows that were left out are in table rest.
func (b *bench) filtered(keys int, definition string) {
	b.Helper()
	b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "CREATE TABLE "+b.schema+".t "+definition+" COMMENT 'mine'")
	var rows []string
	for id := range keys {
		rows = append(rows, fmt.Sprintf("(%d, %d, %s)", id, id, []string{"0", "1", "NULL"}[id%3]))
	}
	b.exec("INSERT INTO " + b.schema + ".t VALUES " + strings.Join(rows, ", "))
	b.filter, b.cfg.Undo = "s = 1", time.Hour
	b.mustMigrate("ADD COLUMN n INT NOT NULL DEFAULT 7")
	b.exec("CREATE TABLE " + b.schema + ".rest AS SELECT id, u, s FROM " + b.schema + ".t_old WHERE (s = 1) IS NOT TRUE")
}

// leastWrites is the number of writes by which taking has made all kinds of changes.
const leastWrites = 50

// taking has sessions write to table t until it has no column n, and returns after the first writes. They give rows the keys that pick
// chooses. wait waits for their end, and returns the number of writes.
func (b *bench) taking(sessions int, pick func(*rand.Rand) int) (wait func() int64) {
	b.Helper()
	writes, wait := b.drawing(sessions, 11, func(random *rand.Rand) string {
		a, c := pick(random), pick(random)
		return fmt.Sprintf([]string{
			"UPDATE %[1]s.t SET s = IF(s = 1, 0, 1), n = n + 1 WHERE id = %[2]d",
			"UPDATE %[1]s.t SET s = %[4]s, n = n + 1 WHERE id BETWEEN %[2]d AND %[2]d + 5",
			"UPDATE IGNORE %[1]s.t SET id = %[3]d, n = n + 1 WHERE id = %[2]d",
			"INSERT IGNORE INTO %[1]s.t (id, u, s, n) VALUES (%[2]d, %[3]d, %[4]s, 1)",
			"DELETE FROM %[1]s.t WHERE id = %[2]d AND n > 0",
			"UPDATE IGNORE %[1]s.t SET u = %[3]d, n = 3 WHERE id = %[2]d",
		}[random.IntN(6)], b.schema, a, c, []string{"0", "1", "NULL"}[random.IntN(3)])
	})
	b.begun(writes)
	return wait
}

// begun waits for the first writes.
func (b *bench) begun(writes *atomic.Int64) {
	b.Helper()
	for since := time.Now(); writes.Load() < leastWrites && time.Since(since) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
}

// rowsOf is a checksum of the rows of a query.
func (b *bench) rowsOf(query string) string {
	b.Helper()
	return b.value("SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM(CRC32(CONCAT_WS('-', id, u, IFNULL(s, 'x')))), 0)) FROM (" + query + ") q")
}

// TestU1_AnUndoOfAConditionHasAllRows: writers move rows across the condition after the change, give and take keys, and bring rows. The
// undo gives the table the rows that were left out, as they were, and every row that the new table had.
func TestU1_AnUndoOfAConditionHasAllRows(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, definition := range []string{
			"(id INT PRIMARY KEY, u INT, s TINYINT)", "(id INT PRIMARY KEY, u INT, s TINYINT, UNIQUE KEY (id, u))",
		} {
			for _, cold := range []bool{false, true} {
				const keys = 3000
				b.filtered(keys, definition)
				wait := b.taking(4, func(r *rand.Rand) int { return 3*r.IntN(keys) + 1 }) // no such row was left out
				if _, err := b.undo(b.ctx(), planning.Undo{Cold: cold}); err != nil {
					b.exec("DROP TABLE " + b.schema + ".t")
					b.Fatalf("%s, cold %v: %v", definition, cold, err)
				}
				if writes := wait(); writes < leastWrites {
					b.Errorf("only %d writes", writes)
				}
				want := b.rowsOf("SELECT id, u, s FROM " + b.schema + ".rest UNION ALL SELECT id, u, s FROM " + b.schema + ".t_undone")
				if got := b.rowsOf("SELECT id, u, s FROM " + b.schema + ".t"); got != want {
					b.Errorf("%s, cold %v: the table has the rows %s, and should have %s", definition, cold, got, want)
				}
				if outside := b.value("SELECT COUNT(*) FROM " + b.schema + ".t_undone WHERE (s = 1) IS NOT TRUE"); outside == "0" {
					b.Error("no new row is outside of the condition")
				}
				if got := b.value("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't'"); got != "mine" {
					b.Errorf("the table has the comment %q", got)
				}
				if _, err := b.undo(b.ctx(), planning.Undo{}); err == nil {
					b.Error("the undo was taken back")
				}
				if there := b.tables(); there != "rest,t,t_undone" {
					b.Errorf("after the undo, the tables are %s", there)
				}
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestU4_ARowWithTheKeyOfALeftOutRowDoesNotFit: the application gives new rows the keys, and the unique values, of rows that were left
// out. The undo lists them, and loses none of both: with --park, the new ones are in a table of their own.
func TestU4_ARowWithTheKeyOfALeftOutRowDoesNotFit(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, cold := range []bool{false, true} {
			const keys = 600
			b.filtered(keys, "(id INT PRIMARY KEY, u INT, s TINYINT, UNIQUE KEY u (u))")
			b.exec("INSERT INTO "+b.schema+".t (id, u, s) VALUES (0, 10000, 1), (2, 10002, 0), (5, 10005, NULL), (10001, 3, 1), (10002, 12000, 0)",
				"DELETE FROM "+b.schema+".t WHERE id = 5", "UPDATE "+b.schema+".t SET u = 6 WHERE id = 4", "UPDATE "+b.schema+".t SET id = 9 WHERE id = 7")
			_, err := b.undo(b.ctx(), planning.Undo{Cold: cold})
			if !errors.Is(err, park.ErrUnfit) {
				b.Fatalf("cold %v: %v", cold, err)
			}
			if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t_old WHERE (s = 1) IS NOT TRUE AND id < 10000"); got != "400" {
				b.Errorf("cold %v: after a refused undo, %s of 400 left-out rows are there", cold, got)
			}
			wait := b.taking(2, func(r *rand.Rand) int { return r.IntN(keys) })
			_, err = b.undo(b.ctx(), planning.Undo{Cold: cold, Park: true})
			if err != nil {
				b.exec("DROP TABLE " + b.schema + ".t")
				b.Fatalf("cold %v: %v", cold, err)
			}
			wait()
			b.mustHaveRows("SELECT id, u, s FROM "+b.schema+".rest", "SELECT id, u, s FROM "+b.schema+".t WHERE id IN (SELECT id FROM "+b.schema+".rest)")
			want := b.rowsOf("SELECT id, u, s FROM " + b.schema + ".t_undone")
			if got := b.rowsOf("SELECT id, u, s FROM " + b.schema + ".t WHERE id NOT IN (SELECT id FROM " + b.schema + ".rest)" +
				" UNION ALL SELECT id, u, s FROM " + b.schema + ".t_parked"); got != want {
				b.Errorf("cold %v: the table and the parked rows are %s, and should be %s", cold, got, want)
			}
			taken := b.rowsOf("SELECT id, u, s FROM " + b.schema + ".t_undone WHERE id IN (SELECT id FROM " + b.schema + ".rest) OR u IN (SELECT u FROM " + b.schema + ".rest)")
			if got := b.rowsOf("SELECT id, u, s FROM " + b.schema + ".t_parked"); got != taken {
				b.Errorf("cold %v: the rows %s are parked, and %s should be", cold, got, taken)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// mustHaveRows fails if two queries have other rows.
func (b *bench) mustHaveRows(want, got string) {
	b.Helper()
	if want, got := b.rowsOf(want), b.rowsOf(got); want != got {
		b.Errorf("the rows are %s, and should be %s", got, want)
	}
}

// TestL5_AKilledUndoOfAConditionResumes: kill -9 as the old table is written to, before the swap and after it, next to writers that move
// rows across the condition. The next undo knows which rows the killed one has written, and which were left out.
func TestL5_AKilledUndoOfAConditionResumes(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		const keys = 1200
		for _, given := range []bool{false, true} { // the killed undo is resumed, or given up
			b.filtered(keys, "(id INT PRIMARY KEY, u INT, s TINYINT, UNIQUE KEY u (u))")
			wait := b.taking(2, func(r *rand.Rand) int { return r.IntN(2 * keys) })
			for _, at := range []string{
				"INSERT INTO `" + b.schema + "`.`t_old`", "SELECT COUNT(*) FROM `" + b.schema + "`.`t_old`", "RENAME TABLE `" + b.schema + "`.`t`",
			} {
				b.undoKilledAt(at, "--park", "--checkpoint=100ms")
				if given {
					b.afterCleanup()
				}
				b.exec("UPDATE IGNORE " + b.schema + ".t SET s = IF(s = 1, 0, 1), n = n + 1 WHERE id < 300")
			}
			if got := b.rowsOf("SELECT o.id, o.u, o.s FROM " + b.schema + ".t_old o JOIN " + b.schema + ".rest r USING (id)"); got != b.rowsOf("SELECT id, u, s FROM "+b.schema+".rest") {
				b.Errorf("given up %v: killed undos have changed left-out rows: %s", given, got)
			}
			b.undoing("--park").mustEnd()
			wait()
			b.mustHaveRows("SELECT id, u, s FROM "+b.schema+".rest", "SELECT id, u, s FROM "+b.schema+".t WHERE id IN (SELECT id FROM "+b.schema+".rest)")
			// A kill within the swap leaves a table of parked rows, and the next undo takes another name.
			parked, undone := "", "t_undone"
			for _, name := range strings.Split(b.tables(), ",") {
				switch {
				case strings.HasPrefix(name, "t_parked"):
					parked = " UNION ALL SELECT id, u, s FROM " + b.schema + "." + name
				case strings.HasPrefix(name, "t_undone"):
					undone = name
				}
			}
			b.mustHaveRows("SELECT id, u, s FROM "+b.schema+"."+undone,
				"SELECT id, u, s FROM "+b.schema+".t WHERE id NOT IN (SELECT id FROM "+b.schema+".rest)"+parked)
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL8_NoCommandDropsRowsThatWereLeftOut: while the undo is open, after an undo that was refused, and after the end of the undo, the
// old table stays. In the end it has no mark.
func TestL8_NoCommandDropsRowsThatWereLeftOut(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, refused := range []bool{false, true} {
			b.filtered(300, "(id INT PRIMARY KEY, u INT, s TINYINT)")
			b.exec("INSERT INTO " + b.schema + ".t (id, u, s) VALUES (0, 1, 1)")
			if refused {
				if code, last := b.undoing().wait(); code != 17 {
					b.Fatalf("exit code %d: %s", code, last)
				}
			}
			b.cleanedUp()
			b.undoing("--end", "--drop-old").wait()
			b.undoing("--end").wait()
			b.cleanedUp()
			b.mustHaveRows("SELECT id, u, s FROM "+b.schema+".rest", "SELECT id, u, s FROM "+b.schema+".t_old WHERE (s = 1) IS NOT TRUE")
			if got := b.value("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't_old'"); got != "mine" {
				b.Errorf("refused %v: the old table has the comment %q", refused, got)
			}
			if there := b.tables(); there != "rest,t,t_old" {
				b.Errorf("the tables are %s", there)
			}
			if code, last := b.undoing("--cold").wait(); code == 0 {
				b.Errorf("an undo without a record has taken the change back: %s", last)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL8_TheRestOfATableWithForeignKeysStays: the swap alters the old table too, because of its foreign key, and gives it a mark. No undo
// is kept, and no command drops the rows that were left out.
func TestL8_TheRestOfATableWithForeignKeysStays(t *testing.T) {
	sideBySide(t)
	onThese(t, inTurn(t, append(twoSessions(), "9.7")), func(b *bench) { // 8.0.12 cannot make such a new table
		b.exec("CREATE TABLE "+b.schema+".p (id INT PRIMARY KEY)", "INSERT INTO "+b.schema+".p VALUES (1)",
			"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, p INT, s INT, CONSTRAINT of_p FOREIGN KEY (p) REFERENCES "+b.schema+".p (id)) COMMENT 'mine'",
			"INSERT INTO "+b.schema+".t VALUES (1, 1, 1), (2, 1, 0)")
		b.filter = "s = 1"
		const again, another = "ADD COLUMN m INT", "ADD COLUMN k INT"
		for _, next := range []string{"", again, another} { // after a kill behind the swap, this change follows, and ends the work of the killed run
			keep := []string{"--keep=s = 1", "--method=shadow"}
			if next == "" {
				b.mustMigrate("ADD COLUMN n INT")
			} else {
				code, last := b.killIf(fault.Rule{At: "DROP TABLE IF EXISTS `" + b.schema + "`.`t_midstream`"}, func() *child { return b.natively(again, keep...) })
				if code != -1 {
					b.Fatalf("the run was not killed: %d: %s", code, last)
				}
			}
			switch next {
			case again:
				b.natively(again, keep...).mustEnd()
			case another:
				b.natively(another, "--drop-old", "--method=shadow").mustEnd()
			}
			b.cleanedUp()
			if there := b.tables(); there != "p,t,t_old" {
				b.Fatalf("then %q: after cleanup --old, the tables are %s", next, there)
			}
			b.exec("DROP TABLE " + b.schema + ".t_old")
			if next == again {
				b.exec("ALTER TABLE " + b.schema + ".t DROP COLUMN m")
			}
		}
		b.exec("DROP TABLE "+b.schema+".t", "DROP TABLE "+b.schema+".p")
	})
}

// TestU1_TheDayOfTheChangeDecidesWhichRowsWereLeftOut: the condition compares a TIME with a day, so the server adds the current day to the
// time. The change was made two days ago: its record has the condition and the moment of that day.
func TestU1_TheDayOfTheChangeDecidesWhichRowsWereLeftOut(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		day := func(back string) string {
			return "CAST(at AS DATETIME) < '" + b.value("SELECT DATE(UTC_TIMESTAMP() - INTERVAL "+back+" DAY)") + " 12:00:00'"
		}
		rows := "SELECT GROUP_CONCAT(CONCAT_WS(' ', id, at) ORDER BY id SEPARATOR ', ') FROM " + b.schema + ".t"
		for _, flags := range [][]string{nil, {"--cold"}} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema, "CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, at TIME)",
				"INSERT INTO "+b.schema+".t VALUES (1, '06:00:00'), (2, '18:00:00'), (3, '11:59:59'), (4, '30:00:00'), (5, NULL)")
			b.filter, b.cfg.Undo = day("0"), time.Hour
			b.mustMigrate("ADD COLUMN n INT NOT NULL DEFAULT 7")
			if got := b.value(rows); got != "1 06:00:00, 3 11:59:59" {
				b.Fatalf("the change has kept %s", got)
			}
			b.exec(fmt.Sprintf("UPDATE %s.t_undo SET state = JSON_SET(state, '$.Filter', REPLACE(JSON_UNQUOTE(JSON_EXTRACT(state, '$.Filter')), DATE(UTC_TIMESTAMP()), "+
				"DATE(UTC_TIMESTAMP() - INTERVAL 2 DAY)), '$.UTC', CAST(UTC_TIMESTAMP(6) - INTERVAL 2 DAY AS CHAR)) WHERE id = 3", b.schema))
			if got := b.value("SELECT JSON_UNQUOTE(JSON_EXTRACT(state, '$.Filter')) FROM " + b.schema + ".t_undo WHERE id = 3"); !strings.Contains(got, day("2")[25:35]) {
				b.Fatalf("the record has the condition %q", got)
			}
			b.exec("INSERT INTO "+b.schema+".t (id, at) VALUES (6, '20:00:00'), (7, '02:00:00')", "UPDATE "+b.schema+".t SET at = '19:00:00' WHERE id = 1",
				"DELETE FROM "+b.schema+".t WHERE id = 3")
			b.undoing(flags...).mustEnd()
			if got := b.value(rows); got != "1 19:00:00, 2 18:00:00, 4 30:00:00, 5, 6 20:00:00, 7 02:00:00" {
				b.Errorf("undo %v: the table has %s", flags, got)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestU1_AnUndoUnderOtherSettingsIsRefused: the server has another setting than at the swap, by which other rows meet the condition. With
// the former one, the undo has all rows.
func TestU1_AnUndoUnderOtherSettingsIsRefused(t *testing.T) {
	mysqltest.Seldom(t)
	t.Parallel()
	for _, v := range inTurn(t, []string{"9.7", "mariadb-11.8"}) {
		b := on(t, v, mysqltest.Own(t, v, sandbox.Options{}))
		for _, c := range []struct{ setting, value, keep string }{
			{"time_zone", "'+05:00'", "at >= '2026-01-01 03:00:00'"},
			{"time_zone", "'-05:00'", "HOUR(at) < 4"},
			{"div_precision_increment", "0", "u / 3 = 1"},
			{"default_week_format", "3", "u / 3 = 1"},
			{"lc_time_names", "'de_DE'", "u / 3 = 1"},
			{"sql_mode", "'STRICT_ALL_TABLES,HIGH_NOT_PRECEDENCE'", "NOT u BETWEEN 1 AND 3"},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, u INT, at TIMESTAMP NULL)",
				"INSERT INTO "+b.schema+".t VALUES (1, 1, '2026-01-01 00:00:00'), (2, 2, '2026-01-01 02:00:00'), (3, 3, '2026-01-01 04:00:00'), (4, 4, NULL)")
			former := b.value("SELECT @@GLOBAL." + c.setting)
			b.filter, b.cfg.Undo = c.keep, time.Hour
			b.mustMigrate("ADD COLUMN n INT NOT NULL DEFAULT 7")
			b.exec("SET GLOBAL " + c.setting + " = " + c.value)
			for _, cold := range []bool{false, true} {
				var refused *plan.Refused
				_, err := b.undo(b.ctx(), planning.Undo{Cold: cold})
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.setting) {
					b.Errorf("%s, cold %v: %v", c.setting, cold, err)
				}
			}
			if _, err := strconv.Atoi(former); err != nil {
				former = schema.Literal(former)
			}
			b.exec("SET GLOBAL " + c.setting + " = " + former)
			b.mustUndo(planning.Undo{})
			if got := b.value("SELECT GROUP_CONCAT(id ORDER BY id) FROM " + b.schema + ".t"); got != "1,2,3,4" {
				b.Errorf("%s: the table has the rows %s", c.setting, got)
			}
		}
	}
}
