package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/key"
	"midstream/internal/engine/pulse"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/binlog"
)

// The watches of the reader, in this order.
const (
	watchSource = iota
	watchState
	watchOld // of an undo
)

// WatchParents is the first watch of the parents of new foreign keys. No undo adds one.
const WatchParents = watchOld

// Config of a capture.
type Config struct {
	Interval time.Duration // between heartbeats; defaults to 50 ms
	// Retries is the number of reconnections in a row without an event between them. Defaults to
	// 10.
	Retries int
}

// WithDefaults returns the config, with defaults for the fields that are not set.
func (c Config) WithDefaults() Config {
	if c.Interval <= 0 {
		c.Interval = 50 * time.Millisecond
	}
	if c.Retries <= 0 {
		c.Retries = 10
	}
	return c
}

// Deps are what a capture works with.
type Deps struct {
	Reader  *binlog.Reader // source's key columns, and the beat
	Key     *key.Codec
	Backlog *backlog.Backlog
	// Moves takes changes of keys, if the shadow keeps columns that the source lacks; else it is nil.
	// Capture hands them out at the end of a group, and adds their keys once more after that.
	Moves *rowsync.Moves
	// Beat commits heartbeat n; it is called by one goroutine.
	Beat func(ctx context.Context, n uint64) error
	// Statement judges a statement found in the binlog: an error ends the capture.
	Statement func(s binlog.Statement) error
	// Wrote judges a row event of the old table, if the reader watches it as its third table.
	Wrote func() error
	// Parent takes values of columns of a parent that a row had before it was deleted or changed. Then the
	// watches from WatchParents on are parents, by their numbers.
	Parent func(number int, values []any) error
	// Marked means that the run's own sessions write the old table with foreign_key_checks = 0, which its row events show.
	Marked bool
	// Beaten is the number in the heartbeat's row, from a locking read. Heartbeats of an earlier
	// run may come back, and Capture must not count them as its own. 0 if the row is new.
	Beaten uint64
	// Tail returns the end of the binlog that is read. If it is nil, a reset of the binlogs shows only by missing heartbeats.
	Tail func(ctx context.Context) (binlog.Position, error)
	// End returns the end of the server's binlog, for heartbeats that are not written to the
	// binlog. Such heartbeats reveal nothing: a session that syncs must wait for rows that are not
	// visible yet. They are back when the reader has reached the end that the binlog had after
	// them. If End is nil, heartbeats come back through the binlog.
	End func(ctx context.Context) (binlog.Position, error)
}

// Capture is the reading end of a migration. It is safe for concurrent use.
type Capture struct {
	cfg   Config
	deps  Deps
	pulse *pulse.Pulse

	mu      sync.Mutex
	end     place        // of the last complete group
	history history      // of the groups since the start
	named   *binlog.GTID // of the group being read, or nil
	open    uint64       // number of the backlog's open segment
	// starts are the places of the groups with keys in a segment; see Safe.
	starts map[uint64]place
	// group has the keys of the group being read, if it may be an XA transaction's. moves are its
	// changes of keys.
	group    []key.Key
	moves    []rowsync.Move
	parents  []parentRow // of the group being read
	prepared map[string]preparedXA
	// uncarried are the groups with changes of keys that are perhaps not carried; see Safe.
	uncarried []moved
	// lastXA is the youngest segment with keys of a committed XA transaction.
	lastXA uint64
	// parentXA is the youngest segment in which an XA transaction was committed that has changed a parent.
	parentXA uint64
	// visible is the youngest segment that a heartbeat has revealed.
	visible uint64
	issued  map[uint64]time.Time // heartbeats that have not come back
	// ends are the binlog's ends after the heartbeats, with Deps.End.
	ends  map[uint64]binlog.Position
	delay time.Duration
	// idleAt is where the reader was as the server last had nothing to send.
	idleAt binlog.Position
}

type preparedXA struct {
	start   place
	keys    []key.Key
	moves   []rowsync.Move
	parents []parentRow
}

// parentRow is what a row of a parent was, by the parent's number.
type parentRow struct {
	number int
	values []any
}

