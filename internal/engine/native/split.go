package native

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/lock"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Split checks whether the statement is lighter in two parts. The server does the first part by
// INSTANT. For the rest it only builds indexes; for the complete statement it would build the table
// again. Split returns nil if that is not so, or if the two parts would not make the same table. It
// also returns nil if rows may refuse the rest, because the table would be left half changed.
func Split(ctx context.Context, pool *dbconn.Pool, q Question, whole *plan.Answer) (split *plan.Split, err error) {
	parts := q.Alter.Parts()
	if whole.Effect < plan.Rebuild || len(parts) < 2 || q.From != "" || whole.Trial != nil && plan.Rounds(q.Alter, whole.Trial.Altered) {
		return nil, nil
	}
	first, rest, err := q.sort(ctx, pool, parts)
	if err != nil || len(first) == 0 || len(rest) == 0 {
		return nil, err
	}
	split = &plan.Split{}
	if split.First, err = joined(q.Alter, first); err != nil {
		return nil, nil // the parser takes them only together
	}
	if split.Rest, err = joined(q.Alter, rest); err != nil {
		return nil, nil
	}
	two, err := q.outcome(ctx, pool, split.First, split.Rest)
	switch {
	case errors.Is(err, ErrRefused):
		return nil, nil
	case err != nil:
		return nil, err
	case two.Definition != whole.Definition, two.Effect >= plan.Rebuild, two.Lock != "NONE", !harmless(q.Table, split):
		return nil, nil
	}
	split.Answer = two
	return split, nil
}

// harmless reports whether no row can refuse the rest: it only drops indexes, or adds plain indexes
// on columns that exist and are not generated.
func harmless(table *schema.Table, split *plan.Split) bool {
	rest := split.Rest
	if len(rest.Added)+len(rest.Dropped)+len(rest.Modified)+len(rest.Renames)+len(rest.Defined)+len(rest.Checks) > 0 ||
		rest.ConvertsCharset {
		return false
	}
	for _, k := range rest.Keys {
		for _, name := range k.Columns {
			column, there := table.Column(name)
			for _, c := range split.First.Defined {
				if strings.EqualFold(c.Name, name) {
					column, there = c, true
				}
			}
			if k.Unique || k.Primary || !there || column.Generated != schema.NotGenerated {
				return false
			}
		}
	}
	return true
}

// joined is the ALTER of some parts of another.
func joined(alter *ddl.Alter, parts []*ddl.Alter) (*ddl.Alter, error) {
	var clauses []string
	for _, p := range parts {
		clauses = append(clauses, p.Clauses)
	}
	return ddl.ParseClauses(alter.Table, strings.Join(clauses, ", "))
}

// sort separates the parts that the server does by INSTANT from the rest, one after another.
func (q Question) sort(ctx context.Context, pool *dbconn.Pool, parts []*ddl.Alter) (first, rest []*ddl.Alter, err error) {
	err = q.onClone(ctx, pool, func(session *dbconn.Session) error {
		for _, part := range parts {
			now, err := look(ctx, pool.DB(), q.Clone)
			if err != nil {
				return err
			}
			_, err = session.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ALGORITHM=INSTANT, %s", q.Clone.Quoted(), q.ClausesFor(part, now.table)))
			switch {
			case err == nil:
				first = append(first, part)
			case unanswered(err):
				return fmt.Errorf("ask on clone %s: %w", q.Clone, err)
			default:
				rest = append(rest, part)
			}
		}
		return nil
	})
	return first, rest, err
}

// outcome is how the server does the last of some statements on a clone.
func (q Question) outcome(ctx context.Context, pool *dbconn.Pool, alters ...*ddl.Alter) (answer *plan.Answer, err error) {
	err = q.onClone(ctx, pool, func(session *dbconn.Session) error {
		for _, alter := range alters {
			now, err := look(ctx, pool.DB(), q.Clone)
			if err != nil {
				return err
			}
			one := q
			one.Alter = alter
			if answer, err = one.try(ctx, pool, session, now); err != nil {
				return err
			}
		}
		return nil
	})
	return answer, err
}

// onClone makes a clone, hands its session to do, and drops it.
func (q Question) onClone(ctx context.Context, pool *dbconn.Pool, do func(*dbconn.Session) error) (err error) {
	session, err := silent(ctx, pool, append(pool.AsTheServer(q.ZeroDates), "USE "+schema.Quote(q.Table.Name.Schema))...)
	if err != nil {
		return err
	}
	defer session.Close()
	remove, err := q.clone(ctx, pool, session)
	if err != nil {
		return (&lock.Watcher{DB: pool.DB(), Tables: []schema.Name{q.Table.Name}}).Name(ctx, err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	return do(session)
}
