package trigger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/trigger"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

var releases = []string{"9.7", "8.0", "5.7", "mariadb-10.11"}

// rig is a source with triggers, whose row copy is done, and a run that syncs nothing: it only
// remembers keys.
type rig struct {
	*testing.T
	db      *sql.DB
	pool    *dbconn.Pool
	set     trigger.Set
	log     *trigger.Log
	backlog *backlog.Backlog
	reads   trigger.Config
	busy    atomic.Bool

	mu    sync.Mutex
	still bool
	seen  map[string]int
}

// onServers runs a test on one of the servers, in turn.
func onServers(t *testing.T, test func(r *rig)) {
	for _, release := range mysqltest.InTurn(t, releases...) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			instance := mysqltest.Server(t, release)
			db, name := mysqltest.Database(t, instance)
			pool, err := dbconn.Open(
				t.Context(),
				dbconn.Config{Network: "tcp", Address: instance.Address, User: instance.User, Password: dbconn.Secret(instance.Password)},
				nil,
			)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { pool.Close() })
			source := schema.Name{Schema: name, Table: "t"}
			test(
				&rig{
					T:     t,
					db:    db,
					pool:  pool,
					seen:  map[string]int{},
					reads: trigger.Config{Interval: 5 * time.Millisecond, Batch: 3, Prune: 2, Every: 5 * time.Millisecond},
					set: trigger.Set{
						Source:  source,
						Log:     source.Sibling("t_changes"),
						Formats: true,
						Dated:   strings.HasPrefix(release, "mariadb"),
					},
				},
			)
		})
	}
}

func (r *rig) exec(statements ...string) {
	r.Helper()
	for _, s := range statements {
		if _, err := r.db.ExecContext(r.Context(), s); err != nil {
			r.Fatalf("%s: %v", s, err)
		}
	}
}

func (r *rig) value(query string) string {
	r.Helper()
	var v sql.NullString
	if err := r.db.QueryRowContext(r.Context(), query).Scan(&v); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
	return v.String
}

// conn is a connection of the application's.
func (r *rig) conn() (exec func(statements ...string)) {
	r.Helper()
	c, err := r.db.Conn(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		c.Raw(func(any) error { return driver.ErrBadConn }) // open work is rolled back
		c.Close()
	})
	return func(statements ...string) {
		r.Helper()
		for _, s := range statements {
			if _, err := c.ExecContext(r.Context(), s); err != nil {
				r.Fatalf("%s: %v", s, err)
			}
		}
	}
}

// ask repeats a request until it is granted.
func ask(ctx context.Context, request func(context.Context, time.Duration) (lock.Outcome, error)) error {
	for {
		if o, err := request(ctx, 250*time.Millisecond); err != nil || o.Granted {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// source makes table t, by its columns, and its triggers. primary are the columns of the key.
func (r *rig) source(columns string, primary ...string) {
	r.Helper()
	r.exec("CREATE TABLE t (" + columns + ")")
	r.key(primary...)
	session, err := r.pool.Session(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	defer session.Close()
	if err := r.set.CreateLog(r.Context(), session); err != nil {
		r.Fatal(err)
	}
	if err := r.set.Create(r.Context(), r.pool, ask); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := trigger.Drop(context.Background(), r.pool, r.set.Log, ask); err != nil {
			r.Error(err)
		}
	})
}

// start reads the log, and syncs at once what is taken.
func (r *rig) start() {
	r.Helper()
	tracker := frontier.New(r.set.Key)
	tracker.End(tracker.Begin(""))
	r.backlog = backlog.New(backlog.Config{Partition: r.set.Key.Partition}, tracker)
	r.log = trigger.NewLog(
		r.reads,
		trigger.Deps{
			Pool:    r.pool,
			Set:     r.set,
			Backlog: r.backlog,
			Beat:    func(context.Context, uint64) error { return nil },
			Busy:    r.busy.Load,
		},
	)
	ctx, stop := context.WithCancelCause(r.Context())
	var work sync.WaitGroup
	failed := func(err error) {
		if ctx.Err() == nil {
			r.Error(err)
		}
	}
	work.Go(func() { failed(r.log.Run(ctx)) })
	work.Go(func() { failed(r.log.Beats(ctx)) })
	work.Go(func() {
		for ctx.Err() == nil {
			r.take()
			time.Sleep(time.Millisecond)
		}
	})
	r.Cleanup(func() {
		stop(fmt.Errorf("the test is over"))
		work.Wait()
	})
}

// take syncs what may be synced.
func (r *rig) take() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.still {
		return
	}
	for batch := r.backlog.TryTake(0, 100); batch != nil; batch = r.backlog.TryTake(0, 100) {
		for _, k := range batch.Keys {
			r.seen[r.set.Key.Format(k)]++
		}
		r.backlog.Done(batch)
	}
}

func (r *rig) apply(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.still = !on
}

// keys are the keys that came since the last call; everything committed before is received.
func (r *rig) keys() []string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	if err := r.log.Fence(ctx); err != nil {
		r.Fatal(err)
	}
	r.take()
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []string
	for k := range r.seen {
		keys = append(keys, k)
	}
	clear(r.seen)
	slices.Sort(keys)
	return keys
}

// comes fails the test unless exactly these keys have come.
func (r *rig) comes(why string, want ...string) {
	r.Helper()
	if got := r.keys(); !slices.Equal(got, want) {
		r.Errorf("%s: keys %v, want %v", why, got, want)
	}
}

// empties waits until the log has so many rows.
func (r *rig) empties(rows string) {
	r.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for n := ""; n != rows; n = r.value("SELECT COUNT(*) FROM t_changes") {
		if time.Now().After(deadline) {
			r.Fatalf(
				"the log has %s rows, want %s; %s",
				n,
				rows,
				r.value(
					"SELECT GROUP_CONCAT(CONCAT_WS(' ', processlist_id, processlist_command, processlist_state, processlist_info) SEPARATOR '; ') FROM performance_schema.threads WHERE processlist_info IS NOT NULL",
				),
			)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// key gives the set the key of table t.
func (r *rig) key(primary ...string) {
	r.Helper()
	table, err := schema.Load(r.Context(), r.db, r.set.Source)
	if err != nil {
		r.Fatal(err)
	}
	var parts []key.Part
	for _, name := range primary {
		c, _ := table.Column(name)
		parts = append(parts, key.Part{Column: c})
	}
	if r.set.Key, err = key.NewCodec(parts); err != nil {
		r.Fatal(err)
	}
}

// sourceKeys are the keys that the source has.
func (r *rig) sourceKeys() (keys []string) {
	r.Helper()
	session, err := r.pool.Session(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	defer session.Close()
	texts := make([][]byte, len(r.set.Key.Parts()))
	targets := make([]any, len(texts))
	for i := range texts {
		targets[i] = &texts[i]
	}
	err = session.Rows(
		r.Context(),
		"SELECT "+strings.Join(r.set.Key.SelectExprs(), ", ")+" FROM "+r.set.Source.Quoted(),
		func(rows *sql.Rows) error {
			if err := rows.Scan(targets...); err != nil {
				return err
			}
			k, err := r.set.Key.FromText(texts)
			keys = append(keys, r.set.Key.Format(k))
			return err
		},
	)
	if err != nil {
		r.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}
