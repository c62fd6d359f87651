package wholetables

import (
	"context"
	"fmt"
	"slices"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// The steps of a ledger: announce writes what is about to happen, and then record what has happened, or withdraw that
// nothing has. After a kill between them, the tables show it.

func (c *Change) book() book { return book{pool: c.pool, source: c.plan.Subject()} }

// announce writes that the statement is about to be executed, or taken back.
func (c *Change) announce(ctx context.Context) error {
	p := c.plan
	if !p.Records() {
		return nil
	}
	saved, err := Record(ctx, c.pool, p.Subject())
	if err != nil {
		return err
	}
	if saved != nil {
		if err := endEarlier(ctx, c.pool, saved); err != nil {
			return err
		}
	}
	if p.Back == nil {
		if err := c.dropTwin(ctx, saved); err != nil {
			return err
		}
		ledger, err := ledgerOf(ctx, c.pool.DB(), p)
		if err != nil {
			return err
		}
		ledger.DropOld = p.DropOld
		if ledger.Redo { // until it is made, the record is that of the undo
			if err := c.still(ctx, saved, checkpoint.Undone); err != nil {
				return err
			}
			c.undo = *saved.Undo
			c.undo.Ledger = ledger
			return c.book().write(ctx, c.undo)
		}
		c.undo = checkpoint.Undo{For: p.Undo, Mode: plan.UndoRename, Table: p.Subject().Table, Ledger: ledger, Earlier: saved.Replaced()}
		return c.book().write(ctx, c.undo)
	}
	if err := c.still(ctx, saved, checkpoint.Made); err != nil {
		return err
	}
	c.undo = *saved.Undo
	if err := c.prepareBack(ctx); err != nil {
		return err
	}
	c.undo.Ledger.Step, c.undo.Ledger.Undone, c.undo.Ledger.Again = checkpoint.Undoing, p.Back.Undone.Table, p.Again
	return c.book().write(ctx, c.undo)
}

// still fails with leftovers.ErrOvertaken unless the record is at a step, as the plan has found it.
func (c *Change) still(ctx context.Context, saved *checkpoint.Saved, at string) error {
	if saved == nil || saved.Undo.Ledger == nil {
		return leftovers.ErrOvertaken
	}
	step, err := stepOf(ctx, c.pool.DB(), saved.Undo.Ledger)
	if err == nil && step != at {
		err = leftovers.ErrOvertaken
	}
	return err
}

// dropTwin drops the empty table that a run left which was killed before its TRUNCATE.
func (c *Change) dropTwin(ctx context.Context, saved *checkpoint.Saved) error {
	if saved == nil || saved.Undo.Ledger == nil {
		return nil
	}
	step, err := stepOf(ctx, c.pool.DB(), saved.Undo.Ledger)
	if err != nil {
		return err
	}
	twin, err := twinLeft(ctx, c.pool.DB(), c.plan.Subject(), saved.Undo.Ledger, step)
	if err != nil || twin == (schema.Name{}) {
		return err
	}
	return leftovers.Old{Pool: c.pool, Source: c.plan.Subject(), Name: twin}.Drop(ctx)
}

// withdraw writes that nothing has happened. If that fails, the next command finds it out from the tables.
func (c *Change) withdraw(ctx context.Context) {
	if c.undo.Ledger == nil {
		return
	}
	if err := c.restore(ctx); err != nil {
		c.note(fmt.Sprintf("%s could not be updated: %v; the next command finds out from the tables that nothing has happened", c.book().name(), err))
	}
}

// restore gives the undo table the record that it had before announce.
func (c *Change) restore(ctx context.Context) error {
	switch l := c.undo.Ledger; {
	case l.Step == checkpoint.Undoing:
		l.Step = checkpoint.Made
	case l.Redo:
		l.Step = checkpoint.Undone
	case c.undo.Earlier != nil:
		return c.book().write(ctx, *c.undo.Earlier)
	default:
		return c.book().close(ctx)
	}
	return c.book().write(ctx, c.undo)
}

// record writes that the statement was executed, or taken back. If that fails, the next command finds it out from
// the tables.
func (c *Change) record(ctx context.Context) {
	l := c.undo.Ledger
	if l == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	now, err := leftovers.ServerTime(ctx, c.pool.DB())
	if err == nil {
		l.Step = map[string]string{checkpoint.Doing: checkpoint.Made, checkpoint.Undoing: checkpoint.Undone}[l.Step]
		c.undo.Back, c.undo.Old, c.undo.DropOld, c.undo.Earlier = l.Step == checkpoint.Undone, "", false, nil
		if l.Step == checkpoint.Made && l.Kind != string(ddl.KindRename) {
			c.undo.Old, c.undo.DropOld = l.Moves[0].To.Table, l.DropOld
		} else if l.Step == checkpoint.Undone && l.Kind == string(ddl.KindTruncate) {
			undone := undoneBy(c.plan.Subject(), l)
			if id, _, lookErr := at(ctx, c.pool.DB(), undone); lookErr == nil && id != nil && !c.plan.Back.Parks() {
				c.undo.Old = undone.Table // it has rows that were written since the TRUNCATE
			}
		}
		c.undo.Swapped, c.undo.Until = now, now.Add(c.undo.For)
		err = c.book().write(ctx, c.undo)
	}
	if err != nil {
		c.note(fmt.Sprintf("%s could not be updated: %v; the next command finds out from the tables what has happened", c.book().name(), err))
	}
}

// passing reports whether the record is there only while the statement is at work, which itself keeps no undo. After a kill it names what
// is left.
func (c *Change) passing() bool {
	return c.undo.Ledger != nil && c.undo.For == 0 && c.plan.Undo == 0
}

// endPassing takes a record that is passing away: either with what was kept for the undo before, if that ends; or that one's record comes
// back. It comes before the drop of the table that was put aside, which shows that the statement was executed.
func (c *Change) endPassing(ctx context.Context) {
	if !c.passing() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookPatience)
	defer cancel()
	c.markTruncated(ctx)
	if slices.Contains(c.undo.Ledger.Ends, c.plan.Subject()) {
		if err := leftovers.EndBefore(ctx, leftovers.New(c.pool, c.plan.Subject(), plan.Undoing), false); err != nil {
			c.note(fmt.Sprintf("what was kept for the undo of the change before of %s is left: %v; the same command again removes it", c.plan.Subject(), err))
		}
	} else if err := c.restore(ctx); err != nil {
		c.note(fmt.Sprintf("%s could not be updated: %v; the same command again does that", c.book().name(), err))
	}
	c.undo = checkpoint.Undo{}
}

