package migration

import (
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/forecast"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/onreplica"
	"midstream/internal/engine/plan"
)

// account holds what a run reports. Progress and Result are its two readings. It is safe for
// concurrent use.
type account struct {
	emit    event.Listener
	started time.Time
	retries atomic.Int64

	mu           sync.Mutex
	phase        event.Phase
	lastProgress event.Progress
	method       plan.Method // that is at work
	undo         bool        // the run brings an old table up to date
	resumed      bool
	times        struct{ prescan, copy, index, verify, native time.Duration }
	// repaired counts rows that differed and were synced again.
	repaired  int
	leftOut   int64        // rows of the source that --keep left out, as of the comparison
	compared  time.Time    // when the tables were last compared
	parked    event.Parked // by an undo
	swap      event.SwapDone
	usage     usage
	rehearsed Rehearsed
	blockers  lock.Tally
	scanned   rowCounter // of the prescan
	verified  rowCounter
	flying    []flying
	forecast  *forecast.Forecaster

	// replication is what a rehearsal on a replica watches.
	replication onreplica.Watch
}

// rowCounter counts the rows that a stage has seen.
type rowCounter interface{ Rows() int64 }

// noRows counts for a stage that has not begun.
type noRows struct{}

func (noRows) Rows() int64 { return 0 }

// flying counts statements that are in flight.
type flying interface{ InFlight() int }

func newAccount(m *Migration) *account {
	return &account{emit: m.emit, started: time.Now(), method: m.plan.Choice.Method, undo: m.plan.Back.Adopts(), scanned: noRows{},
		verified: noRows{}, forecast: forecast.NewForecaster()}
}

// enter begins a phase.
func (a *account) enter(p event.Phase) {
	a.update(func() { a.phase = p })
	a.emit(event.PhaseEntered{Phase: p, At: time.Now(), Undo: a.undo})
}

// update changes the report.
func (a *account) update(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *account) phaseNow() event.Phase {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.phase
}

func (a *account) methodNow() plan.Method {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.method
}

// flies counts the statements of a stage as statements in flight.
func (a *account) flies(f flying) { a.update(func() { a.flying = append(a.flying, f) }) }

func (a *account) inFlight() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, f := range a.flying {
		n += f.InFlight()
	}
	return n
}

// progress reads the account.
func (a *account) progress() event.Progress {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	return event.Progress{
		Phase: a.phase, At: now, Elapsed: now.Sub(a.started), ETA: -1, ETALeast: -1, ETAMost: -1, Slowdown: -1, ReplicaLag: -1,
		Scanned: a.scanned.Rows(), Verified: a.verified.Rows(), Retries: a.retries.Load(), Compared: a.compared,
	}
}

// foresee adds when the run ends.
func (a *account) foresee(p *event.Progress, s forecast.Standing, c forecast.Calendar) {
	a.update(func() { e := a.forecast.Next(s, c); p.ETA, p.ETALeast, p.ETAMost = e.Left, e.Least, e.Most })
}

// sensitivity is how much the load slows the work.
func (a *account) sensitivity(c forecast.Calendar) (s float64) {
	a.update(func() { s = a.forecast.Sensitivity(c) })
	return s
}

// remember keeps a progress for the rates of the next one.
func (a *account) remember(p event.Progress) { a.update(func() { a.lastProgress = p }) }

func (a *account) last() event.Progress {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lastProgress
}

// result reads the account.
func (a *account) result() Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	result := Result{
		Method:    a.method,
		Elapsed:   time.Since(a.started),
		Prescan:   a.times.prescan,
		Copy:      a.times.copy,
		Index:     a.times.index,
		Verify:    a.times.verify,
		Native:    a.times.native,
		Scanned:   a.scanned.Rows(),
		Verified:  a.verified.Rows(),
		Repaired:  a.repaired,
		LeftOut:   a.leftOut,
		Compared:  a.compared,
		Parked:    a.parked,
		Retries:   a.retries.Load(),
		Resumed:   a.resumed,
		Attempts:  a.swap.Attempts,
		LockHeld:  a.swap.LockHeld,
		Drained:   a.swap.Drained,
		Disk:      a.usage.disk,
		Redo:      a.usage.redo,
		Rehearsed: a.rehearsed,
	}
	result.Rehearsed.Replication = a.replication.Seen()
	result.Rehearsed.LockWaited, result.Rehearsed.Blockers, result.Rehearsed.Blocked = a.blockers.Read()
	return result
}
