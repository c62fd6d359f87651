package planning

import (
	"context"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/wholetables"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// MakeTablesBack makes the plan of the undo, or of the redo, of the last statement on a complete table. Its error is as
// that of MakeTables, or leftovers.ErrNoUndo.
func MakeTablesBack(
	ctx context.Context,
	server Server,
	source schema.Name,
	settings operator.Settings,
	options plan.TableOptions,
	emit event.Listener,
) (p *plan.TablePlan, err error) {
	defer func() { err = Denied(ctx, server, source, err) }()
	saved, err := wholetables.Record(ctx, server.Pool, source)
	if err != nil {
		return nil, failed(ReadFacts, source, server.readingFrom(err))
	}
	if saved == nil || saved.Undo.Ledger == nil {
		return nil, failed(ReadFacts, source, leftovers.ErrNoUndo)
	}
	l := saved.Undo.Ledger
	options.Former, options.Swapped = l.Statement, saved.Undo.Swapped
	next, err := wholetables.NextOf(ctx, server.Pool.DB(), l)
	if err != nil {
		return nil, failed(ReadFacts, source, server.readingFrom(err))
	}
	if next == wholetables.Nothing {
		return nil, failed(ReadFacts, source, leftovers.ErrNoUndo)
	}
	if next == wholetables.Redo {
		var flags []string
		if options.Merge {
			flags = append(flags, "--merge")
		}
		if options.Park {
			flags = append(flags, "--park")
		}
		if useless := strings.Join(flags, ", "); useless != "" {
			return nil, refuse(source, cannotUse(useless),
				"the last TRUNCATE was undone, and its redo empties the table: it takes over no rows and sets none aside", "Leave out "+useless)
		}
		statement, err := ddl.ParseStatement(l.Statement)
		if err != nil {
			return nil, failed(ReadFacts, source, err)
		}
		options.Undo, options.Redo, options.Drop = saved.Undo.For, true, l.DropOld
		options.Back = false
		return MakeTables(ctx, server, statement, settings, options, emit)
	}
	statement, facts, back, err := wholetables.LookBack(
		ctx, server.Pool, plan.TablesBack{Source: source, Merge: options.Merge, Park: options.Park}, l, settings, emit,
	)
	if err != nil {
		return nil, failed(ReadFacts, source, server.readingFrom(err))
	}
	if next == wholetables.Finish {
		options.Redo = l.Redo && l.Step == checkpoint.Doing
		return plan.FinishTables(statement, facts, back, options), nil
	}
	first := statement.Tables()[0]
	if facts.Swap, err = renames(ctx, server.Pool, first, facts.Shape(statement.Kind), facts.Tables[0].Facts); err != nil {
		return nil, failed(MeasureSwap, first, err)
	}
	return plan.MakeTablesBack(statement, facts, back, options)
}
