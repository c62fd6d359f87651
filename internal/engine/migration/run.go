package migration

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"midstream/internal/engine/apply"
	"midstream/internal/engine/backlog"
	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/key"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
	"midstream/internal/engine/rowcopy"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/specs"
	"midstream/internal/engine/throttle"
	"midstream/internal/engine/verify"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// run is the state of Run. Its fields are set in the order of the phases; progress
// reads them under mu.
type run struct {
	*Migration
	started time.Time
	method  plan.Method // that is at work

	store     *checkpoint.Store
	leftovers *leftovers.Cleaner // of this run and earlier ones; made by cleaner
	shadow    *shadow.Shadow
	began     checkpoint.Start
	// serverStart is when the server was started, as a Checkpoint has it.
	serverStart int64
	// captureStart is likewise of the replica from which changes are read, if they are.
	captureStart int64
	made         made
	beats        *beater
	// resumed says that the run goes on with an earlier one; distrusted, that this one's capture
	// may have missed changes.
	resumed, distrusted bool

	saving sync.Mutex // held while a checkpoint is taken and written

	mu       sync.Mutex
	phase    event.Phase
	told     event.Progress // the last one
	spec     *rowsync.Spec
	look     *prescan.Spec
	compare  *verify.Spec
	tracker  *frontier.Tracker
	backlog  *backlog.Backlog
	capture  changes
	stream   *capture.Capture // of the binlog; nil where triggers capture changes
	copier   *rowcopy.Copier
	governor *throttle.Governor
	gates    *throttle.Gates
	share    *throttle.Share
	syncer   *rowsync.Syncer
	apply    *applying
	scanner  *prescan.Scanner
	verifier *verify.Verifier

	beaten  throttle.Beats
	lags    map[string]time.Duration // how far each replica that is watched is behind; guarded by mu
	transit *throttle.Transit        // to replicas
	spent   spent
	retries atomic.Int64
	timing  struct{ prescan, copy, index, verify, native time.Duration }
	// verified is when the tables were last compared.
	verified time.Time
	copyEnd  string // UTC_TIMESTAMP(6) of the server when the row copy ended

	repaired int       // rows that differed and were synced anew
	unproven []key.Key // rows that could not be compared while they changed
	swap     event.SwapDone
	// unsettled is why foreign keys or triggers did not get their last form under the lock of the swap.
	unsettled error
	// shape is what the time of the swap depends on.
	shape plan.Shape
	inWay inWay
	// replication is what a rehearsal on a replica watches.
	replication replication
	// rehearsed is what a rehearsal tells besides.
	rehearsed Rehearsed
	refused   []schema.Name // for the old table: other tables have them
}

func newRun(m *Migration) *run {
	r := &run{
		Migration: m,
		started:   time.Now(),
		method:    m.plan.Choice.Method,
		gates: throttle.NewGates(
			nil, m.emit,
		),
		share:   throttle.NewShare(1 - m.live().Rest),
		transit: throttle.NewTransit(m.live().Throttle.ReplicaLag / transitShare),
		store:   checkpoint.New(m.plan.Names.State, m.plan.Source.Name, m.pool.Name(), m.plan.Server.UUID),
	}
	if m.plan.Purpose == plan.RehearsingOnReplica {
		r.store.OnReadOnly()
	}
	return r
}

// cleaner finds and drops what runs on the source have left.
func (r *run) cleaner() *leftovers.Cleaner {
	if r.leftovers == nil {
		r.leftovers = leftovers.New(r.pool, r.plan.Source.Name, r.plan.Purpose)
	}
	return r.leftovers
}

// shadowName is what the shadow is called, or shall be: an earlier run's may have another name than this plan has.
func (r *run) shadowName() schema.Name {
	if r.shadow != nil {
		return r.shadow.Name
	}
	return r.plan.Names.Shadow
}

// made says what this run has done on the server, and so may undo (law L8).
type made struct {
	begun    bool // tables may have been created
	shadow   bool // the shadow may have been
	saved    bool // another run could go on from a checkpoint
	unmarked bool // the shadow may have its last comment already; guarded by mu
	// doubtful says that the shadow is an earlier run's, and that nothing but its name and its
	// columns tell so.
	doubtful bool
	former   bool // an earlier run has left something, and nothing was done about it yet
	half     bool // the first of two statements of the server's own is done
	swapped  bool
	keep     bool     // nothing may be dropped: the outcome of the swap is not known
	left     []string // what could not be removed
}

func (r *run) enter(p event.Phase) {
	r.mu.Lock()
	r.phase = p
	r.mu.Unlock()
	r.emit(event.PhaseEntered{Phase: p, At: time.Now()})
}

func (r *run) note(text string) { r.emit(event.Note{Text: text, At: time.Now()}) }

// retried counts the retries on their way to the listener.
func (r *run) retried(e event.Event) {
	if _, is := e.(event.Retry); is {
		r.retries.Add(1)
	}
	r.emit(e)
}

