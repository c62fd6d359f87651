package cutover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// A swap that takes the new table to another name (--into), and the view that gets the source's (--into-view).

// makeView makes the view that the RENAME gives the source's name. The stand-by is there for a moment.
func makeView(ctx context.Context, a *swapAttempt) error {
	v := a.one().Tables.View
	if v == nil {
		return nil
	}
	if err := DropViews(ctx, a.one().Pool, a.one().Tables.Source, v.Over); err != nil { // of a killed run, perhaps
		return err
	}
	for _, statement := range []string{v.StandBy, v.Create} {
		if _, err := a.holder.Exec(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("make the view %s: %w", v.Name, asIntoTaken(err)), dropStandBy(ctx, a))
		}
	}
	return dropStandBy(ctx, a)
}

// dropStandBy frees the name of the new table. Sessions may have used it already: none waits longer for us than for an attempt.
func dropStandBy(ctx context.Context, a *swapAttempt) error {
	p := a.one()
	definition, err := facts.ViewDefinition(ctx, p.Pool.DB(), p.Tables.View.Over)
	if err != nil || !plan.IsStandBy(definition, p.Tables.Source) {
		return err
	}
	requested, err := lock.Request(ctx, a.holder, p.Tables.View.DropStandBy, a.budget.Wait)
	if err == nil && !requested.Granted {
		err = ErrNotGranted
	}
	return err
}

// ErrIntoTaken means that another table has the name that the new table was to get.
var ErrIntoTaken = errors.New("another table has the name that the new table was to get (--into)")

// orIntoTaken is the error of a RENAME that has failed because another table has the new table's name.
func orIntoTaken(ctx context.Context, a *swapAttempt, err error) error {
	p := a.parts[0]
	if !errors.Is(err, ErrNameTaken) || p.Tables.Into == (schema.Name{}) {
		return err
	}
	looking, cancel := context.WithTimeout(ctx, atWork)
	defer cancel()
	var there string
	if p.Pool.DB().QueryRowContext(looking, schema.CommentQuery(p.Tables.Into)).Scan(&there) != nil {
		return err
	}
	return fmt.Errorf("%w: %s: %s", ErrIntoTaken, p.Tables.Into, err)
}

func asIntoTaken(err error) error {
	if dbconn.TableExists(err) {
		return fmt.Errorf("%w: %w", ErrIntoTaken, err)
	}
	return err
}

// DropViews drops the views that a run on the source has made for its swap and that none has used. Their definitions identify them.
// REQUIRES: the run is this one, or its state table shows that it was to make them.
func DropViews(ctx context.Context, pool *dbconn.Pool, source, into schema.Name) error {
	drop := func(name schema.Name, ours func(definition string) bool) error {
		definition, err := facts.ViewDefinition(ctx, pool.DB(), name)
		if err != nil || !ours(definition) {
			return err
		}
		session, err := pool.Session(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		requested, err := lock.Request(ctx, session, "DROP VIEW IF EXISTS "+name.Quoted(), plan.DefaultWait)
		if err == nil && !requested.Granted {
			err = fmt.Errorf("drop the view %s: %w", name, ErrNotGranted)
		}
		return err
	}
	return errors.Join(
		drop(plan.ViewOf(source), func(definition string) bool { return plan.IsViewOver(definition, into) }),
		drop(into, func(definition string) bool { return plan.IsStandBy(definition, source) }),
	)
}

// waitsForSource proves that the RENAME waits for the source, if it asks for the lock of the new table's name before that. Then no
// session can come between.
func waitsForSource(ctx context.Context, a *swapAttempt) error {
	t := a.one().Tables
	if t.Into == (schema.Name{}) || !plan.FirstInSwap(t.Into, t.Source) {
		return nil
	}
	var waits schema.Name
	err := a.one().Pool.DB().QueryRowContext(ctx, `
		SELECT IFNULL(l.object_schema, ''), IFNULL(l.object_name, '')
		  FROM performance_schema.metadata_locks l JOIN performance_schema.threads t ON t.thread_id = l.owner_thread_id
		 WHERE t.processlist_id = ? AND l.lock_status = 'PENDING'`, a.renamer.ID()).Scan(&waits.Schema, &waits.Table)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("check for which lock the RENAME waits: %w", err)
	}
	if !strings.EqualFold(waits.Schema, t.Source.Schema) || !strings.EqualFold(waits.Table, t.Source.Table) {
		return fmt.Errorf("the RENAME does not wait for %s: %w", t.Source, ErrDisturbed)
	}
	return nil
}
