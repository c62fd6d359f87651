package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/frontier"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/key"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/shadow"
	"midstream/internal/engine/specs"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// earlier decides for a run what becomes of the work that a stopped run on the source left.
type earlier struct{ *run }

// stoppedRun is a run that was stopped and can be resumed: what it left on the server.
type stoppedRun struct {
	saved   *checkpoint.Saved
	shadow  *shadow.Shadow
	specs   specs.Set
	tracker *frontier.Tracker
	from    intake.Origin // source of changes
}

// Former returns what Run will do about an earlier run's leftovers; "" if there are none. It writes
// nothing. It fails with failure.ErrOtherAlter and ErrStopped as Run and Rehearse do.
func (m *Migration) Former(ctx context.Context) (string, error) {
	r := earlier{newRun(m)}
	there, stopped, err := r.listTables(ctx)
	if err != nil || !stopped {
		return "", err
	}
	if r.plan.Purpose.Rehearses() {
		if err := r.onlyRehearsals(ctx); err != nil {
			return "", err
		}
	}
	c := r.leftovers
	saved, err := c.SavedHere(ctx)
	f, reason, err := r.retryJudging(ctx, saved, err, there)
	if errors.Is(err, leftovers.ErrSwapped) {
		return "an earlier run has swapped the tables; this run finishes its work first", nil
	}
	if err != nil {
		return "", err
	}
	if reason != "" {
		return "the run starts again and removes the work of an earlier run: " + reason, nil
	}
	return f.text(), nil
}

// text describes how far the earlier run had come.
func (f *stoppedRun) text() string {
	c := f.saved.Checkpoint
	from := "from " + f.from.Point.Position.String() + " on"
	if f.saved.Start.Capture == string(plan.CaptureTrigger) {
		from = "as recorded by its triggers"
	}
	return fmt.Sprintf("resuming an earlier %s, which had copied %d rows by %s; changes are read %s%s",
		kind(f.saved.Start), c.Rows, c.Taken.Local().Format(time.DateTime), from, f.saved.Start.Compared())
}

// kind names the purpose of an earlier run.
func kind(start *checkpoint.Start) string { return cmp.Or(start.Purpose, "run") }

// findStopped returns the stopped run that can be resumed; nil if there is none. It removes the
// leftovers of a run that can't be resumed.
//
// REQUIRES: the source is claimed: the earlier run has ended, or can't reach the server.
func (r earlier) findStopped(ctx context.Context) (*stoppedRun, error) {
	there, stopped, err := r.listTables(ctx)
	if err != nil || !stopped {
		return nil, err
	}
	r.debts.former = true
	saved, err := r.takeOver(ctx)
	if err == nil { // its last statement may have swapped
		there, _, err = r.listTables(ctx)
	}
	f, reason, err := r.retryJudging(ctx, saved, err, there)
	if err != nil {
		return nil, err
	}
	r.debts.former = false
	if reason != "" {
		r.note("the run starts again and does not use the work of an earlier run: " + reason)
		return nil, r.dropStopped(ctx)
	}
	return f, nil
}

// listTables returns the tables that have the names of artefacts, and whether an earlier run's
// state table is among them.
func (r earlier) listTables(ctx context.Context) (there leftovers.Listing, stopped bool, err error) {
	c := r.leftovers
	there, err = c.List(ctx)
	return there, err == nil && c.HasState(there), err
}

// retryJudging is judgeState. If the stopped run swaps while its tables are read, the shadow is gone: then
// retryJudging lists and judges them again. It fails with *Untold if the run would have to begin again and
// a stranger's table may block it.
func (r earlier) retryJudging(
	ctx context.Context,
	saved *checkpoint.Saved,
	failed error,
	there leftovers.Listing,
) (f *stoppedRun, reason string, err error) {
	const tries = 3
	for try := 1; ; try++ {
		f, reason, err = r.judgeState(ctx, saved, failed, there)
		if err == nil && reason != "" {
			err = r.leftovers.CheckStranger(ctx, there)
		}
		if try == tries || !errors.Is(err, schema.ErrNotFound) && !dbconn.NoSuchTable(err) {
			return f, reason, err
		}
		if there, _, err = r.listTables(ctx); err != nil {
			return nil, "", err
		}
	}
}

// judgeState judges the content of the state table, or failed: the error of reading it.
func (r earlier) judgeState(
	ctx context.Context,
	saved *checkpoint.Saved,
	failed error,
	there leftovers.Listing,
) (f *stoppedRun, reason string, err error) {
	if errors.Is(failed, checkpoint.ErrUnreadable) {
		return nil, "another version wrote its state", nil
	}
	if failed != nil {
		return nil, "", failed
	}
	c := r.leftovers
	if _, swapped, err := c.HasSwapped(ctx, saved, there); err != nil || swapped {
		return nil, "", cmp.Or(err, leftovers.ErrSwapped)
	}
	f = &stoppedRun{saved: saved}
	reason, err = r.canResume(ctx, saved, c.HasShadow(there, saved.Checkpoint.Unmarked), f)
	return f, reason, err
}

