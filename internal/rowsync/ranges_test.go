package rowsync_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"midstream/internal/key"
	"midstream/internal/mysqltest"
	"midstream/internal/rowsync"
	"midstream/internal/schema"
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
}

// TestRangesUseTheIndex: a chunk, wherever it lies, reads its own rows and hardly one more,
// in the order of the index; so does the look-up of its end, and the deletion of a list.
func TestRangesUseTheIndex(t *testing.T) {
	for _, version := range []string{"9.7", "8.0"} {
		server := mysqltest.Server(t, version)
		for _, k := range keys {
			t.Run(version+"/"+k.name, func(t *testing.T) {
				db, name := mysqltest.Database(t, server)
				c := newRanges(t, db, name, k.columns, k.key, k.values)
				rng := rand.New(rand.NewPCG(1, 2))
				for range 40 {
					c.check(rng)
				}
			})
		}
	}
}

// ranges is one table under test, with the keys of all its rows in order.
type ranges struct {
	*testing.T
	conn *sql.Conn
	spec *rowsync.Spec
	all  []key.Key
}

func newRanges(t *testing.T, db *sql.DB, name, columns, keyColumns, values string) *ranges {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &ranges{T: t, conn: conn}
	c.exec("USE "+name, "CREATE TABLE d (d INT)", "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
		fmt.Sprintf("CREATE TABLE t (%s, filler CHAR(50) NOT NULL DEFAULT '', PRIMARY KEY (%s)) CHARACTER SET utf8mb4", columns, keyColumns),
		fmt.Sprintf("INSERT INTO t SELECT %s, '' FROM (SELECT w.d + 10*x.d + 100*y.d + 1000*z.d AS n FROM d w, d x, d y, d z WHERE z.d < 4) numbers", values))
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
	c.all = c.keys("SELECT " + strings.Join(codec.SelectExprs(), ", ") + " FROM t FORCE INDEX (PRIMARY) ORDER BY " + keyColumns)
	return c
}

func (c *ranges) exec(statements ...string) {
	c.Helper()
	for _, s := range statements {
		if _, err := c.conn.ExecContext(context.Background(), s); err != nil {
			c.Fatalf("%s: %v", s, err)
		}
	}
}

// keys runs a query of keys.
func (c *ranges) keys(query string) []key.Key {
	c.Helper()
	rows, err := c.conn.QueryContext(context.Background(), query)
	if err != nil {
		c.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var keys []key.Key
	for rows.Next() {
		k, err := c.spec.ScanKey(rows)
		if err != nil {
			c.Fatal(err)
		}
		keys = append(keys, k)
	}
	return keys
}

// reads runs a query and returns its number of rows, how many the server read for it,
// and whether it sorted.
func (c *ranges) reads(query string) (rows, read, sorted int) {
	c.Helper()
	c.exec("FLUSH STATUS")
	result, err := c.conn.QueryContext(context.Background(), query)
	if err != nil {
		c.Fatalf("%s: %v", query, err)
	}
	for result.Next() {
		rows++
	}
	result.Close()
	status, err := c.conn.QueryContext(context.Background(), "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' OR Variable_name = 'Sort_rows'")
	if err != nil {
		c.Fatal(err)
	}
	defer status.Close()
	for status.Next() {
		var name string
		var n int
		if err := status.Scan(&name, &n); err != nil {
			c.Fatal(err)
		}
		if name == "Sort_rows" {
			sorted = n
		} else {
			read += n
		}
	}
	return rows, read, sorted
}

// pieces bounds the number of intervals of a range: two for each column but the last, one
// for the middle, and some more where strings may be equal that are not the same.
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
	rows, read, _ := c.reads(chunk)
	if rows != want || read > want+2*c.pieces() {
		c.Errorf("%d rows of %d were read with %d reads: %s", rows, want, read, chunk)
	}
	c.checkBound(i, n, to)
	list := []key.Key{c.all[i], c.all[rng.IntN(len(c.all))], c.all[rng.IntN(len(c.all))]}
	exact := "SELECT filler FROM t FORCE INDEX (PRIMARY) WHERE " + rowsync.InKeys(c.spec.Key, c.spec.Key.Names(), list)
	if rows, read, _ := c.reads(exact); rows == 0 || rows > 3 || read > 12 {
		c.Errorf("%d rows of at most 3 with %d reads: %s", rows, read, exact)
	}
}

// checkBound looks for the end of a chunk of n rows that begins with row i.
func (c *ranges) checkBound(i, n int, want key.Key) {
	c.Helper()
	var found key.Key
	read := 0
	queries := rowsync.BoundQueries(c.spec, c.all[i], n)
	for _, query := range queries {
		if keys := c.keys(query); len(keys) > 0 {
			found = keys[0]
		}
		_, more, sorted := c.reads(query)
		if read += more; sorted > 0 {
			c.Errorf("%d rows were sorted: %s", sorted, query)
		}
		if found != "" {
			break
		}
	}
	if read > n+1+2*c.pieces() {
		c.Errorf("%d reads for the end of a chunk of %d rows: %s", read, n, queries)
	}
	if rowsync.Numbered(c.spec.Key) && found != "" && want != "" {
		if at := slices.Index(c.all, found); at <= i || at > i+n {
			c.Errorf("a chunk of %d rows from row %d ends at row %d: %s", n, i, at, queries)
		}
		return // it may end early
	}
	if found != want && !rowsync.Numbered(c.spec.Key) || want != "" && found == "" {
		c.Errorf("the end of a chunk of %d rows is %q, want %q: %s", n, found, want, queries)
	}
}
