package tableddl_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/tableddl"
	"midstream/internal/engine/wholetables"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// rig is a database of a test's own with the tables t, of two rows, and u, of three, and the events
// of a run.
type rig struct {
	*testing.T
	server  *mysqltest.Instance
	address string
	db      *sql.DB
	name    string
	blind   bool // blockers are not seen

	mu     sync.Mutex
	events []event.Event
}

// onEach runs a test on one of the servers, in turn.
func onEach(t *testing.T, test func(r *rig)) { on(t, []string{"9.7", "8.0"}, test) }

func on(t *testing.T, versions []string, test func(r *rig)) {
	for _, version := range mysqltest.InTurn(t, versions...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // each has its own server
			server := mysqltest.Server(t, version)
			db, name := mysqltest.Database(t, server)
			r := &rig{T: t, server: server, address: server.Address, db: db, name: name}
			r.renew()
			test(r)
		})
	}
}

// renew creates the tables again, and forgets the events.
func (r *rig) renew() {
	r.Helper()
	r.exec("DROP TABLE IF EXISTS c, t, u, t_old, n, m")
	for _, table := range []string{"t", "u"} {
		r.exec("CREATE TABLE "+table+" (id INT PRIMARY KEY AUTO_INCREMENT, v INT)", "INSERT INTO "+table+" (v) VALUES (1), (2)")
	}
	r.exec("INSERT INTO u (v) VALUES (3)")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

func (r *rig) exec(statements ...string) {
	r.Helper()
	mysqltest.Exec(r, r.db, statements...)
}

// text is the one value of a query, or the error.
func (r *rig) text(query string) string { return mysqltest.Text(r.db, query) }

// state is the contents of the database: each table with its number of rows.
func (r *rig) state() string { return mysqltest.Contents(r.db) }

func (r *rig) listen(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// told returns how many events satisfy the condition.
func (r *rig) told(is func(event.Event) bool) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if is(e) {
			n++
		}
	}
	return n
}

func blocked(e event.Event) bool { _, is := e.(event.Blocked); return is }
func asked(e event.Event) bool   { _, is := e.(event.LockAttempt); return is }

// run plans a statement and carries it out.
func (r *rig) run(ctx context.Context, text string) (migration.Result, error) {
	pool, err := dbconn.Open(ctx, dbconn.Config{Network: "tcp", Address: r.address, User: r.server.User,
		Password: dbconn.Secret(r.server.Password)}, nil)
	if err != nil {
		return migration.Result{}, err
	}
	defer pool.Close()
	statement, err := ddl.ParseStatement(text)
	if err == nil {
		err = statement.In(r.name)
	}
	if err != nil {
		return migration.Result{}, err
	}
	var settings operator.Settings
	settings.Lock.Wait, settings.Backoff = 200*time.Millisecond, 50*time.Millisecond
	facts, err := wholetables.Look(ctx, pool, statement, settings, r.listen)
	if err != nil {
		return migration.Result{}, err
	}
	p, err := plan.MakeTables(statement, facts, plan.TableOptions{})
	if err != nil {
		return migration.Result{}, err
	}
	p.Server.MetadataLocks = p.Server.MetadataLocks && !r.blind
	return wholetables.New(pool, p, operator.NewControl(settings), r.listen).Run(ctx)
}

// begin runs a statement in the background.
func (r *rig) begin(ctx context.Context, text string) (end func() error) {
	done := make(chan error, 1)
	go func() {
		_, err := r.run(ctx, text)
		done <- err
	}()
	return func() error {
		select {
		case err := <-done:
			return err
		case <-time.After(time.Minute):
			r.Fatal("it does not end")
			return nil
		}
	}
}

