package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// addForeign adds the foreign keys of the ALTER to the clone, each to an empty copy of its parent: so the server judges both ends, and no
// table of the application is locked. It fails with ErrRefused if the server refuses one.
func (q Question) addForeign(ctx context.Context, pool *dbconn.Pool, session *dbconn.Session) (added []plan.AddedTrial, err error) {
	maker, err := unchecked(ctx, pool)
	if err != nil {
		return nil, err
	}
	defer maker.Close()
	if _, err := session.Exec(ctx, "SET SESSION foreign_key_checks = 1"); err != nil {
		return nil, err
	}
	written, _ := q.Alter.ForeignAdded()
	for i, fk := range q.Adds {
		one, err := q.addOne(ctx, pool, session, maker, fk, written[i], pool.CloneOf(q.Table.Name, fmt.Sprintf("_parent_%d", i+1)))
		if err != nil {
			return nil, err
		}
		added = append(added, one)
	}
	return added, nil
}

// addOne adds one foreign key to the clone, and drops the copy of its parent. The clone keeps the key's index.
func (q Question) addOne(
	ctx context.Context, pool *dbconn.Pool, session, maker *dbconn.Session,
	fk schema.ForeignKey, written ddl.NewForeign, parent schema.Name,
) (made plan.AddedTrial, err error) {
	before, err := look(ctx, pool.DB(), q.Clone)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, remove(ctx, maker, parent)) }()
	if err := q.copyOf(ctx, maker, fk.Parent, parent); err != nil {
		return made, err
	}
	fk.Parent = parent
	if _, err = session.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ADD %s", q.Clone.Quoted(), clause(fk, written))); err != nil {
		if !unanswered(err) {
			err = fmt.Errorf("%w: foreign key %s: %s", ErrRefused, fk.Constraint, dbconn.Message(err))
		}
		return made, err
	}
	after, err := look(ctx, pool.DB(), q.Clone)
	if err != nil {
		return made, err
	}
	for _, there := range after.table.ForeignKeys {
		if !slices.ContainsFunc(before.table.ForeignKeys, there.Is) {
			made.Columns, made.ParentColumns = there.Columns, there.ParentColumns
		}
	}
	for _, k := range after.table.Keys {
		if !named(before.table.Keys, k.Name) {
			made.Index = k.Definition
		}
	}
	for _, name := range made.Columns {
		if column, there := after.table.Column(name); there {
			made.Types = append(made.Types, column)
		}
	}
	if len(made.Columns) == 0 {
		return made, fmt.Errorf("%w: foreign key %s: the server has not made it", ErrRefused, fk.Constraint)
	}
	return made, nil
}

// clause is the clause for a foreign key with the names that the statement has: the server calls the index after them.
func clause(fk schema.ForeignKey, written ddl.NewForeign) string {
	named := "CONSTRAINT " + schema.Quote(fk.Constraint) + " "
	rest := strings.TrimPrefix(fk.Definition(fk.Constraint), named+"FOREIGN KEY ")
	if written.Constraint == "" {
		named = ""
	}
	if written.Index != "" {
		rest = schema.Quote(written.Index) + " " + rest
	}
	return named + "FOREIGN KEY " + rest
}
