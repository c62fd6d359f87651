package throttle

import (
	"database/sql"
	"fmt"
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestMeterOnAServerWithManyDigests: the meter leaves our own statements out, also those of sessions
// without a database, and does not scan the buckets of every digest that the server knows.
func TestMeterOnAServerWithManyDigests(t *testing.T) {
	for _, v := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(v, func(t *testing.T) {
			server := mysqltest.Server(t, v)
			_, name := mysqltest.Database(t, server)
			for i, database := range []string{"", name} {
				db := server.Open(t, database)
				db.SetMaxOpenConns(1)
				exec := func(form string, times int) {
					for i := range times {
						if _, err := db.ExecContext(t.Context(), fmt.Sprintf(form, i)); err != nil {
							t.Fatal(err)
						}
					}
				}
				exec("SELECT 1 AS digest%d", 200)
				own := fmt.Sprintf("own_%s_%d", name, i)
				m := NewMeter(db, own)
				if _, err := m.take(t.Context()); err != nil || m.blind {
					t.Fatalf("blind: %v, error: %v", m.blind, err)
				}
				exec("SELECT %d AS "+own, 5_000)
				read := handlerReads(t, db)
				s, err := m.take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				// The digests are at most 10,000, and have 450 buckets each.
				if read = handlerReads(t, db) - read; read > 60_000 {
					t.Errorf("in database %q it read %d rows", database, read)
				}
				var counted int64
				for _, n := range s.tail {
					counted += n
				}
				// Other tests may use the server.
				if counted > 2_500 {
					t.Errorf("in database %q it counted %d statements, and ours are 5000", database, counted)
				}
			}
		})
	}
}

// handlerReads counts the rows that the only session of a pool has read by scans and indexes.
func handlerReads(t *testing.T, db *sql.DB) (reads int64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		reads += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return reads
}
