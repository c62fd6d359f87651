package migration

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/capture"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/verify"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// An undo is a run whose shadow is the old table. Only its beginning differs, and, if it is lazy, what it copies and compares.

// undoing begins an undo.
type undoing struct{ *run }

// begin makes the work of an undo that resumes no other. A lazy undo reads the changes since the swap, and
// has nothing to copy. Law L1 holds as for each run: the position first, then a heartbeat, then rows.
func (r undoing) begin(ctx context.Context) (*work, error) {
	r.enter(event.PhaseShadow)
	saved, err := leftovers.UndoPlanned(ctx, r.leftovers, r.plan.Source, r.plan.Back)
	if err != nil {
		return nil, err
	}
	if err := r.createState(ctx); err != nil {
		return nil, r.nameForbidding(ctx, err)
	}
	d, err := r.adopt(ctx, saved)
	if err != nil {
		return nil, r.nameForbidding(ctx, err)
	}
	from := origin{tracker: frontier.New(d.specs.Sync.Key)}
	if r.plan.Back.Lazy {
		from.tracker.End(from.tracker.Begin(""))
		if from.Origin, err = r.link.Since(ctx, saved, d.shadow.Table, d.specs.Sync); err == nil {
			from.distrusted, err = r.link.Distrust(ctx, saved.Checkpoint, r.serverStart)
		}
	} else {
		if !r.plan.Back.Park {
			err = r.prescanBefore(ctx, d.specs.Prescan)
		}
		if err == nil {
			from.Origin, err = r.link.StartUndo(ctx, saved, d.shadow.Table, d.specs.Sync)
		}
	}
	if err != nil {
		return nil, r.nameForbidding(ctx, err)
	}
	r.enter(event.PhaseStart)
	// More rows may differ than the binlog shows; and no log shows who else has written to the old table (U2).
	if from.again = from.distrusted || (saved.Undo.Doubted() || r.link.ByTriggers()) && !r.plan.Back.KeepsUnchanged(); from.again {
		r.verifies, r.repairs = true, true
	}
	if err := r.leftovers.BeginUndo(ctx, saved); err != nil {
		return nil, r.nameForbidding(ctx, err)
	}
	return d.open(ctx, r.run, from)
}

// adopt takes the old table as the shadow.
func (r undoing) adopt(ctx context.Context, saved *checkpoint.Saved) (*draft, error) {
	old, err := shadow.Adopt(ctx, r.pool, r.plan.Source.Name, r.plan.Names.Shadow, saved.Start.Columns, saved.Undo.Begun, saved.Start.Was)
	if err != nil {
		return nil, err
	}
	r.debts.owe(old.Name, r.plan.Names.Old.Table, "")
	d, err := draftOf(ctx, r.run, old)
	if err != nil {
		return nil, err
	}
	return d, d.keep(ctx, r.run, saved.Undo.Begun)
}

// keep prepares for the columns that the shadow keeps: the side table, and the changes of keys that are not carried yet.
func (d *draft) keep(ctx context.Context, r *run, begun bool) error {
	spec := d.specs.Sync
	if len(spec.Kept) == 0 && spec.Rest == "" {
		return nil
	}
	session, err := r.pool.Session(ctx, r.pool.Defining()...)
	if err != nil {
		return err
	}
	defer session.Close()
	mark := schema.MarkFor(checkpoint.KeptKind, r.plan.Source.Name)
	parked := rowsync.Parked{Table: spec.Source.Sibling(r.plan.Back.Values), Mark: schema.MarkFor(checkpoint.ParkedKind, spec.Source)}
	d.moves, err = rowsync.OpenSide(ctx, session, spec, d.shadow.Table, mark, parked, begun)
	return err
}

// parkRows parks, under the lock of the swap, the rows that the old table refuses (U4).
func (w *work) parkRows(ctx context.Context, session *dbconn.Session) error {
	rows := w.unfit.Rows()
	if w.lot == nil {
		return nil
	}
	if err := w.lot.Take(ctx, session, rows); err != nil {
		return err
	}
	if len(rows) > 0 {
		parked := w.lot.Parked(rows)
		w.emit(parked)
		w.account.update(func() { w.account.parked = parked })
	}
	return nil
}

// saveForUndo saves, under the lock of the swap, the position from which an undo reads: every change of the new
// table is behind it (U1).
func (w *work) saveForUndo(ctx context.Context) error {
	if w.start.Undo == nil {
		return nil
	}
	err := w.noteSwap(ctx)
	if err == nil {
		err = w.checkpoint(ctx)
	}
	if err != nil {
		return fmt.Errorf("save the position for an undo: %w", err)
	}
	return nil
}

// noteSwap reads the end of the server's binlog, and not that of what was received: the drain under LOCK TABLES writes
// table maps of the source, with its former columns, to the binlog.
func (w *work) noteSwap(ctx context.Context) error {
	var at capture.Point // none, if the changes are in no binlog or in a replica's
	if w.intake.Stream != nil && w.link.From == nil {
		v, err := w.plan.Server.Version, error(nil)
		if at, err = capture.NowOn(ctx, w.pool.DB(), !v.MariaDB && v.AtLeast(8, 2, 0)); err != nil {
			return err
		}
		at.Born = w.intake.Stream.Born(at.Position.File)
	}
	w.swapsAt.Store(&at)
	return nil
}

// undo is what a run keeps for an undo of its change, as far as the operator has a wish.
func (c Config) undo() checkpoint.Undo {
	return checkpoint.Undo{For: c.Undo, Warm: c.Warm, DropOld: c.DropOld}
}

// version is the version of the state of a run of the plan: earlier programs that know no undo, or no --into, must leave it unchanged.
func (c Config) version(p *plan.Plan) int {
	switch {
	case p.Into.Given():
		return checkpoint.Version
	case p.Back != nil || c.Undo > 0:
		return checkpoint.Undoable
	}
	return checkpoint.Plain
}

// compareRows compares all rows, or, in a lazy undo for which that takes too long, those that have changed since the swap:
// nothing else was synced, and all were compared before the swap.
func (w *work) compareRows(ctx context.Context, verifier *verify.Verifier) (verify.Verdict, error) {
	keys, all := w.backlog.Remembered()
	if !all || w.comparesAll {
		return verifier.Run(ctx)
	}
	w.note(fmt.Sprintf("only the rows that have changed since the swap are compared: %d keys, also of deleted rows", len(keys)))
	return verifier.Changed(ctx, keys)
}

// NotSince returns why a lazy undo is not possible now; "" if it is. saved is the content of the undo table. An undo that
// was stopped may have come further.
func (m *Migration) NotSince(ctx context.Context, saved *checkpoint.Saved) (why string, err error) {
	r := newRun(m)
	if stopped := leftovers.StoppedUndo(ctx, r.leftovers); stopped != nil && !r.plan.Back.KeepsUnchanged() {
		saved = stopped
	}
	if _, err = r.link.HasSince(ctx, saved); errors.Is(err, intake.ErrNotSince) {
		return err.Error(), nil
	}
	return "", err
}
