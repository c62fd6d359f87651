package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Measure runs the statement, in the way of the server's answer, on a clone with the first rows of
// the table, and returns its cost. The clone is then dropped. before is a statement that runs first
// and does not count; nil if there is none.
func Measure(
	ctx context.Context,
	pool *dbconn.Pool,
	q Question,
	answer *plan.Answer,
	before *ddl.Alter,
	rows int64,
) (cost plan.Cost, err error) {
	// Rows may have dates that the server would not take any more.
	session, err := silent(ctx, pool, append(pool.BuildSetup(ctx, dbconn.BuildThreads), pool.AsTheServer(true)...)...)
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
	clone, err := schema.LoadOwn(ctx, pool.DB(), q.Clone)
	if err != nil {
		return cost, fmt.Errorf("read clone %s: %w", q.Clone, err)
	}
	statement := "ALTER TABLE " + q.Clone.Quoted() + " " + ddl.Prefixed(answer.How(), q.ClausesFor(q.Alter, clone))
	once, err := q.timed(ctx, pool, session, statement)
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
	spent, err := q.repeat(ctx, pool, session, clone, answer, statement, once)
	if err != nil {
		return cost, err
	}
	return plan.Cost{
		Setup: answer.Setup, Rows: float64(rows) / max(1e-3, (spent.took-answer.Setup).Seconds()),
		Bytes: max(0, large) / float64(rows), Redo: float64(spent.redo) / float64(rows),
	}, nil
}

// Measure repeats a short statement until it has taken this long in total, or has run this often.
// Otherwise a slow moment of the machine would count for all of them.
const (
	measureFor = 3 * time.Second
	mostOften  = 5
)

// spent is what one statement has cost.
type spent struct {
	took time.Duration
	redo int64 // of the complete server
}

// timed carries out a statement.
func (q Question) timed(ctx context.Context, pool *dbconn.Pool, session *dbconn.Session, statement string) (s spent, err error) {
	before, err := facts.ReadLoad(ctx, pool.DB(), q.Clone)
	if err != nil {
		return s, err
	}
	began := time.Now()
	if _, err := session.Exec(ctx, statement); err != nil {
		return s, fmt.Errorf("change clone %s: %w", q.Clone, err)
	}
	s.took = time.Since(began)
	after, err := facts.ReadLoad(ctx, pool.DB(), q.Clone)
	s.redo = after.Redo - before.Redo
	return s, err
}

// repeat runs the statement, which has run once, again on the clone. It returns the average cost,
// and the least redo log: the server also writes redo log for its own work. before is the clone's
// first state.
func (q Question) repeat(
	ctx context.Context,
	pool *dbconn.Pool,
	session *dbconn.Session,
	before *schema.Table,
	answer *plan.Answer,
	statement string,
	once spent,
) (spent, error) {
	after, err := schema.LoadOwn(ctx, pool.DB(), q.Clone)
	if err != nil {
		return once, fmt.Errorf("read clone %s: %w", q.Clone, err)
	}
	// undo restores the state in which the statement can run again.
	undo := ""
	if answer.Effect == plan.Rebuild {
		statement = "ALTER TABLE " + q.Clone.Quoted() + " " + ddl.Prefixed(cmp.Or(answer.How(), "ALGORITHM=COPY"), "FORCE")
	} else if undo = dropping(q.Clone, before.Keys, after.Keys); undo == "" {
		return once, nil
	}
	total, least, times := once.took, once.redo, 1
	for ; total < measureFor && times < mostOften; times++ {
		var again spent
		for _, s := range []string{undo, statement} { // the last one counts
			if s == "" {
				continue
			}
			switch again, err = q.timed(ctx, pool, session, s); {
			case err == nil:
			case unanswered(err):
				return once, err
			default: // it can be made once only
				return spent{total / time.Duration(times), least}, nil
			}
		}
		total, least = total+again.took, min(least, again.redo)
	}
	return spent{total / time.Duration(times), least}, nil
}

// dropping is the statement that drops the keys that have come; "" where others have gone or changed, or none
// has come.
func dropping(table schema.Name, before, after []schema.Key) string {
	same := func(keys []schema.Key, k schema.Key) bool {
		return slices.ContainsFunc(keys, func(other schema.Key) bool { return other.Name == k.Name && other.Definition == k.Definition })
	}
	var drops []string
	for _, k := range after {
		if !same(before, k) {
			drops = append(drops, "DROP INDEX "+schema.Quote(k.Name))
		}
	}
	if len(drops) == 0 || len(after) != len(before)+len(drops) {
		return ""
	}
	return "ALTER TABLE " + table.Quoted() + " " + strings.Join(drops, ", ")
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
	return facts.LeafBytes(ctx, pool.DB(), q.Clone)
}
