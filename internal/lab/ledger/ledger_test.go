package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
)

func TestMain(m *testing.M) { mysqltest.Main(m) }

// short is how long the writers run in a test.
const short = time.Second / 2

// eachServer runs a test on the oldest or the newest server, in turn.
func eachServer(t *testing.T, f func(t *testing.T, s *mysqltest.Instance)) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f(t, mysqltest.Server(t, version))
		})
	}
}

// setup makes a seeded ledger in a database of its own.
func setup(t testing.TB, s *mysqltest.Instance, p Profile, rows int, opts Options) *Ledger {
	t.Helper()
	db, name := mysqltest.Database(t, s)
	return seeded(t, db, name, p, rows, opts)
}

func seeded(t testing.TB, db *sql.DB, database string, p Profile, rows int, opts Options) *Ledger {
	t.Helper()
	opts.Number = dbconn.Number
	l, err := New(db, database+".t", p, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Seed(t.Context(), rows, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Stop() })
	return l
}

// must fails the test.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run executes statements behind the ledger's back.
func run(t testing.TB, l *Ledger, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := l.db.Exec(fmt.Sprintf(statement, quoteTable(l.table))); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// mustEqual compares the table with the ledger.
func mustEqual(t testing.TB, l *Ledger) Proof {
	t.Helper()
	proof, err := l.Compare(context.Background())
	must(t, err)
	if !proof.Equal() {
		t.Fatal(proof)
	}
	return proof
}

// runFor lets the writers run for a while and until something was written, and then
// compares.
func runFor(t testing.TB, l *Ledger, d time.Duration) Stats {
	t.Helper()
	return runUntil(t, l, d, func(s Stats) bool { return s.Transactions > 0 })
}

// runUntil lets the writers run for a while and until it is enough, and then compares.
func runUntil(t testing.TB, l *Ledger, d time.Duration, enough func(Stats) bool) Stats {
	t.Helper()
	must(t, l.Start(t.Context()))
	await(t, l, d, enough)
	return stopAndCompare(t, l)
}

// await waits for a while and until what the writers did is enough, or they failed. The
// machine may be busy with other tests.
func await(t testing.TB, l *Ledger, d time.Duration, enough func(Stats) bool) {
	t.Helper()
	start := time.Now()
	for {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-l.Done():
			return
		}
		if took := time.Since(start); took >= d && enough(l.Stats()) {
			return
		} else if took > time.Minute {
			t.Fatalf("not enough in a minute: %+v", l.Stats())
		}
	}
}

func stopAndCompare(t testing.TB, l *Ledger) Stats {
	t.Helper()
	stats := l.Stats()
	must(t, l.Stop())
	t.Log(mustEqual(t, l))
	t.Logf("%.0f transactions/s, %.0f statements/s, %.0f rows/s, %d rolled back, %d lost, errors %v",
		stats.TransactionsPerSecond(), stats.StatementsPerSecond(), float64(stats.Rows)/stats.Elapsed.Seconds(),
		stats.RolledBack, stats.Lost, stats.Errors)
	t.Logf("p50 %v, p99 %v, max %v; operations: %v", stats.Latency.Percentile(50), stats.Latency.Percentile(99), stats.Max(),
		stats.Operations)
	return stats
}

func TestWritersKeepTheLedger(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		for _, p := range Profiles() {
			t.Run(p.Name, func(t *testing.T) {
				l := setup(t, s, p, 3000, Options{Writers: 6})
				mustEqual(t, l)
				runFor(t, l, short)
			})
		}
	})
}

func TestEveryOperationRuns(t *testing.T) {
	s := mysqltest.Server(t, "9.7")
	for op := range operations {
		if op == OpHot {
			continue // it has its own test
		}
		t.Run(string(op), func(t *testing.T) {
			p := ThreeUnique()
			if op == OpRespell {
				p = StringAI()
			}
			l := setup(t, s, p, 500, Options{Writers: 2, Mix: map[Op]int{op: 1}, HotShare: -1, HugeRows: 200})
			runUntil(t, l, short/5, func(s Stats) bool { return s.Operations[op] > 0 })
			must(t, l.Do(t.Context(), op))
			mustEqual(t, l)
		})
	}
}

func TestTinyTables(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		for _, rows := range []int{0, 1, 3} {
			t.Run(fmt.Sprint(rows), func(t *testing.T) {
				runFor(t, setup(t, s, Int(), rows, Options{}), short)
			})
		}
	})
}

func TestHotRows(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		l := setup(t, s, Int(), 3000, Options{Writers: 8, HotShare: 90})
		stats := runFor(t, l, short)
		if hot := stats.Operations[OpHot]; hot < stats.Transactions*9/10 {
			t.Errorf("%d of %d transactions were hot", hot, stats.Transactions)
		}
		if len(l.book.hotRows) != 20 {
			t.Errorf("%d hot rows", len(l.book.hotRows))
		}
	})
}

func TestHugeTransactions(t *testing.T) {
	s := mysqltest.Server(t, "9.7")
	l := setup(t, s, Int(), 40_000, Options{Writers: 2, HugeRows: 10_000, Mix: map[Op]int{OpHuge: 1}, HotShare: -1})
	stats := runFor(t, l, 2*short)
	if stats.Rows/stats.Transactions < 5_000 {
		t.Errorf("%d rows in %d transactions", stats.Rows, stats.Transactions)
	}
}

func TestXA(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		mix := DefaultMix()
		mix[OpXA] = 100
		runFor(t, setup(t, s, ThreeUnique(), 1000, Options{Mix: mix}), short)
	})
}

func TestRateIsBounded(t *testing.T) {
	s := mysqltest.Server(t, "9.7")
	l := setup(t, s, Int(), 1000, Options{Rate: 40, HotShare: -1})
	if stats := runFor(t, l, 2*short); stats.TransactionsPerSecond() > 60 {
		t.Errorf("%.0f transactions/s instead of 40", stats.TransactionsPerSecond())
	}
}

func TestStartAgain(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 1000, Options{})
	runFor(t, l, short/2)
	before := time.Now()
	if stats := runFor(t, l, short/2); stats.Since.Before(before) {
		t.Errorf("counted since %v, before the second start", stats.Since)
	}
}

// TestStopWithContext: the end of Start's context stops the writers between transactions.
func TestStopWithContext(t *testing.T) {
	l := setup(t, mysqltest.Server(t, "9.7"), Int(), 1000, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	must(t, l.Start(ctx))
	time.Sleep(short / 4)
	cancel()
	<-l.Done()
	must(t, l.Stop())
	mustEqual(t, l)
}
