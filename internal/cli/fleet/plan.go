package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/cli/process"
	"midstream/internal/face/humanize"
	"midstream/internal/face/summary"
	"midstream/internal/fleet/fleetplan"
	"midstream/internal/fleet/inventory"
	"midstream/internal/fleet/selector"
	"midstream/internal/mysql/ddl"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/session"
)

// planVerb is the verb fleet plan.
type planVerb struct {
	app        *process.Process
	checks     flags.Set
	source     sourceFlags
	planner    Planner
	question   Question
	limits     fleetplan.Limits
	given      queue.Given
	allowDrift bool
	format     string
	json       bool
	verbose    bool
}

const textual, markdown, asJSON = "text", "md", "json"

func planCommand(a *process.Process, planner Planner) *cobra.Command {
	cmd := &cobra.Command{
		Use:   `plan SELECTOR "ALTER TABLE database.table ..."`,
		Short: "Plan a change for many servers, and group them by outcome",
		Long:  help.Text("fleet plan"),
		Example: "  midstream fleet plan app=shop,env=prod \"ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)\" --inventory /etc/midstream/servers\n" +
			"  midstream fleet plan \"*\" \"ALTER TABLE orders ADD COLUMN note VARCHAR(40)\" --inventory servers/ --check --skip-applied --format=md",
		Args: cobra.ArbitraryArgs,
	}
	p := &planVerb{app: a, planner: planner, format: textual}
	f := &p.checks
	f.Flags = cmd.Flags()
	f.Flags.SortFlags = false
	p.source.register(f)
	f.Bool(&p.question.Check, "", "check", "also read the rows of each server, as midstream check does, and list the rows that do not fit")
	f.Bool(&p.question.SkipApplied, "", "skip-applied", "count a server that already has the change as done, instead of refused")
	f.Bool(&p.allowDrift, "", "allow-drift", "do not refuse tables that are defined in different ways; the differences are still listed")
	f.Add("", "option", "name=value", "", "flag of midstream run for the plan of each server, such as undo=24h; may be repeated", func(text string) error {
		_, err := p.given.Take(text)
		return err
	})
	f.Integer(&p.limits.Parallel, "", "parallel", 32, 1, 256, "number of servers that are planned at the same time; each has up to 4 connections")
	f.Integer(&p.limits.PerHost, "", "per-host", 4, 1, 256, "number of these servers that may have the same label host")
	f.Duration(&p.question.TimeLimit, "time-limit", time.Minute, time.Second, 24*time.Hour, "time for the plan of one server")
	f.Duration(&p.question.CheckLimit, "check-limit", time.Hour, time.Second, 30*24*time.Hour, "with --check: time for the check of one server")
	f.Enum("format", textual, []string{textual, markdown, asJSON}, "text, md (for a pull request) or json", func(word string) { p.format = word })
	f.Bool(&p.json, "", "json", "print one JSON object (docs/fleet.md); the same as --format=json")
	f.Bool(&p.verbose, "", "verbose", "list all servers of each group")
	help.InCommon(cmd.Flags())
	cmd.RunE = a.Verb(p.run)
	return cmd
}

// parse reads the command line.
func (p *planVerb) parse(args []string) (selector.Selector, error) {
	problems := append(p.checks.Problems, p.source.check())
	if p.json && p.format == markdown {
		problems = append(problems, errors.New("--json and --format=md exclude each other"))
	}
	if p.json {
		p.format = asJSON
	}
	var options error
	p.question.Flags, options = queue.Arguments(p.given.Options(false))
	problems = append(problems, options)
	var takes selector.Selector
	if len(args) != 2 {
		problems = append(problems, fmt.Errorf(`name the servers and the statement: midstream fleet plan app=shop,env=prod "ALTER TABLE shop.orders ..."; got %s`, humanize.Plural(len(args), "argument")))
		return takes, exit.UsageOf("midstream fleet plan --help", problems...)
	}
	takes, err := selector.Parse(args[0])
	problems = append(problems, err)
	p.question.Statement = args[1]
	return takes, exit.UsageOf("midstream fleet plan --help", append(problems, checkStatement(args[1]))...)
}

