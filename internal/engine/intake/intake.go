package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"midstream/internal/engine/backlog"
	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/key"
	"midstream/internal/engine/parents"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/trigger"
	"midstream/internal/mysql/binlog"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// reader reads the changes of the source and adds them to the backlog: from the binlog, or from the
// log that triggers write. The two implementations are capture.Capture and trigger.Log.
//
// Its three parts are three users: following runs the first in the background, the drain under the
// lock calls the second, and each attempt of the cut-over calls the third.
type reader interface {
	receiving
	locked
	still
}

// receiving is what goes on while rows are copied.
type receiving interface {
	Run(ctx context.Context) error   // until ctx ends
	Beats(ctx context.Context) error // until ctx ends: writes heartbeats
	Beat(ctx context.Context) error
	// Fence waits until every change that was committed before the call has been received.
	Fence(ctx context.Context) error
	Delay() time.Duration
}

// locked is what the lock of the cut-over asks of it.
type locked interface {
	// Received waits for a heartbeat that was begun after the call.
	Received(ctx context.Context) error
	// Last adds every change that was committed before the lock to the backlog, and makes it
	// visible. The session has the lock.
	Last(ctx context.Context, session *dbconn.Session) error
	// Prepared counts what only the end of XA transactions will decide about.
	Prepared(ctx context.Context, session *dbconn.Session) (int, error)
}

// still is how it holds still.
type still interface {
	Ready()    // before the lock is asked for
	Freeze()   // before the swap
	Unfreeze() // the attempt has failed
}

// fromBinlog is capture from a binlog: under the lock it is as before, as it needs no session for it.
type fromBinlog struct{ *capture.Capture }

func (b fromBinlog) Received(ctx context.Context) error { return b.Fence(ctx) }

// Ready does nothing: changes that are committed before the lock are received under it.
func (b fromBinlog) Ready() {}

func (b fromBinlog) Last(context.Context, *dbconn.Session) error {
	b.RevealAll()
	return nil
}

func (b fromBinlog) Prepared(context.Context, *dbconn.Session) (int, error) {
	return b.Capture.Prepared(), nil
}

// Intake reads the changes of the source. It is complete when Open returns it.
type Intake struct {
	reader
	*Link
	// Stream is the capture of the binlog; nil if triggers capture changes.
	Stream *capture.Capture
	sight  string
	codec  *key.Codec
	beats  *heartbeatWriter
	// reading ends with Run, and its cause is Run's error.
	reading context.Context
	end     context.CancelCauseFunc
}

// errEnded means that no changes are read any more.
var errEnded = errors.New("changes are no longer read")

// Run reads changes until the context ends.
func (in *Intake) Run(ctx context.Context) (err error) {
	defer func() { in.end(cmp.Or(err, errEnded)) }()
	return in.reader.Run(ctx)
}

// Fence waits until every change that was committed before the call has been received. It fails at once if Run has ended, with Run's
// error: a sync that is in flight as a run is aborted need not wait for what nobody reads.
func (in *Intake) Fence(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(in.reading, func() { stop(context.Cause(in.reading)) })()
	return in.reader.Fence(ctx)
}

// Opening is everything that an Intake works with, apart from its Link.
type Opening struct {
	Key     *key.Codec
	Backlog *backlog.Backlog
	// Moves takes changes of keys, if the shadow keeps columns; else it is nil. Triggers show none.
	Moves  *rowsync.Moves
	Shadow schema.Name
	// Parents takes what is written to the parents of foreign keys that the ALTER adds; nil if it adds none.
	Parents *parents.Proof
	// Marked is capture.Deps.Marked.
	Marked bool
	// Wrote takes a heartbeat that was committed.
	Wrote func(number uint64, at time.Time)
	// Busy reports whether the application uses the server.
	Busy func() bool
}

// Open makes the intake that reads from an origin on.
func (l *Link) Open(from Origin, with Opening) *Intake {
	l.defaults.of(with.Key)
	in := &Intake{Link: l, sight: from.Sight, codec: with.Key, beats: &heartbeatWriter{pool: l.Pool, store: l.Store, wrote: with.Wrote}}
	in.reading, in.end = context.WithCancelCause(context.Background())
	if l.ByTriggers() {
		in.reader = l.newLog(from, with, in.beats.beat)
	} else {
		in.Stream = l.newCapture(from, with, in.beats.beat)
		in.reader = fromBinlog{in.Stream}
	}
	for _, k := range with.Moves.Renewed() {
		with.Backlog.Add(k)
	}
	return in
}