// moved is a group with changes of keys, by the number that Moves gave it.
type moved struct {
	number uint64
	start  place
}

// New returns a capture that will read from a point on. Segment 1 of the backlog
// starts there.
func New(cfg Config, deps Deps, from Point) *Capture {
	start := place{Position: from.Position}
	if deps.Moves != nil {
		deps.Moves.Begin(&from.GTIDs)
	}
	if deps.Reader != nil {
		deps.Reader.Expect(from.Position.File, from.Born)
	}
	return &Capture{
		cfg: cfg.WithDefaults(), deps: deps, pulse: pulse.New(deps.Beaten), end: start, open: 1,
		history:  history{before: from.GTIDs.Clone(), broken: from.GTIDs.String() == ""},
		starts:   map[uint64]place{1: start},
		prepared: map[string]preparedXA{},
		issued:   map[uint64]time.Time{},
		ends:     map[uint64]binlog.Position{},
	}
}

// Run reads until the context ends or the stream can't continue. It opens a lost connection again,
// from the end of the last complete group. Changes that it reads twice are synced twice, and that
// does no harm.
func (c *Capture) Run(ctx context.Context) error {
	failures := 0
	c.deps.Reader.OnIdle(c.idle)
	for {
		before := c.Restart()
		err := c.deps.Reader.Run(ctx, before, func(e binlog.Event) error {
			if err := c.pulse.WaitUnfrozen(ctx); err != nil {
				return err
			}
			if err := c.Handle(e); err != nil {
				return err
			}
			return c.deps.Backlog.WaitNotFull(ctx)
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, binlog.ErrConnection) {
			return fmt.Errorf("read binlog from %s: %w", before, err)
		}
		if c.Position() != before || errors.Is(err, errSilent) {
			failures = 0
		}
		if failures++; failures > c.cfg.Retries {
			return fmt.Errorf("read binlog from %s, %d attempts: %w", before, failures, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(failures) * 200 * time.Millisecond):
		}
	}
}

// Position is the end of the last complete group that was received.
func (c *Capture) Position() binlog.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end.Position
}

// Restart forgets a group that was received only in part. It returns where to continue reading: the
// end of the last complete group.
func (c *Capture) Restart() binlog.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group, c.moves, c.parents, c.named = nil, nil, nil, nil
	return c.end.Position
}

// Handle takes in one event. REQUIRES: one caller at a time, events in the order of the
// binlog, and none while the backlog is full.
func (c *Capture) Handle(e binlog.Event) error {
	switch e := e.(type) {
	case binlog.Rows:
		switch {
		case e.Watch == watchState:
			return c.beatSeen(e.Tuples)
		case e.Watch >= WatchParents && c.deps.Parent != nil:
			return c.parentsWritten(e)
		case e.Watch == watchOld:
			return c.oldWritten(e)
		}
		return c.rows(e)
	case binlog.Statement:
		return c.deps.Statement(e)
	case binlog.Begun:
		c.mu.Lock()
		c.named = &e.GTID
		c.mu.Unlock()
	case binlog.Commit:
		return c.endGroup(e.End, func(start place) error {
			c.move(c.moves, start, e.End)
			for _, k := range c.group {
				c.deps.Backlog.Add(k)
			}
			return c.handParents(c.parents)
		})
	case binlog.XAPrepared:
		return c.endGroup(e.End, func(start place) error {
			if len(c.group)+len(c.parents) > 0 {
				c.prepared[e.XID] = preparedXA{start: start, keys: c.group, moves: c.moves, parents: c.parents}
			}
			return nil
		})
	case binlog.XAResolved:
		return c.endGroup(e.End, func(place) (err error) {
			if xa, ours := c.prepared[e.XID]; ours && e.Committed {
				c.move(xa.moves, xa.start, e.End)
				c.addXA(xa)
				if err = c.handParents(xa.parents); len(xa.parents) > 0 {
					c.parentXA = c.open
				}
			}
			delete(c.prepared, e.XID)
			return err
		})
	}
	return nil
}

