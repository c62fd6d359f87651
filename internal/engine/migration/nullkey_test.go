package migration_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
)

// withoutPrimaryKey makes a table whose only unique key is that of columns that may be NULL, with rows.
func (b *bench) withoutPrimaryKey(columns string) {
	b.Helper()
	b.exec("CREATE TABLE t (a INT, b INT, v INT NOT NULL DEFAULT 0, UNIQUE KEY u ("+columns+"), KEY (b))", "INSERT INTO t (a, b) VALUES (1, 1)")
	for n := 1; n < 4000; n *= 2 {
		b.exec(fmt.Sprintf("INSERT INTO t (a, b) SELECT a + %d, b + %[1]d FROM t", n))
	}
}

// nullWriters write to it until stop, rows with NULL, too, once nulls is true. stop leaves no such row.
func (b *bench) nullWriters(nulls *atomic.Bool) (stop func()) {
	b.Helper()
	end := b.writers(2, b.version != "mariadb-10.11", 5, func(random *rand.Rand) string {
		row, to := random.IntN(5000), random.IntN(5000)
		kinds := 4
		if nulls.Load() {
			kinds = 10
		}
		return strings.NewReplacer(":row", fmt.Sprint(row), ":to", fmt.Sprint(to)).Replace([]string{
			"UPDATE t SET v = v + 1 WHERE a = :row", "UPDATE IGNORE t SET a = :to, b = :to WHERE a = :row", "DELETE FROM t WHERE a = :row",
			"INSERT IGNORE INTO t (a, b) VALUES (:row, :row)", "UPDATE t SET a = NULL WHERE a = :row", "UPDATE IGNORE t SET a = :row WHERE a IS NULL LIMIT 1",
			"INSERT INTO t (a, b) VALUES (NULL, :row)", "UPDATE t SET b = NULL WHERE a = :row", "UPDATE t SET b = a WHERE b IS NULL",
			"DELETE FROM t WHERE a IS NULL",
		}[random.IntN(kinds)])
	})
	return func() {
		end()
		b.exec("DELETE FROM t WHERE a IS NULL", "UPDATE t SET b = a WHERE b IS NULL")
	}
}

// TestL2_AKeyThatMayBeNull: a table without a primary key is followed by a unique key that may be NULL, while rows get NULL and lose it.
// Without a row with NULL at the end, the new table has all rows.
func TestL2_AKeyThatMayBeNull(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		for _, columns := range []string{"a", "a, b"} {
			b.withoutPrimaryKey(columns)
			b.cfg.RowCopy.MaxRows = 200
			var nulls atomic.Bool
			stop := b.nullWriters(&nulls)
			result, err := b.migrate(b.ctx(), "ADD COLUMN id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST, MODIFY v BIGINT NOT NULL DEFAULT 0",
				onPhase(event.PhaseCopy, func() { nulls.Store(true) }), onPhase(event.PhaseCatchUp, sync.OnceFunc(stop)))
			if err != nil {
				b.Fatal(err)
			}
			if result.Repaired > 0 {
				b.Errorf("%d rows differed", result.Repaired)
			}
			sum := "SELECT CONCAT_WS(' ', COUNT(*), SUM(a), SUM(b), SUM(v), SUM(CRC32(CONCAT_WS(',', a, b, v)))) FROM "
			if got, want := b.value(sum+"t"), b.value(sum+"t_old"); got != want {
				b.Errorf("key (%s): t has %s, and t_old has %s", columns, got, want)
			}
			b.exec("DROP TABLE t, t_old")
		}
	})
}

// TestL6_ARowWithNullInTheKeyIsNotLost: a row gets NULL in the key after the copy has begun. The run ends before the swap and keeps its
// work; without the row, the same run goes on with it.
func TestL6_ARowWithNullInTheKeyIsNotLost(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		b.withoutPrimaryKey("a")
		_, err := b.migrate(b.ctx(), "ADD COLUMN n INT", onPhase(event.PhaseVerify, func() { b.exec("INSERT INTO t (a, b) VALUES (NULL, 1)") }))
		if !errors.Is(err, rowsync.ErrNullKey) {
			b.Fatalf("the error is %v", err)
		}
		if !strings.Contains(err.Error(), "column a of "+b.schema+".t") {
			b.Error(err)
		}
		if got := b.value("SELECT COUNT(*) FROM t WHERE a IS NULL"); got != "1" {
			b.Errorf("%s rows with NULL", got)
		}
		b.exec("DELETE FROM t WHERE a IS NULL")
		result, err := b.migrate(b.ctx(), "ADD COLUMN n INT")
		if err != nil || !result.Resumed {
			b.Errorf("resumed: %v, error: %v", result.Resumed, err)
		}
		if got := b.value("SELECT (SELECT COUNT(*) FROM t) - (SELECT COUNT(*) FROM t_old)"); got != "0" {
			b.Errorf("%s rows more", got)
		}
		// Now a row has NULL before the run.
		b.exec("DROP TABLE t_old", "INSERT INTO t (a, b) VALUES (NULL, NULL)")
		var refused *plan.Refused
		if _, err := b.migrate(b.ctx(), "ADD COLUMN m INT"); !errors.As(err, &refused) || !strings.Contains(err.Error(), "rows have NULL there") {
			b.Errorf("the error is %v", err)
		}
	})
}