// markTruncated marks the table that a TRUNCATE has put aside.
func (c *Change) markTruncated(ctx context.Context) {
	if l := c.undo.Ledger; l.Kind == string(ddl.KindTruncate) {
		old := leftovers.Old{Pool: c.pool, Source: c.plan.Subject(), Name: l.Moves[0].To, Truncated: true}
		old.Keep(ctx, l.Table.Comment, "", c.control.Settings().WithDefaults().Lock.Wait, c.note)
	}
}

// finish records what an earlier run has done before it was killed.
func (c *Change) finish(ctx context.Context) error {
	saved, err := Record(ctx, c.pool, c.plan.Subject())
	if err == nil && (saved == nil || saved.Undo.Ledger == nil) {
		err = leftovers.ErrOvertaken
	}
	if err != nil {
		return err
	}
	if err := endEarlier(ctx, c.pool, saved); err != nil {
		return err
	}
	c.undo = *saved.Undo
	step, err := stepOf(ctx, c.pool.DB(), c.undo.Ledger)
	if err != nil {
		return err
	}
	pending := c.undo.Ledger.Step
	if pending == checkpoint.Doing && step == checkpoint.Made || pending == checkpoint.Undoing && step == checkpoint.Undone {
		if pending == checkpoint.Undoing && c.plan.Back != nil && c.plan.Back.Kind == ddl.KindTruncate {
			swapBack{Change: c}.putAside(ctx, &migration.Result{})
			if err := c.sweep(ctx); err != nil {
				c.note(fmt.Sprintf("%v; remove it with: midstream cleanup  %s", err, c.plan.Subject().Argument()))
			}
		}
		if pending == checkpoint.Doing {
			c.markTruncated(ctx)
		}
		if pending == checkpoint.Doing {
			c.endOthers(ctx, c.undo.Ledger.Ends)
		}
		c.recomment(ctx, marksOf(c.undo.Ledger, pending == checkpoint.Undoing))
		earlier := pending == checkpoint.Doing && c.undo.Earlier != nil
		c.undo.For = max(c.undo.For, c.plan.Undo)
		c.endPassing(ctx)
		c.record(ctx)
		if earlier && c.undo.Ledger != nil {
			return leftovers.EndBefore(ctx, leftovers.New(c.pool, c.plan.Subject(), plan.Undoing), true)
		}
		return nil
	}
	return leftovers.ErrOvertaken
}

