package facts_test

import (
	"testing"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/mysql/dbconn"
)

// TestL9_IdentityIsReadAgain: InnoDB's list of tables waits for a session that defines another table.
// The server gives up that wait after a second (1205), and a run that reads the list must not end.
func TestL9_IdentityIsReadAgain(t *testing.T) {
	onReleases(t, []string{"9.7", "8.0"}, func(t *testing.T, s *server) {
		s.do("CREATE TABLE DB.t (id INT PRIMARY KEY)", "CREATE TABLE DB.other (id INT PRIMARY KEY)")
		reader, err := s.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Rollback()
		if _, err := reader.Exec("SELECT COUNT(*) FROM other"); err != nil {
			t.Fatal(err)
		}
		altered := make(chan error, 1)
		go func() {
			_, err := s.ExecContext(t.Context(), "ALTER TABLE other COMMENT = 'x'")
			altered <- err
		}()
		for waits := 0; waits == 0; {
			const query = "SELECT COUNT(*) FROM performance_schema.metadata_locks" +
				" WHERE object_schema = DATABASE() AND object_name = 'other' AND lock_status = 'PENDING'"
			if err := s.QueryRowContext(t.Context(), query).Scan(&waits); err != nil {
				t.Fatal(err)
			}
		}
		pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: s.instance.Network, Address: s.instance.Address,
			User: s.instance.User, Password: dbconn.Secret(s.instance.Password)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		time.AfterFunc(1500*time.Millisecond, func() { reader.Rollback() })
		if id, err := facts.ReadIdentity(t.Context(), pool.DB(), s.name("t")); err != nil || len(id) != 1 {
			t.Errorf("identity %v, %v", id, err)
		}
		if err := <-altered; err != nil {
			t.Error(err)
		}
	})
}
