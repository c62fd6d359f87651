package cli

import (
	"context"
	"fmt"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// makeTables makes the plan of a statement on whole tables.
func (c *change) makeTables(ctx context.Context, statement *ddl.Statement, s *server, wish plan.Method) (*plan.TablePlan, error) {
	p, err := planning.MakeTables(ctx, s.Planning(), statement, c.settings, plan.TableOptions{
		Replicates: c.options.Replicates, Kills: c.options.Kills,
		Method: wish, Keep: c.dropLater, Drop: c.config.DropOld, Stall: c.options.Limits.Locked,
	}, func(e event.Event) {
		if _, text, matters := humanize.Happening(e); matters {
			c.output.note(text)
		}
	})
	if err != nil {
		return nil, unplanned(ctx, err)
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
		(&jsonLines{out: c.app.Stdout}).write(record.TablePlanOf(p, s.Address))
	case c.output.quiet:
		if len(p.Risks) > 0 {
			fmt.Fprint(c.app.Stdout, summary.TableNames(p)+"\n"+summary.Risks(p.Risks, c.output.style()))
		}
	default:
		fmt.Fprint(c.app.Stdout, summary.OfTablePlan(p, s.Address, c.settings, c.output.style()))
	}
	return p, nil
}

// runTables makes the plan and carries it out.
func (c *change) runTables(ctx context.Context, statement *ddl.Statement, s *server) (migration.Result, error) {
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
		p.Statement.Tables()[0],
		fmt.Sprintf("%s %s", p.Statement.Kind, summary.TableNames(p)),
		s,
		func() (result migration.Result, err error) {
			_, err = c.run.Attempt(ctx, func(ctx context.Context) error {
				result, err = c.attemptTables(ctx, p, s)
				return err
			})
			return result, err
		},
	)
}

func (c *change) attemptTables(ctx context.Context, p *plan.TablePlan, s *server) (migration.Result, error) {
	c.run.Planned(record.TablePlanOf(p, s.Address))
	screen := c.output.display(summary.TableNames(p))
	c.takeKeys(screen)
	relay := session.NewRelay(screen)
	var stand session.Stand
	defer c.onTablesInterrupt(p, &stand, relay, screen)()
	result, err := c.run.Tables(s.Pool, p, event.Tee(stand.Listen, relay.Listen)).Run(ctx)
	c.run.Silent()
	relay.Close()
	return result, err
}

// onTablesInterrupt tells the operator what the first and the second Ctrl-C do.
func (c *change) onTablesInterrupt(p *plan.TablePlan, s *session.Stand, r *session.Relay, d display) (undo func()) {
	over := func() bool { phase, _ := s.Now(); return phase == event.PhaseCleanup || phase == event.PhaseDone }
	first := c.app.Interrupts.OnFirst(func() {
		text := "interrupted: withdrawing the statement; once more leaves at once"
		if over() {
			text = "interrupted: it has been carried out already; the run finishes; once more leaves at once"
		}
		r.Listen(event.Note{At: time.Now(), Text: text})
	})
	second := c.app.Interrupts.OnSecond(func() {
		d.Abandon()
		left := fmt.Sprintf("the %s has been carried out or not (%s), nothing between", p.Statement.Kind, summary.TableNames(p))
		if over() {
			left = fmt.Sprintf("the %s has been carried out (%s)", p.Statement.Kind, summary.TableNames(p))
		}
		if p.Twin != (schema.Name{}) && !over() {
			left += fmt.Sprintf("; %s may be left, empty: drop it", p.Twin)
		}
		if p.Aside != (schema.Name{}) {
			left += fmt.Sprintf("; %s may be left", p.Aside)
		}
		err := &coded{
			code: exitAtOnce,
			err:  errLeftAtOnce,
			left: left,
			next: "midstream cleanup --old " + p.Statement.Tables()[0].Argument(),
		}
		if c.output.json {
			record := c.app.resultOf(migration.Result{}, err, exitAtOnce)
			phase, _ := s.Now()
			record.Phase, record.Swapped = string(phase), over()
			session.Quickly(func() { (&jsonLines{out: c.app.Stdout}).write(record) })
			session.LeaveResult(c.resultFile, record)
		}
		fmt.Fprint(c.app.Stderr, c.app.complaint(err, exitAtOnce))
	})
	return func() { first(); second() }
}