// sweep removes the tables that a killed swap has left.
func (c *Change) sweep(ctx context.Context) error {
	cleaner := leftovers.New(c.pool, c.plan.Subject(), plan.Altering)
	found, err := cleaner.Find(ctx, false)
	if err != nil {
		return err
	}
	for _, l := range found {
		if !cleaner.GoesWithARun(l) {
			continue
		}
		if err := leftovers.RetryBriefly(ctx, func() error { return cleaner.Drop(ctx, l) }); err != nil {
			return fmt.Errorf("drop %s: %w", l.Name, err)
		}
	}
	return nil
}

// marksOf are the tables from which a RENAME takes the mark of an old table, or, if it is undone, those that get it back.
func marksOf(l *checkpoint.Ledger, undone bool) (all []plan.Recomment) {
	for _, m := range l.Moves {
		switch {
		case m.Mark == "":
		case undone:
			all = append(all, plan.Recomment{Table: m.From, Former: m.Comment, Comment: m.Mark})
		default:
			all = append(all, plan.Recomment{Table: m.To, Former: m.Mark, Comment: m.Comment})
		}
	}
	return all
}

// recomment gives renamed tables their comments. A comment that was changed since stays.
func (c *Change) recomment(ctx context.Context, all []plan.Recomment) {
	ctx = context.WithoutCancel(ctx)
	for _, to := range all {
		id, comment, err := at(ctx, c.pool.DB(), to.Table)
		if err == nil && (id == nil || comment != to.Former) {
			continue
		}
		clause := "COMMENT = " + schema.Literal(to.Comment)
		if err == nil {
			err = c.alterOther(ctx, to.Table, clause)
		}
		if err != nil {
			c.note(fmt.Sprintf("%s could not get its comment: %v; give it: ALTER TABLE %s %s", to.Table, err, to.Table.Quoted(), clause))
		}
	}
}

// endOthers drops what was kept for the undos of other tables that the statement has ended. The old tables stay. It comes before the record
// goes that names them.
func (c *Change) endOthers(ctx context.Context, ended []schema.Name) {
	for _, table := range ended {
		if table != c.plan.Subject() {
			c.endUndo(ctx, table, false)
		}
	}
}

// endOwn is endOthers for the undo before of the subject, if no passing record was to end it.
func (c *Change) endOwn(ctx context.Context) {
	kept := c.undo.Ledger != nil
	if slices.Contains(c.plan.EndsUndo, c.plan.Subject()) && (kept || len(c.plan.Moves) == 0) {
		c.endUndo(ctx, c.plan.Subject(), kept)
	}
}

// endUndo drops what was kept for the undo of the change before of a table.
func (c *Change) endUndo(ctx context.Context, table schema.Name, kept bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookPatience)
	defer cancel()
	if err := leftovers.EndBefore(ctx, leftovers.New(c.pool, table, plan.Undoing), kept); err != nil {
		c.note(fmt.Sprintf("what was kept for the undo of the change before of %s is left: %v; remove it with: midstream undo  --end %s",
			table, err, table.Argument()))
	}
}
