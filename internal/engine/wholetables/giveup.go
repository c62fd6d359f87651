package wholetables

import (
	"context"
	"errors"
	"fmt"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/compare"
	"midstream/internal/engine/event"
	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// GiveUp gives up a statement on complete tables, its undo or its redo, of which the run was killed; or a change that the server makes
// itself. It is recorded if the server has executed it. Otherwise its traces are removed, and the record is as it was before.
// agree is asked first. The result is nil if there is nothing to give up, or agree refuses.
func GiveUp(
	ctx context.Context, pool *dbconn.Pool, source schema.Name, agree func(leftovers.Killed) bool, emit event.Listener,
) (*leftovers.Killed, error) {
	saved, err := Record(ctx, pool, source)
	if err != nil || saved == nil {
		return nil, err
	}
	held, err := leftovers.ClaimTable(ctx, pool, source, func(error) {})
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if saved, err = Record(ctx, pool, source); err != nil || saved == nil { // a run may have ended since
		return nil, err
	}
	l := saved.Undo.Ledger
	if l == nil {
		return leftovers.GiveUpNative(ctx, leftovers.New(pool, source, plan.Altering), saved, agree)
	}
	if !l.Pending() {
		return nil, nil
	}
	if following, _, err := facts.Replicates(ctx, pool.DB()); err != nil || following {
		return nil, errors.Join(err, leftovers.ErrElsewhere)
	}
	if err := endEarlier(ctx, pool, saved); err != nil {
		return nil, err
	}
	made, err := executed(ctx, pool.DB(), l)
	if err != nil {
		return nil, err
	}
	undoes := l.Step == checkpoint.Undoing
	if undoes { // executed tells of the statement, and not of its undo
		made = !made
	}
	k := leftovers.Killed{Statement: l.Statement, Undoes: undoes, Redoes: !undoes && l.Redo, Made: made}
	if !agree(k) {
		return nil, nil
	}
	c, err := changeOf(pool, source, l, emit)
	switch {
	case err != nil:
	case made:
		err = finishAlone(ctx, c)
	default:
		err = c.unbegin(ctx, saved)
	}
	return &k, err
}

// changeOf is the change of a ledger, as far as its end needs it.
func changeOf(pool *dbconn.Pool, source schema.Name, l *checkpoint.Ledger, emit event.Listener) (*Change, error) {
	statement, err := ddl.ParseStatement(l.Statement)
	if err != nil {
		return nil, fmt.Errorf("read the statement of the undo: %w", err)
	}
	back := &plan.TablesBack{Source: source, Kind: statement.Kind, Was: l.Table, Undone: undoneBy(source, l)}
	if statement.Kind != ddl.KindRename {
		back.Aside = l.Moves[0].To
	}
	return New(pool, &plan.TablePlan{Statement: statement, Back: back, Finish: true}, operator.NewControl(operator.Settings{}), emit), nil
}

// finishAlone is finish while no run works on the other tables whose undos the statement has ended.
func finishAlone(ctx context.Context, c *Change) error {
	saved, err := Record(ctx, c.pool, c.plan.Subject())
	if err != nil || saved == nil || saved.Undo.Ledger == nil {
		return err
	}
	for _, table := range saved.Undo.Ledger.Ends {
		if table == c.plan.Subject() {
			continue // the caller has claimed it
		}
		held, err := leftovers.ClaimTable(ctx, c.pool, table, func(error) {})
		if err != nil {
			return err
		}
		defer held.Release()
	}
	return c.finish(ctx)
}

// unbegin removes the traces of a statement, or of an undo, that was not executed: the tables have the names from before it.
func (c *Change) unbegin(ctx context.Context, saved *checkpoint.Saved) error {
	c.undo = *saved.Undo
	if c.undo.Ledger.Step == checkpoint.Doing {
		if err := c.dropTwin(ctx, saved); err != nil {
			return err
		}
		return c.restore(ctx)
	}
	if c.plan.Back.Kind == ddl.KindTruncate {
		if err := c.unswap(ctx); err != nil {
			return err
		}
	}
	return c.restore(ctx)
}

// unswap gives the table that a TRUNCATE has put aside its mark again, without the rows that were taken over, and drops what was to
// keep names for a swap.
func (c *Change) unswap(ctx context.Context) error {
	b := c.plan.Back
	aside, err := schema.Load(ctx, c.pool.DB(), b.Aside)
	if err == nil {
		if _, marked := schema.MarkedOld(aside.Comment, b.Source); !marked {
			swapBack{Change: c}.markAgain(ctx)
		}
		c.plan.Table, err = schema.Load(ctx, c.pool.DB(), b.Source)
	}
	if err == nil {
		var m *merger
		if m, err = c.merger(ctx); err == nil {
			err = m.giveBack(ctx)
		}
	}
	// Without a table there is no undo any longer, and an incomparable one has got no rows.
	if err != nil && !errors.Is(err, schema.ErrNotFound) && !errors.Is(err, compare.ErrIncomparable) {
		return err
	}
	return c.sweep(ctx)
}
