package migration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// drawing has sessions write to table t, by statements that each draws with random numbers of its own, until the swap has taken a
// column away that all of them name. wait waits for their end, and returns the number of writes.
func (b *bench) drawing(sessions int, seed uint64, draw func(*rand.Rand) string) (writes *atomic.Int64, wait func() int64) {
	var all sync.WaitGroup
	writes = &atomic.Int64{}
	for n := range sessions {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), seed))
			for b.Context().Err() == nil {
				statement := draw(random)
				_, err := b.db.ExecContext(b.Context(), statement)
				if dbconn.Number(err) == 1054 || b.into.Given() && dbconn.NoSuchTable(err) { // no such column
					return
				}
				if err != nil && !dbconn.Contended(err) && !errors.Is(err, context.Canceled) {
					b.Errorf("%s: %v", statement, err)
					return
				}
				writes.Add(1)
			}
		})
	}
	return writes, func() int64 { all.Wait(); return writes.Load() }
}

// crossing has sessions write to table t until it has no column w any more. Each write moves rows across "s = 1", changes keys, or
// brings and takes rows. wait waits for their end, and returns the number of writes.
func (b *bench) crossing(sessions, keys int) (wait func() int64) {
	_, wait = b.drawing(sessions, 7, func(random *rand.Rand) string {
		a, c := random.IntN(keys), random.IntN(keys)
		statement := []string{
			"UPDATE %[1]s.t SET s = 1 - s, w = w + 1 WHERE id = %[2]d",
			"UPDATE %[1]s.t SET s = %[4]d, w = w + 1 WHERE id BETWEEN %[2]d AND %[2]d + 5",
			"UPDATE IGNORE %[1]s.t SET id = %[3]d, w = w + 1 WHERE id = %[2]d",
			"INSERT IGNORE INTO %[1]s.t (id, u, s, w) VALUES (%[2]d, %[3]d, %[4]d, 1)",
			"DELETE FROM %[1]s.t WHERE id = %[2]d AND w > 0",
			"UPDATE IGNORE %[1]s.t SET u = %[3]d, w = 3 WHERE id = %[2]d",
		}[random.IntN(6)]
		return fmt.Sprintf(statement, b.schema, a, c, random.IntN(2))
	})
	return wait
}

// TestL6_OnlyRowsThatMeetTheConditionAreInTheNewTable: writers move rows across the condition all the time. At the swap the new table
// has the rows that meet it, and no others, and the old table has all rows. The comparison finds a row too many.
func TestL6_OnlyRowsThatMeetTheConditionAreInTheNewTable(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, c := range []struct{ name, unique, alter string }{
			{"plain", "", "DROP COLUMN w, ADD COLUMN n INT"},
			{"unique key", ", UNIQUE KEY u (u)", "DROP COLUMN w, ADD COLUMN n INT"},
			{"new unique key", "", "DROP COLUMN w, ADD UNIQUE KEY (id, u)"},
			{"another type of the key", "", "DROP COLUMN w, MODIFY id BIGINT"},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, u INT, s TINYINT, w INT NOT NULL"+c.unique+") COMMENT 'mine'")
			const keys = 3000
			var rows []string
			for id := range keys {
				rows = append(rows, fmt.Sprintf("(%d, %d, %s, 0)", id, id, []string{"0", "1", "NULL"}[id%3]))
			}
			b.exec("INSERT INTO " + b.schema + ".t VALUES " + strings.Join(rows, ", "))
			b.filter = "s = 1"
			wait := b.crossing(4, keys)
			late := func(e event.Event) {
				if _, is := e.(event.Verified); is { // more writes between the comparison and the swap
					b.exec("UPDATE " + b.schema + ".t SET s = IF(s = 1, 0, 1), w = w + 1 WHERE id < 50")
				}
			}
			if _, err := b.migrate(b.ctx(), c.alter, late); err != nil {
				b.exec("DROP TABLE " + b.schema + ".t") // the writers end
				b.Fatalf("%s: %v", c.name, err)
			}
			writes := wait()
			const columns = "COUNT(*), ' ', IFNULL(SUM(CRC32(CONCAT_WS('-', id, u, s))), 0)"
			want := b.value("SELECT CONCAT(" + columns + ") FROM " + b.schema + ".t_old WHERE s = 1")
			if got := b.value("SELECT CONCAT(" + columns + ") FROM " + b.schema + ".t"); got != want {
				b.Errorf("%s, %d writes: the new table has the rows %s, and should have %s", c.name, writes, got, want)
			}
			if got := b.value("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = 't_old'"); got != "mine" {
				b.Errorf("the old table has the comment %q", got)
			}
			if writes < 50 {
				b.Errorf("%s: only %d writes", c.name, writes)
			}
			b.cleanedUp()
			if there := b.tables(); there != "t,t_old" {
				b.Errorf("after cleanup --old, the tables are %s", there)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL6_ARowThatAnIndexMissesIsKept: a server that looks for LIKE 'a%' in an index of utf8mb4_unicode_ci misses letters beyond the basic
// plane, such as an emoji. A condition decides row by row: in the copy, for changes, in the comparison, and in the undo.
func TestL6_ARowThatAnIndexMissesIsKept(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE "+b.schema+".t (a VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, id INT, v INT, PRIMARY KEY (a, id))",
			"INSERT INTO "+b.schema+".t VALUES ('a😀', 1, 0), ('a', 2, 0), ('ab', 3, 0), ('b', 4, 0), ('b😀', 5, 0)")
		rows := func(table string) string {
			return b.value("SELECT GROUP_CONCAT(id ORDER BY id) FROM " + b.schema + "." + table + " IGNORE INDEX (PRIMARY)")
		}
		b.filter, b.cfg.Undo = "a LIKE 'a%'", time.Hour
		if _, err := b.migrate(b.ctx(), "ADD COLUMN n INT", onPhase(event.PhaseCatchUp, func() {
			b.exec("INSERT INTO " + b.schema + ".t VALUES ('a🏴', 6, 0), ('c', 7, 0)")
		})); err != nil {
			b.Fatal(err)
		}
		if got := rows("t"); got != "1,2,3,6" {
			b.Errorf("the new table has the rows %s", got)
		}
		b.exec("UPDATE "+b.schema+".t SET v = 5 WHERE id IN (1, 3)", "DELETE FROM "+b.schema+".t WHERE id = 6")
		b.mustUndo(planning.Undo{})
		if got := rows("t"); got != "1,2,3,4,5,7" {
			b.Errorf("after the undo, the table has the rows %s", got)
		}
		if got := b.value("SELECT SUM(v) FROM " + b.schema + ".t IGNORE INDEX (PRIMARY)"); got != "10" {
			b.Errorf("after the undo, the values are %s", got)
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}

// TestL6_ARowThatDoesNotMeetTheConditionIsFound: another session writes a row to the shadow that meets the condition in no table, or one
// that the source has, but outside the condition. The comparison finds it.
func TestL6_ARowThatDoesNotMeetTheConditionIsFound(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.filter = "v > 50"
		for _, row := range []string{"(3, 3)", "(1000, 60)", "(3, 60)"} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
			b.numbered(100)
			_, err := b.migrate(b.ctx(), "ADD COLUMN n INT", onPhase(event.PhaseVerify, func() {
				b.exec("INSERT INTO " + b.schema + ".t_shadow (id, v) VALUES " + row)
			}))
			if !errors.Is(err, failure.ErrMismatch) {
				b.Errorf("with the row %s in the shadow: %v", row, err)
			}
		}
	})
}

