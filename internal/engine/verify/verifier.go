package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
)

// ErrTooMany means that more rows differ than can be checked one by one.
var ErrTooMany = errors.New("too many rows differ")

// Config of a verification.
type Config struct {
	Workers int // defaults to 2
	// Rows is the maximum number of rows of a range. Defaults to 10,000.
	Rows int
	// Bytes is about the maximum size of a range's rows. A range that takes long holds its view for
	// long. Defaults to 32 MiB.
	Bytes int64
	// Suspects is the maximum number of rows that may differ. Defaults to 100,000.
	Suspects int
}

// WithDefaults returns the config, with defaults for the fields that are not set.
func (c Config) WithDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 2
	}
	if c.Rows <= 0 {
		c.Rows = 10_000
	}
	if c.Bytes <= 0 {
		c.Bytes = 32 << 20
	}
	if c.Suspects <= 0 {
		c.Suspects = 100_000
	}
	return c
}

// Deps are what a verification works with.
type Deps struct {
	Pool    *dbconn.Pool
	Spec    *Spec
	Backlog *backlog.Backlog
	// Unfit are rows of the source that have no row in the shadow, and are not compared; nil for none.
	Unfit *rowsync.Unfit
	// RowBytes is the average length of a row, 0 if not known.
	RowBytes int64
	// Fence returns when every change that was committed before the call is in the backlog.
	Fence func(ctx context.Context) error
	// Gate blocks while the worker with that number, the first being 0, must hold still after
	// a range that took so long.
	Gate func(ctx context.Context, worker int, took time.Duration) error
	// Chunk is the time that the next range should take. If it is nil, a range has Config.Rows.
	Chunk func() time.Duration
}

// Verifier compares the tables of one spec. Its counters are safe for concurrent use.
type Verifier struct {
	cfg    Config
	deps   Deps
	ranges *rowsync.Ranges

	comparing atomic.Int64

	mu       sync.Mutex
	rows     int64
	leftOut  int64
	suspects []key.Key
}

// fewest is the number of rows that a range has however long they are.
const fewest = 50

// New returns a verifier that has compared nothing.
func New(cfg Config, deps Deps) *Verifier {
	cfg = cfg.WithDefaults()
	if deps.RowBytes > 0 {
		cfg.Rows = int(min(int64(cfg.Rows), max(fewest, cfg.Bytes/deps.RowBytes)))
	}
	return &Verifier{cfg: cfg, deps: deps, ranges: rowsync.NewRanges(deps.Spec.Sync, cfg.Rows, deps.Chunk)}
}

// Rows is the number of the source's rows compared so far.
func (v *Verifier) Rows() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rows
}

// compareAll compares the tables range by range, and collects suspects.
func (v *Verifier) compareAll(ctx context.Context) error {
	workers, ctx := errgroup.WithContext(ctx)
	held, release := context.WithCancel(ctx)
	defer release()
	for number := range v.cfg.Workers {
		workers.Go(func() error {
			err := v.work(ctx, func(took time.Duration) error {
				err := v.deps.Gate(held, number, took)
				if ctx.Err() == nil && held.Err() != nil {
					return nil // every range is handed out
				}
				return err
			})
			if err == nil {
				release()
			}
			return err
		})
	}
	return workers.Wait()
}

func (v *Verifier) work(ctx context.Context, gate func(took time.Duration) error) error {
	session, err := v.deps.Pool.Session(ctx, v.deps.Spec.Setup()...)
	if err != nil {
		return err
	}
	defer session.Close()
	for {
		done := v.busy()
		took, more, err := v.compareNext(ctx, session)
		done()
		if err != nil || !more {
			return err
		}
		if err := gate(took); err != nil {
			return err
		}
	}
}

// busy counts one more until the returned function is called.
func (v *Verifier) busy() (done func()) {
	v.comparing.Add(1)
	return func() { v.comparing.Add(-1) }
}

// InFlight is the number of ranges and lists of rows that are being compared, and of counts.
func (v *Verifier) InFlight() int { return int(v.comparing.Load()) }

// compareNext compares the next range, if there is one.
func (v *Verifier) compareNext(ctx context.Context, session *dbconn.Session) (took time.Duration, more bool, err error) {
	r, more, err := v.ranges.Next(ctx, session)
	if err != nil || !more {
		return 0, more, err
	}
	started := time.Now()
	rows, err := v.compareRange(ctx, session, r)
	took = time.Since(started)
	v.ranges.Took(rows, took)
	return took, true, err
}

