package verify

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// TestRangesAreReadOnce: a range is joined by a hash table. The server reads only its rows in both
// tables, whatever its statistics are.
func TestRangesAreReadOnce(t *testing.T) {
	server := mysqltest.Server(t, "9.7")
	for name, keyColumns := range map[string]string{
		"number": "id INT NOT NULL", "two": "a INT NOT NULL, id INT NOT NULL", "text": "s VARCHAR(20) COLLATE utf8mb4_bin NOT NULL, id INT NOT NULL",
	} {
		t.Run(name, func(t *testing.T) {
			db, database := mysqltest.Database(t, server)
			var names []string
			for _, c := range strings.Split(keyColumns, ", ") {
				names = append(names, strings.Fields(c)[0])
			}
			values := map[string]string{"id": "n", "a": "n DIV 900", "s": "CONCAT('k', n DIV 900)"}
			var exprs []string
			for _, n := range names {
				exprs = append(exprs, values[n])
			}
			exec(
				t,
				db,
				"CREATE TABLE d (d INT)",
				"INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
				fmt.Sprintf("CREATE TABLE t (%s, v VARCHAR(40), PRIMARY KEY (%s))", keyColumns, strings.Join(names, ", ")),
				fmt.Sprintf(
					"INSERT INTO t SELECT %s, HEX(n * 7919) FROM (SELECT w.d + 10*x.d + 100*y.d + 1000*z.d AS n FROM d w, d x, d y, d z) numbers",
					strings.Join(exprs, ", "),
				),
				"CREATE TABLE t_shadow LIKE t",
				"INSERT INTO t_shadow SELECT * FROM t",
			)
			spec, session := specFor(t, server, db, database, names)
			ranges := rowsync.NewRanges(spec.Sync, 1000, nil)
			total := 0
			for {
				r, more, err := ranges.Next(t.Context(), session)
				if err != nil {
					t.Fatal(err)
				}
				if !more {
					break
				}
				p := predicate{
					isRange: true,
					source:  rowsync.InRange(spec.Sync.Key, names, r),
					shadow:  rowsync.InRange(spec.Sync.Key, names, r),
				}
				if plan := text(t, session, "EXPLAIN FORMAT=TREE "+spec.differing(p, 10)); !strings.Contains(plan, "hash join") {
					t.Fatalf("the rows are looked up one by one:\n%s", plan)
				}
				before := rowsRead(t, session)
				if err := session.Rows(
					t.Context(),
					spec.differing(p, 10),
					func(*sql.Rows) error { t.Error("a row differs"); return nil },
				); err != nil {
					t.Fatal(err)
				}
				read := rowsRead(t, session) - before
				if read < 2 || read > 2020 {
					t.Errorf("%d rows were read for a range of 1,000", read)
				}
				total += read
			}
			if total < 20_000 {
				t.Errorf("%d rows were read, of two tables of 10,000", total)
			}
		})
	}
}

func specFor(t *testing.T, server *mysqltest.Instance, db *sql.DB, database string, names []string) (*Spec, *dbconn.Session) {
	t.Helper()
	table, err := schema.Load(t.Context(), db, schema.Name{Schema: database, Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var parts []key.Part
	spec := &Spec{Modern: true}
	for _, c := range table.Columns {
		spec.Columns = append(spec.Columns, Column{Name: c.Name, Source: schema.Quote(c.Name), Type: c})
	}
	for _, name := range names {
		c, _ := table.Column(name)
		parts = append(parts, key.Part{Column: c})
	}
	codec, err := key.NewCodec(parts)
	if err != nil {
		t.Fatal(err)
	}
	spec.Sync = &rowsync.Spec{Source: table.Name, Shadow: table.Name.Sibling("t_shadow"), Key: codec, ShadowKey: names,
		SourceIndex: "PRIMARY", ShadowIndex: "PRIMARY"}
	pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: server.Address, User: server.User,
		Password: dbconn.Secret(server.Password)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	session, err := pool.Session(t.Context(), spec.Setup()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return spec, session
}

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func text(t *testing.T, session *dbconn.Session, query string) (got string) {
	t.Helper()
	if err := session.Rows(t.Context(), query, func(r *sql.Rows) error { return r.Scan(&got) }); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}

// rowsRead is the number of rows that the engine has passed to the session.
func rowsRead(t *testing.T, session *dbconn.Session) (n int) {
	t.Helper()
	err := session.Rows(t.Context(), "SELECT SUM(variable_value) FROM performance_schema.session_status WHERE variable_name IN"+
		" ('Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_first', 'Handler_read_last', 'Handler_read_rnd')",
		func(r *sql.Rows) error { return r.Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}