// Received waits for everything that was committed before the call, and checks that it can be relied on.
// REQUIRES: the source is locked, and the log that triggers write, if any: no session can change what that check reads.
func (in *Intake) Received(ctx context.Context) error {
	if !in.ByTriggers() {
		if err := in.reader.Received(ctx); err != nil {
			return err
		}
		return in.Fit(ctx) // a replica may have failed while it brought them
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return in.reader.Received(ctx) })
	both.Go(func() error { return in.Fit(ctx) })
	return both.Wait()
}

// Undecided counts the XA transactions in the binlog that are prepared.
func (in *Intake) Undecided() int {
	if in.Stream == nil {
		return 0
	}
	return in.Stream.Prepared()
}

// Close ends the connection of the heartbeats, once nothing runs any more.
func (in *Intake) Close() { in.beats.close() }

// newCapture makes the capture that will read the binlog from a point on.
func (l *Link) newCapture(from Origin, with Opening, beat func(context.Context, uint64) error) *capture.Capture {
	source := l.Plan.Source
	var columns []int
	for _, part := range l.Plan.Key.Parts {
		columns = append(columns, part.Column.Ordinal)
	}
	watches := []binlog.Watch{
		{Table: source.Name, Columns: columns, ColumnCount: source.BinlogColumns()},
		{Table: l.Store.Name(), Columns: []int{checkpoint.BeatColumn}, ColumnCount: checkpoint.ColumnCount, After: true},
	}
	if since := from.Since; since != nil {
		watches[0].Earlier = since.earlier
		watches = append(watches, since.watch())
	}
	if with.Parents != nil { // from capture.WatchParents on
		for _, t := range plan.ParentTables(l.Plan) {
			watches = append(watches, binlog.Watch{Table: t.Name, Columns: t.Columns, ColumnCount: t.Width})
		}
	}
	reader := binlog.NewReader(l.server(), watches, from.Point.GTIDs)
	reader.Weigh(with.Shadow)
	deps := capture.Deps{
		Reader: reader, Key: with.Key, Backlog: with.Backlog, Moves: with.Moves, Marked: with.Marked,
		Beat: beat, Beaten: from.Beaten, Statement: l.judge, End: l.binlogEnd(),
		Tail: func(ctx context.Context) (binlog.Position, error) { return capture.End(ctx, l.db()) },
	}
	if since := from.Since; since != nil {
		deps.Wrote = func() error { return since.wrote(reader.Position()) }
		deps.Statement = func(s binlog.Statement) error { return since.judge(s, l.judge) }
	}
	if with.Parents != nil {
		deps.Parent = with.Parents.Written
		deps.Statement = func(s binlog.Statement) error { return l.judgeWithParents(s, with.Parents) }
	}
	return capture.New(l.Config, deps, from.Point)
}

// newLog makes the reader of the log that triggers write.
func (l *Link) newLog(from Origin, with Opening, beat func(context.Context, uint64) error) *trigger.Log {
	return trigger.NewLog(trigger.Config{Interval: l.Config.Interval, Retries: l.Config.Retries}, trigger.Deps{
		Pool:     l.Pool,
		Set:      l.triggers(with.Key),
		Backlog:  with.Backlog,
		Unlogged: !l.Plan.Server.LogBin,
		Keeps:    l.Plan.Lazy(),
		Beat:     beat,
		Beaten:   from.Beaten,
		Busy:     with.Busy,
	})
}

// Watch checks until the context ends whether the changes can be relied on.
func (in *Intake) Watch(ctx context.Context) error {
	if in.ByTriggers() {
		return in.watchTriggers(ctx)
	}
	return in.watchReplica(ctx)
}

// captureEvery is the time between two looks at the replica.
const captureEvery = time.Second

