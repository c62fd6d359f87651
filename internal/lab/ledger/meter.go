package ledger

import (
	"slices"
	"sync"
	"time"
)

// Wait is one statement and how long it took.
type Wait struct {
	Kind      string // insert, update, delete, replace, upsert, begin, commit, ...
	Start     time.Time
	Took      time.Duration
	Statement string // abridged
	Error     string
}

// KindStats tells of the statements of one kind.
type KindStats struct {
	Count uint64
	Max   time.Duration
}

// Second tells of the statements and transactions that ended within one second.
type Second struct {
	Start        time.Time
	Statements   uint64
	Transactions uint64
	Max          time.Duration
}

// Stats tells what the writers did since Start or ResetStats.
type Stats struct {
	Since        time.Time
	Elapsed      time.Duration
	Statements   uint64
	Transactions uint64 // committed
	RolledBack   uint64 // on purpose, or for an error that a writer lives with
	Rows         uint64 // rows written by committed transactions
	Lost         uint64 // answers lost whose outcome had to be looked up
	Latency      Histogram
	ByKind       map[string]KindStats
	// Errors are counted by the server's number; 0 is a lost connection. 1062 is that of an
	// INSERT of a hot row that was there: any other duplicate is a failure.
	Errors  map[uint16]uint64
	Longest []Wait        // the longest statements, longest first
	Running time.Duration // how long the oldest statement has been running
	Series  []Second
	// Operations counts the committed transactions (and those rolled back on purpose) by
	// what they were.
	Operations map[Op]uint64
}

// Max is the longest time that a statement waited.
func (s *Stats) Max() time.Duration {
	if len(s.Longest) == 0 {
		return s.Running
	}
	return max(s.Longest[0].Took, s.Running)
}

// TransactionsPerSecond is the mean rate.
func (s *Stats) TransactionsPerSecond() float64 {
	return float64(s.Transactions) / max(s.Elapsed.Seconds(), 1e-9)
}

// StatementsPerSecond is the mean rate.
func (s *Stats) StatementsPerSecond() float64 {
	return float64(s.Statements) / max(s.Elapsed.Seconds(), 1e-9)
}

// longestKept is the number of longest statements that are remembered.
const longestKept = 8

// meter counts for one session. It is safe for concurrent use.
type meter struct {
	mu      sync.Mutex
	stats   Stats
	running time.Time // start of the statement that runs, or zero
}

func newMeter(since time.Time) *meter {
	m := &meter{}
	m.reset(since)
	return m
}

func (m *meter) reset(since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats = Stats{Since: since, ByKind: map[string]KindStats{}, Errors: map[uint16]uint64{}, Operations: map[Op]uint64{}}
}

func (m *meter) begin() time.Time {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = now
	return now
}

func (m *meter) end(kind string, start time.Time, statement string, number uint16, err error) {
	now := time.Now()
	took := now.Sub(start)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = time.Time{}
	s := &m.stats
	s.Statements++
	s.Latency.Add(took)
	k := s.ByKind[kind]
	k.Count++
	k.Max = max(k.Max, took)
	s.ByKind[kind] = k
	second := s.second(now)
	second.Statements++
	second.Max = max(second.Max, took)
	if err != nil {
		s.Errors[number]++
	}
	if len(s.Longest) == longestKept && s.Longest[longestKept-1].Took >= took {
		return
	}
	wait := Wait{Kind: kind, Start: start, Took: took, Statement: abridged(statement)}
	if err != nil {
		wait.Error = err.Error()
	}
	s.keepLongest(wait)
}

func (s *Stats) keepLongest(w Wait) {
	at, _ := slices.BinarySearchFunc(s.Longest, w.Took, func(e Wait, took time.Duration) int {
		return int(min(max(took-e.Took, -1), 1))
	})
	s.Longest = slices.Insert(s.Longest, at, w)
	s.Longest = s.Longest[:min(len(s.Longest), longestKept)]
}

// second returns the entry of a moment, made if it is a new second.
func (s *Stats) second(now time.Time) *Second {
	n := max(int(now.Sub(s.Since)/time.Second), 0)
	for len(s.Series) <= n {
		s.Series = append(s.Series, Second{Start: s.Since.Add(time.Duration(len(s.Series)) * time.Second)})
	}
	return &s.Series[n]
}

// transaction counts one transaction's end.
func (m *meter) transaction(op Op, committed bool, rows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Operations[op]++
	if !committed {
		m.stats.RolledBack++
		return
	}
	m.stats.Transactions++
	m.stats.Rows += uint64(rows)
	m.stats.second(time.Now()).Transactions++
}

// undone counts a transaction that an error ended.
func (m *meter) undone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.RolledBack++
}

// lost counts an answer whose outcome was looked up.
func (m *meter) lost() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Lost++
}

// addTo adds the counts to a sum over all sessions.
func (m *meter) addTo(sum *Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.stats
	sum.Statements += s.Statements
	sum.Transactions += s.Transactions
	sum.RolledBack += s.RolledBack
	sum.Rows += s.Rows
	sum.Lost += s.Lost
	sum.Latency.Merge(&s.Latency)
	for kind, k := range s.ByKind {
		all := sum.ByKind[kind]
		sum.ByKind[kind] = KindStats{Count: all.Count + k.Count, Max: max(all.Max, k.Max)}
	}
	for number, n := range s.Errors {
		sum.Errors[number] += n
	}
	for op, n := range s.Operations {
		sum.Operations[op] += n
	}
	for _, w := range s.Longest {
		sum.keepLongest(w)
	}
	for _, second := range s.Series {
		all := sum.second(second.Start)
		all.Statements += second.Statements
		all.Transactions += second.Transactions
		all.Max = max(all.Max, second.Max)
	}
	if !m.running.IsZero() {
		sum.Running = max(sum.Running, time.Since(m.running))
	}
}
