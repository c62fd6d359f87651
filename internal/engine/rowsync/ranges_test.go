package rowsync_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// keys are shapes of a key; each table holds some thousand rows.
var keys = []struct{ name, columns, key, values string }{
	{"one", "id INT NOT NULL", "id", "n"},
	{"two", "a INT NOT NULL, b INT NOT NULL", "a, b", "n DIV 700, n"},
	{"three", "a INT NOT NULL, b DATETIME NOT NULL, c VARBINARY(8) NOT NULL", "a, b, c",
		"n DIV 900, '2020-01-01' + INTERVAL (n DIV 30) HOUR, HEX(n)"},
	{"descending", "a INT NOT NULL, b INT NOT NULL", "a DESC, b", "n DIV 700, n"},
	{"collated", "a VARCHAR(20) NOT NULL, b INT NOT NULL", "a, b", "ELT(1 + n % 4, 'a', 'b', 'É', 'z'), n"},
	{"enum", "a ENUM('z','y','x') NOT NULL, b INT NOT NULL", "a, b", "1 + n % 3, n"},
	{"enum at the end", "b INT NOT NULL, a ENUM('z','y','x') NOT NULL", "b, a", "n DIV 3, 1 + n % 3"},
}

// TestRangesUseTheIndex: a chunk, wherever it is, reads its own rows and hardly one more, in the
// order of the index. The same holds for the query that finds its end, and for the deletion of a
// list.
func TestRangesUseTheIndex(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			for _, k := range keys {
				t.Run(k.name, func(t *testing.T) {
					db, name := mysqltest.Database(t, server)
					c := newRanges(t, server, db, name, k.columns, k.key, k.values)
					rng := rand.New(rand.NewPCG(1, 2))
					for range 40 {
						c.check(rng)
					}
				})
			}
		})
	}
}

// ofMariaDB are keys of types that only MariaDB has. The UUIDs have the versions 0 to 8.
var ofMariaDB = []struct{ name, columns, key, values string }{
	{"uuid", "u UUID NOT NULL", "u", "CONCAT(LPAD(HEX(n * 7919 % 1000003), 8, '0'), '-e926-', n % 9, '1f0-b01b-02fc0000000', n % 3)"},
	{"uuid descending", "a INT NOT NULL, u UUID NOT NULL", "a, u DESC", "n % 5, CONCAT(LPAD(HEX(n), 8, '0'), '-e926-', n % 9, '1f0-b0', n % 89 + 10, '-02fc0000000', n % 3)"},
	{"addresses", "a INET4 NOT NULL, b INET6 NOT NULL", "a, b", "CONCAT('10.0.', n DIV 700, '.200'), CONCAT('2001:db8:', HEX(n * 7919 % 65536), '::', HEX(n))"},
}

// TestRangesOfUUIDsUseTheIndex: the client orders these keys as the server does, which reads no
// other rows than those of a chunk.
func TestRangesOfUUIDsUseTheIndex(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			for _, k := range ofMariaDB {
				t.Run(k.name, func(t *testing.T) {
					db, name := mysqltest.Database(t, server)
					c := newRanges(t, server, db, name, k.columns, k.key, k.values)
					if !slices.IsSorted(c.all) {
						t.Error("the client does not order the keys as the server does")
					}
					rng := rand.New(rand.NewPCG(1, 2))
					for range 40 {
						c.check(rng)
					}
				})
			}
		})
	}
}

// ranges is one table under test, with the keys of all its rows in order.
type ranges struct {
	*testing.T
	session *dbconn.Session
	spec    *rowsync.Spec
	all     []key.Key
}

