package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/engine/carry"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrUnsettled means that foreign keys exist once too often and refuse rows that they should not,
// or that triggers do their work under other names.
var ErrUnsettled = errors.New("foreign keys or triggers are not in their final form")

// fixPatience is how long Cleanup and Finish try to fix foreign keys and triggers.
const fixPatience = time.Minute

// Fixer brings foreign keys and triggers into their form outside of the lock of a swap. It is used
// if that lock was lost, or if an earlier run was killed under it. Each statement waits for no
// longer than an attempt of the cut-over.
type Fixer struct {
	Pool     *dbconn.Pool
	Set      carry.Set
	Wait     time.Duration
	Patience time.Duration
}

// LeftUnsettled returns the effect of foreign keys and triggers without their last form, and how a text about what to do
// goes on after the same command. swapped means that the source is the new table.
func LeftUnsettled(set carry.Set, swapped bool) (left, next string) {
	state, beside, next := "is untouched", set.Shadow, fmt.Sprintf(", or midstream cleanup  %s: both fix that first.", set.Source.Argument())
	if swapped {
		state, beside = "has its new schema", set.Old
	}
	if len(set.Keys) == 0 {
		return fmt.Sprintf("%s %s. Each of its triggers fires once for each row, but some may do so under names that begin with midstream_.",
			set.Source, state), next
	}
	return fmt.Sprintf("%s %s. All foreign keys of it and its children are enforced; if some also exist on %s, valid rows may be refused "+
		"(error 1452), and deletions of parent rows (1451).", set.Source, state, beside), " at once" + next
}

// Undeclare removes what was declared for a swap that has not happened.
func (f Fixer) Undeclare(ctx context.Context) (fixed bool, err error) {
	return f.fix(ctx, f.Set.Undeclare())
}

// Settle completes the work of a swap that has happened.
func (f Fixer) Settle(ctx context.Context) (fixed bool, err error) { return f.fix(ctx, f.Set.Settle()) }

func (f Fixer) fix(ctx context.Context, finders []carry.FindWork) (fixed bool, err error) {
	for _, left := range finders {
		did, err := f.take(ctx, left)
		fixed = fixed || did
		if err != nil {
			return fixed, fmt.Errorf("%w: %w", ErrUnsettled, err)
		}
	}
	return fixed, nil
}

// take carries a step out until nothing of it is left, by what there is each time. If a statement fails and something else is left
// now, another one has done a part of it: another run of the group, or a statement whose answer was lost.
func (f Fixer) take(ctx context.Context, left carry.FindWork) (fixed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.Patience)
	defer cancel()
	err = RetryBriefly(ctx, func() error {
		if err := f.Pool.EndLost(ctx); err != nil && !errors.Is(err, dbconn.ErrUnseen) {
			return err
		}
		work, err := left(ctx, f.Pool.DB())
		if err != nil || len(work.Statements) == 0 {
			return err
		}
		for fixed = true; ; {
			if len(work.Locks) > 0 {
				err = f.underLock(ctx, work, left)
			} else {
				err = f.oneByOne(ctx, work)
			}
			if dbconn.Number(err) == 0 || ctx.Err() != nil {
				return err
			}
			now, failed := left(ctx, f.Pool.DB())
			if failed != nil || slices.Equal(texts(now), texts(work)) {
				return err
			}
			if work = now; len(work.Statements) == 0 {
				return nil
			}
		}
	})
	return fixed, err
}

// texts are the statements of work.
func texts(w carry.Work) (all []string) {
	for _, s := range w.Statements {
		all = append(all, s.Text)
	}
	return all
}

// oneByOne runs statements about foreign keys. Each of them asks for the lock of its tables.
func (f Fixer) oneByOne(ctx context.Context, work carry.Work) error {
	session, err := f.Pool.Session(ctx, append(f.Pool.Defining(), carry.NoChecks)...)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, statement := range work.Statements {
		requested, err := lock.Request(ctx, session, statement.Text, f.Wait)
		if err == nil && !requested.Granted {
			err = cutover.ErrNotGranted
		}
		if err != nil {
			return fmt.Errorf("%s: %w", statement.What, err)
		}
	}
	return nil
}

// settleAtOnce bounds the time that statements about triggers hold a lock of their tables. The rest
// is done under the next lock.
const settleAtOnce = plan.DefaultWork

// underLock runs statements about triggers, while no other session uses the tables. left finds what is left of them.
func (f Fixer) underLock(ctx context.Context, work carry.Work, left carry.FindWork) error {
	session, err := f.Pool.Session(ctx, fmt.Sprintf("SET SESSION wait_timeout = %d", 2+int(settleAtOnce/time.Second)))
	if err != nil {
		return err
	}
	defer session.Close()
	requested, err := lock.Request(ctx, session, schema.LockTables(work.Locks...), f.Wait)
	if err == nil && !requested.Granted {
		err = cutover.ErrNotGranted
	}
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, settleAtOnce, cutover.ErrNotGranted)
	defer cancel()
	if err = carry.Run(bounded, session, work.Statements...); !dbconn.LacksReferencedTrigger(err) {
		return err
	}
	if err = f.reopen(bounded, session); err == nil {
		work, err = left(bounded, f.Pool.DB())
	}
	if err != nil {
		return err
	}
	return carry.Run(bounded, session, work.Statements...)
}

