package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/together"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Migration is one run of one plan.
type Migration struct {
	pool   *dbconn.Pool
	binlog binlog.Server
	plan   *plan.Plan
	cfg    Config
	emit   event.Listener
	// control has the settings that hold now, and may hold the run.
	control *operator.Control
}

// New returns a migration that obeys the control. The pool and the binlog server are the same server's.
func New(
	pool *dbconn.Pool,
	server binlog.Server,
	p *plan.Plan,
	cfg Config,
	control *operator.Control,
	emit event.Listener,
) *Migration {
	pool.Use(p.Source.Name.Schema)
	return &Migration{pool: pool, binlog: server, plan: p, cfg: cfg.WithDefaults(), control: control, emit: emit}
}

// live are the settings that hold now.
func (m *Migration) live() operator.Settings { return m.control.Settings() }

// Result is what a finished run did.
type Result struct {
	// Method is the way in which the table was changed, or would have been.
	Method     plan.Method
	Elapsed    time.Duration
	Prescan    time.Duration // of the prescan
	Scanned    int64         // rows that it looked at
	Refused    []event.Finding
	Copy       time.Duration // of the row copy
	Index      time.Duration // of the build of deferred indexes
	Verify     time.Duration // of the comparison
	Native     time.Duration // of the server's own statement
	RowsCopied int64
	Captured   int64  // changes
	Applied    int64  // keys, counted at each sync
	Changed    *int64 // as in event.Progress
	Dropped    int64  // keys ahead of the row copy
	// Merged counts changes of a key that was in the backlog already.
	Merged     int64
	Retries    int64
	Attempts   int           // for the lock of the cut-over
	LockHeld   time.Duration // from its grant to its release
	Drained    int           // keys applied under it
	BinlogRead int64         // bytes
	Verified   int64         // rows of the source compared
	Compared   time.Time     // when they were last compared; zero: not in this run
	// LeftOut are rows of the source that did not meet the filter at the comparison. Repaired differed and were synced again.
	LeftOut  int64
	Repaired int
	// Disk is the growth of the table's files at the peak, in bytes, without the binlog; 0 if not
	// known.
	Disk int64
	// Redo is the number of bytes that the server wrote to its redo log during the run; 0 if not
	// known.
	Redo int64
	// Binlog is the size of the run's binlog in bytes, without the application's part; 0 if not
	// known.
	Binlog int64
	Old    string // the old table; "" if it was dropped
	// Parked are the rows that an undo has set aside; Rows is 0 for none.
	Parked event.Parked
	// Swapped reports whether the table was altered, by the swap or by the server's own method.
	Swapped bool
	// Resumed reports whether this run resumed an earlier run.
	Resumed   bool
	Deadline  event.Deadline // the last report; By is zero if there was no deadline
	Rehearsed Rehearsed      // by a rehearsal
	// Undo is what can be taken back now; nil if nothing can.
	Undo *leftovers.Undoable
}

// Run executes the plan, and blocks until it has ended. It may be called once. On success the table was
// altered. Before the swap any error leaves the table unchanged, except that the first of the
// server's own two statements may be done (Failure.Half). The error is a *Failure.
//
// If the plan has chosen one of the server's own methods, natively lets the server alter the table. A
// shadow takes over only if that fails. The parts of a run with a shadow, each with its law:
//
//   - prepare: the start position and a first heartbeat come before the first row (L1), or an earlier
//     run is resumed (L5).
//   - fill: the row copy. A changed key waits for the chunk that may have read its row (L2), and until
//     its change is visible (L3); a key ahead of the row copy needs nothing (L4). Then the deferred
//     indexes, and the comparison.
//   - cutOver: the swap, under the lock, once the last change is applied and the tables are equal (L6).
//
// following captures and applies changes in the background. The laws are in docs/design.md.
func (m *Migration) Run(ctx context.Context) (Result, error) {
	r := newRun(m)
	err := r.claimed(ctx, func(ctx context.Context) error {
		defer r.progress()()
		if !r.plan.Purpose.Swaps() {
			return fmt.Errorf("%w: it is for a %s", errPurpose, r.plan.Purpose)
		}
		defer r.countUsage(ctx)()
		if r.plan.Choice.Method != plan.MethodShadow {
			if done, err := (ownStatement{r}).natively(ctx); done || err != nil {
				return err
			}
		}
		return secondAct(ctx, r, r.filled(ctx, (*work).cutOver))
	})
	return r.result(), r.conclude(ctx, err)
}