func newRanges(t *testing.T, server *mysqltest.Instance, db *sql.DB, name, columns, keyColumns, values string) *ranges {
	t.Helper()
	c := &ranges{T: t, session: open(t, server)}
	c.exec(
		"USE "+name,
		"CREATE TABLE d (d INT)",
		"INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
		fmt.Sprintf(
			"CREATE TABLE t (%s, filler CHAR(50) NOT NULL DEFAULT '', PRIMARY KEY (%s)) CHARACTER SET utf8mb4",
			columns, keyColumns,
		),
		fmt.Sprintf(
			"INSERT INTO t SELECT %s, '' FROM (SELECT w.d + 10*x.d + 100*y.d + 1000*z.d AS n FROM d w, d x, d y, d z WHERE z.d < 4) numbers",
			values,
		),
	)
	table, err := schema.Load(t.Context(), db, schema.Name{Schema: name, Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var parts []key.Part
	for _, p := range table.Keys[0].Parts {
		column, _ := table.Column(p.Column)
		parts = append(parts, key.Part{Column: column, Descending: p.Descending})
	}
	codec, err := key.NewCodec(parts)
	if err != nil {
		t.Fatal(err)
	}
	c.spec = &rowsync.Spec{Source: table.Name, Key: codec, SourceIndex: "PRIMARY"}
	c.query("SELECT "+strings.Join(codec.SelectExprs(), ", ")+" FROM t FORCE INDEX (PRIMARY) ORDER BY "+keyColumns,
		func(rows *sql.Rows) error {
			k, err := c.spec.ScanKey(rows)
			c.all = append(c.all, k)
			return err
		})
	return c
}

func open(t *testing.T, server *mysqltest.Instance) *dbconn.Session {
	t.Helper()
	pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: server.Address,
		User: server.User, Password: dbconn.Secret(server.Password)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	session, err := pool.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func (c *ranges) exec(statements ...string) {
	c.Helper()
	for _, s := range statements {
		if _, err := c.session.Exec(context.Background(), s); err != nil {
			c.Fatalf("%s: %v", s, err)
		}
	}
}

func (c *ranges) query(query string, scan func(*sql.Rows) error) {
	c.Helper()
	if err := c.session.Rows(context.Background(), query, scan); err != nil {
		c.Fatalf("%s: %v", query, err)
	}
}

// during returns how many rows the server read, and how many it sorted, for some queries.
func (c *ranges) during(queries func()) (read, sorted int) {
	c.Helper()
	c.exec("FLUSH STATUS")
	queries()
	c.query("SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' OR Variable_name = 'Sort_rows'",
		func(rows *sql.Rows) error {
			var name string
			var n int
			err := rows.Scan(&name, &n)
			if name == "Sort_rows" {
				sorted = n
			} else {
				read += n
			}
			return err
		})
	return read, sorted
}

// reads runs a query and returns its number of rows, and how many rows the server read for it.
func (c *ranges) reads(query string) (rows, read int) {
	c.Helper()
	read, _ = c.during(func() {
		c.query(query, func(*sql.Rows) error { rows++; return nil })
	})
	return rows, read
}

// pieces bounds the number of intervals of a range: two for each column except the last, one for
// the middle, and some more if different strings may be equal.
func (c *ranges) pieces() int { return 4 * len(c.spec.Key.Parts()) }

func (c *ranges) check(rng *rand.Rand) {
	c.Helper()
	i := rng.IntN(len(c.all))
	n := 1 + rng.IntN(300)
	to, want := key.Key(""), len(c.all)-i
	if i+n < len(c.all) {
		to, want = c.all[i+n], n
	}
	chunk := "SELECT filler FROM t FORCE INDEX (PRIMARY) WHERE " +
		rowsync.InRange(c.spec.Key, c.spec.Key.Names(), key.Range{From: c.all[i], To: to})
	rows, read := c.reads(chunk)
	if rows != want || read > want+2*c.pieces() {
		c.Errorf("%d rows of %d were read with %d reads: %s", rows, want, read, chunk)
	}
	c.checkBound(i, n, to)
	list := []key.Key{c.all[i], c.all[rng.IntN(len(c.all))], c.all[rng.IntN(len(c.all))]}
	exact := "SELECT filler FROM t FORCE INDEX (PRIMARY) WHERE " + rowsync.InKeys(c.spec.Key, c.spec.Key.Names(), list)
	if rows, read := c.reads(exact); rows == 0 || rows > 3 || read > 12 {
		c.Errorf("%d rows of at most 3 with %d reads: %s", rows, read, exact)
	}
}

// checkBound checks the end of a chunk of n rows that begins with row i.
func (c *ranges) checkBound(i, n int, want key.Key) {
	c.Helper()
	var found key.Key
	read, sorted := c.during(func() {
		var err error
		if found, err = rowsync.Bound(context.Background(), c.session, c.spec, key.Range{From: c.all[i]}, n); err != nil {
			c.Fatal(err)
		}
	})
	if found != want {
		c.Errorf("the end of a chunk of %d rows from row %d is %q, want %q", n, i, found, want)
	}
	most := n
	if rowsync.Numbered(c.spec.Key) {
		most = 2 * n // skipped rows count as well
	} else {
		c.checkBounds(i, n)
	}
	if read > most+1+2*c.pieces() || sorted > 0 {
		c.Errorf("%d reads for the end of a chunk of %d rows, %d rows were sorted", read, n, sorted)
	}
}

// checkBounds checks the ends of several chunks of n rows, the first of which begins with row i.
func (c *ranges) checkBounds(i, n int) {
	c.Helper()
	const several = 3
	var want []key.Key
	for at := i + n; len(want) < several && (len(want) == 0 || want[len(want)-1] != ""); at += n {
		if at < len(c.all) {
			want = append(want, c.all[at])
		} else {
			want = append(want, "")
		}
	}
	found, err := rowsync.Bounds(context.Background(), c.session, c.spec, key.Range{From: c.all[i]}, n, several)
	if err != nil || !slices.Equal(found, want) {
		c.Errorf("the ends of chunks of %d rows from row %d are %q, want %q (%v)", n, i, found, want, err)
	}
}
