package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/engine/key"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// versions are the servers that take turns.
var versions = []string{"9.7", "8.0", "5.7", "mariadb-10.11"}

// bundle is a database of the test's own on a server.
type bundle struct {
	t      testing.TB
	server *mysqltest.Instance
	schema string
	db     *sql.DB
	conn   *sql.Conn // one session, in the schema
}

// onServers runs a test on one of the servers, in turn.
func onServers(t *testing.T, test func(t *testing.T, b *bundle)) {
	for _, v := range mysqltest.InTurn(t, versions...) {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t, v))
		})
	}
}

func setup(t testing.TB, version string) *bundle {
	t.Helper()
	return setupOn(t, mysqltest.Server(t, version))
}

func setupOn(t testing.TB, server *mysqltest.Instance) *bundle {
	t.Helper()
	b := &bundle{t: t, server: server}
	_, b.schema = mysqltest.Database(t, b.server)
	config := b.server.Config(b.schema)
	config.MaxAllowedPacket = 0
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	b.db = sql.OpenDB(connector)
	if b.conn, err = b.db.Conn(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.conn.Close()
		b.db.Close()
	})
	b.exec("ALTER DATABASE CHARACTER SET utf8mb4")
	b.exec("SET sql_mode='', time_zone='+00:00'")
	return b
}

func (b *bundle) isMariaDB() bool { return strings.Contains(b.server.Release, "MariaDB") }

func (b *bundle) exec(query string, args ...any) {
	b.t.Helper()
	if _, err := b.conn.ExecContext(context.Background(), query, args...); err != nil {
		b.t.Fatalf("%.200s: %v", query, err)
	}
}

// try runs statements that an old server may not know, and reports whether the server accepts them.
func (b *bundle) try(query string) bool {
	_, err := b.conn.ExecContext(context.Background(), query)
	return err == nil
}

func (b *bundle) row(query string, dest ...any) {
	b.t.Helper()
	if err := b.conn.QueryRowContext(context.Background(), query).Scan(dest...); err != nil {
		b.t.Fatalf("%.200s: %v", query, err)
	}
}

// position asks the server for the end of its binlog.
func (b *bundle) position() Position {
	b.t.Helper()
	rows, err := b.conn.QueryContext(context.Background(), "SHOW BINARY LOG STATUS")
	if err != nil {
		rows, err = b.conn.QueryContext(context.Background(), "SHOW MASTER STATUS")
	}
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var p Position
	dest := []any{&p.File, &p.Offset}
	for len(dest) < len(columns) {
		dest = append(dest, new(sql.RawBytes))
	}
	if !rows.Next() {
		b.t.Fatal("no binlog")
	}
	if err := rows.Scan(dest...); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bundle) table(name string) *schema.Table {
	b.t.Helper()
	table, err := schema.Load(context.Background(), b.conn, schema.Name{Schema: b.schema, Table: name})
	if err != nil {
		b.t.Fatal(err)
	}
	return table
}

// watch returns a watch of columns of a table.
func (b *bundle) watch(name string, columns ...string) Watch {
	b.t.Helper()
	table := b.table(name)
	w := Watch{Table: table.Name, ColumnCount: len(table.Columns)}
	for _, name := range columns {
		c, ok := table.Column(name)
		if !ok {
			b.t.Fatalf("no column %s", name)
		}
		w.Columns = append(w.Columns, c.Ordinal)
	}
	return w
}

// codec returns the codec of a table's primary key.
func (b *bundle) codec(name string) (*key.Codec, Watch) {
	b.t.Helper()
	table := b.table(name)
	primary, _ := table.Key("PRIMARY")
	var parts []key.Part
	var columns []string
	for _, p := range primary.Parts {
		c, _ := table.Column(p.Column)
		parts = append(parts, key.Part{Column: c, Descending: p.Descending})
		columns = append(columns, p.Column)
	}
	codec, err := key.NewCodec(parts)
	if err != nil {
		b.t.Fatal(err)
	}
	return codec, b.watch(name, columns...)
}

