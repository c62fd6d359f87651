package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/help"
	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowchange"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/password"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// rows is the verb purge or update: a change of rows.
type rows struct {
	*change
	cmd     *cobra.Command
	wish    rowchange.Options
	rest    string
	asked   session.Rows    // the statement
	plan    *rowchange.Plan // of the first attempt
	result  rowchange.Result
	resumed bool // an attempt before has kept its checkpoint
}

func (a *app) newPurge() *rows {
	cmd := &cobra.Command{
		Use:     `purge "DELETE FROM database.table WHERE ..."`,
		Short:   "Delete many rows in short transactions",
		Long:    help.Text("purge"),
		Example: "  midstream purge \"DELETE FROM shop.orders WHERE created_at < '2024-01-01'\"\n  midstream purge --plan \"DELETE FROM shop.orders WHERE created_at < '2024-01-01'\"\n  midstream purge --rest=shop.orders_2023 \"DELETE FROM shop.orders WHERE created_at < '2024-01-01'\"",
	}
	r := a.newRows(cmd, ddl.Delete)
	r.checks.Flags.StringVar(&r.rest, "rest", "", "copy each deleted row to this table, in the same transaction; the run creates it if it does not exist")
	return r
}

func (a *app) newUpdate() *rows {
	cmd := &cobra.Command{
		Use:     `update "UPDATE database.table SET ... WHERE ..."`,
		Short:   "Update many rows in short transactions",
		Long:    help.Text("update"),
		Example: "  midstream update \"UPDATE shop.orders SET email_norm = LOWER(email) WHERE email_norm IS NULL\"\n  midstream update --plan \"UPDATE shop.orders SET email_norm = LOWER(email) WHERE email_norm IS NULL\"",
	}
	return a.newRows(cmd, ddl.Update)
}

// newRows makes one of the verbs.
func (a *app) newRows(cmd *cobra.Command, verb ddl.RowVerb) *rows {
	cmd.Args = cobra.ArbitraryArgs
	c := a.blankChange(cmd)
	r := &rows{change: c, cmd: cmd, asked: session.Rows{Verb: verb}}
	f := &c.checks
	f.Flags.StringVarP(&c.target.Database, "database", "D", "", "the table's database, if the statement lacks it")
	f.Flags.StringVar(&r.wish.Key, "key", "", "unique key by which the rows are walked (the primary key)")
	f.Bool(&c.planOnly, "", "plan", "print what the command would do, and change nothing")
	f.Bool(&r.wish.NoRecount, "", "no-recount", "do not count, at the end, the rows that match now")
	f.Bool(&r.wish.Replicates, "", "source-replicates", "change rows on a server that replicates from another one")
	c.connection.register(f)
	c.output.register(f)
	c.registerSettings(func(s operator.Setting) bool { return slices.Contains(operator.ForRows, s.Name) })
	c.settings.RowCopy.Workers = 1
	c.registerReplicas()
	f.Flags.StringVar(&c.socket.folder, "control-dir", "", controlDirUse)
	f.Bool(&c.socket.off, "", "no-control", "make no control socket; midstream status, pause, set and so on cannot reach the run")
	c.history.Register(f)
	c.machines.register(f)
	for _, name := range []string{"binlog-reader", "hook-veto", "cutover-when-gone"} {
		_ = f.Flags.MarkHidden(name) // of a swap
	}
	registerReconnect(f, c)
	c.registerResultFile()
	cmd.RunE = a.Verb(r.do)
	return r
}

// names reads flags and a statement, for serve, and returns the tables that they are about.
func (r *rows) names(arguments []string, statement string) ([]schema.Name, error) {
	if err := r.cmd.ParseFlags(arguments); err != nil {
		return nil, flagError(r.cmd, err)
	}
	problems := append(slices.Clone(r.checks.Problems), r.asked.Parse([]string{statement}, r.target, r.rest))
	return r.asked.Tables(), exit.UsageOf("", problems...)
}

// do does what the command line asks for.
func (r *rows) do(ctx context.Context, args []string) error {
	ctx, undo := session.Keeping(ctx, func() bool { return true })
	defer undo()
	result, err := r.conduct(ctx, args)
	conclude(ctx, r.change, result, err)
	return err
}