// filled makes the shadow, fills it, and does the last stage. The runs of a group do so one after the other.
func (r *run) filled(ctx context.Context, last func(w *work, ctx context.Context) error) error {
	var w *work
	err := r.cfg.Together.Do(ctx, together.Prepared, func(ctx context.Context) (err error) {
		if w, err = r.prepare(ctx); err == nil {
			r.cfg.Together.Brings(w.shadow.Name)
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.following(ctx, func(ctx context.Context) error {
		if err := w.meet(ctx); err != nil {
			return err
		}
		if err := r.cfg.Together.Do(ctx, together.Filled, w.fill); err != nil {
			return err
		}
		return last(w, ctx)
	})
}

// meet waits until the shadow of each table of the group is there, and lets the server judge the foreign keys between them.
func (w *work) meet(ctx context.Context) error {
	if err := w.cfg.Together.All(ctx, together.Prepared); err != nil {
		return err
	}
	if err := w.cfg.Together.Do(ctx, together.Tried, w.tryInside); err != nil {
		return err
	}
	return w.cfg.Together.All(ctx, together.Tried)
}

// fill makes the shadow equal to the source. REQUIRES: following keeps it so.
func (w *work) fill(ctx context.Context) error {
	if err := rowsync.CheckNullsNow(ctx, w.pool, w.specs.Sync); err != nil { // prove does so again, under the lock
		return err
	}
	if err := w.copyRows(ctx); err != nil {
		return err
	}
	if err := w.buildIndexes(ctx); err != nil {
		return err
	}
	if err := w.verify(ctx); err != nil {
		return err
	}
	if err := w.proveParents(ctx); err != nil {
		return err
	}
	return explainQueries(ctx, w)
}

// claimed runs the story while this run holds the advisory lock of the source: no other run works
// on it.
func (r *run) claimed(ctx context.Context, story func(ctx context.Context) error) error {
	r.enter(event.PhaseCheck)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	claim, err := leftovers.ClaimTable(ctx, r.pool, r.plan.Source.Name, fail)
	if err != nil {
		return Because(ctx, err)
	}
	defer claim.Release()
	r.control.Attach(r, r.plan.Purpose, &lock.Watcher{DB: r.pool.DB(), Tables: []schema.Name{r.plan.Source.Name}})
	r.brakes.Follow(r.live())
	err = Because(ctx, story(ctx))
	r.control.Detach(r)
	if w := r.prepared.Load(); w != nil {
		w.intake.Close()
	}
	if gone := r.notOurs(); gone != nil {
		r.debts.keep, err = true, errors.Join(err, gone)
	}
	r.debts.keep = r.debts.keep || r.debts.canResume(err)
	return errors.Join(err, r.cleanUp())
}

// notOurs returns why this run must not remove the things that it has made: another run has taken
// them over, or the server is another one.
func (r *run) notOurs() error {
	if !r.debts.saved {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	session, err := r.pool.Session(ctx)
	if err != nil {
		return nil // then nothing can be removed either
	}
	defer session.Close()
	err = r.store.StillOurs(ctx, session)
	if errors.Is(err, checkpoint.ErrSuperseded) || errors.Is(err, binlog.ErrOtherServer) {
		return err
	}
	return nil
}

// prepare resumes what an earlier run left, or begins.
func (r *run) prepare(ctx context.Context) (*work, error) {
	var err error
	if !r.pool.Marked() {
		r.note(dbconn.ErrUnseen.Error() + ": the run waits for the statements of a lost connection, and cannot kill them")
	}
	if r.serverStart, err = intake.ServerStart(ctx, r.pool.DB()); err != nil {
		return nil, err
	}
	if err := r.link.Prepare(ctx); err != nil {
		return nil, err
	}
	if r.cfg.CaptureFrom != nil && !r.verifies {
		r.verifies = true
		r.note("a run that reads changes from a replica always compares the rows: it ignores --no-verify")
	}
	if err := r.brakes.Open(ctx); err != nil {
		return nil, err
	}
	f, err := earlier{r}.findStopped(ctx)
	if err != nil {
		return nil, err
	}
	if f != nil {
		return r.resume(ctx, f)
	}
	if r.plan.Back.Adopts() {
		return undoing{r}.begin(ctx)
	}
	return r.begin(ctx)
}

// begin makes the shadow and the work of a run that resumes no other. It is law L1: the position first,
// then a heartbeat, then (in copyRows) rows.
func (r *run) begin(ctx context.Context) (*work, error) {
	d, err := r.prepareShadow(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.prescanBefore(ctx, d.specs.Prescan); err != nil {
		return nil, err
	}
	r.enter(event.PhaseStart)
	at, err := r.link.Start(ctx, d.specs.Sync.Key)
	if err != nil {
		return nil, r.nameForbidding(ctx, err)
	}
	return d.open(ctx, r, origin{Origin: at, tracker: frontier.New(d.specs.Sync.Key), fresh: true})
}

// open makes the work of a run, and writes the first heartbeat. From its end on another run may resume this one.
func (d *draft) open(ctx context.Context, r *run, from origin) (*work, error) {
	if r.link.ByTriggers() {
		d.start.Capture, d.start.Sight = string(r.plan.Capture.By), from.Sight
	}
	w := r.newWork(d, from)
	if err := w.intake.Beat(ctx); err != nil {
		return nil, fmt.Errorf("first heartbeat: %w", err)
	}
	if err := r.link.AwaitPreparedXA(ctx); err != nil {
		return nil, err
	}
	return w, w.saveStart(ctx)
}

// prepareShadow creates the state table and the shadow. From the shadow that the server made, it
// derives the columns to sync.
func (r *run) prepareShadow(ctx context.Context) (d *draft, err error) {
	if plan.Unjudged(r.plan) {
		return nil, errUnjudged
	}
	r.enter(event.PhaseShadow)
	if err = r.createState(ctx); err == nil {
		d, err = r.createShadow(ctx)
	}
	return d, r.nameForbidding(ctx, err)
}

// copyRows syncs every row once while apply goes on.
func (w *work) copyRows(ctx context.Context) error {
	w.enter(event.PhaseCopy)
	started := time.Now()
	if err := operator.LeaveConnections(ctx, w.pool.DB(), w.brakes.Governor, w.copier.Run); err != nil {
		return err
	}
	w.account.update(func() { w.account.times.copy = time.Since(started) })
	if w.plan.Lazy() {
		// A view from before the last change of the time since the swap is applied would lack that change.
		if err := w.catchUp(ctx); err != nil {
			return err
		}
	}
	return w.noteCopyEnd(ctx)
}

// buildIndexes builds the indexes that were left for later, and gathers statistics. Changes are
// captured in that time, and applied afterwards. Apply stops, because before MySQL 8.0.24 a
// session that opens a table after its ANALYZE waits for the earlier statements on it.
func (w *work) buildIndexes(ctx context.Context) error {
	if len(w.shadow.Deferred) > 0 {
		w.enter(event.PhaseIndex)
	}
	if err := w.brakes.Gates.Copy(ctx); err != nil { // once begun, it can't be held
		return err
	}
	return w.apply.whileStopped(func() error {
		started := time.Now()
		if err := w.shadow.BuildIndexes(ctx, w.pool, w.brakes.Governor.Threads(dbconn.BuildThreads)); err != nil {
			return err
		}
		w.account.update(func() { w.account.times.index = time.Since(started) })
		return w.shadow.Analyze(ctx, w.pool)
	})
}