// cases are statements of all kinds. Each has the table that another session holds, the tables that
// native SQL leaves, and the command that runs under the lock.
var cases = []struct{ name, before, statement, held, state, under string }{
	{"rename", "", "RENAME TABLE t TO n", "t", "n 2, u 3", "RENAME TABLE"},
	{"rename round", "", "RENAME TABLE t TO n, u TO t, n TO u", "u", "t 3, u 2", "RENAME TABLE"},
	{
		"rename parent", "CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t (id))",
		"RENAME TABLE t TO n", "c", "c 0, n 2, u 3", "RENAME TABLE",
	},
	{"drop", "", "DROP TABLE t", "t", "u 3", "RENAME TO"},
	{"drop child", "CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t (id))", "DROP TABLE c", "t", "t 2, u 3", "RENAME TO"},
	{
		"drop one that refers to itself",
		"CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT `it``s` FOREIGN KEY (p) REFERENCES c (id))",
		"DROP TABLE c", "c", "t 2, u 3", "RENAME TO",
	},
	{"drop natively", "ALTER TABLE t ENGINE=MyISAM", "DROP TABLE t", "t", "u 3", "DROP TABLE `"},
	{"truncate", "", "TRUNCATE t", "t", "t 0, u 3", "RENAME TABLE"},
	{
		"truncate natively", "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 1", "TRUNCATE t", "t",
		"t 0, u 3", "TRUNCATE TABLE",
	},
	{
		"truncate one that refers to itself",
		"CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES c (id))", "TRUNCATE c", "c",
		"c 0, t 2, u 3", "TRUNCATE TABLE",
	},
	{"create", "", "CREATE TABLE m (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t (id))", "t", "m 0, t 2, u 3", "CREATE TABLE"},
}

// eachCase tries all statements.
func (r *rig) eachCase(try func(before, statement, held, state, under string)) {
	r.Helper()
	for _, c := range cases {
		r.renew()
		if c.before != "" {
			r.exec(c.before)
		}
		failed := r.Failed()
		try(c.before, c.statement, c.held, c.state, c.under)
		if r.Failed() && !failed {
			r.Logf("this was: %s", c.name)
		}
		r.exec("DROP TABLE IF EXISTS m, c")
	}
}

// stalls queries the tables until it is stopped, and returns how long the longest query took. A
// table that does not exist at the moment is no failure.
func (r *rig) stalls(tables ...string) (stop func() time.Duration) {
	over := make(chan struct{})
	longest := make(chan time.Duration, 1)
	go func() {
		var worst time.Duration
		for {
			for _, table := range tables {
				began := time.Now()
				_, err := r.db.Exec("DO (SELECT COUNT(*) FROM `" + table + "`)")
				worst = max(worst, time.Since(began))
				if err != nil && !dbconn.NoSuchTable(err) {
					r.Errorf("query %s: %v", table, err)
				}
			}
			select {
			case <-over:
				longest <- worst
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() time.Duration { close(over); return <-longest }
}

// TestOnOthers: MySQL 5.7 and MariaDB, whose InnoDB shows the numbers of tables under other names.
func TestOnOthers(t *testing.T) {
	on(t, []string{"5.7", "mariadb-10.11"}, func(r *rig) {
		r.eachCase(func(before, statement, _, state, _ string) {
			_, err := r.run(r.Context(), statement)
			if strings.Contains(before, "it``s") &&
				strings.Contains(r.server.Release, "MariaDB") { // its SHOW CREATE TABLE shows one backtick
				if err == nil || !strings.Contains(err.Error(), "can't be read") {
					r.Errorf("%s: %v", statement, err)
				}
				return
			}
			if err != nil {
				r.Errorf("%s: %v", statement, err)
			}
			if got := r.state(); got != state {
				r.Errorf("%s: %s, want %s", statement, got, state)
			}
		})
	})
}

// TestNobodyWaitsBehindABlocker: while a session holds one of the tables, the run asks for no lock,
// so no query waits, and the run names the session. Then the statement runs at once, and the tables
// are as the server's own statement leaves them.
func TestNobodyWaitsBehindABlocker(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		r.eachCase(func(_, statement, held, state, _ string) {
			tx, err := r.db.Begin()
			if err != nil {
				r.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("DO (SELECT COUNT(*) FROM " + held + ")"); err != nil {
				r.Fatal(err)
			}
			end := r.begin(r.Context(), statement)
			stop := r.stalls("t", "u")
			for n := 0; r.told(blocked) == 0; n++ {
				if n > 3000 {
					r.Fatalf("%s: no word of the blocker: %v", statement, r.events)
				}
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(300 * time.Millisecond)
			if n := r.told(asked); n > 0 {
				r.Errorf("%s: the lock was asked for %d times", statement, n)
			}
			tx.Rollback()
			if err := end(); err != nil {
				r.Errorf("%s: %v", statement, err)
			}
			if worst := stop(); worst > time.Second { // 200 ms, and what a busy machine adds
				r.Errorf("%s: a query took %s", statement, worst)
			}
			if got := r.state(); got != state {
				r.Errorf("%s: %s, want %s", statement, got, state)
			}
		})
	})
}

// TestRequestsAreWithdrawn: if blockers can't be seen, a request is withdrawn in time, and queries
// that waited behind it continue. The run repeats the request, and creates a TRUNCATE's empty copy
// again.
func TestRequestsAreWithdrawn(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		r.blind = true
		r.eachCase(func(_, statement, held, state, _ string) {
			tx, err := r.db.Begin()
			if err != nil {
				r.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("DO (SELECT COUNT(*) FROM " + held + ")"); err != nil {
				r.Fatal(err)
			}
			end := r.begin(r.Context(), statement)
			stop := r.stalls("t", "u")
			for n := 0; r.told(asked) < 2; n++ {
				if n > 3000 {
					r.Fatalf("%s: the lock is not asked for: %v", statement, r.events)
				}
				time.Sleep(10 * time.Millisecond)
			}
			tx.Rollback()
			if err := end(); err != nil {
				r.Errorf("%s: %v", statement, err)
			}
			worst := stop()
			r.Logf("%s: the longest query took %s", statement, worst)
			if worst > time.Second { // 200 ms, and what a busy machine adds
				r.Errorf("%s: a query took %s", statement, worst)
			}
			if got := r.state(); got != state {
				r.Errorf("%s: %s, want %s", statement, got, state)
			}
		})
	})
}

// TestWorkIsNotWithdrawn: a statement that has its lock may finish, even if it takes longer than a
// wait may: a statement on a table with many partitions does.
func TestWorkIsNotWithdrawn(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		for _, statement := range []string{"CREATE TABLE m (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 200", "RENAME TABLE m TO n", "TRUNCATE n", "DROP TABLE n"} {
			ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute)
			result, err := r.run(ctx, statement)
			cancel()
			if err != nil {
				r.Fatalf("%s: %v", statement, err)
			}
			r.Logf("%s: %d attempts, %s", statement, result.Attempts, result.Native)
		}
		if got := r.state(); got != "t 2, u 3" {
			r.Error(got)
		}
	})
}