// watchReplica looks, where changes are read from a replica, whether they still may be, until the context ends.
func (in *Intake) watchReplica(ctx context.Context) error {
	if in.From == nil {
		return nil
	}
	ticker := time.NewTicker(captureEvery)
	defer ticker.Stop()
	for {
		if err := in.Fit(ctx); err != nil && !dbconn.ConnectionLost(err) && ctx.Err() == nil {
			return err // the reader reports a lost connection
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// lookEachTriggers is the time between two looks at what triggers can't see.
const lookEachTriggers = 2 * time.Second

// watchTriggers looks until the context ends whether the source was changed by what fires no triggers.
func (in *Intake) watchTriggers(ctx context.Context) error {
	for in.ByTriggers() {
		if err := in.triggersFit(
			ctx,
		); err != nil && !dbconn.ConnectionLost(err) && !dbconn.Contended(err) && !dbconn.TornTriggers(err) &&
			ctx.Err() == nil {
			return err
		}
		if dbconn.Sleep(ctx, lookEachTriggers) != nil {
			return nil
		}
	}
	return nil
}

// Fit fails with ErrCaptureUnfit if changes from the replica may be missing, or in another order.
func (in *Intake) Fit(ctx context.Context) error {
	from := in.From
	if from == nil {
		return in.triggersFit(ctx)
	}
	known, err := facts.GatherCapture(ctx, from.DB, from.Name)
	if err != nil {
		return fmt.Errorf("query replica %s: %w", from.Name, err)
	}
	names := append([]schema.Name{in.Plan.Source.Name}, in.Plan.Names.All()...)
	if faults := known.Faults(in.Plan.Server.UUID, names); len(faults) > 0 {
		return fmt.Errorf("%w: %s: %s. %s", ErrCaptureUnfit, faults[0].What, faults[0].Why, faults[0].Fix)
	}
	start, err := ServerStart(ctx, from.DB)
	if err != nil {
		return fmt.Errorf("query replica %s: %w", from.Name, err)
	}
	if known.SyncBinlog != 1 && startedAnew(start, in.started) {
		return fmt.Errorf(
			"%w: %s was started again, with sync_binlog=%d: a crash may have cost it changes in its binlog",
			ErrCaptureUnfit, from.Name, known.SyncBinlog,
		)
	}
	return nil
}

// triggersFit fails with ErrSourceChanged if something has happened that triggers could not see, or to them.
func (in *Intake) triggersFit(ctx context.Context) error {
	if !in.ByTriggers() {
		return nil
	}
	set := in.triggers(in.codec)
	sight, err := trigger.Look(ctx, in.Pool.DB(), set.Source, set.Log)
	switch {
	case err != nil:
		return err
	case sight.String() == in.sight:
		return nil
	case !sight.Whole(set):
		return fmt.Errorf(
			"%w: it, the log %s, or the triggers that capture changes, were dropped, renamed or replaced",
			ErrSourceChanged, set.Log,
		)
	}
	return fmt.Errorf(
		"%w: it, or the log %s of its changes, was truncated or rebuilt, for which no trigger fires",
		ErrSourceChanged, set.Log,
	)
}

// BecauseChanged replaces an error if its cause is a change of the source that triggers can't see:
// rows that differ, or a table that is gone. It returns that change as the error.
func (in *Intake) BecauseChanged(err error) error {
	if err == nil || !in.ByTriggers() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if changed := in.triggersFit(ctx); errors.Is(changed, ErrSourceChanged) {
		return changed
	}
	return err
}

// judgeWithParents is judge if the ALTER adds foreign keys. After a statement that changes a parent, such as TRUNCATE, the
// parents of all rows are looked for again.
func (l *Link) judgeWithParents(s binlog.Statement, proof *parents.Proof) error {
	for _, t := range plan.ParentTables(l.Plan) {
		switch ddl.Refers(s.SQL, s.Schema, t.Name) {
		case ddl.Changes, ddl.Writes, ddl.Unknown:
			proof.Again()
		}
	}
	return l.judge(s)
}

// judge ends the migration when a statement in the binlog makes its work void.
func (l *Link) judge(s binlog.Statement) error {
	what := fmt.Sprintf("connection %d: %s", s.Thread, ddl.Shorten(s.SQL))
	switch ddl.Refers(s.SQL, s.Schema, l.Plan.Source.Name) {
	case ddl.Points, ddl.Changes:
		return fmt.Errorf("%w; %s", ErrSourceChanged, what)
	case ddl.Fires:
		return l.triggerCame(what)
	case ddl.Writes:
		return fmt.Errorf("%w; %s", ErrStatementFormat, what)
	case ddl.Unknown:
		return fmt.Errorf("%w that can't be read; %s", ErrSourceChanged, what)
	}
	return nil
}
