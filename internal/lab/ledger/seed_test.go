package ledger

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
)

// TestSeedInServer: rows copied inside the server are those that the ledger expects,
// and nothing is left of the table that they were copied from.
func TestSeedInServer(t *testing.T) {
	mysqltest.Seldom(t)
	eachServer(t, func(t *testing.T, s *mysqltest.Instance) {
		for _, p := range []Profile{Orders(), Int()} {
			t.Run(p.Name, func(t *testing.T) {
				const rows = 2*seedPeriod + 5_001
				l := setup(t, s, p, rows, Options{})
				proof := mustEqual(t, l)
				if proof.Rows != rows || proof.Touched != 0 {
					t.Errorf("%+v", proof)
				}
				var tables int
				must(t, l.db.QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables))
				if tables != 1 {
					t.Errorf("%d tables are left", tables)
				}
				var created, name string
				must(t, l.db.QueryRow("SHOW CREATE TABLE t").Scan(&name, &created))
				if got := len(l.layout.Indexes); got == 0 || indexesIn(created) != got+1 {
					t.Errorf("indexes are missing: %s", created)
				}
			})
		}
	})
}

// indexesIn counts the lines of keys.
func indexesIn(create string) (n int) {
	for i := range create {
		if create[i] == '\n' && len(create) > i+10 {
			switch rest := create[i+3 : i+6]; rest {
			case "PRI", "UNI", "KEY":
				n++
			}
		}
	}
	return n
}

func TestSeedProgress(t *testing.T) {
	db, name := mysqltest.Database(t, mysqltest.Server(t, "9.7"))
	l, err := New(db, name+".t", Int(), Options{Number: func(error) uint16 { return 0 }})
	must(t, err)
	must(t, l.Create(t.Context()))
	var last atomic.Int64
	must(t, l.Seed(t.Context(), 2500, func(done int) { last.Store(max(last.Load(), int64(done))) }))
	if last.Load() != 2500 {
		t.Errorf("progress ended at %d", last.Load())
	}
	if err := l.Seed(t.Context(), 1, nil); err == nil {
		t.Error("seeded twice")
	}
}

// BenchmarkMillion seeds the demo's table, lets the writers run at full speed, and
// compares.
func BenchmarkMillion(b *testing.B) {
	const rows = 1_000_000
	for range b.N {
		start := time.Now()
		l := setup(b, mysqltest.Server(b, "9.7"), Orders(), rows, Options{Writers: 8})
		b.ReportMetric(time.Since(start).Seconds(), "s/seed")
		stats := runFor(b, l, 10*time.Second)
		b.ReportMetric(stats.TransactionsPerSecond(), "tx/s")
		b.ReportMetric(stats.StatementsPerSecond(), "statements/s")
		b.ReportMetric(float64(stats.Rows)/stats.Elapsed.Seconds(), "rows/s")
		b.ReportMetric(mustEqual(b, l).Elapsed.Seconds(), "s/compare")
	}
}

// TestMemory: the ledger of a million rows, each of them touched.
func TestMemory(t *testing.T) {
	before := heap()
	layout, err := newLayout(Orders())
	must(t, err)
	b := newBook(layout, Options{}.WithDefaults(), 1_000_000)
	for i := 0; i < b.size; i += b.block {
		b.page(Slot(i))
	}
	if used := (heap() - before) >> 20; used > 40 {
		t.Errorf("%d MB", used)
	}
	runtime.KeepAlive(b)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