func (b *bundle) reader(watches ...Watch) *Reader {
	return NewReader(b.account(), watches, GTIDs{})
}

// account is the administrator's account.
func (b *bundle) account() Server {
	return Server{Network: b.server.Network, Address: b.server.Address, User: b.server.User, Password: b.server.Password}
}

// group is a group of events that matters to the test.
type group struct {
	rows       []Rows
	statements []Statement
	end        Event
}

// String is the shape of a group for comparison: "rows insert 3; statement DROP ...; commit".
func (g group) String() string {
	var parts []string
	for _, r := range g.rows {
		parts = append(parts, fmt.Sprintf("%d:%s%v", r.Watch, map[Kind]string{Insert: "+", Update: "~", Delete: "-"}[r.Kind], r.Tuples))
	}
	for _, s := range g.statements {
		parts = append(parts, s.SQL)
	}
	switch e := g.end.(type) {
	case Commit:
		parts = append(parts, "commit")
	case XAPrepared:
		parts = append(parts, "prepared "+e.XID)
	case XAResolved:
		parts = append(parts, fmt.Sprintf("resolved %s %t", e.XID, e.Committed))
	}
	return strings.Join(parts, "; ")
}

func describe(groups []group) string {
	var lines []string
	for _, g := range groups {
		lines = append(lines, g.String())
	}
	return strings.Join(lines, "\n")
}

var errEnough = errors.New("enough")

// record reads what do wrote to the binlog: groups with rows of the watches, with statements that
// name the test's schema or ran in it, and ends of XA transactions. Other tests may work on the
// server at the same time.
func (b *bundle) record(watches []Watch, do func()) []group {
	b.t.Helper()
	from := b.position()
	do()
	return b.read(from, watches)
}

func (b *bundle) read(from Position, watches []Watch) []group {
	b.t.Helper()
	return b.readBy(b.reader(watches...), from)
}

// readBy reads to the current end of the binlog.
func (b *bundle) readBy(reader *Reader, from Position) []group {
	b.t.Helper()
	end := fmt.Sprintf("`the end %d`", time.Now().UnixNano())
	b.exec("DROP TABLE IF EXISTS " + end)
	var groups []group
	var current group
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := reader.Run(ctx, from, func(e Event) error {
		switch e := e.(type) {
		case Rows:
			current.rows = append(current.rows, e)
		case Statement:
			if strings.Contains(e.SQL, end) {
				return errEnough
			}
			if strings.Contains(e.SQL, "`the end ") {
				return nil
			}
			if e.Schema == b.schema || strings.Contains(e.SQL, b.schema) {
				current.statements = append(current.statements, e)
			}
		case Commit:
			if len(current.rows)+len(current.statements) > 0 {
				current.end = e
				groups = append(groups, current)
			}
			current = group{}
		case XAPrepared, XAResolved:
			current.end = e
			groups = append(groups, current)
			current = group{}
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		b.t.Fatal(err)
	}
	return groups
}

// tuples are all tuples of the groups, in order.
func tuples(groups []group) [][]any {
	var all [][]any
	for _, g := range groups {
		for _, r := range g.rows {
			all = append(all, r.Tuples...)
		}
	}
	return all
}

// expect compares groups with their description.
func (b *bundle) expect(groups []group, want string, replacements ...string) {
	b.t.Helper()
	want = strings.NewReplacer(replacements...).Replace(want)
	if got := describe(groups); got != want {
		b.t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// numbers makes a table of the numbers from 0 to 99,999.
func (b *bundle) numbers() {
	b.t.Helper()
	b.exec("CREATE TABLE numbers (i INT PRIMARY KEY)")
	b.exec("INSERT INTO numbers VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
	for n := 10; n < 100000; n *= 10 {
		b.exec(
			fmt.Sprintf("INSERT INTO numbers SELECT a.i + b.i * %d FROM numbers a, numbers b WHERE a.i < %[1]d AND b.i BETWEEN 1 AND 9", n),
		)
	}
}
