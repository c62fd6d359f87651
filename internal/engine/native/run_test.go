package native_test

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
	"midstream/internal/engine/lock"
	"midstream/internal/engine/native"
	"midstream/internal/lab/fault"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// rig is a table t of a test's own, and the events of a Run.
type rig struct {
	*testing.T
	version string
	server  *mysqltest.Instance
	address string
	db      *sql.DB
	table   schema.Name

	mu     sync.Mutex
	events []event.Event
}

// versions are the servers that differ in what they do by which algorithm.
var versions = []string{"9.7", "8.0", "5.7", "mariadb-10.11"}

// onEach runs a test on one of the servers, in turn.
func onEach(t *testing.T, test func(r *rig)) {
	for _, version := range mysqltest.InTurn(t, versions...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // each has its own server
			on(t, version, test)
		})
	}
}

func on(t *testing.T, version string, test func(r *rig)) {
	with(t, version, mysqltest.Server(t, version), test)
}

func with(t *testing.T, version string, server *mysqltest.Instance, test func(r *rig)) {
	db, name := mysqltest.Database(t, server)
	r := &rig{T: t, version: version, server: server, address: server.Address, db: db, table: schema.Name{Schema: name, Table: "t"}}
	r.exec("CREATE TABLE " + r.table.Quoted() + " (id INT PRIMARY KEY AUTO_INCREMENT, v INT, s VARCHAR(200))")
	r.exec("INSERT INTO " + r.table.Quoted() + " (v, s) VALUES (1, 'x'), (2, 'y')")
	test(r)
}

func (r *rig) exec(statement string) {
	r.Helper()
	if _, err := r.db.ExecContext(r.Context(), statement); err != nil {
		r.Fatalf("%s: %v", statement, err)
	}
}

// hold opens a transaction that has read the table.
func (r *rig) hold() (release func()) {
	r.Helper()
	tx, err := r.db.BeginTx(context.Background(), nil)
	if err != nil {
		r.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT COUNT(*) FROM " + r.table.Quoted()).Scan(&n); err != nil {
		r.Fatal(err)
	}
	return func() { tx.Rollback() }
}

