package trigger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/key"
	"midstream/internal/engine/pulse"
	"midstream/internal/mysql/dbconn"
)

// Config of a log's reader.
type Config struct {
	Interval time.Duration // between passes, and four times that while the server is busy; defaults to 50 ms
	Beat     time.Duration // between heartbeats; defaults to 200 ms: each is a commit beside the application's
	Retries  int           // of lost connections in a row; defaults to 10
	Batch    int           // most rows of a read; defaults to 5,000
	Prune    int           // most rows of a deletion; defaults to 500
	Every    time.Duration // between deletions of fewer; defaults to 1 s: each is a commit, too
	Keep     int           // most rows that are left while the server is busy; defaults to 500,000
}

// WithDefaults returns the config with defaults for what is not set.
func (c Config) WithDefaults() Config {
	if c.Interval <= 0 {
		c.Interval = 50 * time.Millisecond
	}
	if c.Beat <= 0 {
		c.Beat = 200 * time.Millisecond
	}
	if c.Retries <= 0 {
		c.Retries = 10
	}
	if c.Batch <= 0 {
		c.Batch = 5000
	}
	if c.Prune <= 0 {
		c.Prune = 500
	}
	if c.Every <= 0 {
		c.Every = time.Second
	}
	if c.Keep <= 0 {
		c.Keep = 500_000
	}
	return c
}

// Deps are what a Log works with.
type Deps struct {
	Pool    *dbconn.Pool
	Set     Set
	Backlog *backlog.Backlog
	// Unlogged says that the server writes no binlog: then every row may be deleted.
	Unlogged bool
	// Beat commits heartbeat n: it proves that the run is still the one at work, and goes to
	// replicas. It is called by one goroutine.
	Beat func(ctx context.Context, n uint64) error
	// Beaten is the number of the last heartbeat of an earlier run.
	Beaten uint64
	// Busy says that the application has work for the whole server: what can wait does.
	Busy func() bool
}

// Log reads what triggers write. It is safe for concurrent use.
type Log struct {
	cfg   Config
	deps  Deps
	pulse *pulse.Pulse

	turn     sync.Mutex // held by who reads or deletes; guards these:
	read     runs       // of the rows that were read and are still there
	last     uint64     // the highest that was read
	segments []segment  // of the backlog, with what may be deleted once their keys are synced
	ready    []row      // that may be deleted
	pruned   time.Time  // the last time
	restAt   time.Time  // when all that is not read may be looked at again

	mu       sync.Mutex // guards these:
	withdraw context.CancelCauseFunc
	ended    bool      // all was read, under the lock
	wanted   uint64    // passes over all that were asked for
	passed   uint64    // the last of them that is done
	caughtUp time.Time // everything that was committed by then was received, but for what is found later on

	kick chan struct{} // asks Run for a pass at once
}

// row is one row of the log.
type row struct {
	id     uint64
	origin uint32
}

// segment is the rows whose keys are in one segment of the backlog.
type segment struct {
	number uint64
	rows   []row
}

// errFrozen withdraws what the reader is doing when the source is locked.
var errFrozen = errors.New("the log is read by who has the lock")

// NewLog returns a reader that has read nothing: all that is in the log is yet to be done.
func NewLog(cfg Config, deps Deps) *Log {
	return &Log{
		cfg: cfg.WithDefaults(), deps: deps, pulse: pulse.New(deps.Beaten), caughtUp: time.Now(), kick: make(chan struct{}, 1),
	}
}

