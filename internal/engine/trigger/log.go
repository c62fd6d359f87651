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
	// Interval is the time between passes, and four times that while the server is busy. Defaults
	// to 50 ms.
	Interval time.Duration
	// Beat is the time between heartbeats. Each is one more commit next to the application's.
	// Defaults to 200 ms.
	Beat time.Duration
	// Retries is the number of lost connections in a row. Defaults to 10.
	Retries int
	// Batch is the maximum number of rows of a read. Defaults to 5,000.
	Batch int
	// Prune is the maximum number of rows of a deletion. Defaults to 500.
	Prune int
	// Every is the time between deletions of fewer rows, because each is a commit, too. Defaults to
	// 1 s.
	Every time.Duration
	// Keep is the maximum number of rows that are left while the server is busy. Defaults to
	// 500,000.
	Keep int
}

// WithDefaults returns the config, with defaults for the fields that are not set.
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
	// Unlogged means that the server writes no binlog: then every row may be deleted.
	Unlogged bool
	// Keeps means that no row is deleted: another undo may have to read them.
	Keeps bool
	// Beat commits heartbeat n: it proves that the run is still the one at work, and goes to
	// replicas. It is called by one goroutine.
	Beat func(ctx context.Context, n uint64) error
	// Beaten is the number of the last heartbeat of an earlier run.
	Beaten uint64
	// Busy reports whether the application needs the complete server: work that can wait does so.
	Busy func() bool
}

// Log reads what triggers write. It is safe for concurrent use.
type Log struct {
	cfg   Config
	deps  Deps
	pulse *pulse.Pulse

	// turn is held to read or delete; it guards these fields:
	turn sync.Mutex
	read runs   // of read rows that still exist
	last uint64 // the highest that was read
	// segments are the backlog's, with the rows that may be deleted once their keys are synced.
	segments []segment
	ready    []row     // that may be deleted
	pruned   time.Time // the last time
	// restAt is when the reader may search all unread rows again.
	restAt time.Time

	mu       sync.Mutex // guards these:
	withdraw context.CancelCauseFunc
	ended    bool   // all was read, under the lock
	wanted   uint64 // passes over everything, as requested
	passed   uint64 // the last of them that is done
	// caughtUp is a time: everything committed by then was received, except rows that are found
	// later.
	caughtUp time.Time

	kick chan struct{} // asks Run for a pass at once
}

// row is one row of the log.
type row struct {
	id     uint64
	origin uint32
}

// segment has the rows with keys in one segment of the backlog.
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

// Run reads and prunes until the context ends or the log can't be read. It opens a lost connection
// again, and reads the rest of the log again: keys that are then synced twice do no harm. (The
// log's numbers are worth nothing then: a server before 8.0 that was restarted may give the numbers
// of deleted rows to new ones.)
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
		case errors.Is(err, errFrozen), dbconn.Contended(err): // a session has locked the log
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

// busyPause is the number of intervals between passes while the application needs all of the
// server, because a pass costs as much for many rows as for few. A caller that waits for a pass
// kicks (Fence).
const busyPause = 4

// pause is the time between two passes.
func (l *Log) pause() time.Duration {
	if l.deps.Busy() {
		return busyPause * l.cfg.Interval
	}
	return l.cfg.Interval
}

// forget makes the reader read everything in the log again.
func (l *Log) forget() {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.read, l.last, l.segments, l.ready = nil, 0, nil, nil
}

// restShare bounds the share of time for the search of all unread rows, and restEvery bounds how
// often that search runs.
const (
	restShare = 10
	restEvery = 100 * time.Millisecond
)

// step is one pass. It reads the new rows, now and then all other unread rows, and then deletes
// rows that may be deleted.
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
	// After withdraw is set: either Freeze sees it, or this check sees the freeze.
	if l.pulse.Frozen() {
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

// revealAll also releases keys for syncing that others have put into the backlog: rows that were
// found to differ.
func (l *Log) revealAll() { l.deps.Backlog.Reveal(l.deps.Backlog.Seal()) }

// tail is the condition for what has a higher number than all that was read.
func (l *Log) tail(uint64) string { return fmt.Sprintf("id > %d", l.last) }

// rest returns the condition for unread rows behind a number. Up to the highest number that was
// read, it passes over no row.
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

// readSome reads the first rows of a condition. A row that can be read is also visible to every
// later read of the source, so its key may be synced at once.
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