// rows adds the touched keys to the backlog, or keeps them until the end of their group decides
// about them.
func (c *Capture) rows(e binlog.Rows) error {
	after := e.After
	var before key.Key
	for i, tuple := range e.Tuples {
		moved := len(after) > 0 && after[0] == i
		if moved {
			after = after[1:]
		}
		k, err := c.deps.Key.FromBinlog(tuple)
		if errors.Is(err, key.ErrNull) && len(c.deps.Key.Nullable()) > 0 {
			continue // rowsync.CheckNulls finds the row, as long as it is there
		}
		if err != nil {
			return fmt.Errorf("row event: %w", err)
		}
		if moved && c.deps.Moves != nil {
			c.moves = append(c.moves, rowsync.Move{From: before, To: k})
		}
		before = k
		if e.MayBeXA {
			c.group = append(c.group, k)
			continue
		}
		c.deps.Backlog.Add(k)
	}
	return nil
}

// oldWritten judges a row event of the old table. The undo writes rows there whose keys are remembered: it has synced
// them. It syncs others as well, because another session has written them, and those that have not the mark of its own sessions.
func (c *Capture) oldWritten(e binlog.Rows) error {
	for _, tuple := range e.Tuples {
		if len(tuple) == 0 {
			break
		}
		switch k, err := c.deps.Key.FromBinlog(tuple); {
		case err != nil: // the source's type takes no such key
		case c.deps.Marked && !e.Unchecked:
			c.deps.Backlog.Add(k)
		default:
			c.deps.Backlog.AddUnknown(k)
		}
	}
	return c.deps.Wrote()
}

// move hands out the changes of keys of a group that has ended, and then adds these keys: they must be
// synced after it. REQUIRES: mu is held.
func (c *Capture) move(moves []rowsync.Move, start place, end binlog.Position) {
	if len(moves) == 0 {
		return
	}
	gtid := ""
	if c.named != nil {
		var one binlog.GTIDs
		one.Add(*c.named, 1)
		gtid = one.String()
	}
	number := c.deps.Moves.Add(moves, end, gtid)
	c.uncarried = append(c.uncarried, moved{number, start})
	for _, m := range moves {
		c.deps.Backlog.Add(m.From)
		c.deps.Backlog.Add(m.To)
	}
}

// beforeMoves leaves out the groups whose changes of keys are carried. It returns the earliest place of
// the others, or a later place that is given. REQUIRES: mu is held.
func (c *Capture) beforeMoves(safe place) place {
	if len(c.uncarried) == 0 {
		return safe
	}
	carried := c.deps.Moves.Carried()
	c.uncarried = slices.DeleteFunc(c.uncarried, func(m moved) bool { return m.number <= carried })
	for _, m := range c.uncarried {
		if m.start.before(safe) {
			safe = m.start
		}
	}
	return safe
}

// addXA adds the keys of a committed XA transaction. They are in the binlog at its XA PREPARE.
// Until they are synced, a reader that reads the binlog again must begin there.
func (c *Capture) addXA(xa preparedXA) {
	for _, k := range xa.keys {
		c.deps.Backlog.Add(k)
	}
	c.lastXA = c.open
	if xa.start.before(c.starts[c.open]) {
		c.starts[c.open] = xa.start
	}
}

func (c *Capture) endGroup(end binlog.Position, decide func(start place) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := decide(c.end)
	c.history.add(c.named)
	c.end = place{Position: end, groups: c.history.groups}
	c.group, c.moves, c.parents, c.named = nil, nil, nil, nil
	return err
}

func (c *Capture) beatSeen(tuples [][]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var seen uint64
	for _, tuple := range tuples {
		if n, ok := tuple[0].(int64); ok {
			seen = max(seen, uint64(n))
		}
	}
	if err := c.missing(seen); err != nil {
		return err
	}
	c.back(seen)
	return nil
}

// back records that heartbeat n came back, and all before it. REQUIRES: mu is held.
func (c *Capture) back(n uint64) {
	now := time.Now()
	if at, first := c.issued[n]; first {
		c.delay = now.Sub(at)
	}
	for earlier := range c.issued {
		if earlier <= n {
			delete(c.issued, earlier)
		}
	}
	c.pulse.Back(n)
}

