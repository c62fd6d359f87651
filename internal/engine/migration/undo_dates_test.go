package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/planning"
)

// TestU4_DaysThatDoNotExistComeBack: a session with ALLOW_INVALID_DATES has written days that do not exist, and the change gives
// their columns other types. The undo brings them back as they were, whether it looks at the changed rows or at all.
func TestU4_DaysThatDoNotExistComeBack(t *testing.T) {
	sideBySide(t)
	onEach(t, func(b *bench) {
		table := b.schema + ".t"
		for _, change := range []string{
			"MODIFY d DATETIME, MODIFY m DATETIME(3)", "MODIFY d VARCHAR(20) NOT NULL, MODIFY m VARCHAR(40)", "ADD COLUMN more INT",
			"MODIFY d DATETIME, DROP COLUMN m",
		} {
			for _, cold := range []bool{false, true} {
				b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
				lax := b.conn()
				for _, s := range []string{
					"SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
					"CREATE TABLE " + table + " (id INT PRIMARY KEY, a INT, d DATE NOT NULL, m DATETIME)",
					"INSERT INTO " + table + " VALUES (1, 1, '2020-02-30', '2020-02-30 10:11:12'), (2, 2, '2021-02-29', NULL)," +
						" (4, 4, '2020-02-29', '2021-11-31 00:00:01'), (5, 5, '2021-04-31', '2021-04-31 23:59:59')",
				} {
					if _, err := lax.ExecContext(b.ctx(), s); err != nil {
						b.Fatalf("%s: %v", s, err)
					}
				}
				rows := func() string {
					return b.value("SELECT GROUP_CONCAT(CONCAT_WS(' ', id, d, IFNULL(m, '-')) ORDER BY id) FROM " + table)
				}
				before := rows()
				b.cfg.Undo = time.Hour
				b.Cleanup(func() { b.exec("DROP TABLE IF EXISTS " + b.schema + ".t_undo") })
				b.mustMigrate(change)
				b.exec("UPDATE " + table + " SET a = 9 WHERE id IN (1, 2)")
				b.mustUndo(planning.Undo{Cold: cold})
				if got := rows(); got != before {
					b.Errorf("%s, cold %t: the rows are\n%s, want\n%s", change, cold, got, before)
				}
			}
		}
	})
}
