package desired_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// bench is a server with two databases: tables are altered in the first, and created in the second.
type bench struct {
	t             *testing.T
	db, direct    *sql.DB
	name          string
	pool          *dbconn.Pool
	says          map[string]string
	last          *desired.Change
	before, after string // SHOW CREATE TABLE
}

func newBench(t *testing.T, version string) *bench {
	t.Helper()
	server := mysqltest.Server(t, version)
	b := &bench{t: t}
	b.db, b.name = mysqltest.Database(t, server)
	b.direct, _ = mysqltest.Database(t, server)
	pool, err := dbconn.Open(t.Context(), dbconn.Config{Network: "tcp", Address: server.Address, User: server.User,
		Password: dbconn.Secret(server.Password)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	b.pool = pool
	return b
}

func (b *bench) exec(db *sql.DB, statement string) error {
	_, err := db.ExecContext(b.t.Context(), statement)
	return err
}

func (b *bench) must(db *sql.DB, statements ...string) {
	b.t.Helper()
	for _, s := range statements {
		if err := b.exec(db, s); err != nil {
			b.t.Fatalf("%s: %v", s, err)
		}
	}
}

// find compares a statement with the table.
func (b *bench) find(statement string) (*desired.Change, error) {
	b.t.Helper()
	return b.findIn(b.t.Context(), statement)
}

func (b *bench) findIn(ctx context.Context, statement string) (*desired.Change, error) {
	file := filepath.Join(b.t.TempDir(), "t.sql")
	if err := os.WriteFile(file, []byte(statement), 0o644); err != nil {
		b.t.Fatal(err)
	}
	statements, err := desired.Read(token.Dialect{}, file, b.name)
	if err != nil {
		return nil, err
	}
	finder := desired.Finder{Pool: b.pool, Map: func(schema.Name) map[string]string { return b.says },
		Argument: func(_ schema.Name, old, fresh string) string { return "--map " + old + "=" + fresh }}
	return finder.Find(ctx, statements[0])
}

// clauses are the clauses of the ALTER, "" for none.
func clauses(c *desired.Change) string {
	if c == nil || c.Alter == nil {
		return ""
	}
	return c.Alter.Clauses
}

func (b *bench) show(db *sql.DB) string {
	b.t.Helper()
	var name, text string
	if err := db.QueryRowContext(b.t.Context(), "SHOW CREATE TABLE t").Scan(&name, &text); err != nil {
		b.t.Fatal(err)
	}
	text, _ = schema.SplitAutoIncrement(text)
	return comparable(text)
}

var (
	checkName = regexp.MustCompile("(?m)^  CONSTRAINT `[^`]*` CHECK")
	blockSize = regexp.MustCompile(`(?m)^(  .*\)(?: USING BTREE)?) KEY_BLOCK_SIZE=\d+`)
	charset   = regexp.MustCompile(` (CHARACTER SET|COLLATE) \w+`)
)

// comparable is the text without what is not compared: the order of indexes and checks, the names
// of checks, and the KEY_BLOCK_SIZE of indexes.
func comparable(text string) string {
	text = strings.NewReplacer(" ENCRYPTION='N'", "", " COMPRESSION=''", "").Replace(text) // defaults, as if left out
	text = blockSize.ReplaceAllString(text, "$1")
	lines := strings.Split(checkName.ReplaceAllString(text, "  CHECK"), "\n")
	first := slices.IndexFunc(lines, func(l string) bool {
		return !strings.HasPrefix(l, "  `") && !strings.HasPrefix(l, "CREATE")
	})
	last := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, ") ENGINE") })
	for i := range lines[:last] {
		lines[i] = strings.TrimSuffix(lines[i], ",")
	}
	slices.Sort(lines[first:last])
	return strings.Join(lines, "\n")
}

// columnCharsets are the charsets of the columns, as the server lists them: definitions show only
// charsets that were written out.
func (b *bench) columnCharsets(db *sql.DB) (text string) {
	b.t.Helper()
	err := db.QueryRowContext(b.t.Context(), `SELECT GROUP_CONCAT(column_name, ' ', IFNULL(collation_name, '-') ORDER BY ordinal_position)
		FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't'`).Scan(&text)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// planned makes the plan of the change that Find returned.
func (b *bench) planned(c *desired.Change) error {
	b.t.Helper()
	options := planning.Options{Plan: plan.Options{Map: c.Map}, FactsOnly: true}
	_, err := planning.Make(b.t.Context(), planning.Server{Pool: b.pool}, c.Alter, options)
	return err
}

// reach creates table from, lets the server alter it as Find proposes, and compares it with the
// table to that the server creates directly. Then no difference may be left.
func (b *bench) reach(from, to string) (string, error) {
	b.t.Helper()
	b.must(b.db, "DROP TABLE IF EXISTS t", from)
	b.must(b.direct, "DROP TABLE IF EXISTS t", to)
	c, err := b.find(to)
	if err != nil {
		return "", err
	}
	b.last, b.before = c, b.show(b.db)
	if text := clauses(c); text != "" {
		if err := b.planned(c); err != nil {
			return text, fmt.Errorf("the plan: %w", err)
		}
		if err := b.exec(b.db, "ALTER TABLE t "+text); err != nil {
			return text, err
		}
	}
	got, want := b.show(b.db), b.show(b.direct)
	b.after = got
	if charset.ReplaceAllString(got, "") != charset.ReplaceAllString(want, "") || b.columnCharsets(b.db) != b.columnCharsets(b.direct) {
		b.t.Errorf("ALTER TABLE t %s\nof %s\ngives %s\nwant %s", clauses(c), b.before, got, want)
	}
	again, err := b.find(to)
	if err != nil {
		return clauses(c), err
	}
	if again.Alter != nil {
		b.t.Errorf("ALTER TABLE t %s\nof %s\nagain finds %s", clauses(c), b.before, again.Alter.Clauses)
	}
	return clauses(c), nil
}