func (r *rig) listen(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// await waits for an event.
func (r *rig) await(what string, is func(event.Event) bool) {
	r.Helper()
	for range 600 {
		r.mu.Lock()
		events := r.events
		r.mu.Unlock()
		for _, e := range events {
			if is(e) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.Fatalf("there was no %s", what)
}

func (r *rig) pool() *dbconn.Pool {
	r.Helper()
	pool, err := dbconn.Open(r.Context(), dbconn.Config{Network: "tcp", Address: r.address, User: r.server.User,
		Password: dbconn.Secret(r.server.Password)}, nil)
	if err != nil {
		r.Fatal(err)
	}
	return pool
}

// change lets the server change the table, in the background.
func (r *rig) change(clauses string, long bool, terms lock.Terms) (end func() (native.Result, error)) {
	r.Helper()
	pool := r.pool()
	table, err := schema.Load(r.Context(), r.db, r.table)
	if err != nil {
		r.Fatal(err)
	}
	terms.Wait, terms.Backoff = max(terms.Wait, 200*time.Millisecond), 50*time.Millisecond
	done := make(chan struct{})
	var result native.Result
	go func() {
		defer close(done)
		result, err = native.Run(r.Context(), pool, native.Change{Table: table, Long: long,
			Statement: "ALTER TABLE " + r.table.Quoted() + " " + clauses}, func() lock.Terms { return terms }, nil, r.listen)
	}()
	return func() (native.Result, error) {
		<-done
		pool.Close()
		return result, err
	}
}

// has fails the test unless the table's definition has the text.
func (r *rig) has(text string) {
	r.Helper()
	table, err := schema.Load(r.Context(), r.db, r.table)
	if err != nil {
		r.Fatal(err)
	}
	if !strings.Contains(table.Create, text) {
		r.Errorf("%q is missing in %s", text, table.Create)
	}
}

func blocked(e event.Event) bool {
	_, is := e.(event.Blocked)
	return is
}

func withdrawn(e event.Event) bool {
	attempt, is := e.(event.LockAttempt)
	return is && !attempt.Granted
}

// TestNobodyWaitsBehindABlocker: while a session holds the table, the run does not ask for the
// lock, and names the session. Then the change is made at once.
func TestNobodyWaitsBehindABlocker(t *testing.T) {
	onEach(t, func(r *rig) {
		release := r.hold()
		clauses := "ADD COLUMN n INT, ALGORITHM=INSTANT"
		if r.version == "5.7" {
			clauses = "ADD COLUMN n INT, ALGORITHM=INPLACE"
		}
		end := r.change(clauses, false, lock.Terms{})
		r.await("word of the blocker", blocked)
		release()
		result, err := end()
		if err != nil || result.Attempts != 1 {
			r.Errorf("%d attempts, %v", result.Attempts, err)
		}
		r.has("`n` int")
	})
}

// TestRequestsAreWithdrawn: if blockers can't be seen, the request is withdrawn in time, at its
// beginning and at its end, and the run repeats all of it.
func TestRequestsAreWithdrawn(t *testing.T) {
	onEach(t, func(r *rig) {
		for _, long := range []bool{false, true} {
			r.mu.Lock()
			r.events = nil
			r.mu.Unlock()
			release := r.hold()
			end := r.change(fmt.Sprintf("ADD INDEX i%t (v), ALGORITHM=INPLACE, LOCK=NONE", long), long, lock.Terms{SeesNobody: true})
			r.await("withdrawn request", withdrawn)
			release()
			result, err := end()
			if err != nil || result.Attempts < 2 {
				r.Errorf("%d attempts, %v", result.Attempts, err)
			}
			r.has(fmt.Sprintf("`i%t`", long))
		}
	})
}

// TestEndOfABuildIsGuarded: if a session reads the table when a build ends, the build is withdrawn,
// and made again.
func TestEndOfABuildIsGuarded(t *testing.T) {
	mysqltest.Seldom(t)
	onEach(t, func(r *rig) {
		for range 17 {
			r.exec("INSERT INTO " + r.table.Quoted() + " (v, s) SELECT v + 1, REPEAT(HEX(id * 7919), 10) FROM " + r.table.Quoted())
		}
		end := r.change("ADD INDEX (s, v), ALGORITHM=INPLACE, LOCK=NONE", true, lock.Terms{})
		for building := 0; building == 0; time.Sleep(5 * time.Millisecond) {
			err := r.db.QueryRow(
				"SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'ALTER TABLE `" + r.table.Schema +
					"`%' AND processlist_state LIKE 'alter%table%'",
			).Scan(
				&building,
			)
			if err != nil {
				r.Fatal(err)
			}
		}
		release := r.hold()
		r.await("withdrawn request", withdrawn)
		release()
		result, err := end()
		if err != nil || result.Attempts < 2 {
			r.Errorf("%d attempts, %v", result.Attempts, err)
		}
		r.has("(`s`,`v`)")
	})
}

// TestL7_LostAnswerOfAChange: the server has changed the table, and its answer is lost. The run
// finds that out, and does not repeat the change.
func TestL7_LostAnswerOfAChange(t *testing.T) {
	onEach(t, func(r *rig) {
		wire := fault.New(r, r.server.Address, fault.Rule{At: "ADD COLUMN n", Deaf: true})
		r.address = wire.Address
		result, err := r.change("ADD COLUMN n INT", false, lock.Terms{Wait: 10 * time.Second})()
		// A second attempt is possible if the first was killed before it was carried out.
		if err != nil || result.Attempts > 2 {
			r.Errorf("%d attempts, %v", result.Attempts, err)
		}
		r.has("`n` int")
	})
}

// TestChangedMeanwhile: the table is not the plan's table any more.
func TestChangedMeanwhile(t *testing.T) {
	onEach(t, func(r *rig) {
		release := r.hold()
		end := r.change("ADD COLUMN n INT", false, lock.Terms{})
		r.await("word of the blocker", blocked)
		held := make(chan error)
		go func() {
			_, err := r.db.Exec("ALTER TABLE " + r.table.Quoted() + " ADD COLUMN m INT")
			held <- err
		}()
		for waits := 0; waits == 0; time.Sleep(5 * time.Millisecond) {
			if err := r.db.QueryRow(
				"SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_state LIKE 'Waiting for table metadata%'",
			).Scan(
				&waits,
			); err != nil {
				r.Fatal(err)
			}
		}
		release()
		if err := <-held; err != nil {
			r.Fatal(err)
		}
		if _, err := end(); !errors.Is(err, native.ErrChanged) {
			r.Errorf("the error is %v", err)
		}
	})
}
