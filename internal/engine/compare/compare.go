package compare

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// Config is the settings of a comparison.
type Config struct {
	Workers int // defaults to 2
	Rows    int // of a range; defaults to 10,000
	// Settle is how long a row must differ in the same way to be a mismatch. It must be longer than
	// one table may be behind the other. Defaults to 3 s.
	Settle time.Duration
	// Suspects is the number of differing rows at which the comparison stops. Defaults to 100,000.
	Suspects int
}

// WithDefaults returns the config with defaults for what is not set.
func (c Config) WithDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 2
	}
	if c.Rows <= 0 {
		c.Rows = 10_000
	}
	if c.Settle <= 0 {
		c.Settle = 3 * time.Second
	}
	if c.Suspects <= 0 {
		c.Suspects = 100_000
	}
	return c
}

// Result is what a comparison found.
type Result struct {
	Rows       [2]int64 // compared, of each table
	Suspects   int      // rows that differed at first
	Mismatches []key.Key
	// Unsettled are rows that changed all the time.
	Unsettled []key.Key
	// More means that there were more suspects than the comparison checks: the rest was not
	// compared.
	More bool
}

// Comparison is one run. Progress is safe for concurrent use.
type Comparison struct {
	cfg    Config
	spec   *Spec
	pools  [2]*dbconn.Pool
	ranges *rowsync.Ranges // of the first table

	mu       sync.Mutex
	rows     [2]int64
	suspects []key.Key
}

// New returns a comparison of a's table with b's table; a and b may be one pool.
func New(cfg Config, spec *Spec, a, b *dbconn.Pool) *Comparison {
	cfg = cfg.WithDefaults()
	return &Comparison{cfg: cfg, spec: spec, pools: [2]*dbconn.Pool{a, b}, ranges: rowsync.NewRanges(spec.sides[0].sync, cfg.Rows, nil)}
}

// Progress returns the number of compared rows of the first table.
func (c *Comparison) Progress() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows[0]
}

// Run compares the tables. It may be called once.
func (c *Comparison) Run(ctx context.Context) (Result, error) {
	workers, working := errgroup.WithContext(ctx)
	for range c.cfg.Workers {
		workers.Go(func() error { return c.work(working) })
	}
	if err := workers.Wait(); err != nil {
		return Result{}, fmt.Errorf("compare: %w", err)
	}
	result := Result{Rows: c.rows, Suspects: len(c.suspects), More: len(c.suspects) > c.cfg.Suspects}
	var err error
	result.Mismatches, result.Unsettled, err = c.settle(ctx)
	if err != nil {
		return result, fmt.Errorf("compare rows that differ: %w", err)
	}
	return result, nil
}

// sessions opens one session on each side.
func (c *Comparison) sessions(ctx context.Context) (both [2]*dbconn.Session, end func(), err error) {
	end = func() {
		for _, s := range both {
			if s != nil {
				s.Close()
			}
		}
	}
	for i, pool := range c.pools {
		if both[i], err = pool.Session(ctx, dbconn.NoRangeLimit); err != nil {
			end()
			return both, nil, err
		}
	}
	return both, end, nil
}

func (c *Comparison) work(ctx context.Context) error {
	both, end, err := c.sessions(ctx)
	if err != nil {
		return err
	}
	defer end()
	for !c.full() {
		r, more, err := c.ranges.Next(ctx, both[0])
		if err != nil || !more {
			return err
		}
		if err := c.compareRange(ctx, both, r); err != nil {
			return err
		}
	}
	return nil
}

func (c *Comparison) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.suspects) > c.cfg.Suspects
}

// sum is the result of a range: its number of rows and its checksums.
type sum struct {
	rows        int64
	left, right uint64
}

func (c *Comparison) compareRange(ctx context.Context, both [2]*dbconn.Session, r key.Range) error {
	condition := rowsync.InRange(c.spec.key, c.spec.key.Names(), r)
	sums, err := onBoth(ctx, func(ctx context.Context, i int) (s sum, err error) {
		err = both[i].Rows(ctx, c.spec.checksum(i, condition), func(rows *sql.Rows) error {
			return rows.Scan(&s.rows, &s.left, &s.right)
		})
		return s, err
	})
	if err != nil {
		return err
	}
	var differing []key.Key
	if sums[0] != sums[1] {
		found, err := c.digests(ctx, both, condition)
		if err != nil {
			return err
		}
		differing = slices.Collect(maps.Keys(found))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows[0] += sums[0].rows
	c.rows[1] += sums[1].rows
	c.suspects = append(c.suspects, differing...)
	return nil
}

// onBoth asks both sides at once.
func onBoth[T any](ctx context.Context, ask func(ctx context.Context, i int) (T, error)) (answers [2]T, err error) {
	asked, ctx := errgroup.WithContext(ctx)
	for i := range answers {
		asked.Go(func() (err error) {
			answers[i], err = ask(ctx, i)
			return err
		})
	}
	return answers, asked.Wait()
}

// pair is what the two tables have for one key; "" means no row.
type pair [2]string

// digests returns the keys under a condition whose digests differ.
func (c *Comparison) digests(ctx context.Context, both [2]*dbconn.Session, condition string) (map[key.Key]pair, error) {
	lists, err := onBoth(ctx, func(ctx context.Context, i int) (map[key.Key]string, error) {
		list := map[key.Key]string{}
		err := both[i].Rows(ctx, c.spec.digests(i, condition), func(rows *sql.Rows) error {
			var digest string
			k, err := c.spec.sides[i].sync.ScanKey(rows, &digest)
			list[k] = digest
			return err
		})
		return list, err
	})
	if err != nil {
		return nil, err
	}
	found := map[key.Key]pair{}
	for i := range lists {
		for k := range lists[i] {
			if p := (pair{lists[0][k], lists[1][k]}); p[0] != p[1] {
				found[k] = p
			}
		}
	}
	return found, nil
}