// takeOver ends what the earlier run's sessions still do on the server, and returns its
// last state.
func (r earlier) takeOver(ctx context.Context) (*checkpoint.Saved, error) {
	session, err := r.pool.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	saved, err := r.store.Load(ctx, session)
	if err != nil {
		return nil, err
	}
	c := r.leftovers
	if err := c.CheckElsewhere(ctx, saved); err != nil {
		return nil, err
	}
	if err := r.pool.EndAll(ctx, saved.Run); err != nil && !errors.Is(err, dbconn.ErrUnseen) {
		return nil, fmt.Errorf("end the earlier run: %w", err)
	}
	if err := r.store.TakeOver(ctx, session); err != nil {
		return nil, err
	}
	// If the earlier run still lives, it may have connected again before. From now on it cannot
	// swap.
	if err := c.EndRun(ctx, saved.Run, r.live().Lock, r.note); err != nil {
		return nil, fmt.Errorf("end the earlier run: %w", err)
	}
	return r.store.Load(ctx, session)
}

// canResume completes f, or returns the reason why the stopped run cannot be resumed. It fails with
// failure.ErrOtherAlter if it could, but was asked for something else.
func (r earlier) canResume(ctx context.Context, saved *checkpoint.Saved, shadowThere bool, f *stoppedRun) (reason string, err error) {
	start, c := saved.Start, saved.Checkpoint
	definition, _ := schema.SplitAutoIncrement(r.plan.Source.Create)
	switch {
	case start == nil:
		return "it was stopped before it copied any row", nil
	case !shadowThere:
		return "its shadow is gone", nil
	case (!r.plan.Server.RenameUnderLock || r.plan.Into.View) && start.Shadow.Name.Table < r.plan.Source.Name.Table:
		return fmt.Sprintf("this server swaps in two sessions, for which %s has the wrong name", start.Shadow.Name), nil
	case start.Source != schema.AsSaved(definition):
		return "the table was altered since", nil
	case r.plan.Back.KeepsUnchanged():
		return "it is not known which rows it has changed, and the others stay as they are", nil
	case !slices.Equal(start.Acting, r.plan.Acting):
		return "the binlog now logs the actions of foreign keys, or no longer does", nil
	}
	f.from, reason, err = r.link.Judge(ctx, saved)
	if reason != "" || err != nil {
		return reason, err
	}
	f.shadow, err = shadow.Found(ctx, r.pool, r.plan.Source.Name, start.Shadow, start.Comment)
	if errors.Is(err, shadow.ErrAltered) {
		return err.Error(), nil
	}
	if f.shadow != nil {
		f.shadow.Unmarked = start.Unmarked
	}
	if err != nil {
		return "", err
	}
	undoes := start.Purpose == string(plan.Undoing)
	if undoes != (r.plan.Back != nil) || !ddl.SameClauses(start.Alter, r.plan.Alter.Clauses) || start.Key != r.plan.Key.Name ||
		!maps.Equal(start.Map, r.plan.Map) || start.Filter != r.plan.Filter || !maps.Equal(start.Set, r.plan.Set) ||
		(plan.Into{Name: start.Into, View: start.View}) != r.plan.Into ||
		!slices.Equal(start.Together, r.cfg.Together.Others()) {
		return "", fmt.Errorf("%w: the %s of ALTER TABLE %s %s, which followed the key %s and had copied %d rows when it stopped%s",
			failure.ErrOtherAlter, kind(start), r.plan.Source.Name, ddl.Shorten(start.Alter)+inGroup(start), start.Key, c.Rows,
			plan.Otherwise(r.plan, start.Filter, start.Set, plan.Into{Name: start.Into, View: start.View}))
	}
	return r.rangesUsable(f)
}

// inGroup names the tables that a stopped run would have swapped together with its own.
func inGroup(start *checkpoint.Start) string {
	if len(start.Together) == 0 {
		return ""
	}
	return " together with " + strings.Join(start.Together, ", ")
}

