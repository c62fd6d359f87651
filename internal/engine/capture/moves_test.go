package capture_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/capture"
	"midstream/internal/engine/event"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

const (
	writers = 3
	perOne  = 12 // keys of a writer; a third of them is in the old table
)

// TestU5_ValuesFollowKeysThroughTheBinlog: while an application changes, deletes and inserts keys,
// also in XA transactions, runs capture its binlog and sync, are killed, and resume from older
// checkpoints. In the end every row of the old table has the values that followed it.
func TestU5_ValuesFollowKeysThroughTheBinlog(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mysqltest.Server(t, version))
			ctx, stop := context.WithCancel(t.Context())
			var application errgroup.Group
			for w := range b.writers {
				application.Go(func() error { return b.writers[w].work(ctx) })
			}
			for run := range 4 {
				b.run(time.Duration(200+run*150)*time.Millisecond, false)
			}
			stop()
			if err := application.Wait(); err != nil {
				t.Fatal(err)
			}
			b.run(time.Minute, true)
			b.compare()
		})
	}
}

// bench is an undo on a server.
type bench struct {
	*testing.T
	server  *mysqltest.Instance
	db      *sql.DB
	pool    *dbconn.Pool
	spec    *rowsync.Spec
	watches []binlog.Watch
	saved   capture.Point
	writers [writers]writer
	rng     *rand.Rand
}

func newBench(t *testing.T, server *mysqltest.Instance) *bench {
	db, name := mysqltest.Database(t, server)
	b := &bench{T: t, server: server, db: db, rng: rand.New(rand.NewPCG(3, 4))}
	for _, s := range []string{
		"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT)",
		"CREATE TABLE t_old (id INT NOT NULL PRIMARY KEY, v INT, k VARCHAR(20) NOT NULL, n INT DEFAULT 5)",
		"CREATE TABLE beats (id INT PRIMARY KEY, beat BIGINT NOT NULL)", "INSERT INTO beats VALUES (1, 0)",
	} {
		b.exec(s)
	}
	for w := range b.writers {
		b.writers[w] = writer{db: db, number: w, rng: rand.New(rand.NewPCG(uint64(w), 9)), rows: map[int]bool{}, kept: map[int]string{}}
		for i := range perOne / 3 {
			id := w*perOne + i
			b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 0)", id))
			b.exec(fmt.Sprintf("INSERT INTO t_old VALUES (%d, 0, 'old %[1]d', %[1]d)", id))
			b.writers[w].rows[id], b.writers[w].kept[id] = true, fmt.Sprintf("old %d|%[1]d", id)
		}
	}
	source, shadow, beats := b.load(name, "t"), b.load(name, "t_old"), b.load(name, "beats")
	id, _ := source.Column("id")
	codec, err := key.NewCodec([]key.Part{{Column: id}})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := shadow.Column("k")
	n, _ := shadow.Column("n")
	b.spec = &rowsync.Spec{Source: source.Name, Shadow: shadow.Name, Key: codec, ShadowKey: []string{"id"}, SourceIndex: "PRIMARY",
		ShadowIndex: "PRIMARY", Upsert: true, Columns: []rowsync.Column{{Shadow: "id", Expr: "`id`"}, {Shadow: "v", Expr: "`v`"}},
		Kept: []schema.Column{k, n}, Fills: []rowsync.Column{{Shadow: "k", Expr: "'fill'"}}, Side: source.Name.Sibling("t_kept")}
	b.watches = []binlog.Watch{{Table: source.Name, Columns: []int{0}, ColumnCount: 2},
		{Table: beats.Name, Columns: []int{1}, ColumnCount: 2, After: true}}
	if b.pool, err = dbconn.Open(t.Context(), dbconn.Config{Network: server.Network, Address: server.Address, User: server.User,
		Password: dbconn.Secret(server.Password)}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.pool.Close() })
	session := b.session()
	if _, err := rowsync.OpenSide(t.Context(), session, b.spec, shadow, schema.MarkFor("kept", source.Name), rowsync.Parked{}, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.exec("DROP TABLE t_kept") })
	if b.saved, err = capture.Now(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) exec(statement string) {
	b.Helper()
	if _, err := b.db.ExecContext(context.Background(), statement); err != nil {
		b.Fatalf("%s: %v", statement, err)
	}
}

func (b *bench) load(database, table string) *schema.Table {
	b.Helper()
	loaded, err := schema.Load(b.Context(), b.db, schema.Name{Schema: database, Table: table})
	if err != nil {
		b.Fatal(err)
	}
	return loaded
}

func (b *bench) session(setup ...string) *dbconn.Session {
	b.Helper()
	session, err := b.pool.Session(b.Context(), setup...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { session.Close() })
	return session
}

