package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/kept"
	"midstream/internal/engine/desired"
	"midstream/internal/engine/event"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/onreplica"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/planning"
	"midstream/internal/engine/rowchange"
	"midstream/internal/engine/together"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/followers"
	"midstream/internal/ops/history"
	"midstream/internal/ops/password"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// change is one schema change as the user asks for it: what run and plan have in common.
type change struct {
	app        *app
	connection connection
	target     session.Target
	wishes     session.Wishes
	output     output
	checks     flags.Set
	help       string // the command that explains the verb

	config   migration.Config
	settings operator.Settings
	options  plan.Options
	// dropLater keeps the table that a DROP or a TRUNCATE puts aside.
	dropLater bool
	// rehearsal has the run rehearsed.
	rehearsal rehearsal
	// reconnect is how long a run tries to go on after its server could not be reached.
	reconnect time.Duration
	// waitOther is how long the change waits until no other run works on its table.
	waitOther time.Duration
	// file has statements that are done in order; "" for none.
	file string
	// allowLoss permits a change of --to that loses values.
	allowLoss bool
	// tellsDifference has a plan of --to end with an exit code of its own if there is a difference.
	tellsDifference bool
	// onSignal is what a signal does to the work.
	onSignal onSignal
	// Of --to: risks are those of the ALTER that was found, place where its table is defined, and says
	// the words of --map.
	risks []plan.Risk
	place string
	says  desired.Says
	// tables are what has become of each table of --to.
	tables []record.Table
	// mustResume says that an attempt before has kept its work, which is to be gone on with.
	mustResume bool
	// soak has columns and indexes hidden before they are dropped.
	soak soaking
	// undo is for the verb undo; nil for the others.
	undo *planning.Undo
	// released is the result of the follower that has taken the change back; nil for none.
	released *record.Result
	// follower is the process that would take the change back, of a plan of that; nil for none.
	follower *followers.Standing
	// compared is when the last run compared the tables; zero for never.
	compared time.Time
	// endUndo lets the change end the undo of an earlier one.
	endUndo bool
	// taking is how the verb undo takes back the change of a table that was swapped with others; nil for other verbs.
	taking func(*change) doing
	// planOnly says that the plan is all that was asked for.
	planOnly bool
	// ask says that a person confirms the plan on the terminal before the change.
	ask bool
	// together has several changes swapped at once.
	together bool
	// group is what makes the changes of --to together; nil if one follows the other. member makes one of them.
	group  *session.Together
	member func(ctx context.Context, i int) (migration.Result, error)
	// calibrate has the plan measure what the server does.
	calibrate bool
	followers replicaFlags
	// history says where what it tells is kept.
	history kept.Flags
	// machines says which programs are told of it.
	machines machineFlags
	// socket says where the run is controlled; run is the one that is, nil while there is none.
	socket socketFlags
	run    *session.Session
	// resultFile is where the result is written as well, for midstream serve; "" for nowhere.
	resultFile string
	// rows is what a change of rows has done; nil for other changes.
	rows *rowchange.Result
	// page is what shows the runs in a browser, where that is asked for.
	page *page
	// commanded has a run take commands in another program's way; nil where there is none.
	commanded func(*session.Session) (undo func(), err error)
	// watched hears of a run's events before it goes on; nil for nobody.
	watched event.Listener
}

// blankChange is a change without flags.
func (a *app) blankChange(cmd *cobra.Command) *change {
	cmd.Flags().SortFlags = false
	return &change{app: a, connection: connection{app: a}, output: output{app: a}, page: &page{}, checks: flags.Set{Flags: cmd.Flags()},
		target: session.Target{Verb: cmd.Name()}, help: "midstream " + cmd.Name() + " --help"}
}

func (a *app) newChange(cmd *cobra.Command) *change {
	c := a.blankChange(cmd)
	registerTarget(&c.target, &c.checks)
	c.connection.register(&c.checks)
	c.output.register(&c.checks)
	c.wishes.Register(c.checks.Add)
	return c
}

// doing is what a verb does about a statement.
type doing struct {
	alter func(context.Context, *ddl.Alter, *server) (migration.Result, error)
	// tables takes the statements on whole tables; nil where the verb is not for them.
	tables func(context.Context, *ddl.Statement, *server) (migration.Result, error)
}

