package native_test

import (
	"testing"

	"midstream/internal/engine/native"
)

// TestL11_AnEmptyCopyTakesWhatTheTableTakes: if the server carries out an ALTER on the table, it
// does not refuse it on the empty copy. The copy names no row format that the table does not name,
// and its definition is accepted as the application wrote it.
func TestL11_AnEmptyCopyTakesWhatTheTableTakes(t *testing.T) {
	onEach(t, func(r *rig) {
		pool := r.pool()
		defer pool.Close()
		for _, c := range []struct{ columns, clauses string }{
			{"id INT PRIMARY KEY, v INT", "KEY_BLOCK_SIZE = 8"},
			{"id INT PRIMARY KEY, v INT", "KEY_BLOCK_SIZE = 8, ADD COLUMN w INT"},
			{"id INT PRIMARY KEY, v ENUM('é','e','x')", "MODIFY v ENUM('x','y')"},
			{"id INT PRIMARY KEY, v SET('é','e','x')", "DROP COLUMN v"},
			{"id INT PRIMARY KEY, v ENUM('é','e')", "MODIFY v ENUM('é','e') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"},
		} {
			r.exec("DROP TABLE " + r.table.Quoted())
			conn, err := r.db.Conn(r.Context())
			if err != nil {
				r.Fatal(err)
			}
			for _, s := range []string{"SET SESSION sql_mode = ''", "CREATE TABLE " + r.table.Quoted() + " (" + c.columns + ") CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "SET SESSION sql_mode = DEFAULT"} {
				if _, err := conn.ExecContext(r.Context(), s); err != nil {
					r.Fatalf("%s: %v", s, err)
				}
			}
			conn.Close()
			question := r.question(c.clauses)
			if _, err := native.Try(r.Context(), pool, question); err != nil {
				r.Errorf("%s: %s: try: %v", c.columns, c.clauses, err)
			}
			if _, err := native.Ask(r.Context(), pool, question); err != nil {
				r.Errorf("%s: %s: ask: %v", c.columns, c.clauses, err)
			}
			r.exec("ALTER TABLE " + r.table.Quoted() + " " + c.clauses)
		}
	})
}
