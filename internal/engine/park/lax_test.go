package park

import (
	"database/sql"
	"errors"
	"testing"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// TestU4_AfterAnErrorTheSessionIsAsStrictAsBefore: the undo parks rows as they are, and marks their table, with lax settings. Both fail,
// and the session's sql_mode is what it was: the next attempt of the swap writes with it.
func TestU4_AfterAnErrorTheSessionIsAsStrictAsBefore(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			server := mysqltest.Server(t, version)
			db, database := mysqltest.Database(t, server)
			mysqltest.Exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, NULL)",
				"CREATE TABLE t_parked (id INT PRIMARY KEY, v INT)", "CREATE TRIGGER no BEFORE INSERT ON t_parked FOR EACH ROW SIGNAL SQLSTATE '22003'")
			pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: server.Address, User: server.User,
				Password: dbconn.Secret(server.Password)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			source, err := schema.Load(t.Context(), db, schema.Name{Schema: database, Table: "t"})
			if err != nil {
				t.Fatal(err)
			}
			codec, err := key.NewCodec([]key.Part{{Column: source.Columns[0]}})
			if err != nil {
				t.Fatal(err)
			}
			one, err := codec.FromText([][]byte{[]byte("1")})
			if err != nil {
				t.Fatal(err)
			}
			l := &Lot{
				pool: pool, source: source, spec: &rowsync.Spec{Source: source.Name, Key: codec, SourceIndex: "PRIMARY"},
				table: schema.Name{Schema: database, Table: "t_parked"}, parked: map[key.Key]uint64{},
			}
			session, err := pool.Session(t.Context(), "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE'")
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			mode := func(after string) {
				var is string
				if err := session.Rows(t.Context(), "SELECT @@SESSION.sql_mode", func(r *sql.Rows) error { return r.Scan(&is) }); err != nil {
					t.Fatal(err)
				}
				if is != "STRICT_ALL_TABLES,NO_ZERO_DATE" {
					t.Errorf("after %s the session has sql_mode %q", after, is)
				}
			}
			if err := l.copy(t.Context(), session, []rowsync.UnfitRow{{Key: one, Cause: errors.New("no"), Try: 1}}); !errors.Is(err, ErrUnfit) {
				t.Errorf("the copy ends with %v", err)
			}
			mode("a copy")
			if _, err := session.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			l.table.Table = "t_gone"
			if err := l.mark(t.Context(), session, l.table, checkpoint.ParkedKind); err == nil {
				t.Error("a table that does not exist was marked")
			}
			mode("a mark")
		})
	}
}
