package facts_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"midstream/internal/engine/facts"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema/token"
)

// pieces are the parts of the texts of TestL11_StatementsReadAsTheServerReadsThem.
var pieces = []string{
	"+1",
	"+2",
	" + 3",
	"-4",
	"--5",
	"-- 6\n",
	"--\n",
	"# 7\n",
	" ",
	"\n",
	"/*",
	"/* ",
	"*/",
	"*/ ",
	"/**/",
	"/*+ x */",
	"/*!",
	"/*! ",
	"/*M!",
	"/*M! ",
	"/*m! ",
	"/*!50000",
	"/*!50000 ",
	"/*!50699 ",
	"/*!50700 ",
	"/*!80000 ",
	"/*!80012 ",
	"/*!80013 ",
	"/*!90704 ",
	"/*!90705 ",
	"/*!99999 ",
	"/*!080000 ",
	"/*!090000\n",
	"/*!100000 ",
	"/*!101118 ",
	"/*!110809 ",
	"/*!500001 ",
	"/*!500000",
	"/*!999999 ",
	"/*!5000 ",
	"/*!0",
	"/*M!50700 ",
	"/*M!100000 ",
	"/*M!101200 ",
	"/*M!99999 ",
	"/*M!120000 ",
	"+'1'",
	"+\"1\"",
	"+`id`",
	"+\"id\"",
	"+'1\\'",
	"+'1\\''",
	"+\"1\\\"\"",
	"+'1''2'",
	"+\"1\"\"2\"",
	"+length('\\n')",
	"+length('\\%')",
	"+x'31'",
	"+x\"31\"",
	"'",
	"\"",
	"`",
	"\\",
}

// TestL11_StatementsReadAsTheServerReadsThem: a text means to a server what its resolved text means
// without ANSI_QUOTES and comments, with backslash escapes.
func TestL11_StatementsReadAsTheServerReadsThem(t *testing.T) {
	onReleases(t, []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"}, func(t *testing.T, s *server) {
		version, err := facts.ReadVersion(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		s.do("CREATE TABLE DB.t (id INT, x INT)", "INSERT INTO DB.t VALUES (10000, 20000)")
		random := rand.New(rand.NewPCG(1, 2))
		compared := 0
		for _, mode := range []string{"", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"} {
			dialect := token.Of(mode, version.MariaDB, version.Major, version.Minor, version.Patch)
			theirs, ours := s.in(mode), s.in(strings.ReplaceAll(mode, "NO_BACKSLASH_ESCAPES", ""))
			for range 1500 {
				text := "1"
				for range 1 + random.IntN(6) {
					text += pieces[random.IntN(len(pieces))]
				}
				resolved, closed := dialect.Resolve(text)
				want := read(t, theirs, text)
				switch {
				case !closed && strings.HasPrefix(want, "= "):
					t.Errorf("%s: %q is not closed, and the server reads %s", mode, text, want)
				case closed:
					if got := read(t, ours, resolved); got != want {
						t.Errorf("%s: %q gives %s, and %q gives %s", mode, text, want, resolved, got)
					}
				}
				if strings.HasPrefix(want, "= ") {
					compared++
				}
			}
		}
		t.Logf("the server could read %d texts of 6000", compared)
		if compared < 500 {
			t.Errorf("the server could read only %d texts", compared)
		}
	})
}

// in returns a connection whose session has an sql_mode.
func (s *server) in(mode string) *sql.Conn {
	s.t.Helper()
	conn, err := s.instance.Open(s.t, s.database).Conn(s.t.Context())
	if err == nil {
		s.t.Cleanup(func() { conn.Close() })
		_, err = conn.ExecContext(s.t.Context(), "SET SESSION sql_mode = '"+mode+"'")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// read returns the server's result of an expression: a value, or the number of an error.
func read(t *testing.T, conn *sql.Conn, expression string) string {
	t.Helper()
	var value string
	err := conn.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT "+expression+"\nFROM t").Scan(&value)
	if err == nil {
		return "= " + value
	}
	if dbconn.Number(err) == 0 {
		t.Fatal(err)
	}
	return fmt.Sprint("error ", dbconn.Number(err))
}