// TestWritersGoOn: short transactions that write all the time neither block the statement nor fail,
// and none is lost: a row is in the table that had the name when it was written.
func TestWritersGoOn(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, statement := range []string{"RENAME TABLE t TO n, u TO t, n TO u", "TRUNCATE t"} {
			r.renew()
			over := make(chan struct{})
			var writers sync.WaitGroup
			var mu sync.Mutex
			var worst time.Duration
			written := 0
			for range 3 {
				writers.Go(func() {
					for {
						began := time.Now()
						if _, err := r.db.Exec("INSERT INTO t (v) VALUES (7)"); err != nil {
							r.Errorf("%s: write: %v", statement, err)
						}
						mu.Lock()
						worst = max(worst, time.Since(began))
						written++
						mu.Unlock()
						select {
						case <-over:
							return
						default:
						}
					}
				})
			}
			time.Sleep(200 * time.Millisecond)
			if _, err := r.run(r.Context(), statement); err != nil {
				r.Errorf("%s: %v", statement, err)
			}
			close(over)
			writers.Wait()
			r.Logf("%s: the longest of %d writes took %s", statement, written, worst)
			if got := r.text(
				fmt.Sprintf("SELECT (SELECT COUNT(*) FROM t WHERE v = 7) + (SELECT COUNT(*) FROM u WHERE v = 7) = %d", written),
			); strings.HasPrefix(statement, "RENAME") &&
				got != "1" {
				r.Errorf("%s: some of %d rows are missing", statement, written)
			}
			if worst > time.Second {
				r.Errorf("%s: a write took %s", statement, worst)
			}
			if got := r.text(
				"SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()",
			); got != "t,u" {
				r.Errorf("%s: the tables are %s", statement, got)
			}
		}
	})
}

// TestL7_LostAnswerOfATableStatement: the server has carried out the statement and its answer is
// lost, or the server never received the statement. The run finds that out, and does not repeat the
// statement.
func TestL7_LostAnswerOfATableStatement(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		found := 0
		for _, deaf := range []bool{true, false} {
			r.eachCase(func(_, statement, _, state, under string) {
				before := r.state()
				proxy := fault.New(r.T, r.server.Address, fault.Rule{At: under, Deaf: deaf, Cut: !deaf})
				r.address = proxy.Address
				defer func() { r.address = r.server.Address }()
				_, err := r.run(r.Context(), statement)
				if _, bent := proxy.Bent(); !bent {
					r.Errorf("%s: no answer was lost", statement)
				}
				want := state
				// The session may have been killed while the server carried out the statement.
				if err != nil {
					want = before
				}
				got := r.state()
				if got != want || !deaf && err == nil || err != nil && !strings.Contains(err.Error(), "nothing is left") {
					r.Errorf("%s: %s, want %s; %v", statement, got, want, err)
				}
				if deaf && err == nil {
					found++
				}
			})
		}
		if found < len(cases)/2 {
			r.Errorf("only %d statements whose answer was lost were found to be carried out", found)
		}
	})
}

