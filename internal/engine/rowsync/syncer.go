package rowsync

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
)

// ErrDuplicate means that two rows of the source would have the same value of a unique key of the
// shadow. The source is untouched; the migration can't continue.
var ErrDuplicate = errors.New("duplicate value for a unique key")

// Setup prepares a session that syncs. Transactions begin by themselves and end with COMMIT, also
// under LOCK TABLES; START TRANSACTION would release these locks. A list of keys must stay a list
// of index look-ups, for any length and any statistics of the new shadow. And the server must not
// end the session while it is idle: a run may be paused, or held until the night.
var Setup = []string{
	"SET SESSION wait_timeout = 604800",
	"SET SESSION autocommit = 0",
	dbconn.NoRangeLimit,
}

// Limits of the tries of one sync.
const (
	contendedTries = 4 // then it runs alone
	// aloneTries is for a chunk or a single key, while no other sync runs.
	aloneTries = 50
	// partTries is for a list of keys; after that the list is halved.
	partTries = 10
	// valueTries is for a row that seems to be new and may not be.
	valueTries = 3
	// fencePatience is how long a try waits: a full backlog receives nothing.
	fencePatience = time.Second
	// mostHolders is the number of blocking rows that are deleted at once.
	mostHolders = 1000

	// aloneKeys is the number of keys that are synced at once while no other sync runs. The fewer
	// they are, the shorter the time in which another value can change hands.
	aloneKeys = 500
	// wary is how long, after a duplicate, lists of keys run alone from the first try on. If unique
	// values change hands all the time, to try together first is wasted work.
	wary = time.Second
)

// Result counts what one sync did.
type Result struct {
	Inserted int64
	Deleted  int64
}

// Outstanding returns the keys of all changes that are committed and not yet synced. It makes sure
// that each of them is synced after the call, even if a sync of it is already running. It leaves out the
// keys that but reports; nil leaves none out.
type Outstanding func(ctx context.Context, but func(key.Key) bool) ([]key.Key, error)

// Syncer runs syncs. It is safe for concurrent use, one session per caller.
type Syncer struct {
	spec        *Spec
	outstanding Outstanding
	emit        event.Listener

	// alone is held shared by every sync, and exclusively by a sync that touches rows outside of
	// its P (law L2).
	alone sync.RWMutex
	moves *Moves // nil if no column is kept
	fence func(ctx context.Context) error
	unfit *Unfit // nil if a row that the shadow refuses is an error
	begun time.Time
	// waryUntil is in nanoseconds since begun, so changes of the clock don't matter.
	waryUntil atomic.Int64
	flying    atomic.Int64
	fitter    fitter
	crowds    crowds
}

// InFlight is the number of syncs that were begun and have not ended.
func (s *Syncer) InFlight() int { return int(s.flying.Load()) }

// fly counts a sync until the returned function is called.
func (s *Syncer) fly() (landed func()) {
	s.flying.Add(1)
	return func() { s.flying.Add(-1) }
}

// New returns a Syncer. emit gets an event.Retry for every repetition.
func New(spec *Spec, outstanding Outstanding, emit event.Listener) *Syncer {
	return &Syncer{spec: spec, outstanding: outstanding, emit: emit, begun: time.Now()}
}

// Carry lets the syncer carry kept values from key to key before it syncs. fence waits until each change that was
// committed before is received. It is called before the first sync.
func (s *Syncer) Carry(moves *Moves, fence func(ctx context.Context) error) {
	s.moves, s.fence = moves, fence
}

// Range syncs a range of keys. fresh means that nothing was ever written into the range of the
// shadow. REQUIRES: fresh, if the key's columns changed (Spec.KeyChanged).
func (s *Syncer) Range(ctx context.Context, session *dbconn.Session, r key.Range, fresh bool) (Result, error) {
	defer s.fly()()
	if s.spec.Rest != "" {
		return s.rangeApart(ctx, session, r)
	}
	p := predicate{spec: s.spec, chunk: &r, fresh: fresh}
	result, err := s.carried(ctx, session, p, "chunk")
	if dbconn.Oversized(err) {
		if halves, split := Halve(ctx, session, s.spec, r); split {
			return s.both(func(i int) (Result, error) { return s.Range(ctx, session, halves[i], fresh && !unsure(s.spec)) })
		}
	}
	if s.unfit != nil && refusesRow(err) {
		return s.rangeApart(ctx, session, r)
	}
	if err != nil {
		return result, fmt.Errorf("sync range [%s, %s): %w", s.bound(r.From), s.bound(r.To), s.blame(ctx, session, p, err))
	}
	return result, nil
}

