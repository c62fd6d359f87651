package prescan_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// bench is one test's database on one server.
type bench struct {
	*testing.T
	server *mysqltest.Instance
	db     *sql.DB
	schema string
	cfg    migration.Config

	user, password string // of a run
}

// onEach runs a test on one of the oldest and newest versions that a run takes, in turn.
func onEach(t *testing.T, test func(b *bench)) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			db, name := mysqltest.Database(t, server)
			b := &bench{T: t, server: server, db: db, schema: name, user: server.User, password: server.Password}
			b.cfg.Prescan.Rows = 7 // many ranges
			test(b)
		})
	}
}

// with is the same for a part of the test.
func (b *bench) with(t *testing.T) *bench {
	part := *b
	part.T = t
	return &part
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	b.Cleanup(cancel)
	return ctx
}

// exec runs statements in a session that is not strict and accepts zero dates.
func (b *bench) exec(statements ...string) {
	b.Helper()
	conn, err := b.db.Conn(b.ctx())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	for _, s := range append([]string{"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00'"}, statements...) {
		if _, err := conn.ExecContext(b.ctx(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
}

// texts reads the first column of a query, in a user's session.
func (b *bench) texts(query string) []string {
	b.Helper()
	rows, err := b.db.QueryContext(b.ctx(), query)
	if err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	var texts []string
	for rows.Next() {
		targets := make([]any, len(columns))
		values := make([]sql.RawBytes, len(columns))
		for i := range targets {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			b.Fatal(err)
		}
		texts = append(texts, string(values[0]))
	}
	if err := rows.Err(); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return texts
}

// told are the events of a run.
type told struct {
	mu       sync.Mutex
	phases   []event.Phase
	findings []event.Finding
	done     event.Prescanned
	notes    []string
}

func (t *told) listen(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case event.PhaseEntered:
		t.phases = append(t.phases, e.Phase)
	case event.Finding:
		t.findings = append(t.findings, e)
	case event.Prescanned:
		t.done = e
	case event.Note:
		t.notes = append(t.notes, e.Text)
	}
}

// open connects as a run does.
func (b *bench) open() *dbconn.Pool {
	b.Helper()
	pool, err := dbconn.Open(b.ctx(), dbconn.Config{Network: "tcp", Address: b.server.Address, User: b.user,
		Password: dbconn.Secret(b.password)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return pool
}

// start makes a migration of table t.
func (b *bench) start(clauses string, do func(*migration.Migration) error) (*told, error) {
	b.Helper()
	pool := b.open()
	defer pool.Close()
	name := schema.Name{Schema: b.schema, Table: "t"}
	alter, err := ddl.Parse("ALTER TABLE " + name.Quoted() + " " + clauses)
	if err != nil {
		b.Fatal(err)
	}
	p, err := planning.Make(b.ctx(), planning.Server{Pool: pool}, alter, planning.Options{FactsOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	told := &told{}
	server := binlog.Server{Network: "tcp", Address: b.server.Address, User: b.user, Password: b.password}
	err = do(migration.New(pool, server, p, b.cfg, operator.NewControl(operator.Settings{}), told.listen))
	return told, err
}

// check looks for rows that an ALTER of table t refuses.
func (b *bench) check(clauses string) (*told, error) {
	b.Helper()
	told, err := b.start(clauses, func(m *migration.Migration) error {
		_, err := m.Check(b.ctx())
		return err
	})
	if err != nil && !errors.Is(err, failure.ErrUnfit) {
		b.Fatalf("%s: %v", clauses, err)
	}
	return told, err
}

// run carries out an ALTER of table t.
func (b *bench) run(clauses string) (*told, error) {
	b.Helper()
	return b.start(clauses, func(m *migration.Migration) error {
		_, err := m.Run(b.ctx())
		return err
	})
}

// find returns the finding of a kind.
func (t *told) find(kind string) (event.Finding, bool) {
	i := slices.IndexFunc(t.findings, func(f event.Finding) bool { return f.Kind == kind })
	if i < 0 {
		return event.Finding{}, false
	}
	return t.findings[i], true
}

// want compares a finding with the ids that it should name.
func (b *bench) want(f event.Finding, ids []int) {
	b.Helper()
	if f.Rows != int64(len(ids)) || f.AtLeast {
		b.Errorf("%s: %d rows (at least: %v), want %d", f.What, f.Rows, f.AtLeast, len(ids))
	}
	var first, all []string
	for i, id := range ids {
		all = append(all, fmt.Sprint(id))
		if i < 10 {
			first = append(first, fmt.Sprintf("id=%d", id))
		}
	}
	if !slices.Equal(f.Keys, first) {
		b.Errorf("%s: first keys %v, want %v", f.What, f.Keys, first)
	}
	listed := b.texts(f.Query)
	slices.Sort(listed)
	slices.Sort(all)
	if !slices.Equal(listed, all) {
		b.Errorf("%s: %s\nlists %s\nwant  %s", f.What, f.Query, strings.Join(listed, " "), strings.Join(all, " "))
	}
}
