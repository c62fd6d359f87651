package planning

import (
	"context"

	"midstream/internal/engine/event"
	"midstream/internal/engine/native"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/wholetables"
	"midstream/internal/mysql/ddl"
)

// MakeTables makes the plan of a statement on complete tables. Its error is a *plan.Refused or an
// *Error. It reports requests for locks to emit.
func MakeTables(
	ctx context.Context,
	server Server,
	statement *ddl.Statement,
	settings operator.Settings,
	options plan.TableOptions,
	emit event.Listener,
) (*plan.TablePlan, error) {
	if options.Filter != "" {
		return nil, refuseBy(plan.CodeFilter, statement.Tables()[0], "a "+string(statement.Kind)+" cannot choose rows", "it is for complete tables", "Leave out --keep")
	}
	if len(options.Set) > 0 {
		return nil, refuseBy(plan.CodeSet, statement.Tables()[0], "a "+string(statement.Kind)+" cannot compute values", "it is for complete tables", "Leave out --set")
	}
	if options.Back {
		return MakeTablesBack(ctx, server, statement.Tables()[0], settings, options, emit)
	}
	if statement.Kind == ddl.KindCreate { // the others have no unread facts
		if err := native.Parse(ctx, server.Pool, statement.Restore(statement.Table), true); err != nil {
			return nil, failed(AskServer, statement.Table, err)
		}
	}
	facts, err := wholetables.Look(ctx, server.Pool, statement, settings, emit)
	if err != nil {
		return nil, failed(ReadFacts, statement.Table, server.readingFrom(err))
	}
	if statement.Kind == ddl.KindRename {
		if err := readBehind(ctx, server, facts); err != nil {
			return nil, failed(ReadFacts, statement.Tables()[0], err)
		}
	}
	first := statement.Tables()[0]
	facts.Swap, err = renames(ctx, server.Pool, first, facts.Shape(statement.Kind), facts.Tables[0].Facts)
	if err != nil {
		return nil, failed(MeasureSwap, first, err)
	}
	return plan.MakeTables(statement, facts, options)
}