// conduct does it and tells its result as JSON, if that is wanted.
func (c *change) conduct(ctx context.Context, args []string, do doing) error {
	result, err := c.prepare(ctx, args, do)
	c.compared = result.Compared
	follows := c.follows(result, err)
	if !follows {
		c.page.close()
	}
	conclude(ctx, c, result, err)
	if follows {
		return c.followOn(ctx, result.Undo)
	}
	return err
}

// conclude tells the result as JSON, if that is wanted.
func conclude(ctx context.Context, c *change, result migration.Result, err error) {
	if refused := (*plan.Refused)(nil); c.output.format == planMarkdown && errors.As(err, &refused) {
		fmt.Fprint(c.app.Stdout, summary.OfRefusal(refused, c.output.style())) // for the same comment as a plan
	}
	if !c.output.json && c.resultFile == "" {
		return
	}
	record := c.told(ctx, result, err)
	record.Tables, record.Needed = append(record.Tables, c.tables...), c.group.Needed()
	if c.output.json {
		c.app.Record(record)
	}
	session.KeepResult(c.resultFile, record, c.app.Stderr, c.app.Interrupts)
}

// prepare reads the command line, says all that is wrong with it, and connects.
func (c *change) prepare(ctx context.Context, args []string, do doing) (result migration.Result, err error) {
	cfg, notes, configErr := c.connection.config() // first: option files may say what the other flags didn't
	statement, problems := c.asked(args, do.tables != nil)
	problems = append(problems, configErr, c.output.check())
	err = exit.UsageOf(c.help, problems...)
	if err != nil {
		return migration.Result{}, err
	}
	for _, note := range notes {
		c.output.note(note)
	}
	c.options.Kills = c.settings.Kills.After > 0
	if c.options.Purpose = c.rehearsal.purpose(); c.undo != nil {
		c.options.Purpose, c.settings.When.Follow = plan.Undoing, c.settings.When.Hold && c.resultFile == ""
	} else if c.options.Purpose == plan.RehearsingOnReplica {
		c.connection.variables = onreplica.Variables
	}
	if c.undo != nil {
		if result, err = c.release(ctx, statement.Alter.Table, cfg.Address); c.released != nil || err != nil {
			return result, err
		}
	}
	server, err := c.connection.open(ctx, cfg)
	if err != nil {
		return migration.Result{}, err
	}
	defer server.Close()
	c.settings.Seen = history.Profile(c.history.In(c.app.Process), server.Address)
	c.app.Stands("planning", session.ObjectOf(statement, server))
	if statement, err = c.target.ReadAt(ctx, server, statement); err != nil {
		return migration.Result{}, exit.Unheld(ctx, err)
	}
	if c.taking != nil && statement.Kind == ddl.KindAlter {
		undoing, problem, err := session.UndoOf(ctx, server, c.target, statement.Alter.Table, *c.undo, c.wishes, c.settings.When.Hold)
		if err = cmp.Or(err, exit.UsageOf(c.help, problem)); err != nil {
			return migration.Result{}, exit.Unheld(ctx, err)
		}
		if undoing != nil {
			return grouped{c}.takeBack(ctx, undoing, server)
		}
	}
	switch {
	case statement == nil:
		return c.reach(ctx, server, do.alter)
	case statement.Kind != ddl.KindAlter:
		return do.tables(ctx, statement, server)
	}
	return do.alter(ctx, statement.Alter, server)
}

