package planning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// After asks the server how it would carry out an ALTER after others of the same table: it carries out all of them on one empty copy.
// No ALTER may concern foreign keys or the name of the table, because a copy shows neither. The answer is nil if the server refuses one of
// those before, which has a plan of its own. The error is an *Error or a *plan.Refused. REQUIRES: before is not empty.
func After(ctx context.Context, server Server, before []*ddl.Alter, alter *ddl.Alter, options plan.Options) (*plan.Answer, error) {
	answer, err := after(ctx, server, before, alter, options)
	return answer, Denied(ctx, server, alter.Table, err)
}

func after(ctx context.Context, server Server, before []*ddl.Alter, alter *ddl.Alter, options plan.Options) (*plan.Answer, error) {
	db := server.Pool.DB()
	table, err := schema.Load(ctx, db, alter.Table)
	if err != nil {
		return nil, failed(ReadTable, alter.Table, schema.Missing(ctx, db, alter.Table, err))
	}
	version, err := facts.ReadVersion(ctx, db)
	if err != nil {
		return nil, failed(ReadFacts, table.Name, server.readingFrom(err))
	}
	leftovers.DropClones(ctx, server.Pool, table.Name)
	question := questionOf(server, table, before[0], options)
	question.CopiesOnline = version.CopiesOnline()
	answer, err := native.Then(ctx, server.Pool, question, append(slices.Clone(before[1:]), alter)...)
	if errors.Is(err, native.ErrRefused) {
		if _, other := native.Then(ctx, server.Pool, question, before[1:]...); errors.Is(other, native.ErrRefused) {
			return nil, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("ask %s how it would change %s then: %w", server.Address, table.Name, err)
		return nil, failed(AskServer, table.Name, err)
	}
	return answer, nil
}