func (r *run) createState(ctx context.Context) error {
	session, err := r.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	r.made.begun = true
	if err := r.store.Create(ctx, session); err != nil {
		return err
	}
	// From here on the state table tells of the shadow, which gets its own mark only
	// after it is created.
	return r.store.Fill(ctx, session, checkpoint.Checkpoint{
		Version: checkpoint.Version, Phase: string(event.PhaseShadow), ServerUUID: r.plan.Server.UUID, Shadow: r.plan.Names.Shadow.Table,
	})
}

func (r *run) createShadow(ctx context.Context) error {
	var err error
	r.shadow, err = shadow.Create(ctx, r.pool, shadow.Wanted{
		Source: r.plan.Source, Name: r.plan.Names.Shadow, Clauses: r.plan.ClausesFor, ZeroDates: r.plan.ZeroDates, Rounds: r.plan.Rounds,
	})
	r.made.shadow = r.shadow != nil
	r.mu.Lock()
	r.made.unmarked = r.made.shadow && r.shadow.Unmarked
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if err := r.readyForForeign(ctx); err != nil {
		return err
	}
	if err := r.tryTriggers(ctx); err != nil {
		return err
	}
	now, err := r.clocks(ctx)
	if err != nil {
		return err
	}
	specs, err := specs.Of(r.plan, r.shadow.Table, now)
	if err != nil {
		return err
	}
	r.look, r.compare = specs.Prescan, specs.Compare
	r.assemble(specs.Sync, frontier.New(specs.Sync.Key), 0)
	definition, _ := schema.SplitAutoIncrement(r.plan.Source.Create)
	r.began = checkpoint.Start{
		Purpose:    string(r.plan.Purpose),
		Source:     definition,
		Alter:      r.plan.Alter.Clauses,
		Key:        r.plan.Key.Name,
		Map:        r.plan.Map,
		Zone:       r.plan.Server.TimeZone,
		ServerTime: now.Server,
		UTC:        now.UTC,
		Shadow:     r.shadow.Table,
		Unmarked:   r.shadow.Unmarked,
		Comment:    r.shadow.Comment,
		Old:        r.plan.Names.Old.Table,
		Kept:       r.plan.Names.Kept.Table,
		Columns:    r.plan.Source.Columns,
		Foreign:    r.plan.Foreign,
		Dropped:    r.plan.Dropped,
		Acting:     r.plan.Acting,
		Keyed:      r.plan.Keyed(),
		Triggers:   r.plan.Source.Triggers,
	}
	if !r.cfg.Defers(r.plan) {
		return nil
	}
	return r.shadow.Defer(ctx, r.pool, r.shadow.Deferrable(specs.Sync.ShadowIndex))
}

// nameForbidding adds to the error of a statement that has waited for a lock in vain which
// sessions let nobody read the source or create a table.
func (r *run) nameForbidding(ctx context.Context, err error) error {
	if !r.plan.Server.MetadataLocks {
		return err
	}
	return (&lock.Watcher{DB: r.pool.DB(), Tables: []schema.Name{r.plan.Source.Name}}).Name(ctx, err)
}

// clocks reads the time at which the ALTER began, by the server's clock.
func (r *run) clocks(ctx context.Context) (specs.Clock, error) {
	var now specs.Clock
	session, err := r.pool.Session(ctx, "SET SESSION time_zone = @@GLOBAL.time_zone")
	if err != nil {
		return now, err
	}
	defer session.Close()
	err = session.Rows(ctx, "SELECT CAST(NOW(6) AS CHAR), CAST(UTC_TIMESTAMP(6) AS CHAR)", func(rows *sql.Rows) error {
		return rows.Scan(&now.Server, &now.UTC)
	})
	if err != nil {
		return now, fmt.Errorf("read the server's clock: %w", err)
	}
	return now, nil
}

