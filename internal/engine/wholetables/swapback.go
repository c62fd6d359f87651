package wholetables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/compare"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/key"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrRows means that rows were written to a table since its TRUNCATE. The undo has changed nothing.
var ErrRows = errors.New("rows were written to the table since the TRUNCATE; take them over with --merge, or keep them in a table of their own with --park")

// swapBack is the undo of a TRUNCATE: the table that was put aside takes the place of the new one, as a shadow does.
type swapBack struct {
	*Change
	merge *merger // nil if no rows are taken over
}

func (s swapBack) run(ctx context.Context, held operator.Permission, result *migration.Result) error {
	err := s.alterAside(ctx, "COMMENT = "+schema.Literal(s.plan.Back.Was.Comment))
	if errors.Is(err, lock.ErrTooLong) || errors.Is(err, lock.ErrGivenUp) { // it still has its mark
		return err
	}
	if err == nil {
		err = s.attempts(ctx, held, result)
	}
	if err == nil {
		s.putAside(ctx, result)
		return nil
	}
	if !errors.Is(err, cutover.ErrUnknown) {
		s.markAgain(ctx)
		err = migration.Because(ctx, err)
		if s.merge != nil {
			err = errors.Join(err, s.merge.giveBack(context.WithoutCancel(ctx)))
		}
	}
	return err
}

// attempts swaps the tables.
func (s swapBack) attempts(ctx context.Context, held operator.Permission, result *migration.Result) error {
	p, b := s.plan, s.plan.Back
	definition, _ := schema.SplitAutoIncrement(p.Table.Create)
	tables := cutover.Tables{
		Source: b.Source, Shadow: b.Aside, Old: b.Undone,
		RenameUnderLock: p.Server.RenameUnderLock, RenameYields: p.Server.Version.MariaDB, WritersApart: p.Server.Version.WritersApart(),
		AutoIncrement: p.Table.HasCounter(), Definition: definition, Shape: b.Shape,
	}
	lookout := &lock.SwapLookout{Watcher: &lock.Watcher{DB: s.pool.DB(), Tables: p.Watched}, Blind: !p.Server.MetadataLocks,
		Saw: func([]event.Blocker, time.Time) {}}
	var err error
	if b.Merge {
		if lookout.Before, err = s.mergeAhead(ctx, s.merge); err != nil {
			return err
		}
		tables.Side = s.merge.merged
	}
	asker := lock.Asker{
		Pool: s.pool, Lookout: lookout, Emit: s.emit, For: "undo the TRUNCATE", Turn: operator.Turn{Permission: held, Last: true},
		Terms: func() lock.Terms {
			t := s.control.Terms(p.Server)
			t.SeesNobody = false // every server shows old snapshots
			return t
		},
	}
	var report cutover.Report
	part := cutover.Part{Pool: s.pool, Tables: tables, Drain: s}
	attempts, last, err := asker.Run(ctx, func(ctx context.Context, _ time.Duration) (asked lock.Outcome, err error) {
		began := time.Now()
		reports, err := cutover.Attempt(ctx, []cutover.Part{part}, s.control.Settings().WithDefaults().Lock)
		report = reports[0]
		asked = lock.Outcome{Granted: report.Granted, Waited: report.Waited, Took: time.Since(began)}
		if err != nil && failure.WorthAnotherAttempt(err) {
			asked.Undone, err = err, nil
		}
		return asked, err
	})
	result.Attempts, result.LockHeld, result.Native = attempts, report.Held, last.Took
	if err == nil {
		s.emit(event.SwapDone{LockHeld: report.Held, Drained: report.Drained, Attempts: attempts, At: time.Now()})
	}
	return err
}

// markAgain gives the table that stays aside its mark back.
func (s swapBack) markAgain(ctx context.Context) {
	mark := schema.Literal(schema.MarkTruncated(s.plan.Back.Source, s.plan.Back.Was.Comment))
	if err := s.alterAside(context.WithoutCancel(ctx), "COMMENT = "+mark); err != nil {
		s.note(fmt.Sprintf("cannot mark %s as the old table: %v", s.plan.Back.Aside, err))
	}
}

