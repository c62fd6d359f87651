package schema_test

import (
	"database/sql"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// server is one server and a database of the test's own.
type server struct {
	*sql.DB
	t        *testing.T
	instance *mysqltest.Instance
	database string
	release  string
}

// do runs statements; DB means the test's database.
func (s *server) do(statements ...string) {
	s.t.Helper()
	for _, statement := range statements {
		if err := s.try(statement); err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
	}
}

func (s *server) try(statement string) error {
	_, err := s.ExecContext(s.t.Context(), strings.ReplaceAll(statement, "DB.", schema.Quote(s.database)+"."))
	return err
}

func (s *server) name(table string) schema.Name { return schema.Name{Schema: s.database, Table: table} }

func (s *server) load(table string) *schema.Table {
	s.t.Helper()
	t, err := schema.Load(s.t.Context(), s.DB, s.name(table))
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

// mysql8 reports whether the server is MySQL 8.0 or later.
func (s *server) mysql8() bool { return s.release == "9.7" || s.release == "8.0" }

func column(t *testing.T, table *schema.Table, name string) schema.Column {
	t.Helper()
	c, ok := table.Column(name)
	if !ok {
		t.Fatalf("no column %q in %v", name, table.Columns)
	}
	return c
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\ngot  %#v\nwant %#v", what, got, want)
	}
}

func TestLoadRefusesWhatIsNoBaseTable(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE VIEW v AS SELECT * FROM t")
		for _, c := range []struct {
			table string
			want  error
		}{{"none", schema.ErrNotFound}, {"v", schema.ErrNotBaseTable}, {"t%", schema.ErrNotFound}, {"_", schema.ErrNotFound}} {
			if _, err := schema.Load(t.Context(), s.DB, s.name(c.table)); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.table, err, c.want)
			}
		}
		if _, err := schema.Load(t.Context(), s.DB, schema.Name{Schema: "no such", Table: "t"}); !errors.Is(err, schema.ErrNotFound) {
			t.Errorf("other schema: %v", err)
		}
		conn, err := s.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, table := range []string{"t", "u"} {
			if _, err := conn.ExecContext(t.Context(), "CREATE TEMPORARY TABLE "+table+" (a INT)"); err != nil {
				t.Fatal(err)
			}
			_, err := schema.Load(t.Context(), conn, s.name(table))
			if !errors.Is(err, schema.ErrNotBaseTable) && !errors.Is(err, schema.ErrNotFound) {
				t.Errorf("temporary table %s: %v", table, err)
			}
		}
	})
}

// Load leaves the session unchanged.
func TestLoadRestoresTheSession(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE t (id INT PRIMARY KEY)")
		conn, err := s.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		const query = "SELECT CONCAT(@@sql_mode, ' ', @@sql_quote_show_create)"
		if _, err := conn.ExecContext(
			t.Context(),
			"SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES', sql_quote_show_create = 0",
		); err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := conn.QueryRowContext(t.Context(), query).Scan(&before); err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Load(t.Context(), conn, s.name("t")); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRowContext(t.Context(), query).Scan(&after); err != nil {
			t.Fatal(err)
		}
		equal(t, "session", after, before)
	})
}

// openAs connects with another account.
func openAs(t *testing.T, config *mysql.Config) *sql.DB {
	t.Helper()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}