// Keys syncs a list of keys. REQUIRES: every change of them that it must carry over is visible (law
// L3).
func (s *Syncer) Keys(ctx context.Context, session *dbconn.Session, keys []key.Key) (Result, error) {
	defer s.fly()()
	if s.spec.Rest != "" {
		return (&beside{Syncer: s, session: session, keys: keys}).sync(ctx)
	}
	return s.list(ctx, session, keys)
}

// list is Keys for keys of which no row of the shadow's own has one.
func (s *Syncer) list(ctx context.Context, session *dbconn.Session, keys []key.Key) (Result, error) {
	began := time.Now()
	result, err := s.listed(ctx, session, keys)
	if err == nil && len(keys) == 1 {
		s.crowds.synced(s.spec, keys[0], result.Inserted, time.Since(began), s.emit)
	}
	return result, s.crowds.explain(s.spec, keys, err)
}

func (s *Syncer) listed(ctx context.Context, session *dbconn.Session, keys []key.Key) (Result, error) {
	p := predicate{spec: s.spec, keys: keys}
	if many, err := s.crowded(ctx, session, p); err != nil {
		return Result{}, fmt.Errorf("count the rows of %d keys: %w", len(keys), err)
	} else if many {
		return keysByHalves(ctx, s, session, keys)
	}
	result, err := s.carried(ctx, session, p, "keys")
	if len(keys) > 1 && dbconn.Oversized(err) {
		return keysByHalves(ctx, s, session, keys)
	}
	if s.unfit != nil && refusesRow(err) {
		return s.apart(ctx, session, keys, err)
	}
	if err == nil && s.unfit.knows() {
		var there []finding
		if s.spec.KeyChanged { // the shadow has the rows by these keys
			err = s.clear(ctx, session, "keys", func() (err error) { there, err = s.spec.there(ctx, session, keys); return err })
		}
		s.unfit.fits(slices.Concat(keys, foundRows(there)))
	}
	if err != nil {
		return result, fmt.Errorf("sync %d keys: %w", len(keys), s.blame(ctx, session, p, err))
	}
	return result, nil
}

func (s *Syncer) bound(k key.Key) string {
	if k == "" {
		return "unbounded"
	}
	return s.spec.Key.Format(k)
}

// carried syncs once all moves that were received are carried. A row that has no value is perhaps an
// old one, and the change of its key is not received yet.
func (s *Syncer) carried(ctx context.Context, session *dbconn.Session, p predicate, what string) (Result, error) {
	for try := 1; ; try++ {
		if err := s.carry(ctx, session); err != nil {
			return Result{}, err
		}
		result, err := s.sync(ctx, session, p, what)
		if !errors.Is(err, ErrNoValue) || s.moves == nil || try == valueTries {
			return result, err
		}
		s.emit(event.Retry{What: what, Cause: err.Error(), At: time.Now()})
		patient, cancel := context.WithTimeout(ctx, fencePatience)
		err = s.fence(patient)
		cancel()
		if err != nil && ctx.Err() != nil {
			return result, err
		}
	}
}

// carry carries the moves that wait while no other sync is running: that might bring a value back to a place that its row
// has left.
func (s *Syncer) carry(ctx context.Context, session *dbconn.Session) error {
	if !s.moves.Wait() {
		return nil
	}
	s.alone.Lock()
	defer s.alone.Unlock()
	return s.moves.Carry(ctx, session)
}

func (s *Syncer) sync(ctx context.Context, session *dbconn.Session, p predicate, what string) (Result, error) {
	if p.chunk == nil && int64(time.Since(s.begun)) < s.waryUntil.Load() {
		return s.syncAlone(ctx, session, p)
	}
	for try := 1; ; try++ {
		s.alone.RLock()
		result, err := s.once(ctx, session, p)
		s.alone.RUnlock()
		if err == nil {
			return result, nil
		}
		duplicate := dbconn.Duplicate(err)
		if !duplicate && !dbconn.Contended(err) && !dbconn.NoNumber(err) { // alone, no other sync is left
			return result, err
		}
		p.fresh = p.fresh && !unsure(s.spec) // no unique key would find that the rows are there
		s.emit(event.Retry{What: what, Cause: dbconn.Message(err), At: time.Now()})
		if duplicate {
			s.waryUntil.Store(int64(time.Since(s.begun) + wary))
		}
		if duplicate || try == contendedTries {
			return s.syncAlone(ctx, session, p)
		}
		if err := dbconn.BackOff(ctx, try); err != nil {
			return result, err
		}
	}
}