// run captures and syncs from the last checkpoint on: for a time, and then it is killed, or until
// nothing is left.
func (b *bench) run(limit time.Duration, toTheEnd bool) {
	b.Helper()
	session := b.session()
	moves, err := rowsync.LoadMoves(b.Context(), session, b.spec)
	if err != nil {
		b.Fatal(err)
	}
	session.Close()
	tracker := frontier.New(b.spec.Key)
	tracker.End(tracker.Begin(""))
	pending := backlog.New(backlog.Config{Workers: 2, Partition: b.spec.Key.Partition}, tracker)
	var beaten uint64
	if err := b.db.QueryRowContext(b.Context(), "SELECT beat FROM beats").Scan(&beaten); err != nil {
		b.Fatal(err)
	}
	beats := b.session()
	reading := capture.New(capture.Config{Interval: 10 * time.Millisecond}, capture.Deps{
		Reader: binlog.NewReader(binlog.Server{Network: b.server.Network, Address: b.server.Address, User: b.server.User,
			Password: b.server.Password}, b.watches, b.saved.GTIDs),
		Key: b.spec.Key, Backlog: pending, Moves: moves, Beaten: beaten + 10,
		Beat: func(ctx context.Context, n uint64) error {
			_, err := beats.Exec(ctx, fmt.Sprintf("UPDATE %s SET beat = %d", b.watches[1].Table.Quoted(), n))
			return err
		},
		Statement: func(binlog.Statement) error { return nil },
	}, b.saved)
	syncer := rowsync.New(b.spec, nil, func(event.Event) {})
	syncer.Carry(moves, func(context.Context) error { return nil })

	ctx, kill := context.WithTimeout(b.Context(), limit)
	defer kill()
	var all errgroup.Group
	all.Go(func() error { return unlessOver(ctx, reading.Run(ctx)) })
	all.Go(func() error { return unlessOver(ctx, reading.Beats(ctx)) })
	for worker := range 2 {
		session := b.session(b.spec.Setup()...)
		all.Go(func() error {
			for {
				batch, err := pending.Take(ctx, worker, 5)
				if err != nil {
					return nil
				}
				if _, err := syncer.Keys(ctx, session, batch.Keys); err != nil {
					return unlessOver(ctx, err)
				}
				pending.Done(batch)
			}
		})
	}
	if toTheEnd {
		if err := reading.Fence(ctx); err != nil {
			b.Fatal(err)
		}
		for pending.Len() > 0 && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		if reading.Prepared() > 0 {
			b.Error("a prepared transaction is left")
		}
		kill()
	} else {
		b.checkpoints(ctx, reading)
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
}

// checkpoints saves the place to go on from, now and then, until the run is killed. Often it is old
// by then.
func (b *bench) checkpoints(ctx context.Context, reading *capture.Capture) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(b.rng.IntN(120)) * time.Millisecond):
			if b.rng.IntN(3) == 0 {
				b.saved = reading.Safe()
			}
		}
	}
}

func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (b *bench) compare() {
	b.Helper()
	var want []string
	moved := 0
	for w := range b.writers {
		moved += b.writers[w].moved
		for id := range b.writers[w].rows {
			values, is := b.writers[w].kept[id]
			if !is {
				values = "fill|5"
			}
			want = append(want, fmt.Sprintf("%d|%s", id, values))
		}
	}
	rows, err := b.db.QueryContext(b.Context(), "SELECT CONCAT(id, '|', k, '|', n) FROM t_old")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			b.Fatal(err)
		}
		got = append(got, row)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.Errorf("the old table has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if moved < 50 {
		b.Errorf("only %d keys were changed", moved)
	}
}

// writer is a session of the application, with keys of its own and what follows them.
type writer struct {
	db     *sql.DB
	number int
	rng    *rand.Rand
	rows   map[int]bool
	kept   map[int]string
	moved  int
	xa     int
}