// asked reads what the command line asks for, and returns all that is wrong with it but for how the
// server is reached. tables says that the verb takes statements on whole tables.
func (c *change) asked(args []string, tables bool) (*ddl.Statement, []error) {
	wrong := c.wishes.Read(&c.options)
	statement, err := c.target.Parse(c.target.Moved(args, c.options.Into))
	if err == nil {
		err = session.CheckInto(statement, c.options.Into)
	}
	if err == nil && statement != nil && statement.Kind != ddl.KindAlter && !tables {
		err = fmt.Errorf("midstream %[2]s cannot check a %[1]s: it checks the rows of a table that an ALTER changes", statement.Kind, c.target.Verb)
	}
	if err == nil && statement != nil && statement.Kind != ddl.KindAlter && c.rehearsal.purpose().Rehearses() {
		err = fmt.Errorf("a %s cannot be rehearsed: --rehearse is for ALTER TABLE", statement.Kind)
	}
	if c.ask && (c.output.json || c.output.quiet) {
		err = errors.Join(err, errors.New("--ask excludes --json and --quiet: it prints the plan for a person"))
	}
	if c.config.DropOld && c.dropLater {
		err = errors.Join(err, errors.New("--drop-old and --drop-later exclude each other"))
	}
	if c.undo != nil && c.rehearsal.purpose().Rehearses() && errors.Join(c.checks.Problems...) == nil {
		err = errors.Join(err, errors.New("an undo cannot be rehearsed, but an option file has rehearse, rehearse-lock or on-replica"))
	}
	given := c.checks.Flags.Changed // an option file may have these for the changes with an undo
	if c.target.To == "" && given("allow-loss") {
		err = errors.Join(err, errors.New("--allow-loss needs --to: a statement that you give yourself may lose values; midstream plan lists them"))
	}
	if c.config.Undo <= 0 && given("undo-method") {
		err = errors.Join(err, errors.New("--undo-method needs --undo"))
	}
	if c.config.Undo <= 0 && given("undo-mode") && c.config.Warm {
		err = errors.Join(err, errors.New("--undo-mode=warm needs --undo"))
	}
	if c.config.Undo > 0 && c.config.Warm {
		err = errors.Join(err, session.RepeatableAll(session.AgainAfter(c.checks.Flags)))
	}
	if err == nil && statement != nil && statement.Kind != ddl.KindAlter && c.output.format == planSQL {
		err = errors.New("--format=sql is for ALTER TABLE and --to: other statements stay as they are")
	}
	if c.tellsDifference && c.target.To == "" {
		err = errors.Join(err, errors.New("--exit-code needs --to: it compares tables with files"))
	}
	if err != nil && c.app.password.Detached(args) {
		err = password.ErrDetached
	}
	err = errors.Join(err, c.soak.check(c, statement))
	return statement, append(append(c.checks.Problems, wrong...), err, c.checkSays(), c.rehearsal.check(), c.page.check(c))
}

// plan makes the plan and prints it. It writes nothing.
func (c *change) plan(ctx context.Context, alter *ddl.Alter, s *server) (*plan.Plan, error) {
	p, err := c.make(ctx, alter, s)
	if err != nil {
		return nil, err
	}
	if err := (inTwoActs{c}).hides(p); err != nil {
		return nil, err
	}
	if p.Choice.CopiesRows() {
		if next, err := session.TryThrottle(ctx, s, p, c.settings.Throttle); err != nil {
			return nil, exit.Unwritten(ctx, err, next)
		}
	}
	former, err := migration.New(s.Pool, s.Binlog, p, c.config, operator.NewControl(c.settings), event.Discard).Former(ctx)
	if err != nil {
		return nil, exit.Unwritten(ctx, err, session.AdviceOnFormer(p, err))
	}
	if c.mustResume && former == "" {
		return nil, exit.Unwritten(ctx, session.ErrGone, "check whether the table was altered")
	}
	told := record.PlanOf(p, s.Address, summary.Predict(p, c.config, c.settings), c.config.Undo)
	told.Former, told.Place, told.Soak = former, c.place, c.soak.planned
	if c.follower != nil && told.Undoes != nil {
		told.Undoes.Unfit = &c.follower.Unfit
	}
	c.run.Planned(told)
	switch {
	case c.output.own != nil:
		c.output.own.Planned(p, former)
	case c.output.json:
		c.app.Record(told)
	case c.output.format == planSQL:
		fmt.Fprintln(c.app.Stdout, p.Alter.Restore(p.Source.Name)+";")
	case c.output.quiet:
		fmt.Fprint(c.app.Stdout, summary.Quiet(p))
	default:
		planned := summary.Planned{Plan: p, Address: s.Address, Found: c.place != "", Former: former, Config: c.config, Settings: c.settings,
			Keep: c.rehearsal.keep, Checks: c.options.Checks, Follower: c.follower, Served: c.checks.Served()}
		if c.ask {
			fmt.Fprint(c.app.Stdout, summary.OfPlan(planned, c.output.style(), ""))
		} else if c.planOnly {
			fmt.Fprint(c.app.Stdout, summary.OfPlan(planned, c.output.style(), c.group.Next(summary.AfterPlan(planned))))
		} else {
			fmt.Fprint(c.app.Stdout, summary.BeforeRun(planned, c.output.style()))
		}
	}
	c.output.text("%s", escape.Ours(summary.OfGroupSwap(c.group.Shown(), c.output.style())))
	return p, confirmed(ctx, c, p.Source.Name.Dotted())
}

