package wholetables_test

import (
	"testing"
	"time"

	"midstream/internal/engine/event"
)

// TestL6_TheUndoOfATruncateNamesAReaderOfTheOldTable: a session reads the table that was put aside, which the undo must mark before it
// swaps. The session is named as one that blocks a swap is, and the undo goes on once it has ended.
func TestL6_TheUndoOfATruncateNamesAReaderOfTheOldTable(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
		r.must(r.run(r.Context(), "TRUNCATE TABLE t"))
		reader, err := r.db.BeginTx(r.Context(), nil)
		if err != nil {
			r.Fatal(err)
		}
		defer reader.Rollback()
		var id uint64
		var rows int
		if err := reader.QueryRow("SELECT CONNECTION_ID(), COUNT(*) FROM t_old").Scan(&id, &rows); err != nil {
			r.Fatal(err)
		}
		named := func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, e := range r.events {
				if b, is := e.(event.Blocked); is && b.Blockers[0].ConnectionID == id {
					return true
				}
			}
			return false
		}
		shown := r.text("SELECT @@performance_schema AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments" +
			" WHERE name = 'wait/lock/metadata/sql/mdl' AND enabled = 'YES')")
		done := make(chan error, 1)
		go func() {
			_, err := r.undo(r.Context(), "t", false)
			done <- err
		}()
		for deadline := time.Now().Add(10 * time.Second); shown == "1" && !named(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				r.Fatalf("connection %d is not named", id)
			}
		}
		if err := reader.Rollback(); err != nil {
			r.Fatal(err)
		}
		if err := <-done; err != nil {
			r.Fatal(err)
		}
		if got := r.text("SELECT COUNT(*) FROM t"); got != "2" {
			r.Errorf("the table has %s rows", got)
		}
		r.exec("DROP TABLE IF EXISTS t_undo")
	})
}