// Run reads and prunes until the context ends or the log can't be read. A lost connection is opened
// again, and what is still in the log is read anew: what is then synced twice does no harm. (Its
// numbers are worth nothing then: a server before 8.0 that was started again may give those of
// deleted rows to new ones.)
func (l *Log) Run(ctx context.Context) error {
	var session *dbconn.Session
	shut := func() {
		if session != nil {
			session.Close()
			session = nil
		}
	}
	defer shut()
	for failures := 0; ; {
		err := l.pulse.WaitUnfrozen(ctx)
		if err == nil && session == nil {
			session, err = l.deps.Pool.Session(ctx, "SET SESSION wait_timeout = 604800", dbconn.NoRangeLimit)
			l.forget()
		}
		if err == nil {
			err = l.step(ctx, session)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			failures = 0
		case errors.Is(err, errFrozen), dbconn.Contended(err): // somebody has locked the log, with the source
		case dbconn.ConnectionLost(err) && failures < l.cfg.Retries:
			failures++
			shut()
		default:
			return fmt.Errorf("read the log of changes %s: %w", l.deps.Set.Log, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.kick:
		case <-time.After(l.pause() + time.Duration(failures)*200*time.Millisecond):
		}
	}
}

// busyPause is how many intervals lie between passes while the application needs all of the server:
// a pass costs as much for many rows as for few. Who waits for a pass kicks (Fence).
const busyPause = 4

// pause is the time between two passes.
func (l *Log) pause() time.Duration {
	if l.deps.Busy() {
		return busyPause * l.cfg.Interval
	}
	return l.cfg.Interval
}

// forget has everything that is in the log read anew.
func (l *Log) forget() {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.read, l.last, l.segments, l.ready = nil, 0, nil, nil
}

// restShare bounds the part of the time in which all that was not read is looked for, and restEvery
// how often that is.
const (
	restShare = 10
	restEvery = 100 * time.Millisecond
)

// step is one pass: what is new, now and then everything else that was not read, and then what may be deleted.
func (l *Log) step(ctx context.Context, session *dbconn.Session) error {
	ctx, withdraw := context.WithCancelCause(ctx)
	defer withdraw(nil)
	l.turn.Lock()
	defer l.turn.Unlock()
	l.mu.Lock()
	began, wanted := time.Now(), l.wanted
	all := wanted > l.passed
	l.withdraw = withdraw
	l.mu.Unlock()
	if l.pulse.Frozen() { // after withdraw is set: Freeze sees it, or is seen here
		return errFrozen
	}
	if err := l.receive(ctx, session, l.tail); err != nil {
		return err
	}
	if all || began.After(l.restAt) {
		started := time.Now()
		if err := l.receive(ctx, session, l.rest); err != nil {
			return err
		}
		l.restAt = time.Now().Add(max(restEvery, time.Since(started)*(restShare-1)))
	}
	l.revealAll()
	l.mu.Lock()
	l.caughtUp = began
	if all {
		l.passed = wanted
	}
	l.mu.Unlock()
	l.pulse.Wake()
	return l.prune(ctx, session)
}

// revealAll has also those keys synced that others have put into the backlog: rows that were found to differ.
func (l *Log) revealAll() { l.deps.Backlog.Reveal(l.deps.Backlog.Seal()) }

// tail is the condition for what has a higher number than all that was read.
func (l *Log) tail(uint64) string { return fmt.Sprintf("id > %d", l.last) }

// rest is the condition for what was not read behind a number: nothing up to the highest that was read is
// passed over.
func (l *Log) rest(after uint64) string {
	return fmt.Sprintf("id > %d AND %s", after, l.read.others("id", l.last))
}

// receive reads all rows of a condition that were not read yet, and has their keys synced. REQUIRES: turn is held.
func (l *Log) receive(ctx context.Context, session *dbconn.Session, condition func(after uint64) string) error {
	for after := uint64(0); ; {
		if err := l.deps.Backlog.WaitNotFull(ctx); err != nil {
			return err
		}
		n, highest, err := l.readSome(ctx, session, condition(after))
		if err != nil || n < l.cfg.Batch {
			return err
		}
		after = highest
	}
}

// readSome reads the first rows of a condition. What can be read is visible to every later read of
// the source too, so that its keys may be synced at once.
func (l *Log) readSome(ctx context.Context, session *dbconn.Session, condition string) (n int, highest uint64, err error) {
	columns := append([]string{"id", "origin", "logged"}, l.deps.Set.Key.SelectExprsOf(l.deps.Set.columns())...)
	query := fmt.Sprintf(
		"SELECT %s FROM %s FORCE INDEX (PRIMARY) WHERE %s ORDER BY id LIMIT %d", strings.Join(columns, ", "),
		l.deps.Set.Log.Quoted(), condition, l.cfg.Batch,
	)
	texts := make([][]byte, len(columns)-3)
	var one row
	var logged bool
	targets := []any{&one.id, &one.origin, &logged}
	for i := range texts {
		targets = append(targets, &texts[i])
	}
	var keys []key.Key
	var found, deletable []row
	err = session.Rows(ctx, query, func(rows *sql.Rows) error {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		n, highest = n+1, one.id
		if l.read.has(one.id) {
			return nil
		}
		k, err := l.deps.Set.Key.FromText(texts)
		if err != nil {
			return fmt.Errorf("row %d of the log: %w", one.id, err)
		}
		keys, found = append(keys, k), append(found, one)
		if logged || l.deps.Unlogged {
			deletable = append(deletable, one)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return n, highest, err
	}
	for i, k := range keys {
		l.deps.Backlog.Add(k)
		l.read.add(found[i].id)
	}
	l.last = max(l.last, highest)
	number := l.deps.Backlog.Seal()
	l.segments = append(l.segments, segment{number: number, rows: deletable})
	l.deps.Backlog.Reveal(number)
	return n, highest, nil
}
