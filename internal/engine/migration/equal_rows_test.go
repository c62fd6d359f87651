package migration_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/plan"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
)

// notUnique are indexes by which a run follows a table without a unique key, with literals of some values each.
var notUnique = []struct{ columns, index, value string }{
	{"v INT NOT NULL", "v", "%d"},
	{"v VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL", "v", "ELT(1 + FLOOR(RAND() * 4), 'A%[1]d', 'a%[1]d', 'á%[1]d ', 'Ä%[1]d')"},
	{"v DATETIME(3) NULL", "v DESC", "'2024-01-01' + INTERVAL %d HOUR"},
	{"v DECIMAL(10,2) NOT NULL, w INT NOT NULL DEFAULT 0", "v, w", "%d"},
	{"v ENUM('a', 'b', 'c', 'd', 'e', 'f', 'g') NOT NULL, w INT NOT NULL DEFAULT 0", "v, w", "1 + %d %% 7"},
	{"v DOUBLE NOT NULL", "v", "%d / 7"},
}

// valueWriters write to table t until stop: they insert duplicates, and change and delete one of several equal rows.
func (b *bench) valueWriters(value string, values int) (stop func()) {
	b.Helper()
	return b.writers(3, true, 7, func(random *rand.Rand) string {
		one, other := fmt.Sprintf(value, random.IntN(values)), fmt.Sprintf(value, random.IntN(values))
		return strings.NewReplacer(":one", one, ":other", other).Replace([]string{
			"INSERT INTO t (v, x) VALUES (:one, 1), (:one, 1), (:one, 2)", "UPDATE t SET x = x + 1 WHERE v = :one LIMIT 1",
			"DELETE FROM t WHERE v = :one LIMIT 1", "UPDATE t SET v = :other WHERE v = :one LIMIT 1", "INSERT INTO t (v, x) SELECT v, x FROM t WHERE v = :one LIMIT 2",
			"DELETE FROM t WHERE v = :one LIMIT 3", "UPDATE t SET v = :other, x = 7 WHERE v = :one",
		}[random.IntN(7)])
	})
}

// withoutUniqueKey makes table t with an index that is not unique, and rows of that many values.
func (b *bench) withoutUniqueKey(columns, index, value string, values, rows int) {
	b.Helper()
	b.exec("CREATE TABLE t (" + columns + ", x INT NOT NULL DEFAULT 0, note VARCHAR(30) DEFAULT 'é', KEY by_value (" + index + "))")
	var tuples []string
	for n := range rows {
		tuples = append(tuples, fmt.Sprintf("("+value+", %d)", n%values, n%3))
	}
	for len(tuples) > 0 {
		part := min(500, len(tuples))
		b.exec("INSERT INTO t (v, x) VALUES " + strings.Join(tuples[:part], ", "))
		tuples = tuples[part:]
	}
}

// TestL2_RowsOfAnIndexThatIsNotUnique: a table without a unique key is followed by the values of an index, while equal rows are
// inserted, and one of several equal rows is changed or deleted. The new table has each row as often as the old one.
func TestL2_RowsOfAnIndexThatIsNotUnique(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, k := range notUnique {
			b.withoutUniqueKey(k.columns, k.index, k.value, 300, 4000)
			b.cfg.RowCopy.MaxRows = 50
			stop := sync.OnceFunc(b.valueWriters(k.value, 300))
			result, err := b.migrate(b.ctx(), "ADD COLUMN id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST, MODIFY x BIGINT NOT NULL DEFAULT 0",
				onPhase(event.PhaseCutover, stop))
			if err != nil {
				b.Fatalf("%s: %v", k.columns, err)
			}
			if result.Repaired > 0 {
				b.Errorf("%s: %d rows differed", k.columns, result.Repaired)
			}
			columns := "v, x, note"
			if strings.Contains(k.columns, "w INT") {
				columns += ", w"
			}
			b.equalRows(columns, "t", "t_old")
			b.exec("DROP TABLE t, t_old")
		}
	})
}

// TestL6_AValueWithTooManyRowsIsRefused: the run counts the rows of each value before the copy. Values with as many rows as may be are
// followed, also if all of them change at once.
func TestL6_AValueWithTooManyRowsIsRefused(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.withoutUniqueKey("v INT NOT NULL", "v", "%d", 3, 3*plan.MostOfValue)
		b.mustMigrate("ADD COLUMN n INT", onPhase(event.PhaseVerify, func() { b.exec("UPDATE t SET x = x + 1", "DELETE FROM t WHERE v = 2 LIMIT 1") }))
		b.equalRows("v, x, note", "t", "t_old")
		b.exec("DROP TABLE t_old", "INSERT INTO t (v) VALUES (1)")
		_, err := b.migrate(b.ctx(), "ADD COLUMN m INT")
		if !errors.Is(err, failure.ErrUnfit) || !strings.Contains(err.Error(), "10001 rows with a value of index by_value, which is not unique") {
			b.Errorf("the error is %v", err)
		}
	})
}