func (w *writer) work(ctx context.Context) error {
	conn, err := w.db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	for ctx.Err() == nil {
		for _, statement := range w.transaction() {
			if _, err := conn.ExecContext(context.Background(), statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		time.Sleep(time.Duration(w.rng.IntN(4)) * time.Millisecond)
	}
	return nil
}

func (w *writer) transaction() []string {
	var list []string
	for range 1 + w.rng.IntN(3) {
		list = append(list, w.statement()...)
	}
	if w.rng.IntN(5) > 0 {
		return slices.Concat([]string{"BEGIN"}, list, []string{"COMMIT"})
	}
	w.xa++
	xid := fmt.Sprintf("'kept-%d-%d'", w.number, w.xa)
	return slices.Concat([]string{"XA START " + xid}, list, []string{"XA END " + xid, "XA PREPARE " + xid, "XA COMMIT " + xid})
}

func (w *writer) change(from, to int) string {
	w.moved++
	delete(w.rows, from)
	w.rows[to] = true
	if values, is := w.kept[from]; is {
		w.kept[to] = values
		delete(w.kept, from) // a row that comes there later is new
	}
	return fmt.Sprintf("UPDATE t SET id = %d WHERE id = %d", to, from)
}

func (w *writer) statement() []string {
	var present, absent []int
	for id := w.number * perOne; id < (w.number+1)*perOne; id++ {
		if w.rows[id] {
			present = append(present, id)
		} else {
			absent = append(absent, id)
		}
	}
	one := func(list []int) int { return list[w.rng.IntN(len(list))] }
	switch n := w.rng.IntN(6); {
	case len(present) < 3 || n == 0 && len(absent) > 2:
		id := one(absent)
		w.rows[id] = true
		return []string{fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", id, w.rng.IntN(1000))}
	case n == 1 || len(absent) == 0:
		id := one(present)
		delete(w.rows, id)
		return []string{fmt.Sprintf("DELETE FROM t WHERE id = %d", id)}
	case n == 2:
		return []string{fmt.Sprintf("UPDATE t SET v = v + 1 WHERE id = %d", one(present))}
	case n == 3:
		a, b, free := one(present), one(present), one(absent)
		if a == b {
			return []string{w.change(a, free)}
		}
		return []string{w.change(a, free), w.change(b, a), w.change(free, b)}
	}
	return []string{w.change(one(present), one(absent))}
}

// TestU5_PositionStaysBeforeMovesThatAreNotCarried: also if the keys are ahead of the row copy, so that
// nothing else holds the position. A prepared transaction's moves come with its XA COMMIT.
func TestU5_PositionStaysBeforeMovesThatAreNotCarried(t *testing.T) {
	for _, version := range mysqltest.InTurn(t, "9.7", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mysqltest.Server(t, version))
			session := b.session(b.spec.Setup()...)
			moves, err := rowsync.LoadMoves(t.Context(), session, b.spec)
			if err != nil {
				t.Fatal(err)
			}
			pending := backlog.New(backlog.Config{Partition: b.spec.Key.Partition}, frontier.New(b.spec.Key))
			at := func(offset uint64) binlog.Position { return binlog.Position{File: "binlog.000001", Offset: offset} }
			c := capture.New(capture.Config{}, capture.Deps{Key: b.spec.Key, Backlog: pending, Moves: moves,
				Beat: func(context.Context, uint64) error { return nil }}, capture.Point{Position: at(4)})
			handle := func(events ...binlog.Event) {
				t.Helper()
				for _, e := range events {
					if err := c.Handle(e); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.Beat(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			update := func(xa bool, ids ...int64) binlog.Rows {
				rows := binlog.Rows{Kind: binlog.Update, MayBeXA: xa}
				for i, id := range ids {
					rows.Tuples = append(rows.Tuples, []any{id})
					if i%2 == 1 {
						rows.After = append(rows.After, i)
					}
				}
				return rows
			}
			safe := func(want uint64) {
				t.Helper()
				if got := c.Safe().Position; got != at(want) {
					t.Errorf("the safe position is %s, want %s", got, at(want))
				}
			}
			carry := func() {
				t.Helper()
				if err := moves.Carry(t.Context(), session); err != nil {
					t.Fatal(err)
				}
			}
			handle(update(false, 0, 5), binlog.Commit{End: at(10)})
			handle(binlog.Commit{End: at(20)})
			if pending.Len() > 0 {
				t.Errorf("%d keys are left, want none: all are ahead", pending.Len())
			}
			safe(4)
			carry()
			safe(20)

			handle(update(true, 5, 6), binlog.XAPrepared{XID: "x", End: at(30)})
			handle(binlog.Commit{End: at(40)})
			carry()
			safe(20)
			handle(binlog.XAResolved{XID: "x", Committed: true, End: at(50)})
			safe(20)
			carry()
			safe(50)

			// A group that was received in part is forgotten.
			handle(update(false, 6, 7))
			c.Restart()
			handle(update(false, 6, 8), binlog.Commit{End: at(60)})
			carry()
			safe(60)
			var ids string
			if err := b.db.QueryRowContext(t.Context(),
				"SELECT GROUP_CONCAT(midstream_key_0 ORDER BY midstream_key_0) FROM t_kept WHERE midstream_value_0 = 'old 0'").Scan(&ids); err != nil {
				t.Fatal(err)
			}
			if ids != "8" {
				t.Errorf("the keys %s have the values of row 0, want 8", ids)
			}
		})
	}
}
