package migration_test

import (
	"testing"
	"time"

	"midstream/internal/engine/planning"
)

// TestU5_ValuesFollowKeysOfOtherSpellings: rows get keys that only the collation holds equal, by an UPDATE or by a DELETE and an INSERT,
// before an undo, after its redo, and before the second undo. Each row has the values of the dropped column again, and no other row has.
func TestU5_ValuesFollowKeysOfOtherSpellings(t *testing.T) {
	sideBySide(t)
	onTwo(t, func(b *bench) {
		table := b.schema + ".t"
		b.cfg.Undo = time.Hour
		const letters = "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
		const blanks = "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" // which no comparison counts
		for _, c := range []struct{ name, before, after string }{
			{"one collation", letters, letters},
			{"trailing blanks", blanks, blanks},
			{"to another collation", letters, blanks},
			{"to letters", blanks, letters},
			{"to bytes", letters, "VARBINARY(20)"},
			{"to bytes without blanks", blanks, "VARBINARY(20)"},
		} {
			b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema,
				"CREATE TABLE "+table+" (k "+c.before+" NOT NULL PRIMARY KEY, v INT, note VARCHAR(20) NOT NULL DEFAULT 'd')",
				"INSERT INTO "+table+" VALUES ('a', 1, 'a'), ('b', 2, 'b'), ('c', 3, 'c'), ('d', 4, 'd4'), ('e', 5, 'e')")
			b.mustMigrate("MODIFY v BIGINT, DROP COLUMN note, MODIFY k " + c.after + " NOT NULL")
			for range 2 {
				b.exec("UPDATE "+table+" SET k = 'a ' WHERE k = 'a'", "DELETE FROM "+table+" WHERE k = 'b'", "INSERT INTO "+table+" VALUES ('b ', 22)",
					"UPDATE "+table+" SET k = 'x' WHERE k = 'c'", "UPDATE "+table+" SET k = 'x ' WHERE k = 'x'", "INSERT INTO "+table+" VALUES ('c ', 33)",
					"UPDATE "+table+" SET k = 'y' WHERE k = 'd'", "UPDATE "+table+" SET k = 'd ' WHERE k = 'y'")
				b.mustUndo(planning.Undo{})
				got := b.value("SELECT GROUP_CONCAT('[', k, '] ', note ORDER BY CAST(k AS BINARY)) FROM " + table)
				if want := "[a ] a,[b ] b,[c ] d,[d ] d4,[e] e,[x ] c"; got != want {
					b.Errorf("%s: the rows are %s, want %s", c.name, got, want)
				}
				b.mustUndo(planning.Undo{}) // the redo
				b.exec("DELETE FROM "+table+" WHERE TRIM(k) = 'c'", "UPDATE "+table+" SET k = 'c' WHERE TRIM(k) = 'x'", "UPDATE "+table+" SET k = TRIM(k)")
			}
		}
		b.exec("DROP DATABASE "+b.schema, "CREATE DATABASE "+b.schema)
	})
}