// once runs the statements of one sync. On error the transaction is rolled back.
func (s *Syncer) once(ctx context.Context, session *dbconn.Session, p predicate) (result Result, err error) {
	for {
		s.fitter.prepare(ctx, session, p)
		err = transact(ctx, session, func() error {
			result, err = s.equal(ctx, session, p)
			if err == nil && s.spec.Again != "" && p.chunk == nil { // verify computes the rows of chunks
				_, err = session.Exec(ctx, p.again())
			}
			return err
		})
		if !errors.Is(err, errUnfitted) {
			return result, err
		}
	}
}

// equal makes P equal, in the way that costs the server least.
func (s *Syncer) equal(ctx context.Context, session *dbconn.Session, p predicate) (result Result, err error) {
	if len(s.spec.Kept) > 0 {
		if s.spec.Upsert && !p.evict && !s.fitter.careful(p) {
			return s.overwrite(ctx, session, p)
		}
		return s.replace(ctx, session, p)
	}
	complete, err := s.complete(ctx, session, p)
	if err != nil || !complete {
		if err == nil {
			result, err = s.replace(ctx, session, p)
		}
		return result, err
	}
	_, err = session.Exec(ctx, p.upsert())
	return Result{Inserted: int64(len(p.keys))}, err
}

// transact commits the work, or rolls it back on an error.
func transact(ctx context.Context, session *dbconn.Session, work func() error) error {
	err := work()
	if err == nil {
		_, err = session.Exec(ctx, "COMMIT")
	}
	if err != nil {
		if _, rollback := session.Exec(context.WithoutCancel(ctx), "ROLLBACK"); rollback != nil {
			return errors.Join(err, rollback)
		}
	}
	return err
}

// uncontended does work again and again until no other transaction is in its way. contended is called with each error.
func uncontended(ctx context.Context, work func() error, contended func(error)) error {
	for try := 1; ; try++ {
		err := work()
		if !dbconn.Contended(err) {
			return err
		}
		contended(err)
		if err := dbconn.BackOff(ctx, try); err != nil {
			return err
		}
	}
}

// complete reports whether the source has a row for every key of P. Then nothing needs deleting,
// and P can be synced by an upsert: 40 % less work for the server than to delete and insert, and
// nothing for purge. A row that is deleted between this read and the upsert's stays in the shadow
// for the moment. Its deletion was not visible when P was taken from the backlog. So its key is in
// the backlog again, or will be, and is synced after P.
//
// Keys that are equal to the server count once, and make P incomplete.
func (s *Syncer) complete(ctx context.Context, session *dbconn.Session, p predicate) (bool, error) {
	if !s.spec.Upsert || p.chunk != nil || p.evict || s.fitter.careful(p) {
		return false, nil
	}
	var present int
	err := session.Rows(ctx, p.present(), func(rows *sql.Rows) error { return rows.Scan(&present) })
	return err == nil && present == len(p.keys), err
}

// replace deletes P from the shadow and inserts it again.
func (s *Syncer) replace(ctx context.Context, session *dbconn.Session, p predicate) (result Result, err error) {
	if result.Deleted, err = s.empty(ctx, session, p); err != nil {
		return result, err
	}
	result.Inserted, err = s.fill(ctx, session, p)
	return result, err
}

// empty deletes P from the shadow.
func (s *Syncer) empty(ctx context.Context, session *dbconn.Session, p predicate) (int64, error) {
	if p.evict {
		for _, u := range s.spec.Unique {
			if !u.Enforced {
				continue
			}
			// It deletes rows, in P or not, with values of the key that a row of P has now.
			if _, err := s.remove(ctx, session, p.takersAndHolders(u)); err != nil {
				return 0, err
			}
		}
	}
	if s.spec.KeyChanged && p.chunk == nil {
		return s.deleteConverted(ctx, session, p.keys)
	}
	deletion := p.deletion()
	if deletion == "" {
		return 0, nil
	}
	return s.remove(ctx, session, deletion)
}