// Beats writes heartbeats until the context ends or one can't be written.
func (c *Capture) Beats(ctx context.Context) error {
	return c.pulse.Run(ctx, c.cfg.Interval, c.Beat)
}

// Beat writes one heartbeat and reveals the changes that were received before it. REQUIRES: one
// caller at a time.
func (c *Capture) Beat(ctx context.Context) error {
	c.mu.Lock()
	segment := c.seal()
	n := c.pulse.Next()
	c.issued[n] = time.Now()
	c.mu.Unlock()
	if err := c.deps.Beat(ctx, n); err != nil {
		return err
	}
	if err := c.noteEnd(ctx, n); err != nil {
		return err
	}
	c.mu.Lock()
	c.visible = segment
	c.mu.Unlock()
	c.deps.Backlog.Reveal(segment)
	return nil
}

// seal closes the backlog's open segment and records the start of the next one, which is empty now.
// It starts at the group that has not been received to its end.
func (c *Capture) seal() uint64 {
	segment := c.deps.Backlog.Seal()
	c.open = segment + 1
	c.starts[c.open] = c.end
	return segment
}

// Fence waits until everything that is in the binlog before the call has been received, by a
// heartbeat of its own. REQUIRES: Run and Beats are running.
func (c *Capture) Fence(ctx context.Context) error {
	beat := c.pulse.Ask()
	var poll time.Duration
	if c.deps.End != nil {
		poll = pollEvery
	}
	return c.pulse.Wait(ctx, poll, func() bool {
		c.look()
		return c.pulse.Last() >= beat
	})
}

// Freeze stops the capture before the next event, because the swap is about to appear in the
// binlog. If the swap fails, the capture continues after Unfreeze, and has lost nothing.
func (c *Capture) Freeze() { c.pulse.Freeze() }

// Unfreeze ends Freeze.
func (c *Capture) Unfreeze() { c.pulse.Unfreeze() }

// RevealAll makes every key that was received visible, without a heartbeat. REQUIRES: the source is
// locked, so that every change of it is committed in the engine too. A committed XA transaction is
// an exception: on many servers its XA COMMIT needs no metadata lock. While one waits for a
// heartbeat, RevealAll reveals nothing.
func (c *Capture) RevealAll() {
	c.mu.Lock()
	segment := c.seal()
	if c.lastXA > c.visible {
		segment = c.visible
	}
	c.mu.Unlock()
	c.deps.Backlog.Reveal(segment)
}

// Prepared is the number of XA transactions with rows of the source that are prepared
// and neither committed nor rolled back. It counts one more if a committed one may not be visible yet in a parent.
func (c *Capture) Prepared() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.prepared)
	if c.parentXA > c.visible {
		n++
	}
	return n
}

// Delay returns how far capture is behind the server. It is the age that the last heartbeat had
// when it came back, or the age of the oldest overdue heartbeat, if that is more.
func (c *Capture) Delay() time.Duration {
	c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	delay := c.delay
	for _, at := range c.issued {
		delay = max(delay, time.Since(at))
	}
	return delay
}

// BytesRead is the number of bytes of binlog received.
func (c *Capture) BytesRead() int64 { return c.deps.Reader.BytesRead() }

// Weight is the number of bytes of rows of the shadow in it.
func (c *Capture) Weight() int64 { return c.deps.Reader.Weight() }

// Safe returns the point from which another run must read on: every change before it is synced, or
// is ahead of the row copy (law L5). It is the least of two places: the start of the segments with
// keys that are not synced, and the prepared XA transactions. (XA makes the starts of segments go
// back and forth.)
func (c *Capture) Safe() Point {
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := c.deps.Backlog.Oldest()
	safe := c.end
	for n, start := range c.starts {
		switch {
		case n < oldest:
			delete(c.starts, n)
		case start.before(safe):
			safe = start
		}
	}
	for _, xa := range c.prepared {
		if xa.start.before(safe) {
			safe = xa.start
		}
	}
	safe = c.beforeMoves(safe)
	return Point{Position: safe.Position, Born: c.Born(safe.File), GTIDs: c.history.upTo(safe.groups)}
}