// checkStatement returns the error in the statement of a fleet plan.
func checkStatement(text string) error {
	statement, err := (&session.Target{Verb: "fleet plan"}).Parse([]string{text})
	if err != nil { // each option file may name the database
		if within, parsed := (&session.Target{Verb: "fleet plan", Database: "one"}).Parse([]string{text}); parsed == nil {
			statement, err = within, nil
		}
	}
	if err == nil && statement.Kind != ddl.KindAlter {
		err = fmt.Errorf("midstream fleet plan is for ALTER TABLE, not for %s", statement.Kind)
	}
	return err
}

func (p *planVerb) run(ctx context.Context, args []string) error {
	takes, err := p.parse(args)
	if err != nil {
		return err
	}
	p.app.Stands("inventory", "midstream fleet plan")
	servers, err := p.source.read(ctx)
	if err != nil {
		return err
	}
	members, err := chosen(servers, takes)
	if err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	p.app.Stands("planning", fmt.Sprintf("%d servers", len(members)))
	report, err := p.question.ask(ctx, p.planner, members, servers, p.limits, fleetplan.Asked{
		Statement: args[1], Selector: takes.String(), AllowDrift: p.allowDrift,
	}, p.progress(len(members), time.Now()))
	if err != nil {
		return err
	}
	p.print(report)
	if report.ExitCode == exit.Done {
		return nil
	}
	return &exit.Error{Code: report.ExitCode, Err: errors.New(summary.FleetVerdict(report)), Left: "nothing was written", Next: summary.FleetNext(report)}
}

// ask asks the members, and makes the report.
func (q Question) ask(
	ctx context.Context, planner Planner, members []inventory.Server, all inventory.Inventory,
	limits fleetplan.Limits, asked fleetplan.Asked, told func(done int),
) (fleetplan.Report, error) {
	began := time.Now()
	answers := fleetplan.Ask(ctx, members, limits, func(ctx context.Context, s inventory.Server) fleetplan.Answer {
		if ctx.Err() != nil {
			return fleetplan.Answer{}
		}
		return planner(ctx, q, s)
	}, told)
	if ctx.Err() != nil {
		return fleetplan.Report{}, context.Cause(ctx)
	}
	for _, wrong := range all.Problems { // its labels are not known: it may be one of those that are meant
		answers = append(answers, fleetplan.Answer{Server: wrong.Name, Outcome: fleetplan.Wrong, ExitCode: exit.WrongUsage,
			Error: wrong.Err.Error(), Next: "correct its option file, or its entry in the inventory"})
	}
	asked.Checked, asked.SkipApplied, asked.Notes = q.Check, q.SkipApplied, all.Notes
	return fleetplan.Of(asked, answers, time.Since(began)), nil
}

// print writes the report.
func (p *planVerb) print(report fleetplan.Report) {
	if p.format == asJSON {
		p.app.Record(report)
		return
	}
	fmt.Fprint(p.app.Stdout, summary.OfFleetPlan(report, summary.Style{Width: 78, Verbose: p.verbose, Markdown: p.format == markdown}))
}

// gcPercent is how much garbage may be next to what lives: many short plans make much of it, and keep little. A run has less.
const gcPercent = 100

// progressEvery is how often people are told how far it is.
const progressEvery = 10 * time.Second

// progress tells how many plans are made.
func (p *planVerb) progress(all int, began time.Time) func(done int) {
	next := began.Add(progressEvery)
	return func(done int) {
		if now := time.Now(); now.After(next) && done < all {
			next = now.Add(progressEvery)
			fmt.Fprintf(p.app.Stderr, "midstream: planned %d of %d servers\n", done, all)
		}
	}
}