// reopen has the server open the locked source again, by an ALTER that changes nothing. In a circle of foreign keys LOCK TABLES opens a
// table twice, and CREATE TRIGGER takes the one that is open without its triggers (9.7.4).
func (f Fixer) reopen(ctx context.Context, session *dbconn.Session) error {
	source := f.Set.Source
	var comment string
	if err := f.Pool.DB().QueryRowContext(ctx, "SELECT table_comment FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
		source.Schema, source.Table).Scan(&comment); err != nil {
		return err
	}
	_, err := session.Exec(ctx, "ALTER TABLE "+source.Quoted()+" COMMENT = "+schema.Literal(comment)+", ALGORITHM=INPLACE")
	return err
}

// FixCarried finds the foreign keys and triggers that an earlier run may have left unfinished, and
// fixes them: it restores their former state or, if that run has swapped, gives them their final
// form, and does the second act.
//
// REQUIRES: the source is claimed. gone means that the shadow is not needed any more: constraints
// that have been on it from the beginning go too.
func (c *Cleaner) FixCarried(ctx context.Context, wait time.Duration, note func(string), gone bool) error {
	there, err := c.List(ctx)
	if err != nil || !c.HasState(there) {
		return err
	}
	saved, err := c.Saved(ctx)
	adopted := err == nil && saved.Checkpoint.Adopted
	if adopted && saved.Start == nil {
		saved.Start, err = hardlyBegun(ctx, c)
	}
	helpers := false
	if err == nil {
		helpers, err = hasHelpers(ctx, c, saved.Start)
	}
	if errors.Is(err, checkpoint.ErrUnreadable) || err == nil && (saved.Start == nil ||
		!adopted && !helpers && len(saved.Start.Foreign)+len(saved.Start.Dropped)+len(saved.Start.Triggers) == 0) {
		return nil
	}
	if err == nil {
		err = c.CheckElsewhere(ctx, saved)
	}
	if err == nil { // its statements may be on their way
		err = c.EndRun(ctx, saved.Run, cutover.Budget{Wait: wait}, note)
	}
	if err == nil {
		there, err = c.List(ctx)
	}
	if err != nil {
		return err
	}
	f := Fixer{Pool: c.pool, Set: c.Carried(saved.Start, there), Wait: wait, Patience: fixPatience}
	if gone {
		f.Set.Acting = nil
	}
	do, what := f.Undeclare, "removed second foreign keys, or stand-ins of triggers, of an earlier run's swap"
	_, swapped, err := c.HasSwapped(ctx, saved, there)
	if err != nil {
		return err
	} else if !swapped && adopted {
		c.restoreMark(ctx, saved, there, wait, note)
	} else if swapped {
		do, what = f.Settle, "finished the foreign keys or triggers that an earlier run left unfinished after its swap"
	}
	fixed, err := do(ctx)
	if fixed && err == nil {
		note(what)
	}
	if err == nil && swapped && helpers {
		err = dropHelpers(ctx, c, saved.Start, wait, note)
	}
	return err
}

// hardlyBegun is the beginning of an undo that ended before it wrote that down: constraints may act on the old table
// already. They are among those that the change has carried over; without a record, among those of the table.
func hardlyBegun(ctx context.Context, c *Cleaner) (*checkpoint.Start, error) {
	begun := &checkpoint.Start{Shadow: &schema.Table{Name: c.Names().Shadow}}
	undo, err := c.Undo(ctx)
	switch {
	case err != nil:
		return nil, err
	case undo != nil && undo.Start != nil:
		begun.Foreign = undo.Start.Foreign
		return begun, nil
	}
	table, err := schema.Load(ctx, c.pool.DB(), c.source)
	if errors.Is(err, schema.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		begun.Foreign = table.ForeignKeys
	}
	return begun, err
}

// Carried are the foreign keys and triggers of a run that began so.
func (c *Cleaner) Carried(start *checkpoint.Start, there Listing) carry.Set {
	old := c.source.Sibling(start.Old)
	comment := there[old].comment
	if _, marked := schema.MarkedOld(comment, c.source); !marked {
		comment = plan.MarkOld(c.source, old, schema.ParkedValues{Now: start.Undo.ValuesTable()}, comment, start.Filter != "")
	}
	return carry.Set{
		Source:     c.source,
		Shadow:     start.Shadow.Name,
		Old:        old,
		Keys:       start.Foreign,
		Dropped:    start.Dropped,
		Acting:     start.Acting,
		Keyed:      start.Keyed,
		OldComment: comment,
		Triggers:   start.Triggers,
	}
}