func (v *Verifier) compareRange(ctx context.Context, session *dbconn.Session, r key.Range) (int64, error) {
	sync := v.deps.Spec.Sync
	both := predicate{
		source:  sync.Of(rowsync.InRange(sync.Key, sync.Key.Names(), r)),
		shadow:  rowsync.InRange(sync.Key, sync.ShadowKey, r),
		isRange: true,
	}
	rows, suspects, err := v.compare(ctx, session, both)
	again := func() error {
		fit := both
		if unfit := v.deps.Unfit.Keys(); len(unfit) > 0 {
			fit.source = fmt.Sprintf("(%s) AND NOT (%s)", both.source, rowsync.InKeys(sync.Key, sync.Key.Names(), unfit))
		}
		rows, suspects, err = v.compare(ctx, session, fit)
		return err
	}
	if err = v.onceKnown(ctx, err, soon, again); dbconn.ValueRefused(err) && v.deps.Unfit != nil {
		if halves, split := rowsync.Halve(ctx, session, sync, r); split {
			return v.compareHalves(ctx, session, halves)
		}
		err = v.onceKnown(ctx, err, refusal, again)
	}
	if dbconn.ValueRefused(err) {
		// In that time a row has come that the shadow doesn't take. Its own sync reports it.
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(refusal):
		}
	}
	if err != nil {
		return 0, fmt.Errorf("compare a range: %w", err)
	}
	leftOut, err := v.countLeftOut(ctx, session, r)
	if err != nil {
		return 0, fmt.Errorf("count the rows of a range that are left out: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rows += rows
	v.leftOut += leftOut
	v.suspects = append(v.suspects, suspects...)
	if len(v.suspects) > v.cfg.Suspects {
		return 0, fmt.Errorf("%w: more than %d", ErrTooMany, v.cfg.Suspects)
	}
	return rows, nil
}

// compareHalves compares a range in which an unfit row comes before each comparison has ended. The smaller the part, the rarer that is.
func (v *Verifier) compareHalves(ctx context.Context, session *dbconn.Session, halves [2]key.Range) (sum int64, err error) {
	for _, half := range halves {
		rows, err := v.compareRange(ctx, session, half)
		if err != nil {
			return 0, err
		}
		sum += rows
	}
	return sum, nil
}

// onceKnown compares rows again without the unfit ones, if one of them has refused the comparison. The sync of such a row, which makes
// it known, may be still to come.
func (v *Verifier) onceKnown(ctx context.Context, refused error, patience time.Duration, compare func() error) error {
	err := refused
	for since := time.Now(); dbconn.ValueRefused(err) && v.deps.Unfit != nil; {
		if time.Since(since) > patience {
			return refused
		}
		if err := dbconn.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		if err := v.deps.Fence(ctx); err != nil {
			return err
		}
		err = compare()
	}
	return err
}

const (
	// refusal is how long the sync of a row that the shadow doesn't take is waited for.
	refusal = 30 * time.Second
	// soon is how long it is before a range is compared by halves.
	soon = 2 * time.Second
)

// predicate selects the same keys of both tables.
type predicate struct {
	source, shadow string
	isRange        bool // and not a list of keys
}

func keysPredicate(sync *rowsync.Spec, keys []key.Key) predicate {
	return predicate{
		source: sync.Of(rowsync.InKeys(sync.Key, sync.Key.Names(), keys)),
		shadow: rowsync.InKeys(sync.Key, sync.ShadowKey, keys),
	}
}

// compare returns the number of the source's rows and the keys that differ, all as at one
// moment where nothing is staged. Locks of others are waited out.
func (v *Verifier) compare(ctx context.Context, session *dbconn.Session, p predicate) (rows int64, suspects []key.Key, err error) {
	err = session.Patiently(ctx, func() error {
		rows, suspects, err = v.compareOnce(ctx, session, p)
		return err
	})
	return rows, suspects, err
}

func (v *Verifier) compareOnce(ctx context.Context, session *dbconn.Session, p predicate) (rows int64, suspects []key.Key, err error) {
	spec, most := v.deps.Spec, v.cfg.Suspects+1
	if spec.Staged {
		for _, statement := range spec.fill(p.source) {
			if _, err := session.Exec(ctx, statement); err != nil {
				return 0, nil, err
			}
		}
	}
	collect := func(r *sql.Rows) error {
		k, err := spec.Sync.ScanKey(r)
		suspects = append(suspects, k)
		return err
	}
	differing := spec.differing
	if spec.Sync.ByValue {
		differing = multiset{spec}.differing
	}
	if err := session.Rows(ctx, differing(p, most), collect); err != nil {
		return 0, nil, err
	}
	if spec.Sync.KeyChanged {
		// The source's keys are no keys of the shadow.
		p.shadow = "FALSE"
	}
	var inShadow int64
	err = session.Rows(ctx, spec.counts(p), func(r *sql.Rows) error { return r.Scan(&rows, &inShadow) })
	if err != nil {
		return 0, nil, err
	}
	// Missing rows are among the suspects. The shadow's rows need a check only if they outnumber
	// the source's rows less the suspects.
	if inShadow > 0 && (inShadow > rows || len(suspects) > 0) && !spec.Sync.ByValue {
		queries := []string{spec.surplus(p.shadow, most)}
		if spec.Sync.Loose {
			queries = append(queries, spec.repeated(p.shadow, most))
		}
		for _, query := range queries {
			if err := session.Rows(ctx, query, collect); err != nil {
				return 0, nil, err
			}
		}
	}
	if _, err = session.Exec(ctx, "COMMIT"); err != nil { // ends the read view
		return rows, suspects, err
	}
	computed, err := spec.compareComputed(ctx, session, p, most)
	return rows, append(suspects, computed...), err
}
