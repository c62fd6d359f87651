package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// ErrForeign means that the server refuses the statement because of foreign keys.
var ErrForeign = errors.New("the server refuses the statement because of a foreign key")

// permits lets the server run the statement on a clone that has the foreign keys of Binds, each to or from an empty copy of the other
// table. It returns the attempts that the server refuses there. If the server refuses all of them, taken is false. Without a clone it
// returns no attempt: then the run finds out.
func (q Question) permits(ctx context.Context, pool *dbconn.Pool) (refused []plan.Rejected, taken bool, err error) {
	taken = true
	err = q.onClone(ctx, pool, func(session *dbconn.Session) (err error) {
		maker, err := unchecked(ctx, pool)
		if err != nil {
			return err
		}
		defer maker.Close()
		made, err := q.family(ctx, pool, maker)
		defer func() { err = errors.Join(err, remove(ctx, maker, made...)) }()
		if err != nil {
			if dbconn.Number(err) == 0 || dbconn.ConnectionLost(err) {
				return err
			}
			return nil // a privilege is missing there, or the table
		}
		before, complete, err := q.asNamed(ctx, pool, maker)
		if err != nil || !complete {
			return err
		}
		text := q.ClausesFor(q.Alter, before.table)
		for _, a := range q.attempts() {
			one := &plan.Answer{Method: a.method, Lock: a.lock}
			taken, err = q.trySo(ctx, pool, session, before, one, text)
			if err != nil || taken {
				return err
			}
			refused = append(refused, one.Refused...)
		}
		return nil
	})
	return refused, taken, err
}

// unchecked opens a session that makes and drops copies whatever their foreign keys.
func unchecked(ctx context.Context, pool *dbconn.Pool) (*dbconn.Session, error) {
	return silent(ctx, pool, append(pool.Defining(), "SET SESSION foreign_key_checks = 0")...)
}

// copyOf makes an empty copy of a table at the other end of a foreign key. A copy that has no mark yet may be left by an error: the
// caller removes it too.
func (q Question) copyOf(ctx context.Context, maker *dbconn.Session, other, called schema.Name) error {
	for _, statement := range []string{
		fmt.Sprintf("CREATE TABLE %s LIKE %s", called.Quoted(), other.Quoted()),
		fmt.Sprintf("ALTER TABLE %s COMMENT = %s", called.Quoted(), schema.Literal(schema.MarkFor(schema.CloneKind, q.Table.Name))),
	} {
		if _, err := maker.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make clone %s of %s: %w", called, other, err)
		}
	}
	return nil
}

// family makes the copies of the other tables, and the foreign keys. It returns the copies that it may have made, also with an error.
func (q Question) family(ctx context.Context, pool *dbconn.Pool, maker *dbconn.Session) (made []schema.Name, err error) {
	copies := map[schema.Name]schema.Name{q.Table.Name: q.Clone}
	for i, fk := range q.Binds {
		for _, end := range []*schema.Name{&fk.Child, &fk.Parent} {
			if _, there := copies[*end]; !there {
				name := pool.CloneOf(q.Table.Name, fmt.Sprintf("_end_%d", len(copies)))
				made, copies[*end] = append(made, name), name
				if err := q.copyOf(ctx, maker, *end, name); err != nil {
					return made, err
				}
			}
			*end = copies[*end]
		}
		add := fmt.Sprintf("ALTER TABLE %s ADD %s", fk.Child.Quoted(), fk.Definition(fmt.Sprintf("%s_%d", q.Clone.Table, i+1)))
		if _, err := maker.Exec(ctx, add); err != nil {
			return made, fmt.Errorf("give clone %s the foreign key %s: %w", fk.Child, fk.Constraint, err)
		}
	}
	return made, nil
}

// asNamed looks at the clone, which has foreign keys now, and gives its indexes the names of the table's. A server that had made the
// index of a foreign key drops it for the index of the clone's, which has another name (8.0.12). It is not complete if one is missing.
func (q Question) asNamed(ctx context.Context, pool *dbconn.Pool, maker *dbconn.Session) (before *sight, complete bool, err error) {
	before, err = look(ctx, pool.DB(), q.Clone)
	if err != nil {
		return nil, false, err
	}
	renamed := false
	for _, key := range q.Table.Keys {
		if named(before.table.Keys, key.Name) {
			continue
		}
		i := slices.IndexFunc(before.table.Keys, func(k schema.Key) bool {
			return slices.Equal(k.Parts, key.Parts) && !named(q.Table.Keys, k.Name)
		})
		if i < 0 {
			return before, false, nil
		}
		rename := fmt.Sprintf("ALTER TABLE %s RENAME INDEX %s TO %s", q.Clone.Quoted(), schema.Quote(before.table.Keys[i].Name), schema.Quote(key.Name))
		if _, err := maker.Exec(ctx, rename); err != nil {
			return nil, false, fmt.Errorf("name the indexes of clone %s: %w", q.Clone, err)
		}
		renamed = true
	}
	if renamed {
		before, err = look(ctx, pool.DB(), q.Clone)
	}
	return before, true, err
}

// named reports whether one of the keys has a name.
func named(keys []schema.Key, name string) bool {
	return slices.ContainsFunc(keys, func(k schema.Key) bool { return strings.EqualFold(k.Name, name) })
}

// remove drops clones whose session ignores foreign keys.
func remove(ctx context.Context, maker *dbconn.Session, clones ...schema.Name) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	for _, clone := range clones {
		if _, failed := maker.Exec(ctx, "DROP TABLE IF EXISTS "+clone.Quoted()); failed != nil {
			err = errors.Join(err, fmt.Errorf("%w: %s: %w", ErrLeft, clone, failed))
		}
	}
	return err
}
