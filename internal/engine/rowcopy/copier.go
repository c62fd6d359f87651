package rowcopy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// Config of a row copy.
type Config struct {
	// MinRows is the minimum of a chunk. Defaults to 100, or fewer if these have more than
	// MinBytes.
	MinRows int
	MaxRows int // of a chunk; defaults to 100,000
	// MinBytes bounds a chunk that could be shorter, by the table's average row length. Defaults to
	// 256 KiB.
	MinBytes int64
	// MaxBytes bounds every chunk, also by the average row length. Defaults to 32 MiB.
	MaxBytes int64
}

// WithDefaults returns the config, with defaults for the fields that are not set.
func (c Config) WithDefaults() Config {
	if c.MinRows <= 0 {
		c.MinRows = 100
	}
	if c.MaxRows <= 0 {
		c.MaxRows = 100_000
	}
	if c.MinBytes <= 0 {
		c.MinBytes = 256 << 10
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = 32 << 20
	}
	return c
}

// Pace is the pace of a row copy.
type Pace struct {
	// Workers is their number. Defaults to 0: as many as help, FirstWorkers at the beginning.
	Workers int
	// Target is the longest time of a chunk. Defaults to 250 ms.
	Target time.Duration
}

// The numbers of workers if none is named. One of the first often waits for its commit.
const (
	FirstWorkers = 3
	MostWorkers  = 64
)

// First is the number of workers at the beginning.
func (p Pace) First() int {
	if p.Workers > 0 {
		return p.Workers
	}
	return FirstWorkers
}

// WithDefaults returns the pace, with defaults for the fields that are not set.
func (p Pace) WithDefaults() Pace {
	if p.Target <= 0 {
		p.Target = 250 * time.Millisecond
	}
	return p
}

// Deps are what a row copy works with.
type Deps struct {
	Pool    *dbconn.Pool
	Spec    *rowsync.Spec
	Syncer  *rowsync.Syncer
	Tracker *frontier.Tracker
	// Ended is called after a chunk's end is in the tracker.
	Ended func()
	Emit  event.Listener
	// Gate blocks while the worker with that number, the first being 0, must hold still after
	// a chunk that took so long.
	Gate func(ctx context.Context, worker int, took time.Duration) error
	// Workers is the number of workers that are of use now, and Copied records a chunk that took so long.
	Workers func() int
	Copied  func(rows int, took time.Duration)
	// Chunk is the time that the next chunk may take.
	Chunk func() time.Duration
	// Room waits until rows may be written, and returns how many, at most the number asked for. The
	// copier reports to wrote how many it has written.
	Room func(ctx context.Context, rows int) (room int, wrote func(rows int), err error)
	// RowBytes is the average length of a row, 0 if not known.
	RowBytes int64
	// Before is the number of rows that a former run has copied.
	Before int64
	// Fresh means that only the row copy writes into ranges that are not yet handed out.
	Fresh bool
}

// Copier copies one table. Its counters are safe for concurrent use.
type Copier struct {
	cfg  Config
	deps Deps

	flying atomic.Int64

	next *ends // of the next chunks

	mu   sync.Mutex
	rows int64
	size rowsync.Sizer
	crew crew
}

// New returns a copier that has copied nothing yet.
func New(cfg Config, deps Deps) *Copier {
	cfg = cfg.WithDefaults()
	return &Copier{cfg: cfg, deps: deps, next: newEnds(), rows: deps.Before, size: newSizer(cfg, deps.RowBytes)}
}

// newSizer is one for rows of that length on average, 0 if not known.
func newSizer(cfg Config, rowBytes int64) rowsync.Sizer {
	s := rowsync.Sizer{Least: cfg.MinRows, Most: cfg.MaxRows, First: firstChunk * cfg.MinRows}
	if rowBytes > 0 {
		fit := max(1, cfg.MaxBytes/rowBytes)
		s.Least = int(max(1, min(int64(s.Least), cfg.MinBytes/rowBytes)))
		s.Most = int(max(int64(cfg.MinRows), min(int64(s.Most), fit))) // may be of rows that are gone
		s.First = int(min(int64(firstChunk*s.Least), fit))
	}
	return s
}

// firstChunk is the size of the first chunk, next to the minimum.
const firstChunk = 10

// Tune takes the number of workers of now. Workers that got no connection ask again.
func (c *Copier) Tune() {
	c.mu.Lock()
	c.crew.full = full{number: MostWorkers}
	c.mu.Unlock()
	c.man()
}

func (c *Copier) work(ctx context.Context, number int, gate func(took time.Duration) error, room func() (int, func(int), error)) error {
	session, err := c.deps.Pool.Session(ctx, c.deps.Spec.Setup()...)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoSession, err)
	}
	defer session.Close()
	c.connected(number)
	var took time.Duration
	for {
		if err := gate(took); err != nil {
			return err
		}
		rows, wrote, err := room()
		if err != nil {
			return err
		}
		c.flying.Add(1)
		elapsed, more, err := c.chunk(ctx, session, rows, wrote)
		c.flying.Add(-1)
		if err != nil || !more {
			return err
		}
		took = elapsed
		c.man()
	}
}

// InFlight is the number of chunks that were begun and have not ended.
func (c *Copier) InFlight() int { return int(c.flying.Load()) }

// chunk copies the next chunk, if there is one, and reports to wrote how many rows it wrote.
func (c *Copier) chunk(ctx context.Context, session *dbconn.Session, rows int, wrote func(int)) (took time.Duration, more bool, err error) {
	var result rowsync.Result
	defer func() { wrote(int(result.Inserted + result.Deleted)) }()
	chunk, more, err := c.begin(ctx, session, rows)
	if err != nil || !more {
		return 0, more, err
	}
	started := time.Now()
	if result, err = c.deps.Syncer.Range(ctx, session, chunk.Range, c.deps.Fresh); err != nil {
		return 0, false, err
	}
	c.deps.Tracker.End(chunk)
	c.deps.Ended()
	took = time.Since(started)
	c.deps.Copied(int(result.Inserted), took)
	c.account(result.Inserted, took)
	return took, true, nil
}

func (c *Copier) account(rows int64, elapsed time.Duration) {
	c.mu.Lock()
	c.rows += rows
	c.size.Took(rows, elapsed)
	c.mu.Unlock()
	c.deps.Emit(event.ChunkCopied{Rows: rows, Elapsed: elapsed, At: time.Now()})
}

// begin hands out the next chunk, of about so many rows.
func (c *Copier) begin(ctx context.Context, session *dbconn.Session, rows int) (frontier.Chunk, bool, error) {
	chunk, more, read, err := c.next.handOut(ctx, c.deps.Tracker, rows, func(rest key.Range, rows, chunks int) ([]key.Key, error) {
		return rowsync.Bounds(ctx, session, c.deps.Spec, rest, rows, chunks)
	})
	if err == nil && read {
		_, err = session.Exec(ctx, "COMMIT") // it begins transactions by itself
	}
	if err != nil {
		return frontier.Chunk{}, false, fmt.Errorf("find the end of the next chunk: %w", err)
	}
	return chunk, more, nil
}

// Rows returns the number of rows written so far, with the rows of a former run.
func (c *Copier) Rows() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows
}

// ChunkRows is the number of rows of the next chunk.
func (c *Copier) ChunkRows() int {
	chunk := c.deps.Chunk() // not under mu: it reads the settings, and who changes them calls Tune
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size.Rows(chunk)
}
