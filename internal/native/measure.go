package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"midstream/internal/dbconn"
	"midstream/internal/ddl"
	"midstream/internal/plan"
	"midstream/internal/schema"
)

// Measure has the server carry out the statement, in the way that it has answered, on a clone with
// the first rows of the table, at most so many, and says what that costs. The clone is dropped. before is
// a statement that comes first and does not count, nil if there is none.
func Measure(ctx context.Context, pool *dbconn.Pool, q Question, answer *plan.Answer, before *ddl.Alter, rows int64) (cost plan.Cost, err error) {
	// Rows may have dates that the server would not take any more.
	session, err := silent(ctx, pool, append(pool.BuildSetup(ctx), dbconn.AsTheServer(true)...)...)
	if err != nil {
		return cost, err
	}
	defer session.Close()
	remove, err := q.clone(ctx, pool, session)
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	copied, err := session.Exec(ctx, q.fill(rows))
	if err != nil {
		return cost, fmt.Errorf("copy rows to clone %s: %w", q.Clone, err)
	}
	if rows, err = copied.RowsAffected(); err != nil || rows == 0 {
		return cost, err
	}
	if before != nil {
		if _, err := session.Exec(ctx, before.Restore(q.Clone)); err != nil {
			return cost, fmt.Errorf("change clone %s: %w", q.Clone, err)
		}
	}
	small, err := q.size(ctx, pool, session)
	if err != nil {
		return cost, err
	}
	clone, err := schema.Load(ctx, pool.DB(), q.Clone)
	if err != nil {
		return cost, fmt.Errorf("read clone %s: %w", q.Clone, err)
	}
	was, err := plan.ReadLoad(ctx, pool.DB(), q.Clone)
	if err != nil {
		return cost, err
	}
	began := time.Now()
	if _, err := session.Exec(ctx, "ALTER TABLE "+q.Clone.Quoted()+" "+ddl.Prefixed(answer.How(), q.ClausesFor(q.Alter, clone))); err != nil {
		return cost, fmt.Errorf("change clone %s: %w", q.Clone, err)
	}
	took := time.Since(began)
	is, err := plan.ReadLoad(ctx, pool.DB(), q.Clone)
	if err != nil {
		return cost, err
	}
	large, err := q.size(ctx, pool, session)
	if err != nil {
		return cost, err
	}
	if answer.Effect < plan.Rebuild {
		large -= small
	}
	return plan.Cost{
		Setup: answer.Setup, Rows: float64(rows) / max(1e-3, (took-answer.Setup).Seconds()),
		Bytes: max(0, large) / float64(rows), Redo: float64(is.Redo-was.Redo) / float64(rows),
	}, nil
}

// fill is the statement that copies the first rows to the clone.
func (q Question) fill(rows int64) string {
	var columns []string
	for _, c := range q.Table.Columns {
		if c.Generated == schema.NotGenerated {
			columns = append(columns, schema.Quote(c.Name))
		}
	}
	list := strings.Join(columns, ", ")
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM %[3]s LIMIT %[4]d", q.Clone.Quoted(), list, q.Table.Name.Quoted(), rows)
}

// size is what the clone's rows and index entries take.
func (q Question) size(ctx context.Context, pool *dbconn.Pool, session *dbconn.Session) (float64, error) {
	if _, err := session.Exec(ctx, "ANALYZE TABLE "+q.Clone.Quoted()); err != nil {
		return 0, fmt.Errorf("analyze clone %s: %w", q.Clone, err)
	}
	return plan.LeafBytes(ctx, pool.DB(), q.Clone)
}