// rangesUsable is the part of canResume about the copied ranges.
func (r earlier) rangesUsable(f *stoppedRun) (reason string, err error) {
	start := f.saved.Start
	f.specs, err = specs.Of(r.plan, start.Shadow, specs.Clock{Server: start.ServerTime, UTC: start.UTC})
	if err != nil {
		return "", err
	}
	ranges := checkpoint.KeyRanges(f.saved.Checkpoint.Copied)
	for _, copied := range ranges {
		for _, bound := range []key.Key{copied.From, copied.To} {
			if err := f.specs.Sync.Key.Check(bound); bound != "" && err != nil {
				return err.Error(), nil
			}
		}
	}
	f.tracker, err = frontier.Resume(f.specs.Sync.Key, ranges)
	switch {
	case err != nil:
		return err.Error(), nil
	case f.specs.Sync.KeyChanged && !f.tracker.Complete():
		return "the ALTER changes the key, and a range was copied only in part, so its rows cannot be identified", nil
	case f.specs.Dated && start.Purpose != string(r.plan.Purpose):
		return "it was a rehearsal, and a new column with DEFAULT CURRENT_TIMESTAMP has the rehearsal's start time", nil
	case f.specs.Sync.Values.Zone != "" && start.Zone != r.plan.Server.TimeZone:
		return fmt.Sprintf("the server's time zone was %s, and is %s", start.Zone, r.plan.Server.TimeZone), nil
	}
	return "", nil
}

// dropStopped removes what an earlier run left.
func (r earlier) dropStopped(ctx context.Context) error {
	r.debts.shadow = true // it may go
	defer func() { r.debts.shadow = false }()
	if err := r.sweep(ctx); err != nil {
		r.debts.former = true
		return fmt.Errorf("remove what an earlier run left: %w", err)
	}
	return nil
}

// resume makes the work of a run that resumes an earlier one.
func (r *run) resume(ctx context.Context, f *stoppedRun) (*work, error) {
	r.enter(event.PhaseStart)
	c := f.saved.Checkpoint
	r.debts.begun, r.debts.shadow, r.debts.saved = true, !r.plan.Back.Adopts(), true
	r.debts.owe(f.shadow.Name, r.plan.Names.Old.Table, r.plan.Names.Kept.Table) // the old names may be others' now
	if err := (carrier{r}).undeclare(ctx, r.leftovers.Carried(f.saved.Start, nil)); err != nil {
		return nil, err
	}
	if err := f.shadow.RestoreHelper(ctx, r.pool); err != nil {
		return nil, err
	}
	distrusted, err := r.link.Distrust(ctx, c, r.serverStart)
	if err != nil {
		return nil, err
	}
	if distrusted {
		r.verifies, r.repairs = true, true
	}
	d := &draft{shadow: f.shadow, specs: f.specs, start: *f.saved.Start}
	if d.start.Began.IsZero() || d.start.Purpose != string(r.plan.Purpose) { // an earlier version, or a rehearsal, began it
		d.start.Began = r.account.started
	}
	d.start.Dropped, d.start.Acting, d.start.Keyed = r.plan.Dropped, r.plan.Acting, r.plan.Keyed()
	d.start.Purpose, d.start.Foreign, d.start.Triggers = string(r.plan.Purpose), plan.Carried(r.plan), r.plan.Source.Triggers
	d.start.Undo = specs.Undo(r.plan, d.shadow.Table, r.cfg.undo(), d.specs.Pairs)
	d.start.Old, d.start.Kept = r.debts.oldName, r.debts.finalOldName
	if r.plan.Back.FromSwap() {
		r.verifies, r.repairs = true, true
		if f.from.Since, err = r.link.SinceAgain(ctx, r.leftovers.Undo, f.shadow.Table, d.specs.Sync); err != nil {
			return nil, err
		}
	}
	r.debts.unmarked.Store(c.Unmarked)
	r.debts.doubtful = c.Unmarked
	if err := d.keep(ctx, r, true); err != nil {
		return nil, err
	}
	w := r.newWork(d, origin{Origin: f.from, tracker: f.tracker, copied: c.Rows, distrusted: distrusted, again: true})
	if err := w.saveStart(ctx); err != nil {
		return nil, err
	}
	if err := w.intake.Beat(ctx); err != nil {
		return nil, fmt.Errorf("first heartbeat: %w", err)
	}
	if !r.verifies {
		r.verifies = true
		r.note("a resumed run always compares the rows: it ignores --no-verify")
	}
	r.account.update(func() { r.account.resumed = true })
	r.emit(event.Resumed{Rows: c.Rows, Taken: c.Taken, Text: f.text(), At: time.Now()})
	return w, nil
}

// saveStart writes what the run began with: from here on another run may resume it.
func (w *work) saveStart(ctx context.Context) error {
	session, err := w.pool.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	err = session.Patiently(ctx, func() error {
		state, err := w.state(ctx)
		if err != nil {
			return err
		}
		return w.store.Begin(ctx, session, w.start, state)
	})
	w.debts.saved = w.debts.saved || err == nil || dbconn.ConnectionLost(err)
	return err
}
