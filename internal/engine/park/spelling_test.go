package park

import (
	"context"
	"errors"
	"testing"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
)

// TestU4_AParkedRowWithAKeyOfAnotherSpellingStays: a row that does not fit is written again, between two attempts, with a key that only
// the collation holds equal. It is parked as it is, and once.
func TestU4_AParkedRowWithAKeyOfAnotherSpellingStays(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			l, _, pool := lotOf(t, version, "id VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT", "('B ', 1)", "ALTER TABLE t COMMENT = 'x'")
			t.Cleanup(func() {
				if err := pool.Exec(context.Background(), "DROP TABLE "+l.table.Quoted()); err != nil {
					t.Error(err)
				}
			})
			of := func(hex string, try uint64) []rowsync.UnfitRow {
				k, err := l.spec.Key.FromText([][]byte{[]byte(hex)})
				if err != nil {
					t.Fatal(err)
				}
				return []rowsync.UnfitRow{{Key: k, Cause: errors.New("no"), Try: try}}
			}
			prepare := func(rows []rowsync.UnfitRow) {
				t.Helper()
				if err := l.Prepare(t.Context(), rows, true); err != nil {
					t.Fatal(err)
				}
			}
			prepare(of("4220", 1))
			if err := pool.Exec(t.Context(), "UPDATE "+l.source.Name.Quoted()+" SET id = 'b'"); err != nil {
				t.Fatal(err)
			}
			prepare(of("62", 2))
			session, err := pool.Session(t.Context(), "SET SESSION autocommit = 0")
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if err := l.Take(t.Context(), session, of("62", 2)); err != nil {
				t.Fatal(err)
			}
			var rows int
			query := "SELECT COUNT(*) FROM " + l.table.Quoted() + " WHERE id = BINARY 'b'"
			if err := pool.DB().QueryRowContext(t.Context(), query).Scan(&rows); err != nil || rows != 1 {
				t.Errorf("%d rows are parked: %v", rows, err)
			}
			if _, is := l.parked[key.Key("B ")]; is || len(l.parked) != 1 {
				t.Errorf("%d keys are known", len(l.parked))
			}
		})
	}
}
