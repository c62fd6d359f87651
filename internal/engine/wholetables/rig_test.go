package wholetables_test

import (
	"context"
	"database/sql"
	"os"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/engine/wholetables"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) {
	if os.Getenv(childAddress) != "" {
		os.Exit(beChild())
	}
	mysqltest.Main(m)
}

// rig is a database of a test's own, and the events of its runs.
type rig struct {
	*testing.T
	server  *mysqltest.Instance
	address string
	db      *sql.DB
	name    string

	mu     sync.Mutex
	events []event.Event
}

// onEach runs a test on one of the servers, in turn.
func onEach(t *testing.T, test func(r *rig)) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Server(t, version)
			db, name := mysqltest.Database(t, server)
			test(&rig{T: t, server: server, address: server.Address, db: db, name: name})
		})
	}
}

func (r *rig) exec(statements ...string) {
	r.Helper()
	mysqltest.Exec(r, r.db, statements...)
}

// text is the one value of a query, or the error.
func (r *rig) text(query string) string { return mysqltest.Text(r.db, query) }

// state is the contents of the database: each table with its number of rows.
func (r *rig) state() string { return mysqltest.Contents(r.db) }

// create is the SHOW CREATE TABLE of a table.
func (r *rig) create(table string) string {
	var name, text string
	if err := r.db.QueryRow("SHOW CREATE TABLE `"+table+"`").Scan(&name, &text); err != nil {
		return err.Error()
	}
	return text
}

func (r *rig) listen(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *rig) pool(ctx context.Context) *dbconn.Pool {
	r.Helper()
	pool, err := dbconn.Open(ctx, dbconn.Config{
		Network: "tcp", Address: r.address, User: r.server.User, Password: dbconn.Secret(r.server.Password),
	}, nil)
	if err != nil {
		r.Fatal(err)
	}
	return pool
}

func settings() (s operator.Settings) {
	s.Lock.Wait, s.Lock.Work, s.Backoff = 200*time.Millisecond, time.Second, 50*time.Millisecond
	return s
}

// run plans a statement and carries it out; it can be undone for a day.
func (r *rig) run(ctx context.Context, text string) (migration.Result, error) {
	return r.runWith(ctx, text, plan.TableOptions{Undo: 24 * time.Hour})
}

// runWith is run with other options.
func (r *rig) runWith(ctx context.Context, text string, options plan.TableOptions) (migration.Result, error) {
	pool := r.pool(ctx)
	defer pool.Close()
	statement, err := ddl.ParseStatement(text)
	if err == nil {
		err = statement.In(r.name)
	}
	if err != nil {
		return migration.Result{}, err
	}
	p, err := planning.MakeTables(ctx, planning.Server{Pool: pool}, statement, settings(), options, r.listen)
	if err != nil {
		return migration.Result{}, err
	}
	return wholetables.New(pool, p, operator.NewControl(settings()), r.listen).Run(ctx)
}

// undo takes the last statement on a table back, or makes it again.
func (r *rig) undo(ctx context.Context, table string, merge bool) (migration.Result, error) {
	return r.back(ctx, table, plan.TableOptions{Merge: merge})
}

// back is undo with more options.
func (r *rig) back(ctx context.Context, table string, options plan.TableOptions) (migration.Result, error) {
	return r.backWith(ctx, table, settings(), options)
}

// backWith is back with other settings.
func (r *rig) backWith(ctx context.Context, table string, s operator.Settings, options plan.TableOptions) (migration.Result, error) {
	pool := r.pool(ctx)
	defer pool.Close()
	source := schema.Name{Schema: r.name, Table: table}
	p, err := planning.MakeTablesBack(ctx, planning.Server{Pool: pool}, source, s, options, r.listen)
	if err != nil {
		return migration.Result{}, err
	}
	return wholetables.New(pool, p, operator.NewControl(s), r.listen).Run(ctx)
}

// must fails the test because of an error.
func (r *rig) must(_ migration.Result, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}
