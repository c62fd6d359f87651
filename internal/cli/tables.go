package cli

import (
	"context"
	"fmt"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// makeTables makes the plan of a statement on whole tables.
func (c *change) makeTables(ctx context.Context, statement *ddl.Statement, s *server, wish plan.Method) (*plan.TablePlan, error) {
	if c.undo != nil {
		if err := c.undo.OnlyTables(statement, c.options.Map, c.settings.When.Follow); err != nil {
			return nil, err
		}
	}
	p, err := planning.MakeTables(ctx, s.Planning(), statement, c.settings, plan.TableOptions{
		Replicates: c.options.Replicates, Kills: c.options.Kills,
		Method: wish, Keep: c.dropLater, Drop: c.config.DropOld, Stall: c.options.Limits.Locked,
		Undo: c.config.Undo, EndUndo: c.endUndo,
		Back: c.undo != nil, Merge: c.undo != nil && c.undo.Merge, Park: c.undo != nil && c.undo.Park,
		Again: c.options.Again, Filter: c.options.Filter, Set: c.options.Set,
	}, func(e event.Event) {
		if _, text, matters := humanize.Happening(e); matters {
			c.output.note(text)
		}
	})
	if err != nil {
		return nil, exit.Unplanned(ctx, err)
	}
	return p, nil
}

// planTables makes the plan, and prints it.
func (c *change) planTables(ctx context.Context, statement *ddl.Statement, s *server) (*plan.TablePlan, error) {
	p, err := c.makeTables(ctx, statement, s, c.options.Method)
	if err != nil {
		return nil, err
	}
	switch {
	case c.output.json:
		c.app.Record(record.TablePlanOf(p, s.Address))
	case c.output.quiet:
		if len(p.Risks) > 0 {
			fmt.Fprint(c.app.Stdout, summary.TableNames(p)+"\n"+summary.Risks(p.Risks, c.output.style()))
		}
	default:
		fmt.Fprint(c.app.Stdout, summary.OfTablePlan(p, s.Address, c.settings, c.output.style()))
	}
	return p, confirmed(ctx, c, summary.TableNames(p))
}

// runTables makes the plan and carries it out.
func (c *change) runTables(ctx context.Context, statement *ddl.Statement, s *server) (migration.Result, error) {
	if err := awaitOther(ctx, c, s, statement.Tables()...); err != nil {
		return migration.Result{}, err
	}
	p, err := c.planTables(ctx, statement, s)
	if err != nil {
		return migration.Result{}, err
	}
	result, err := c.carryOutTables(ctx, p, s)
	if err == nil && !c.output.json {
		fmt.Fprint(c.app.Stdout, summary.OfTableRun(p, result))
	}
	return result, err
}

// carryOutTables carries out the plan of a statement on whole tables.
func (c *change) carryOutTables(ctx context.Context, p *plan.TablePlan, s *server) (migration.Result, error) {
	return c.underControl(
		ctx,
		p.Subject(),
		fmt.Sprintf("%s %s", p.Statement.Kind, summary.TableNames(p)),
		s,
		func() (result migration.Result, err error) {
			_, err = c.run.Attempt(ctx, func(ctx context.Context) error {
				result, err = c.attemptTables(ctx, p, s)
				return err
			})
			if err == nil {
				session.Keep(ctx, s, p.Subject(), nil, &result)
			}
			return result, err
		},
	)
}

func (c *change) attemptTables(ctx context.Context, p *plan.TablePlan, s *server) (result migration.Result, err error) {
	c.run.Planned(record.TablePlanOf(p, s.Address))
	at := func(phase event.Phase, _ bool) summary.Interrupt { return summary.OfTablesInterrupt(p, phase) }
	c.showing(summary.TableNames(p), at, func(show event.Listener) {
		result, err = c.run.Tables(s.Pool, p, show).Run(ctx)
		c.run.Silent()
	})
	return result, err
}
