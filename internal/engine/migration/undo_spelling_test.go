package migration_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
)

// respelled are the tables of tests whose writers give keys other spellings: the collations of the key before the change and after it.
var respelled = []struct{ name, before, after, filter string }{
	{"one collation", "utf8mb4_general_ci", "utf8mb4_general_ci", ""},
	{"trailing blanks", "utf8mb4_bin", "utf8mb4_bin", ""},
	{"to bytes", "utf8mb4_general_ci", "utf8mb4_bin", ""},
	{"to letters", "utf8mb4_bin", "utf8mb4_general_ci", ""},
	{"left-out rows", "utf8mb4_general_ci", "utf8mb4_general_ci", "s = 1"},
}

// respelling makes table t, whose column v may be NULL and which has column n only after the change.
func (b *bench) respelling(before, after, filter string) {
	b.Helper()
	const key = "k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE "
	b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
		"CREATE TABLE "+b.schema+".t ("+key+before+" NOT NULL PRIMARY KEY, v INT NOT NULL, s INT DEFAULT 1)",
		"INSERT INTO "+b.schema+".t VALUES ('a1', 1, 1), ('B2', 1, 1), ('c3 ', 1, 1), ('D4', 1, 0), ('e5', 1, 0), ('f6 ', 1, 0)")
	b.filter, b.cfg.Undo = filter, time.Hour
	b.Cleanup(func() {
		for _, table := range []string{"undo", "parked", "kept"} {
			b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_" + table)
		}
	})
	change := "MODIFY v INT NULL, ADD COLUMN n INT"
	if before != after {
		change += ", MODIFY " + key + after + " NOT NULL"
	}
	b.mustMigrate(change)
}

// spelling has sessions write to table t until it has no column n. wait waits for their end, and returns the number of writes.
func (b *bench) spelling(sessions int) (wait func() int64) {
	b.Helper()
	writes, wait := b.drawing(sessions, 5, func(random *rand.Rand) string {
		letter := random.IntN(6)
		k := fmt.Sprintf("%c%d", []string{"abcdef", "ABCDEF"}[random.IntN(2)][letter], letter+1) + []string{"", " "}[random.IntN(2)]
		return fmt.Sprintf([]string{
			"DELETE FROM %[1]s.t WHERE k = '%[2]s' AND n > 0",
			"INSERT IGNORE INTO %[1]s.t (k, v, n) VALUES ('%[2]s', NULL, 1)",
			"INSERT IGNORE INTO %[1]s.t (k, v, n) VALUES ('%[2]s', 2, 1)",
			"UPDATE IGNORE %[1]s.t SET k = '%[2]s', n = 2 WHERE k LIKE '_%[3]d%%' LIMIT 1",
			"REPLACE INTO %[1]s.t (k, v, n) VALUES ('%[2]s', NULL, 3)",
		}[random.IntN(5)], b.schema, k, letter+1)
	})
	b.begun(writes)
	return wait
}

// spelled are the keys and values of a query, in the order of the keys' bytes.
func (b *bench) spelled(table, where string) string {
	b.Helper()
	return b.value("SELECT IFNULL(GROUP_CONCAT(CONCAT('[', k, '] ', IFNULL(v, 'x')) ORDER BY CAST(k AS BINARY)), '') FROM (" + table + ") q WHERE " + where)
}

// TestU4_ARowWithAKeyOfAnotherSpellingIsUnfitOnce: sessions delete rows that do not fit, and write them again with keys that only the
// collation holds equal. The undo comes to its swap, parks each of them once, and loses no other row.
func TestU4_ARowWithAKeyOfAnotherSpellingIsUnfitOnce(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, c := range respelled {
			b.respelling(c.before, c.after, c.filter)
			wait := b.spelling(2)
			var parked event.Parked
			_, err := b.undo(b.ctx(), planning.Undo{Park: true}, func(e event.Event) {
				if p, is := e.(event.Parked); is {
					parked = p
				}
			})
			if err != nil {
				b.exec("ALTER TABLE " + b.schema + ".t DROP COLUMN n")
				b.Fatalf("%s: %v", c.name, err)
			}
			if writes := wait(); writes < leastWrites {
				b.Errorf("%s: only %d writes", c.name, writes)
			}
			t, undone := "SELECT k, v, s FROM "+b.schema+".t", "SELECT k, v, s FROM "+b.schema+".t_undone"
			both := t + " UNION ALL SELECT k, v, s FROM " + b.schema + ".t_parked"
			left := "TRUE"
			if c.filter != "" {
				left = "NOT (s = 0 AND v = 1)"
			}
			if got, want := b.spelled(both, left), b.spelled(undone, "TRUE"); got != want {
				b.Errorf("%s: the rows are %s, and should be %s", c.name, got, want)
			}
			if got := b.value("SELECT COUNT(*) FROM " + b.schema + ".t_parked"); got != fmt.Sprint(parked.Rows) {
				b.Errorf("%s: %s rows are parked, and %d were counted: %v", c.name, got, parked.Rows, parked.Keys)
			}
		}
	})
}

// TestU4_RowsOfOtherSpellingsAreListedOnce: rows that do not fit were written several times since the change, with keys that only the
// collation holds equal. The undo lists the rows that are there, and no others.
func TestU4_RowsOfOtherSpellingsAreListedOnce(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		for _, c := range respelled[:4] {
			b.respelling(c.before, c.after, c.filter)
			table := b.schema + ".t"
			b.exec("DELETE FROM "+table,
				"INSERT INTO "+table+" (k) VALUES ('a')", "DELETE FROM "+table, "INSERT INTO "+table+" (k) VALUES ('a ')", "UPDATE "+table+" SET k = 'A'",
				"INSERT INTO "+table+" (k) VALUES ('b')", "UPDATE "+table+" SET k = 'B ' WHERE k = 'b'", "DELETE FROM "+table+" WHERE k = 'B '",
				"INSERT INTO "+table+" (k) VALUES ('c')", "UPDATE "+table+" SET k = 'c ', v = 1 WHERE k = 'c'")
			rows := int64(0)
			var keys []string
			_, err := b.undo(b.ctx(), planning.Undo{}, func(e event.Event) {
				if f, is := e.(event.Finding); is {
					rows += f.Rows
					keys = append(keys, f.Keys...)
				}
			})
			if !errors.Is(err, park.ErrUnfit) || rows != 1 || len(keys) != 1 || keys[0] != "k=_utf8mb4 X'41'" {
				b.Errorf("%s: listed are %d rows, %s: %v", c.name, rows, keys, err)
			}
			b.exec("UPDATE " + table + " SET k = 'a', v = 7 WHERE v IS NULL")
			b.mustUndo(planning.Undo{})
			if got := b.spelled("SELECT * FROM "+table, "TRUE"); got != "[a] 7,[c ] 1" {
				b.Errorf("%s: the rows are %s", c.name, got)
			}
		}
	})
}