// TestL5_AKilledRunWithAConditionResumes: kill -9 in the copy, before the swap and after it, next to writers. The same command comes to
// the same end; another condition is refused until the work is removed.
func TestL5_AKilledRunWithAConditionResumes(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		const keys = 2000
		flags := []string{"--keep=s = 1", "--method=shadow", "--checkpoint=100ms"}
		for _, at := range []string{"FROM `" + b.schema + "`.`t` FORCE INDEX", "RENAME TABLE `" + b.schema + "`.`t`", "DROP TABLE IF EXISTS `" + b.schema + "`.`t_midstream`"} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+b.schema+".t (id INT PRIMARY KEY, u INT, s TINYINT, w INT NOT NULL) COMMENT 'mine'")
			var rows []string
			for id := range keys {
				rows = append(rows, fmt.Sprintf("(%d, %d, %d, 0)", id, id, id%2))
			}
			b.exec("INSERT INTO " + b.schema + ".t VALUES " + strings.Join(rows, ", "))
			wait := b.crossing(2, keys)
			code, last := b.killIf(fault.Rule{At: at}, func() *child { return b.natively("DROP COLUMN w, ADD COLUMN n INT", flags...) })
			if code != -1 {
				b.Fatalf("%s: the run was not killed: %d: %s", at, code, last)
			}
			if strings.HasPrefix(at, "RENAME") {
				if code, last := b.natively("DROP COLUMN w, ADD COLUMN n INT", "--keep=s = 0", "--method=shadow").wait(); code == 0 {
					b.Errorf("another condition has resumed the run: %s", last)
				}
			}
			b.natively("DROP COLUMN w, ADD COLUMN n INT", flags...).mustEnd()
			wait()
			there := b.tables()
			if there != "t,t_old" && there != "t,t_old2" { // a killed swap in two sessions leaves a table of the first name for a while
				b.Fatalf("%s: the tables are %s", at, there)
			}
			old := strings.TrimPrefix(there, "t,")
			const columns = "CONCAT(COUNT(*), ' ', IFNULL(SUM(CRC32(CONCAT_WS('-', id, u, s))), 0))"
			want := b.value("SELECT " + columns + " FROM " + b.schema + "." + old + " WHERE s = 1")
			if got := b.value("SELECT " + columns + " FROM " + b.schema + ".t"); got != want {
				b.Errorf("%s: the new table has the rows %s, and should have %s", at, got, want)
			}
			if got := b.value("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + b.schema + "' AND table_name = '" + old + "'"); got != "mine" {
				b.Errorf("%s: the old table has the comment %q", at, got)
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}
