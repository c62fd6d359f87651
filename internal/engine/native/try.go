package native

import (
	"context"
	"fmt"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Try runs the statement on an empty clone of the table, as a run does on a shadow, and drops the
// clone. It fails with ErrRefused if the server refuses the statement, and with ErrNoCopy if it
// makes no clone. REQUIRES: no table has the clone's name.
func Try(ctx context.Context, pool *dbconn.Pool, q Question) (trial *plan.Trial, err error) {
	q.anew = true
	err = q.onClone(ctx, pool, func(session *dbconn.Session) error {
		before, err := look(ctx, pool.DB(), q.Clone)
		if err != nil {
			return err
		}
		if again := schema.Settable(q.Table.LostIn(before.table)); again != "" {
			if _, err := session.Exec(ctx, "ALTER TABLE "+q.Clone.Quoted()+" "+again); err != nil {
				return fmt.Errorf("set options of clone %s: %w", q.Clone, err)
			}
			if before, err = look(ctx, pool.DB(), q.Clone); err != nil {
				return err
			}
		}
		if clauses := q.ClausesFor(q.Alter, before.table); clauses != "" {
			alter := "ALTER TABLE " + q.Clone.Quoted() + " " + clauses
			if _, err = session.Exec(ctx, alter); dbconn.OneFulltext(err) {
				_, err = session.Exec(ctx, alter+", ALGORITHM=COPY")
			}
		}
		switch {
		case err != nil && unanswered(err):
			return fmt.Errorf("try on clone %s: %w", q.Clone, err)
		case err != nil:
			return fmt.Errorf("%w: %s", ErrRefused, dbconn.Message(err))
		}
		after, err := look(ctx, pool.DB(), q.Clone)
		if err == nil {
			trial, err = q.settle(ctx, pool, before, after)
		}
		if err == nil && len(q.Adds) > 0 {
			trial.Added, err = q.addForeign(ctx, pool, session)
		}
		return err
	})
	return trial, err
}

// settle sets the comment of the altered clone once more, by a session as a run sets the shadow's.
// A trial that the server refuses to settle has no settled table.
func (q Question) settle(ctx context.Context, pool *dbconn.Pool, before, after *sight) (*plan.Trial, error) {
	trial := &plan.Trial{Copied: before.table, Altered: after.table}
	session, err := silent(ctx, pool, pool.Defining()...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	_, err = session.Exec(ctx, "ALTER TABLE "+q.Clone.Quoted()+" COMMENT = "+schema.Literal(after.table.Comment))
	switch {
	case err != nil && unanswered(err):
		return nil, fmt.Errorf("set the comment of clone %s: %w", q.Clone, err)
	case err != nil:
		return trial, nil
	}
	settled, err := look(ctx, pool.DB(), q.Clone)
	if err != nil {
		return nil, err
	}
	trial.Settled = settled.table
	return trial, nil
}
