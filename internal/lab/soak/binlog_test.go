package soak

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// shop is a server with a table to change, and one that only the binlog keeps.
type shop struct {
	*testing.T
	server *mysqltest.Instance
	schema string
	conn   *sql.Conn
}

func setup(t *testing.T, version string) *shop {
	t.Helper()
	s := &shop{T: t, server: mysqltest.Own(t, version, sandbox.Options{})}
	db, name := mysqltest.Database(t, s.server)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s.schema, s.conn = name, conn
	s.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE holes (id INT, b LONGBLOB) ENGINE=BLACKHOLE",
		"CREATE TABLE digits (i INT)", "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
		"INSERT INTO t SELECT 1+a.i+10*b.i+100*c.i, 0 FROM digits a, digits b, digits c")
	return s
}

func (s *shop) exec(statements ...string) {
	s.Helper()
	for _, q := range statements {
		if _, err := s.conn.ExecContext(context.Background(), q); err != nil {
			s.Fatalf("%s: %v", q, err)
		}
	}
}

func (s *shop) value(query string) string {
	s.Helper()
	var v string
	if err := s.conn.QueryRowContext(context.Background(), query).Scan(&v); err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return v
}

// huge writes a transaction of so many times 16 MB, with changes of the table at its head and
// at its end.
func (s *shop) huge(times int) {
	s.Helper()
	start := time.Now()
	s.exec("BEGIN", "UPDATE t SET v = v + 1 WHERE id <= 100",
		fmt.Sprintf("INSERT INTO holes SELECT a.i, REPEAT('x', 16 << 20) FROM digits a, digits b, digits c LIMIT %d", times),
		"UPDATE t SET id = id + 5000 WHERE id BETWEEN 101 AND 200", "COMMIT")
	s.Logf("%d MB written in %s", 16*times, time.Since(start).Round(time.Second))
}

// change runs an ALTER while work is done in one of its phases.
func (s *shop) change(phase event.Phase, work func()) migration.Result {
	s.Helper()
	ctx := s.Context()
	pool, err := dbconn.Open(
		ctx,
		dbconn.Config{Network: "tcp", Address: s.server.Address, User: s.server.User, Password: dbconn.Secret(s.server.Password)},
		nil,
	)
	if err != nil {
		s.Fatal(err)
	}
	defer pool.Close()
	name := schema.Name{Schema: s.schema, Table: "t"}
	alter, err := ddl.Parse("ALTER TABLE " + name.Quoted() + " ADD COLUMN added INT")
	if err != nil {
		s.Fatal(err)
	}
	server := binlog.Server{Network: "tcp", Address: s.server.Address, User: s.server.User, Password: s.server.Password}
	p, err := planning.Make(ctx, planning.Server{Pool: pool, Binlog: server}, alter, planning.Options{FactsOnly: true})
	if err != nil {
		s.Fatal(err)
	}
	done := false
	result, err := migration.New(pool, server, p, migration.Config{}, operator.NewControl(operator.Settings{}), func(e event.Event) {
		if entered, is := e.(event.PhaseEntered); is && entered.Phase == phase && !done {
			done = true
			work()
		}
	}).Run(ctx)
	if err != nil {
		s.Fatal(err)
	}
	s.Logf(
		"%d bytes of binlog read, %d changes captured, in %s", result.BinlogRead, result.Captured,
		result.Elapsed.Round(time.Millisecond),
	)
	return result
}

// equal fails the test unless the new table holds what the old one held.
func (s *shop) equal(changed string) {
	s.Helper()
	all := "SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(CONCAT_WS('/', id, v)))) FROM "
	if new, old := s.value(all+"t"), s.value(all+"t_old"); new != old {
		s.Errorf("rows and checksum are %s, of the old table %s", new, old)
	}
	if got := s.value("SELECT CONCAT_WS(' ', SUM(v > 0), SUM(id > 5000)) FROM t"); got != changed {
		s.Errorf("changed rows are %s, want %s", got, changed)
	}
}

// TestTransactionBeyond1GB: a run reads it, wherever it stands.
func TestTransactionBeyond1GB(t *testing.T) {
	for _, version := range []string{"9.7", "8.0"} {
		for _, phase := range []event.Phase{event.PhaseCopy, event.PhaseCatchUp} {
			t.Run(version+"/"+string(phase), func(t *testing.T) {
				s := setup(t, version)
				result := s.change(phase, func() { s.huge(80) })
				s.equal("100 100")
				if result.BinlogRead < 80*16<<20 {
					t.Errorf("only %d bytes were read", result.BinlogRead)
				}
			})
		}
	}
}

// TestFileBeyond4GiB: the header of an event has 32 bits for its position, and a request for
// the binlog too. A run begins beyond, goes on there, and reads into the next file.
func TestFileBeyond4GiB(t *testing.T) {
	compressed, plain := "SET SESSION binlog_transaction_compression = ON", "DO 0"
	for version, settings := range map[string]map[string]string{"9.7": {"plain": plain, "compressed": compressed}, "8.0": {"plain": plain}} {
		for name, set := range settings {
			t.Run(version+"/"+name, func(t *testing.T) {
				s := setup(t, version)
				s.exec(set, "FLUSH BINARY LOGS")
				result := s.change(event.PhaseCatchUp, func() {
					s.huge(280)
					s.exec("UPDATE t SET v = v + 1 WHERE id BETWEEN 991 AND 1000")
				})
				s.equal("110 100")
				t.Logf("%d changes", result.Captured)
			})
		}
	}
}

// TestReadOnBeyond4GiB: the stream breaks where the file is that long.
func TestReadOnBeyond4GiB(t *testing.T) {
	s := setup(t, "9.7")
	s.exec("FLUSH BINARY LOGS", "SET SESSION binlog_transaction_compression = OFF")
	table, err := schema.Load(t.Context(), s.conn, schema.Name{Schema: s.schema, Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var from binlog.Position
	var rest [3]any
	if err := s.conn.QueryRowContext(
		t.Context(),
		"SHOW BINARY LOG STATUS",
	).Scan(
		&from.File, &from.Offset, &rest[0], &rest[1], &rest[2],
	); err != nil {
		t.Fatal(err)
	}
	s.huge(280)
	reader := binlog.NewReader(binlog.Server{Address: s.server.Address, User: s.server.User, Password: s.server.Password},
		[]binlog.Watch{{Table: table.Name, Columns: []int{0}, ColumnCount: len(table.Columns)}}, binlog.GTIDs{})
	enough := errors.New("enough")
	read := func(from binlog.Position) (tuples int, end binlog.Position) {
		err := reader.Run(t.Context(), from, func(e binlog.Event) error {
			switch e := e.(type) {
			case binlog.Rows:
				tuples += len(e.Tuples)
			case binlog.Commit:
				end = e.End
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		return tuples, end
	}
	tuples, end := read(from)
	if tuples != 300 || end.Offset < 1<<32 {
		t.Errorf("%d rows up to %s", tuples, end)
	}
	s.exec("DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id BETWEEN 2 AND 3")
	for _, want := range []int{1, 2} {
		if tuples, end = read(end); tuples != want {
			t.Errorf("%d rows up to %s, want %d", tuples, end, want)
		}
	}
}
