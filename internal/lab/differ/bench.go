package differ

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// longest is how long a case may take before it counts as one that does not end.
const longest = 90 * time.Second

// bench runs cases on a server, one after the other, in two databases of its own.
type bench struct {
	server *mysqltest.Instance
	admin  *sql.DB
	tables [2]schema.Name // the one that the run changes, and its twin
}

func newBench(server *mysqltest.Instance, admin *sql.DB, number int) *bench {
	b := &bench{server: server, admin: admin}
	for i, ending := range []string{"", "_twin"} {
		b.tables[i] = schema.Name{Schema: fmt.Sprintf("differ%d%s", number, ending), Table: "t"}
	}
	return b
}

// session is a connection of the application's, or of an operator's.
type session struct {
	db   *sql.DB
	conn *sql.Conn
}

func (b *bench) session(ctx context.Context, database string, setup ...string) (*session, error) {
	config := b.server.Config(database)
	config.Params = map[string]string{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	s := &session{db: sql.OpenDB(connector)}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		s.db.Close()
		return nil, err
	}
	for _, text := range append([]string{"SET NAMES utf8mb4"}, setup...) {
		if err := s.exec(ctx, text); err != nil {
			s.close()
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return s, nil
}

func (s *session) exec(ctx context.Context, text string) error {
	_, err := s.conn.ExecContext(ctx, text)
	return err
}

func (s *session) close() {
	s.conn.Close()
	s.db.Close()
}

// application is the session that makes a table and writes to it.
func (b *bench) application(ctx context.Context, c *Case, database string) (*session, error) {
	return b.session(
		ctx,
		database,
		"SET SESSION sql_mode = '"+c.Mode+"', timestamp = "+moment+", autocommit = 1, completion_type = 0, sql_safe_updates = 0,"+
			" sql_select_limit = 18446744073709551615, sql_big_selects = 1, max_join_size = 18446744073709551615, lock_wait_timeout = 20",
	)
}

// done is a statement and the number of its error; 0 for none.
type done struct {
	sql    string
	number uint16
}

// fresh makes a database with the table and its first rows. It returns an error if the server takes no such table.
func (b *bench) fresh(ctx context.Context, c *Case, database string) (*session, error) {
	for _, text := range []string{"DROP DATABASE IF EXISTS " + quote(database), "CREATE DATABASE " + quote(database) + " " + c.Database} {
		if _, err := b.admin.ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	s, err := b.application(ctx, c, database)
	if err != nil {
		return nil, err
	}
	if err := s.exec(ctx, c.create()); err != nil {
		s.close()
		return nil, &invalid{err}
	}
	for _, text := range c.statements(Before) {
		_ = s.exec(ctx, text) // the twin takes as much of it
	}
	return s, nil
}

// invalid says that the server takes no such table.
type invalid struct{ error }

// writer makes the writes of each stage once, in the moment of the first event of a run that stands there.
type writer struct {
	of    func(Stage) []string // the statements of a stage
	app   *session
	ctx   context.Context
	mu    sync.Mutex
	made  [stages]bool
	log   []done
	free  chan struct{} // closed when the held writes are made
	phase event.Phase
}

func (w *writer) listen(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case event.PhaseEntered:
		w.phase = e.Phase
		switch e.Phase {
		case event.PhaseCopy:
			w.write(Early)
		case event.PhaseCatchUp, event.PhaseIndex:
			w.write(Late)
		case event.PhaseHold, event.PhaseCutover:
			w.write(Late)
			if !w.made[Held] {
				w.write(Held)
				close(w.free)
			}
		}
	case event.ChunkCopied:
		w.write(Late)
	}
}

func (w *writer) write(s Stage) {
	if w.made[s] {
		return
	}
	w.made[s] = true
	for _, text := range w.of(s) {
		w.log = append(w.log, done{text, dbconn.Number(w.app.exec(w.ctx, text))})
	}
}

// pool is a pool of the engine's.
func (b *bench) pool(ctx context.Context) (*dbconn.Pool, error) {
	pool, err := dbconn.Open(ctx, dbconn.Config{
		Network: b.server.Network, Address: b.server.Address, User: b.server.User, Password: dbconn.Secret(b.server.Password),
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return pool, nil
}

// binlog is the server as a reader of its binlog reaches it.
func (b *bench) binlog() binlog.Server {
	return binlog.Server{Network: b.server.Network, Address: b.server.Address, User: b.server.User, Password: b.server.Password}
}

// run has the engine change the first table.
func (b *bench) run(ctx context.Context, c *Case, w *writer) (migration.Result, error) {
	pool, err := b.pool(ctx)
	if err != nil {
		return migration.Result{}, err
	}
	defer pool.Close()
	p, err := b.plan(ctx, pool, "ALTER TABLE "+b.tables[0].Quoted()+" "+c.alter(), plan.Options{Filter: c.Keep, Set: c.settings()})
	if err != nil {
		return migration.Result{}, err
	}
	var cfg migration.Config
	settings := operator.Settings{FullSpeed: true, When: operator.When{Hold: c.Hold}}
	cfg.RowCopy.MaxRows, cfg.RowCopy.MinRows, settings.RowCopy.Workers = 3, 3, 2
	control := operator.NewControl(settings)
	if c.Hold {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-w.free:
				_, _ = control.CutOver(ctx, false) // else the run does not end, which is seen
			case <-ended:
			}
		}()
	}
	return migration.New(pool, b.binlog(), p, cfg, control, w.listen).Run(ctx)
}

// plan makes the plan as the program does.
func (b *bench) plan(ctx context.Context, pool *dbconn.Pool, text string, options plan.Options) (*plan.Plan, error) {
	dialect, err := facts.ReadDialect(ctx, pool.DB())
	if err != nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	statement, err := ddl.ParseStatementIn(dialect, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", plan.ErrRefused, err)
	}
	server := planning.Server{Pool: pool, Address: b.server.Address}
	options.Method = plan.MethodShadow
	return planning.Make(ctx, server, statement.Alter, planning.Options{Plan: options})
}

// twin makes the twin after the first writes and those of the log, and has the server alter it. It
// returns an error of the bench's, and the server's. algorithm is the one that the server is to
// take; "" for any. more are statements that the operator's session makes before.
func (b *bench) twin(ctx context.Context, c *Case, log []done, algorithm string, more ...string) (failed, refused error) {
	database := b.tables[1].Schema
	c = c.placed()
	app, err := b.fresh(ctx, c, database)
	if err != nil {
		return err, nil
	}
	defer app.close()
	for _, d := range log {
		if n := dbconn.Number(app.exec(ctx, d.sql)); n != d.number {
			return fmt.Errorf("%s: error %d on the table, and %d on its twin", d.sql, d.number, n), nil
		}
	}
	if err := b.leaveOut(ctx, c, lax); err != nil {
		return err, nil
	}
	if err := b.give(ctx, c, more); err != nil {
		if dbconn.Number(err) == 0 {
			return err, nil
		}
		return nil, err
	}
	operator, err := b.session(ctx, database, more...)
	if err != nil {
		return err, nil
	}
	defer operator.close()
	text := "ALTER TABLE t "
	if algorithm != "" {
		text += "ALGORITHM=" + algorithm
	}
	if algorithm != "" && !isPartitioning(c.Clauses[0]) {
		text += ", "
	}
	err = operator.exec(ctx, text+" "+c.alter())
	if err != nil && dbconn.Number(err) == 0 {
		return err, nil
	}
	return nil, err
}

// left are the tables of the first database that should not be there. A table that was swapped has the old one next to it.
func (b *bench) left(ctx context.Context, swapped bool, tables ...string) (string, error) {
	rows, err := b.admin.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", b.tables[0].Schema)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", err
		}
		if table, old := strings.CutSuffix(name, "_old"); !slices.Contains(tables, name) && !(swapped && old && slices.Contains(tables, table)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", "), rows.Err()
}

// rowsRefused says that a run has ended because of rows.
func rowsRefused(err error) bool {
	return errors.Is(err, failure.ErrUnfit) || dbconn.ValueRefused(err) || dbconn.Duplicate(err)
}
