package migration_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/park"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
)

// TestU4_AnUnfitRowIsCountedOnce: the old key takes two rows for one. One of them does not fit, and changes while the undo
// counts the rows of both tables. The redo brings it back.
func TestU4_AnUnfitRowIsCountedOnce(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		b.exec("CREATE TABLE "+table+" (k VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT) CHARACTER SET utf8mb4",
			"INSERT INTO "+table+" VALUES ('a', 1), ('b', 1)")
		b.cfg.Undo = time.Hour
		b.mustMigrate("MODIFY k VARCHAR(20) COLLATE utf8mb4_bin NOT NULL")
		b.exec("INSERT INTO " + table + " VALUES ('A', 1)")
		var writing sync.WaitGroup
		b.mustUndo(planning.Undo{Park: true}, onPhase(event.PhaseVerify, func() {
			writing.Go(func() {
				for range 60 {
					b.exec("UPDATE " + table + " SET v = v + 1 WHERE k = 'A'")
					rest(10 * time.Millisecond)
				}
			})
		}))
		writing.Wait()
		b.mustUndo(planning.Undo{})
		if keys := b.value("SELECT GROUP_CONCAT(k ORDER BY k) FROM " + table); keys != "A,a,b" {
			b.Errorf("the keys are %s", keys)
		}
		b.exec("DROP TABLE "+table+"_undo", "DROP TABLE "+table+"_parked")
	})
}

// TestU4_RowsWhoseKeysDoNotFit: the change has widened the key, and the application has written keys that the former one
// refuses. The undo lists these rows and ends, or parks them.
func TestU4_RowsWhoseKeysDoNotFit(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		for _, c := range []struct{ columns, alter, values, writes, unfit, left string }{
			{
				"k VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT", "MODIFY k VARCHAR(20) COLLATE utf8mb4_bin NOT NULL",
				"('a', 1), ('b', 1), ('c', 1)",
				"INSERT INTO " + table + " (k) VALUES ('A'), ('C'), ('X'), ('x'), ('B')",
				"A,B,C,x", "X,a,b,c",
			},
			{
				"k VARCHAR(20) COLLATE utf8mb4_general_ci, i INT, n INT, PRIMARY KEY (i, k)", "MODIFY k VARCHAR(20) COLLATE utf8mb4_bin NOT NULL",
				"('a', 1, 1), ('b', 1, 1)", "INSERT INTO " + table + " (k, i) VALUES ('A', 1), ('B', 2)", "A", "B,a,b",
			},
			{"k INT PRIMARY KEY, n INT", "MODIFY k BIGINT", "(1, 1)", "INSERT INTO " + table + " (k) VALUES (5000000000), (2)", "5000000000", "1,2"},
			{
				"k VARCHAR(4) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT", "MODIFY k VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL",
				"('a', 1)", "INSERT INTO " + table + " (k) VALUES ('abcd  '), ('abcdefg'), ('b ')", "abcd  ,abcdefg", "a,b ",
			},
			{
				"k BINARY(2) PRIMARY KEY, n INT", "MODIFY k VARBINARY(9) NOT NULL", "(X'6100', 1), ('zz', 1)",
				"UPDATE " + table + " SET k = X'6200' WHERE k = X'6100'; INSERT INTO " + table + " (k) VALUES ('c')", "c", "b\x00,zz",
			},
			{"k ENUM('x', 'y') PRIMARY KEY, n INT", "MODIFY k ENUM('x', 'y', 'z')", "('x', 1)", "INSERT INTO " + table + " (k) VALUES ('y'), ('z')", "z", "x,y"},
		} {
			b.exec("CREATE TABLE "+table+" ("+c.columns+") CHARACTER SET utf8mb4", "INSERT INTO "+table+" VALUES "+c.values)
			b.cfg.Undo = time.Hour
			b.mustMigrate(c.alter + ", DROP COLUMN n")
			b.exec(strings.Split(c.writes, "; ")...)
			const keys = "SELECT GROUP_CONCAT(k ORDER BY CAST(k AS BINARY)) FROM "
			before, found := b.value(keys+table), int64(0)
			_, err := b.undo(b.ctx(), planning.Undo{}, func(e event.Event) {
				if f, is := e.(event.Finding); is {
					found += f.Rows
				}
			})
			if !errors.Is(err, park.ErrUnfit) || b.value(keys+table) != before {
				b.Fatalf("%s: %v", c.alter, err)
			}
			b.mustUndo(planning.Undo{Park: true})
			if got := b.value(keys + table); got != c.left {
				b.Errorf("%s: rows are %s, and should be %s", c.alter, got, c.left)
			}
			if got := b.value(keys + table + "_parked"); got != c.unfit {
				b.Errorf("%s: parked are %s, and should be %s", c.alter, got, c.unfit)
			}
			b.exec("DROP TABLE "+table, "DROP TABLE "+table+"_undone", "DROP TABLE "+table+"_parked", "DROP TABLE IF EXISTS "+table+"_undo")
		}
	})
}