// assemble puts together what the stages work with. copied is the number of rows that an
// earlier run has copied.
func (r *run) assemble(spec *rowsync.Spec, tracker *frontier.Tracker, copied int64) {
	syncer := rowsync.New(spec, r.outstanding, r.retried)
	fresh := !r.made.saved // else rows may stand in what is not copied
	log := backlog.New(backlog.Config{
		Limit: r.cfg.BacklogLimit, Workers: r.cfg.Apply.Workers, Partition: spec.Key.Partition,
		KeepAhead: r.cfg.ApplyAhead && !spec.KeyChanged, AwaitCopy: spec.KeyChanged, KeepRepeats: r.cfg.KeepRepeats,
	}, tracker)
	live := r.live()
	governor := throttle.NewGovernor(r.pool.DB(), live.RowCopy.Workers, live.MaxSlowdown, r.unsteered())
	copier := rowcopy.New(r.cfg.RowCopy, live.RowCopy, rowcopy.Deps{
		Pool: r.pool, Spec: spec, Syncer: syncer, Tracker: tracker, Ended: log.Wake, Emit: r.emit,
		Gate: r.paceCopy, Chunk: governor.Chunk, Room: r.room(copyPart, r.copyMayBegin), RowBytes: rowBytes(r.plan), Copied: copied,
		Fresh: spec.KeyChanged || fresh && spec.Key.Ordered() && !r.cfg.ApplyAhead,
	})
	applier := apply.New(r.cfg.Apply, apply.Deps{
		Pool: r.pool, Spec: spec, Syncer: syncer, Backlog: log,
		Room: r.room(1, r.applyMayBegin), Linger: r.linger,
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spec, r.tracker, r.backlog, r.copier, r.governor, r.syncer = spec, tracker, log, copier, governor, syncer
	r.apply = &applying{applier: applier}
}

// outstanding is rowsync.Outstanding. Where the backlog is full, nothing more is received;
// what is there must do.
func (r *run) outstanding(ctx context.Context) ([]key.Key, error) {
	if r.capture == nil {
		return nil, nil // in a calibration
	}
	for {
		patient, cancel := context.WithTimeout(ctx, time.Second)
		err := r.capture.Fence(patient)
		cancel()
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// A replica may be behind by any time, and has what explains a duplicate perhaps.
		if err == nil || r.cfg.CaptureFrom == nil || r.backlog.Full() {
			return r.backlog.Again(), nil
		}
	}
}

func rowBytes(p *plan.Plan) int64 {
	if p.Source.Rows <= 0 {
		return 0
	}
	return p.Source.DataBytes / p.Source.Rows
}

// connectCapture makes the capture that will read from a point on. beaten is the number of
// the last heartbeat of an earlier run.
func (r *run) connectCapture(start capture.Point, beaten uint64) {
	source := r.plan.Source
	var columns []int
	for _, part := range r.plan.Key.Parts {
		columns = append(columns, part.Column.Ordinal)
	}
	reader := binlog.NewReader(r.captureServer(), []binlog.Watch{
		{Table: source.Name, Columns: columns, ColumnCount: source.BinlogColumns()},
		{Table: r.store.Name(), Columns: []int{checkpoint.BeatColumn}, ColumnCount: checkpoint.ColumnCount, After: true},
	}, start.GTIDs)
	reader.Weigh(r.shadow.Name)
	r.beats = &beater{pool: r.pool, store: r.store, wrote: r.wroteBeat}
	c := capture.New(r.cfg.Capture, capture.Deps{
		Reader: reader, Key: r.spec.Key, Backlog: r.backlog, Beat: r.beats.beat, Statement: r.judge, Beaten: beaten, End: r.binlogEnd(),
	}, start)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.capture, r.stream = fromBinlog{c}, c
}

// judge ends the migration when a statement in the binlog makes its work void.
func (r *run) judge(s binlog.Statement) error {
	what := fmt.Sprintf("connection %d: %s", s.Thread, shortened(s.SQL))
	switch ddl.Refers(s.SQL, s.Schema, r.plan.Source.Name) {
	case ddl.Changes:
		return fmt.Errorf("%w; %s", ErrSourceChanged, what)
	case ddl.Fires:
		return r.triggerCame(what)
	case ddl.Writes:
		return fmt.Errorf("%w; %s", ErrStatementFormat, what)
	case ddl.Unknown:
		return fmt.Errorf("%w that can't be read; %s", ErrSourceChanged, what)
	}
	return nil
}

func shortened(sql string) string {
	const most = 200
	if len(sql) > most {
		return sql[:most] + "..."
	}
	return sql
}

// awaitPreparedXA waits for the end of the XA transactions whose rows stand in the
// binlog before the start position: their XA COMMIT comes later, but brings no rows,
// so that the first row may be read only afterwards (laws L1, L3).
func (r *run) awaitPreparedXA(ctx context.Context) error {
	before, err := capture.PreparedXA(ctx, r.pool.DB())
	if err != nil {
		if dbconn.Denied(err) {
			r.note("prepared XA transactions can't be listed (XA_RECOVER_ADMIN is missing): " +
				"make sure that none is prepared while the run starts")
			return nil
		}
		return err
	}
	for told := false; len(before) > 0; told = true {
		if !told {
			r.note(fmt.Sprintf("waiting for %d XA transactions that were prepared before the start", len(before)))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
		now, err := capture.PreparedXA(ctx, r.pool.DB())
		if err != nil {
			return err
		}
		before = common(before, now)
	}
	return nil
}

func common(a, b []string) []string {
	in := map[string]bool{}
	for _, s := range b {
		in[s] = true
	}
	var both []string
	for _, s := range a {
		if in[s] {
			both = append(both, s)
		}
	}
	return both
}

// noteCopyEnd remembers, by the server's clock, when the last row was copied (law L10).
func (r *run) noteCopyEnd(ctx context.Context) error {
	err := r.pool.DB().QueryRowContext(ctx, "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)").Scan(&r.copyEnd)
	if err != nil {
		return fmt.Errorf("read the server's clock: %w", err)
	}
	return nil
}
