package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/ddl"
	"midstream/internal/event"
	"midstream/internal/migration"
	"midstream/internal/plan"
	"midstream/internal/schema"
)

// change is one schema change as the user asks for it: what run and plan have in common.
type change struct {
	app        *app
	connection connection
	target     target
	output     output
	checks     checks
	help       string // the command that explains the verb

	config  migration.Config
	options plan.Options
	// reconnect is how long a run tries to go on after its server could not be reached.
	reconnect time.Duration
	// mustResume says that an attempt before has kept its work, which is to be gone on with.
	mustResume bool
}

func (a *app) newChange(cmd *cobra.Command) *change {
	c := &change{app: a, connection: connection{app: a}, output: output{app: a}, checks: checks{flags: cmd.Flags()},
		target: target{verb: cmd.Name()}, help: "midstream " + cmd.Name() + " --help"}
	c.checks.flags.SortFlags = false
	c.target.register(&c.checks)
	c.connection.register(&c.checks)
	c.output.register(&c.checks)
	c.checks.flags.StringVar(&c.options.Key, "key", "", "key to follow (the best one)")
	c.checks.pairs(&c.options.Map, "map", "column that continues another, where the statement can't be read; may be repeated")
	return c
}

// conduct runs do and tells its result as JSON, if that is wanted.
func (c *change) conduct(ctx context.Context, args []string, do func(context.Context, *ddl.Alter, *server) (migration.Result, error)) error {
	result, err := c.prepare(ctx, args, do)
	if c.output.json {
		interrupted := errors.Is(context.Cause(ctx), errInterrupted)
		(&jsonLines{out: c.app.Stdout}).write(resultOf(result, err, exitCode(err, interrupted)))
	}
	return err
}

// prepare reads the command line, says all that is wrong with it, and connects.
func (c *change) prepare(ctx context.Context, args []string, do func(context.Context, *ddl.Alter, *server) (migration.Result, error)) (migration.Result, error) {
	cfg, notes, configErr := c.connection.config() // first: option files may say what the other flags didn't
	alter, targetErr := c.target.parse(args)
	if targetErr != nil && c.app.password.detached(args) {
		targetErr = errDetached
	}
	problems := append(c.checks.problems, targetErr, configErr, c.output.check())
	if err := usageOf(c.help, problems...); err != nil {
		return migration.Result{}, err
	}
	for _, note := range notes {
		c.output.note(note)
	}
	server, err := c.connection.open(ctx, cfg)
	if err != nil {
		return migration.Result{}, err
	}
	defer server.close()
	return do(ctx, alter, server)
}

// plan makes the plan and prints it. It writes nothing.
func (c *change) plan(ctx context.Context, alter *ddl.Alter, s *server) (*plan.Plan, error) {
	p, err := c.make(ctx, alter, s)
	if err != nil {
		return nil, err
	}
	former, err := migration.New(s.pool, s.binlog, p, c.config, event.Discard).Former(ctx)
	var untold *migration.Untold
	switch {
	case errors.Is(err, migration.ErrOtherAlter):
		return nil, unwritten(ctx, err, goOnWithThat(p))
	case errors.As(err, &untold):
		return nil, unwritten(ctx, err, untold.Next())
	case err != nil:
		return nil, unwritten(ctx, err, "")
	}
	if c.mustResume && former == "" {
		return nil, unwritten(ctx, errGone, "look whether the table has its new schema")
	}
	switch {
	case c.output.json:
		record := planOf(p, s.address)
		record.Former = former
		(&jsonLines{out: c.app.Stdout}).write(record)
	case c.output.quiet:
		fmt.Fprint(c.app.Stdout, quietPlan(p))
	default:
		fmt.Fprint(c.app.Stdout, planText(p, s.address, former, c.config))
	}
	return p, nil
}

// errGone is the end of a run that can't go on with its own work.
var errGone = errors.New("what this run had kept is gone: another run has finished it, or somebody has removed it")

// goOnWithThat is what to do about a run of another ALTER that was stopped.
func goOnWithThat(p *plan.Plan) string {
	return "go on with that ALTER, or give it up with: midstream cleanup " + p.Source.Name.Argument()
}

// make reads the facts and makes the plan.
func (c *change) make(ctx context.Context, alter *ddl.Alter, s *server) (*plan.Plan, error) {
	table, err := schema.Load(ctx, s.pool.DB(), alter.Table)
	if errors.Is(err, schema.ErrNotFound) {
		return nil, unwritten(ctx, err, checkName)
	}
	if err != nil {
		return nil, unwritten(ctx, err, "")
	}
	facts, err := plan.Gather(ctx, s.pool.DB(), table.Name)
	if err != nil {
		return nil, unwritten(ctx, fmt.Errorf("look at %s: %w", s.address, err), "")
	}
	return plan.Make(facts, table, alter, c.options)
}

// checkName is what to do about a table that isn't there.
const checkName = "check the name, and what the account may see: SHOW GRANTS"

// unwritten is an error from before anything was written.
func unwritten(ctx context.Context, err error, next string) error {
	if interruptedBy(ctx, err) {
		return errInterrupted
	}
	return &coded{code: exitCode(err, false), err: err, left: "nothing was written", next: next}
}

// carryOut makes the plan and does with it what do does.
func (c *change) carryOut(ctx context.Context, alter *ddl.Alter, s *server,
	do func(*migration.Migration, context.Context) (migration.Result, error)) (*plan.Plan, migration.Result, error) {
	p, err := c.plan(ctx, alter, s)
	if err != nil {
		return nil, migration.Result{}, err
	}
	screen := c.output.display(p.Source.Name.String())
	relay := newRelay(screen)
	var stand stand
	defer c.onInterrupt(p, &stand, relay, screen)()

	listener := event.Tee(stand.listen, relay.listen)
	result, err := do(migration.New(s.pool, s.binlog, p, c.config, listener), ctx)
	relay.close()
	return p, result, err
}

// runAgain is what to do about an earlier run that could not be finished.
const runAgain = "run the same command again once the cause is removed"

// finish brings an earlier run to its end that was stopped after its swap, and says whether
// that was all there is to do.
func (c *change) finish(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, bool, error) {
	name := alter.Table
	if table, err := schema.Load(ctx, s.pool.DB(), name); err == nil {
		name = table.Name // as the server spells it
	}
	finished, err := migration.Finish(ctx, s.pool, name, c.config, c.output.note)
	switch {
	case errors.Is(err, migration.ErrSwapped):
		left := fmt.Sprintf("%s has the schema that it wanted; its old table and %s may be left", name, plan.NamesOf(name).State)
		return migration.Result{Swapped: true}, false, &coded{code: exitLeftovers, err: err, left: left, next: runAgain}
	case err != nil:
		return migration.Result{}, false, unwritten(ctx, err, runAgain)
	}
	if finished == nil {
		return migration.Result{}, false, nil
	}
	c.output.note(fmt.Sprintf("an earlier run on %s was stopped after its swap; what it had left to do is done", alter.Table))
	if !ddl.SameClauses(finished.Alter, alter.Clauses) {
		return migration.Result{}, false, nil
	}
	result := migration.Result{Swapped: true, Resumed: true, Old: finished.Old}
	if !c.output.json {
		fmt.Fprintf(c.app.Stdout, "%s has its new schema; the old table %s.\n", alter.Table, oldText(result))
	}
	return result, true, nil
}