// TestL7_LostDropOfWhatWasPutAside: the last statement's answer is lost.
func TestL7_LostDropOfWhatWasPutAside(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, deaf := range []bool{true, false} {
			r.renew()
			r.address = fault.New(r.T, r.server.Address, fault.Rule{At: "DROP TABLE IF EXISTS", Deaf: deaf, Cut: !deaf}).Address
			if _, err := r.run(r.Context(), "DROP TABLE t"); err != nil {
				r.Error(err)
			}
			if got := r.state(); got != "u 3" {
				r.Errorf("left: %s", got)
			}
		}
	})
}

// TestOutcomeThatNothingTells: the tables look the same before and after, so the outcome is
// unknown.
func TestOutcomeThatNothingTells(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, kind := range []string{"MyISAM"} {
			r.exec(
				"DROP TABLE t, u", "CREATE TABLE t (v INT) ENGINE="+kind, "CREATE TABLE u (v INT) ENGINE="+kind,
				"INSERT INTO t VALUES (1)",
			)
			r.address = fault.New(r.T, r.server.Address, fault.Rule{At: "RENAME TABLE", Deaf: true}).Address
			_, err := r.run(r.Context(), "RENAME TABLE t TO n, u TO t, n TO u")
			if !errors.Is(err, tableddl.ErrUnknown) || !strings.Contains(err.Error(), "Check with") {
				r.Error(err)
			}
		}
	})
}

// TestAbortWhileItWaits: nothing has happened and nothing is left, not even the twin of a TRUNCATE.
func TestAbortWhileItWaits(t *testing.T) {
	onEach(t, func(r *rig) {
		r.eachCase(func(_, statement, held, _, _ string) {
			before := r.state()
			tx, err := r.db.Begin()
			if err != nil {
				r.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("DO (SELECT COUNT(*) FROM " + held + ")"); err != nil {
				r.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(r.Context())
			defer cancel(nil)
			end := r.begin(ctx, statement)
			for r.told(blocked) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			interrupted := errors.New("interrupted")
			cancel(interrupted)
			if err := end(); !errors.Is(err, interrupted) || !strings.Contains(err.Error(), "nothing is left") {
				r.Errorf("%s: %v", statement, err)
			}
			tx.Rollback()
			if got := r.state(); got != before {
				r.Errorf("%s: %s, want %s", statement, got, before)
			}
		})
	})
}

// TestL10_SnapshotsOfATruncate: a transaction that began to read before the table was truncated
// gets the server's error 1412, as after the server's own TRUNCATE, and no empty table.
func TestL10_SnapshotsOfATruncate(t *testing.T) {
	onEach(t, func(r *rig) {
		holder, err := r.db.Begin()
		if err != nil {
			r.Fatal(err)
		}
		defer holder.Rollback()
		if _, err := holder.Exec("DO (SELECT COUNT(*) FROM t)"); err != nil {
			r.Fatal(err)
		}
		end := r.begin(r.Context(), "TRUNCATE t")
		for r.told(blocked) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		reader, err := r.db.Conn(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		defer reader.Close()
		if _, err := reader.ExecContext(r.Context(), "START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
			r.Fatal(err)
		}
		holder.Rollback()
		if err := end(); err != nil {
			r.Error(err)
		}
		var n int
		err = reader.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM t").Scan(&n)
		if dbconn.Number(err) != 1412 {
			r.Errorf("%d rows, %v", n, err)
		}
	})
}

// TestSomebodyElseWasFaster: the table is another one by the time the run may ask for the lock.
func TestSomebodyElseWasFaster(t *testing.T) {
	onEach(t, func(r *rig) {
		r.exec("CREATE TABLE c (id INT PRIMARY KEY)")
		tx, err := r.db.Begin()
		if err != nil {
			r.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("DO (SELECT COUNT(*) FROM u)"); err != nil {
			r.Fatal(err)
		}
		end := r.begin(r.Context(), "RENAME TABLE t TO n, u TO m")
		for r.told(blocked) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		r.exec("DROP TABLE t", "RENAME TABLE c TO t")
		tx.Rollback()
		if err := end(); !errors.Is(err, tableddl.ErrChanged) {
			r.Error(err)
		}
		if got := r.state(); got != "t 0, u 3" {
			r.Error(got)
		}
	})
}