// putAside marks the table that was new after the TRUNCATE. It drops it if it is empty.
func (s swapBack) putAside(ctx context.Context, result *migration.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	b := s.plan.Back
	id, _, err := at(ctx, s.pool.DB(), b.Undone)
	if err == nil && id == nil {
		return // it is dropped already
	}
	if b.Parks() {
		s.park(ctx, result)
		return
	}
	if err := s.dropMerged(ctx); err != nil {
		s.note(fmt.Sprintf("%s is left: %v", plan.MergedOf(b.Source), err))
	}
	old := leftovers.Old{Pool: s.pool, Source: b.Source, Name: b.Undone, Truncated: true}
	old.Keep(ctx, b.Was.Comment, "", s.control.Settings().WithDefaults().Lock.Wait, s.note)
	result.Old = b.Undone.Dotted()
	var some bool
	if err == nil {
		err = s.pool.DB().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+b.Undone.Quoted()+")").Scan(&some)
	}
	if err == nil && !some {
		err = old.Drop(ctx)
	}
	switch {
	case err != nil:
		s.note(fmt.Sprintf("%s is left: %v", b.Undone, err))
	case !some:
		result.Old = ""
	}
}

// park keeps the table that was new after the TRUNCATE for the user, with the rows that were not taken over.
func (s swapBack) park(ctx context.Context, result *migration.Result) {
	b := s.plan.Back
	parked, err := s.keepParked(ctx)
	switch {
	case err != nil:
		s.note(fmt.Sprintf("all rows that were written since the TRUNCATE are in %s; those that were taken over could not be removed there: %v",
			b.Undone, err))
	case parked.Rows == 0:
		if err = (leftovers.Old{Pool: s.pool, Source: b.Source, Name: b.Undone}).Drop(ctx); err != nil {
			s.note(fmt.Sprintf("%s is left, without rows: %v", b.Undone, err))
		}
	default:
		s.emit(parked)
		result.Parked = parked
	}
	result.Old = ""
}

// keepParked marks the table, and removes the rows that were taken over: by the swap they were equal to those of the table.
func (s swapBack) keepParked(ctx context.Context) (event.Parked, error) {
	b := s.plan.Back
	e := event.Parked{Table: b.Undone.Dotted(), At: time.Now()}
	err := s.alterOther(ctx, b.Undone, "COMMENT = "+schema.Literal(schema.MarkFor(checkpoint.ParkedKind, b.Source)))
	if err != nil {
		return e, err
	}
	new, err := schema.Load(ctx, s.pool.DB(), b.Undone)
	if err != nil {
		return e, err
	}
	session, err := s.pool.Session(ctx)
	if err != nil {
		return e, err
	}
	defer session.Close()
	m := &merger{pool: s.pool, source: b.Source, merged: plan.MergedOf(b.Source)}
	if m.spec, err = compare.SpecOf(new, new); err == nil {
		if err = m.removeFrom(ctx, session, b.Undone); err == nil {
			err = s.dropMerged(ctx)
		}
		var some []key.Key
		if err == nil {
			some, err = m.keys(ctx, session, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT %d",
				strings.Join(m.spec.Key().SelectExprs(), ", "), b.Undone.Quoted(), schema.QuoteAll(m.spec.Key().Names()), mostListed))
		}
		for _, k := range some {
			e.Keys = append(e.Keys, m.spec.Key().Format(k))
		}
	} else if errors.Is(err, compare.ErrIncomparable) { // nothing was taken over
		err = nil
	}
	if err != nil {
		return e, err
	}
	return e, session.Rows(ctx, "SELECT COUNT(*) FROM "+b.Undone.Quoted(), func(rows *sql.Rows) error { return rows.Scan(&e.Rows) })
}

// Received is cutover.Drain's: nothing is captured.
func (s swapBack) Received(context.Context) error { return nil }

// Save is cutover.Drain's: the ledger has all.
func (s swapBack) Save(context.Context) error { return nil }

// ApplyAndProve makes the last pass of a merge. Without one it fails with ErrRows if the table has rows.
func (s swapBack) ApplyAndProve(ctx context.Context, session *dbconn.Session) (drained, left int, err error) {
	if s.merge == nil && s.plan.Back.Park {
		return 0, 0, nil
	}
	if s.merge == nil {
		var some bool
		err = session.Rows(ctx, fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s)", s.plan.Back.Source.Quoted()),
			func(rows *sql.Rows) error { return rows.Scan(&some) })
		if err == nil && some {
			err = ErrRows
		}
		return 0, 0, err
	}
	for range 2 { // the second proves the first
		changed, refused, err := s.merge.pass(ctx, session)
		if err != nil {
			return drained, 0, err
		}
		if len(refused) > 0 && !s.merge.parks {
			return drained, 0, s.refuse(s.merge, refused)
		}
		if changed == 0 {
			return drained, 0, nil
		}
		drained += changed
	}
	return drained, 1, nil
}

// Freeze is cutover.Drain's.
func (s swapBack) Freeze() {}

// Unfreeze is cutover.Drain's.
func (s swapBack) Unfreeze() {}
