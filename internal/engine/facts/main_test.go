package facts_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// server is one server and a database of the test's own.
type server struct {
	*sql.DB
	t        *testing.T
	instance *mysqltest.Instance
	database string
	release  string
}

// onServers runs a test on one of the servers, in turn.
func onServers(t *testing.T, test func(t *testing.T, s *server)) {
	onReleases(t, []string{"9.7", "8.0", "5.7", "mariadb-10.11"}, test)
}

// onReleases runs a test on one of some servers, in turn.
func onReleases(t *testing.T, releases []string, test func(t *testing.T, s *server)) {
	for _, release := range mysqltest.InTurn(t, releases...) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			instance := mysqltest.Server(t, release)
			db, name := mysqltest.Database(t, instance)
			test(t, &server{t: t, DB: db, database: name, instance: instance, release: release})
		})
	}
}

// do runs statements; "DB." means the test's database.
func (s *server) do(statements ...string) {
	s.t.Helper()
	for _, statement := range statements {
		if _, err := s.ExecContext(s.t.Context(), strings.ReplaceAll(statement, "DB.", schema.Quote(s.database)+".")); err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
	}
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

// account makes an account and connects as it.
func (s *server) account(user string) *sql.DB {
	s.t.Helper()
	s.do(fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY 'x'", user))
	s.t.Cleanup(func() { s.instance.Open(s.t, "").Exec(fmt.Sprintf("DROP USER '%s'@'%%'", user)) })
	config := s.instance.Config("")
	config.User, config.Passwd = user, "x"
	connector, err := mysql.NewConnector(config)
	if err != nil {
		s.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	s.t.Cleanup(func() { db.Close() })
	return db
}