func (r *rows) conduct(ctx context.Context, args []string) (none migration.Result, err error) {
	c := r.change
	cfg, notes, configErr := c.connection.config()
	problems := append(slices.Clone(c.checks.Problems), r.asked.Parse(args, c.target, r.rest), configErr, c.output.check())
	if c.app.password.Detached(args) {
		problems = append(problems, password.ErrDetached)
	}
	r.wish.Rest = r.asked.Rest
	if err := exit.UsageOf(c.help, problems...); err != nil {
		return none, err
	}
	for _, note := range notes {
		c.output.note(note)
	}
	s, err := c.connection.open(ctx, cfg)
	if err != nil {
		return none, err
	}
	defer s.Close()
	c.options.Purpose = plan.ChangingRows
	c.app.Stands("planning", r.asked.Table.String()+" on "+s.Address)
	if err := awaitOther(ctx, c, s, r.asked.Table); err != nil && !c.planOnly {
		return none, err
	}
	if r.plan, err = r.make(ctx, s); err != nil {
		return none, err
	}
	r.tellPlan(s)
	if c.planOnly {
		return none, nil
	}
	name := r.plan.Source.Name
	c.rows = &r.result
	return c.underControl(ctx, name, r.plan.Statement.String(), s, func() (migration.Result, error) {
		result, err := c.run.Carry(ctx, session.Work{
			Table: name, Server: s, Reconnect: c.reconnect,
			Open: func(ctx context.Context) (*server, error) { return c.connection.open(ctx, s.Config) },
			Attempt: func(ctx context.Context, s *server, settings operator.Settings, mustResume bool) (migration.Result, error) {
				c.settings = settings
				return r.attempt(ctx, s, mustResume)
			},
			Left:   func(removed bool) string { return r.result.Left(r.plan, removed) },
			Finish: func(context.Context, *server) (bool, error) { return false, nil },
		})
		if err == nil {
			text := summary.OfRows(r.plan, r.result)
			c.output.done(name, result, strings.TrimSuffix(text, "\n"), text)
		}
		return result, exit.Unheld(ctx, err)
	})
}

// make makes the plan.
func (r *rows) make(ctx context.Context, s *server) (*rowchange.Plan, error) {
	p, err := rowchange.Make(ctx, s.Pool, r.asked.Text, r.target.Database, r.wish)
	if err == nil {
		r.app.Stands("planning", p.Source.Name.String()+" on "+s.Address)
		return p, nil
	}
	return nil, exit.UnplannedRows(ctx, err, p)
}

// tellPlan prints the plan.
func (r *rows) tellPlan(s *server) {
	switch {
	case r.output.json:
		r.app.Record(record.RowPlanOf(r.plan, s.Address))
	case r.output.quiet:
		fmt.Fprint(r.app.Stdout, summary.Risks(r.plan.Risks, r.output.style()))
	default:
		fmt.Fprint(r.app.Stdout, summary.OfRowPlan(r.plan, s.Address, r.planOnly, r.output.style()))
	}
}

// attempt makes the plan again if it is not the first one, and carries it out.
func (r *rows) attempt(ctx context.Context, s *server, mustResume bool) (result migration.Result, err error) {
	p := r.plan
	if r.resumed {
		if p, err = r.make(ctx, s); err != nil {
			return result, err
		}
	}
	if mustResume && p.Former == "" && r.resumed {
		return result, exit.Unwritten(ctx, session.ErrGone, "see the output of the run")
	}
	r.resumed = true
	unfollow, err := r.follow(ctx, s, p.Server.Followers)
	if err != nil {
		return result, err
	}
	defer unfollow()
	r.run.Planned(record.RowPlanOf(p, s.Address))
	at := func(event.Phase, bool) summary.Interrupt { return summary.OfRowsInterrupt(p) }
	r.showing(p.Source.Name.String(), at, func(show event.Listener) {
		r.result, err = r.run.Rows(s, p, r.settings.Throttle.Replicas, show).Run(ctx)
		r.run.Silent()
	})
	return r.result.AsOfRun(), err
}
