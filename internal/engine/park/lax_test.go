package park

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// lotOf returns a lot of table t, which has a key id and these rows, with table t_parked of the same definition, and the rows' keys. They
// are 1 and so on.
func lotOf(t *testing.T, version, definition, rows string, also ...string) (*Lot, []key.Key, *dbconn.Pool) {
	t.Helper()
	server := mysqltest.Server(t, version)
	db, database := mysqltest.Database(t, server)
	mysqltest.Exec(t, db, append([]string{"CREATE TABLE t (" + definition + ")", "INSERT INTO t VALUES " + rows, "CREATE TABLE t_parked LIKE t"}, also...)...)
	pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: server.Address, User: server.User,
		Password: dbconn.Secret(server.Password)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	source, err := schema.Load(t.Context(), db, schema.Name{Schema: database, Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	codec, err := key.NewCodec([]key.Part{{Column: source.Columns[0]}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []key.Key
	for n := range strings.Count(rows, "(") {
		k, err := codec.FromText([][]byte{[]byte(fmt.Sprintf("%02d", n+1))})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	return &Lot{
		pool: pool, source: source, spec: &rowsync.Spec{Source: source.Name, Key: codec, SourceIndex: "PRIMARY"},
		table: source.Name.Sibling("t_parked"), parked: map[key.Key]uint64{}, wished: true,
	}, keys, pool
}

// TestU4_ParkedRowsHandOverUniqueValues: two parked rows exchange their values of a unique key, and the undo hears of one of them first.
func TestU4_ParkedRowsHandOverUniqueValues(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			l, keys, pool := lotOf(t, version, "id INT PRIMARY KEY, v INT, UNIQUE KEY (v)", "(1, 5), (2, 6)")
			unfit := func(first, second uint64) []rowsync.UnfitRow {
				return []rowsync.UnfitRow{{Key: keys[0], Cause: errors.New("no"), Try: first}, {Key: keys[1], Cause: errors.New("no"), Try: second}}
			}
			prepare := func(rows []rowsync.UnfitRow) {
				t.Helper()
				if err := l.Prepare(t.Context(), rows, true); err != nil {
					t.Fatal(err)
				}
			}
			prepare(unfit(1, 2))
			for _, statement := range []string{"v = 7 WHERE id = 1", "v = 5 WHERE id = 2", "v = 6 WHERE id = 1"} {
				if err := pool.Exec(t.Context(), "UPDATE "+l.source.Name.Quoted()+" SET "+statement); err != nil {
					t.Fatal(err)
				}
			}
			prepare(unfit(1, 3))
			session, err := pool.Session(t.Context(), "SET SESSION autocommit = 0")
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if err := l.Take(t.Context(), session, unfit(4, 3)); err != nil {
				t.Fatal(err)
			}
			parked := ""
			query := "SELECT GROUP_CONCAT(CONCAT_WS('-', id, v) ORDER BY id) FROM " + l.table.Quoted()
			if err := session.Rows(t.Context(), query, func(r *sql.Rows) error { return r.Scan(&parked) }); err != nil || parked != "1-6,2-5" {
				t.Errorf("the parked rows are %s: %v", parked, err)
			}
			if _, err := session.Exec(t.Context(), "DROP TABLE "+l.table.Quoted()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestU4_AfterAnErrorTheSessionIsAsStrictAsBefore: the undo parks rows as they are, and marks their table, with lax settings. Both fail,
// and the session's sql_mode is what it was: the next attempt of the swap writes with it.
func TestU4_AfterAnErrorTheSessionIsAsStrictAsBefore(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			l, keys, pool := lotOf(t, version, "id INT PRIMARY KEY, v INT", "(1, NULL)",
				"CREATE TRIGGER no BEFORE INSERT ON t_parked FOR EACH ROW SIGNAL SQLSTATE '22003'")
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
			if err := l.copy(t.Context(), session, []rowsync.UnfitRow{{Key: keys[0], Cause: errors.New("no"), Try: 1}}); !errors.Is(err, ErrUnfit) {
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