// make reads the facts, asks the server, and makes the plan.
func (c *change) make(ctx context.Context, alter *ddl.Alter, s *server) (*plan.Plan, error) {
	c.config.CaptureFrom, c.options.Connections = s.Capture, c.config.Connections(c.settings.RowCopy.First())
	p, err := planning.Make(ctx, s.Planning(), alter, planning.Options{
		Plan: c.options, Config: c.config, Settings: c.settings, Undo: c.undo, EndUndo: c.endUndo,
		Calibrate: c.calibrate, Scratch: c.target.ReachScratch(), Note: func(text string) {
			if !c.output.json && !c.output.quiet {
				c.output.note(text)
			}
		},
	})
	if err != nil {
		return nil, exit.Unplanned(ctx, err)
	}
	if err := c.group.Swaps(p, c.settings.Lock.WithDefaults().Work); err != nil {
		return nil, err
	}
	asked := plan.Checking(c.risks, c.options.Checks)
	if c.target.To != "" && !c.allowLoss && !c.options.Checks {
		if err := session.Loses(p.Source.Name, slices.Concat(p.Risks, asked)); err != nil {
			return nil, err
		}
	}
	p.Risks = c.target.Advised(slices.Concat(p.Risks, p.UndoRisks(c.config.Undo), asked, session.UnfitRisks(c.follower, p.Back)))
	return p, nil
}

// carryOut makes the plan and does with it what do does.
func (c *change) carryOut(ctx context.Context, alter *ddl.Alter, s *server,
	do func(*migration.Migration, context.Context) (migration.Result, error)) (*plan.Plan, migration.Result, error) {
	var p *plan.Plan
	err := c.config.Together.Do(ctx, together.Planned, func(ctx context.Context) (err error) {
		p, err = c.plan(ctx, alter, s)
		return err
	})
	if err == nil {
		err = c.config.Together.All(ctx, together.Planned)
	}
	if err != nil {
		return nil, migration.Result{}, err
	}
	if p.Choice.CopiesRows() {
		unfollow, err := c.follow(ctx, s, p.Server.Followers)
		if err != nil {
			return nil, migration.Result{}, err
		}
		defer unfollow()
	}
	var result migration.Result
	at := func(phase event.Phase, swapped bool) summary.Interrupt {
		return summary.OfInterrupt(p, phase, swapped, c.settings.When.Hold, keepsOnSignal(c) && !errors.Is(context.Cause(ctx), errRemove))
	}
	c.showing(p.Source.Name.String(), at, func(show event.Listener) {
		if c.watched != nil {
			show = event.Tee(show, c.watched)
		}
		var m *migration.Migration
		if c.run != nil {
			m = c.run.Migration(s, p, c.config, c.settings.Throttle.Replicas, show)
			defer c.run.Silent()
		} else {
			m = migration.New(s.Pool, s.Binlog, p, c.config, operator.NewControl(c.settings), show)
		}
		result, err = do(m, ctx)
	})
	return p, result, session.UndoFailed(ctx, s, p, err)
}

// finish brings an earlier run to its end that was stopped after its swap, and says whether
// that was all there is to do.
func (c *change) finish(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, bool, error) {
	ending := leftovers.Ending{Lock: c.settings.Lock, DropOld: c.config.DropOld}
	name, result, done, err := session.Finish(ctx, s, alter, ending, c.config.Together, c.output.note)
	if err != nil || !done {
		return result, false, exit.Unheld(ctx, err)
	}
	told := summary.Finished(alter.Table, result.Old)
	c.output.done(name, result, told, told+"\n")
	return result, true, nil
}
