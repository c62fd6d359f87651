package migration_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"midstream/internal/engine/event"
	"midstream/internal/lab/fault"
	"midstream/internal/mysql/dbconn"
)

// untilSwapped has sessions write the same to tables t and u in each transaction, until one of them has no column w any more. wait waits
// for their end.
func (b *bench) untilSwapped(sessions, keys int) (wait func()) {
	var all sync.WaitGroup
	for n := range sessions {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 13))
			for b.Context().Err() == nil {
				a, c := 1+random.IntN(keys), 1+random.IntN(keys)
				statement := []string{
					"UPDATE %[1]s.%[2]s SET v = v + 1, w = 1 WHERE id = %[3]d",
					"DELETE FROM %[1]s.%[2]s WHERE id = %[3]d AND (w IS NULL OR w > 0)",
					"REPLACE INTO %[1]s.%[2]s (id, v, c, w) VALUES (%[3]d, %[4]d, 'ü', 2)",
					"UPDATE IGNORE %[1]s.%[2]s SET id = %[4]d, w = 3 WHERE id = %[3]d",
				}[random.IntN(4)]
				tx, err := b.db.BeginTx(b.Context(), nil)
				for _, table := range []string{"t", "u"} {
					if err == nil {
						_, err = tx.ExecContext(b.Context(), fmt.Sprintf(statement, b.schema, table, a, c))
					}
				}
				if tx != nil && err != nil {
					_ = tx.Rollback()
				} else if err == nil {
					err = tx.Commit()
				}
				if dbconn.Number(err) == 1054 { // no such column
					return
				}
				if err != nil && b.Context().Err() == nil && !dbconn.Contended(err) {
					b.Errorf("a transaction on both tables: %v", err)
					return
				}
				rest(0)
			}
		})
	}
	return all.Wait
}

// TestL6_EachTableOfAGroupHasItsWishes: one table of a group keeps some of its rows, under another name of the old table, and the other
// one computes values. The run is killed and resumed. All of both is as of one moment.
func TestL6_EachTableOfAGroupHasItsWishes(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		b.pair(2000)
		b.exec("ALTER TABLE "+b.schema+".t ADD COLUMN w INT", "ALTER TABLE "+b.schema+".u ADD COLUMN w INT, ADD UNIQUE KEY by_id (id)")
		wait := b.untilSwapped(2, 2500)
		args := []string{"run", "--together", "--database=" + b.schema,
			"ALTER TABLE t DROP COLUMN w, ADD COLUMN n INT; ALTER TABLE u DROP COLUMN w, CHANGE v v2 BIGINT",
			"--keep=t: v % 2 = 0", "--set", b.schema + ".u: c=CONCAT(id, ':', v)", "--old-name", "t: former", "--key", "u: by_id"}
		if code, last := b.killIf(fault.Rule{At: "LOCK TABLES"}, func() *child { return b.process("", nil, args...) }); code != -1 {
			b.Fatalf("exit code %d: %s", code, last)
		}
		other := append([]string{}, args...)
		other[4] = "--keep=t: v % 2 = 1"
		if code, last := b.process("", nil, other...).wait(); code != 11 || !strings.Contains(last, "v % 2 = 0") {
			b.Errorf("with another condition: exit code %d: %s", code, last)
		}
		again := b.process("", nil, args...)
		again.mustEnd()
		if again.heard(phaseLine(event.PhasePrescan)) {
			b.Error("the run began again")
		}
		wait()
		for what, query := range map[string]string{
			"old tables":       "SELECT (SELECT COUNT(*) FROM {s}.former) - (SELECT COUNT(*) FROM {s}.u_old) + (SELECT COUNT(*) FROM {s}.former f JOIN {s}.u_old o USING (id) WHERE NOT (f.v, f.w) <=> (o.v, o.w) OR NOT f.c <=> o.c) * 100000",
			"rows of t":        "SELECT (SELECT COUNT(*) FROM {s}.former WHERE v % 2 = 0) - (SELECT COUNT(*) FROM {s}.t) + (SELECT COUNT(*) FROM {s}.t LEFT JOIN {s}.former f USING (id) WHERE NOT t.v <=> f.v OR t.v % 2 = 1) * 100000",
			"rows of u":        "SELECT (SELECT COUNT(*) FROM {s}.u_old) - (SELECT COUNT(*) FROM {s}.u) + (SELECT COUNT(*) FROM {s}.u LEFT JOIN {s}.u_old o USING (id) WHERE NOT u.v2 <=> o.v OR NOT u.c <=> CONCAT(o.id, ':', o.v)) * 100000",
			"rows left out":    "SELECT COUNT(*) = 0 FROM {s}.former WHERE v % 2 = 1",
			"unexpected names": "SELECT COUNT(*) - 4 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{s}' AND TABLE_NAME IN ('t', 'u', 'former', 'u_old')",
		} {
			if got := b.value(strings.ReplaceAll(query, "{s}", b.schema)); got != "0" {
				b.Errorf("%s: %s", what, got)
			}
		}
		b.exec("DROP TABLE " + b.schema + ".former, " + b.schema + ".u_old")
	})
}
