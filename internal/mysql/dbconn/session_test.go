package dbconn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// TestL9_AWithdrawalMayOvertakeItsStatement: a statement reaches the server only after the KILL QUERY
// that is to withdraw it (a lost packet is sent again, on one of two connections). It is withdrawn all
// the same, and its session is not lost.
func TestL9_AWithdrawalMayOvertakeItsStatement(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			server := mysqltest.Server(t, version)
			db, name := mysqltest.Database(t, server)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
			reader, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reader.Rollback() }()
			var rows int
			if err := reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{"LOCK TABLES t WRITE", "RENAME TABLE t TO u", "ALTER TABLE t COMMENT 'a'", "DROP TABLE t"} {
				wire := fault.New(t, server.Address, fault.Rule{At: statement, Delay: 400 * time.Millisecond})
				// So that no limit of the server ends the statement.
				patient := map[string]string{"lock_wait_timeout": "60"}
				pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: "tcp", Address: wire.Address, User: server.User}, patient)
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				pool.Use(name)
				session, err := pool.Session(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				enough := errors.New("enough")
				ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, enough)
				defer cancel()
				if _, err := session.Exec(ctx, statement); !errors.Is(err, enough) || session.Lost() {
					t.Fatalf("%s: error: %v, the session is lost: %v", statement, err, session.Lost())
				}
				if _, err := session.Exec(t.Context(), "DO 1"); err != nil {
					t.Errorf("after %s: %v", statement, err)
				}
			}
		})
	}
}