// TestL9_AValueThatHoldsUpTheSwapIsNamed: a value gets far more rows during the run than the prescan permits, and they change all the time.
// The run names it, with its rows, and keeps its work; the same command swaps once the value is left alone.
func TestL9_AValueThatHoldsUpTheSwapIsNamed(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.withoutUniqueKey("v VARCHAR(20) NOT NULL", "v", "'a\x1b[1m%d'", 3, 3000)
		b.settings.Attempts, b.settings.Lock.Work = 2, 40*time.Millisecond
		stop := func() {}
		_, err := b.migrate(b.ctx(), "ADD COLUMN n INT", onPhase(event.PhaseVerify, func() {
			for range 5 {
				b.exec("INSERT INTO t (v, x) SELECT v, x FROM t WHERE v LIKE '%1'")
			}
			stop = sync.OnceFunc(b.writers(1, true, 7, func(*rand.Rand) string { return "UPDATE t SET x = x + 1 WHERE v LIKE '%1' LIMIT 1" }))
		}))
		stop()
		const value = `32000 rows have v='a\u001b[1m1', and index by_value is not unique: each change of one of them copies all of them again`
		if !errors.Is(err, failure.ErrGaveUp) || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), "stop changes to these rows") {
			b.Errorf("the error is %v", err)
		}
		notes := 0
		for _, e := range b.told.events {
			if n, is := e.(event.Note); is && strings.Contains(n.Text, "and index by_value is not unique") {
				notes++
			}
		}
		if notes == 0 || notes > 6 {
			b.Errorf("%d notes", notes)
		}
		b.settings.Attempts, b.settings.Lock.Work = 0, 0
		if result := b.mustMigrate("ADD COLUMN n INT"); !result.Resumed {
			b.Error("it began again")
		}
		b.equalRows("v, x, note", "t", "t_old")
	})
}

// releasedQuiet lets a held run swap after the writers have ended, and compares the two tables.
func (b *bench) releasedQuiet(clauses, columns string, stop func()) {
	b.Helper()
	sockets := "--control-dir=" + filepath.Join(b.TempDir(), "sockets")
	held := b.child(clauses, "", nil, "--hold", sockets)
	held.await(phaseLine(event.PhaseHold))
	time.Sleep(300 * time.Millisecond) // the writers change rows while the run is held
	stop()
	if code := b.commanding("cutover", b.schema+".t", sockets); code != 0 {
		b.Fatalf("exit code %d of cutover", code)
	}
	held.mustEnd()
	b.equalRows(columns, "t", "t_old")
	b.exec("DROP TABLE t, t_old")
}

// TestL5_EqualRowsAreNotDoubledByAFault: a run that follows an index which is not unique is killed, or loses the answer to a command of
// the copy, while sessions write. The same command goes on, and no row is there twice.
func TestL5_EqualRowsAreNotDoubledByAFault(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEach(t, func(b *bench) {
		const clauses = "ADD COLUMN id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"
		random := b.random()
		for i := range 8 {
			k := notUnique[i%len(notUnique)]
			b.withoutUniqueKey(k.columns, k.index, k.value, 300, 3000)
			stop := sync.OnceFunc(b.valueWriters(k.value, 300))
			rule := fault.Rule{After: "INSERT INTO `" + b.schema + "`.`t_shadow`", Nth: 1 + random.IntN(100)}
			columns := "v, x, note"
			if strings.Contains(k.columns, "w INT") {
				columns += ", w"
			}
			flags := []string{"--chunk-time=10ms", "--checkpoint=20ms"}
			if i%2 == 0 {
				if code, last := b.killIf(rule, func() *child { return b.child(clauses, "", nil, append(flags, "--hold")...) }); code != -1 {
					b.Fatalf("%+v: exit code %d: %s", rule, code, last)
				}
				b.releasedQuiet(clauses, columns, stop)
				continue
			}
			rule.Deaf = true
			b.wire(rule)
			b.releasedQuiet(clauses, columns, stop)
			b.address = b.server.Address
		}
	})
}

// TestL9_NumbersThatRunOutAreRefused: each change of a table that is followed by values takes new numbers for all rows of its value. So the
// plan refuses a new AUTO_INCREMENT column that is small, and nothing is written.
func TestL9_NumbersThatRunOutAreRefused(t *testing.T) {
	onEach(t, func(b *bench) {
		b.exec("CREATE TABLE t (v INT NOT NULL, a INT, KEY k (v))", "INSERT INTO t VALUES (1, 1), (1, 2)")
		_, err := b.migrate(b.ctx(), "ADD id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY")
		var refused *plan.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "numbers of column id may run out") {
			b.Errorf("the error is %v", err)
		}
		b.mustMigrate("ADD id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY")
	})
}
