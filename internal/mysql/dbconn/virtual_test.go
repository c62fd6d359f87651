package dbconn_test

import (
	"testing"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

// TestL11_VirtualColumnsAreComputed: MariaDB refuses a virtual column's value as its own ALTER
// does, even if the server's binlog leaves columns out.
func TestL11_VirtualColumnsAreComputed(t *testing.T) {
	for _, version := range []string{"mariadb-10.11", "mariadb-11.8"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			db, name := mysqltest.Database(t, server)
			if _, err := db.Exec("CREATE TABLE t (id INT PRIMARY KEY, g TINYINT AS (id * 1000) VIRTUAL)"); err != nil {
				t.Fatal(err)
			}
			pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: server.Address, User: server.User}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			setup := append([]string{"SET SESSION binlog_row_image = 'MINIMAL'"}, dbconn.Values{Virtual: true}.Setup()...)
			session, err := pool.Session(t.Context(), setup...)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if _, err := session.Exec(t.Context(), "INSERT INTO `"+name+"`.t (id) SELECT 7"); !dbconn.ValueRefused(err) {
				t.Errorf("the value 7000 of a TINYINT: %v", err)
			}
		})
	}
}
