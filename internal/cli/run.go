package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/engine/explain"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/face/summary"
	"midstream/internal/face/tui"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/session"
)

func (a *app) runCommand() *cobra.Command {
	_, cmd := a.newRun()
	return cmd
}

// newRun makes the verb run, and what it fills.
func (a *app) newRun() (*change, *cobra.Command) {
	cmd := &cobra.Command{
		Use:   `run "ALTER TABLE database.table ..."`,
		Short: "Change a table's schema while it is in use",
		Long:  help.Text("run"),
		Example: `  midstream run "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40), ADD INDEX (note)"
  midstream run "CREATE INDEX by_note ON shop.orders (note)"
  midstream run "DROP TABLE shop.orders_2019"
  midstream run --host=db1 --user=admin -p --database=shop --table=orders --alter="ADD COLUMN note VARCHAR(40)"
  midstream run --database=shop --to=schema/ --map name=customers.full_name
  midstream run --together "ALTER TABLE shop.orders MODIFY id BIGINT NOT NULL AUTO_INCREMENT; ALTER TABLE shop.items MODIFY order_id BIGINT"`,
		Args: cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	c.registerResultFile()
	c.checks.Bool(&c.ask, "", "ask", "print the plan and ask on the terminal whether to make the change; not with --json, --quiet or --together")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		ctx, undo := session.Keeping(ctx, func() bool { return keepsOnSignal(c) })
		defer undo()
		return conductAny(ctx, c, args, changing)
	})
	return c, cmd
}

// confirmed asks whether a planned change shall be made, with --ask. It fails unless the answer is yes.
func confirmed(ctx context.Context, c *change, table string) error {
	if !c.ask {
		return nil
	}
	yes, err := tui.Confirm(ctx, c.app.Stdin, c.app.Stderr, "Change "+escape.Line(table)+" now?")
	switch {
	case errors.Is(err, tui.ErrNoAnswer):
		return &exit.Error{
			Code: exit.WrongUsage, Err: fmt.Errorf("--ask: %w", err), Left: "nothing was written",
			Next: "run the same command on a terminal, or without --ask",
		}
	case err != nil:
		return exit.Unwritten(ctx, err, "")
	case !yes:
		return &exit.Error{Code: exit.Aborted, Err: errors.New("the answer was not yes"), Left: "nothing was written", Next: "run the same command again, without --ask or with the answer y"}
	}
	return nil
}

// registerResultFile adds a flag for midstream serve.
func (c *change) registerResultFile() {
	const use = "for midstream serve: write the result over this file; the run does not end before that"
	c.checks.Flags.StringVar(&c.resultFile, "result-file", "", use)
	_ = c.checks.Flags.MarkHidden("result-file") // it has just been added
}

// registerTuning adds the flags that say how a run works. A plan takes them too, so that a
// command becomes a plan by its verb alone; it heeds those that change what it tells.
func (c *change) registerTuning() {
	f, cfg, dflt := &c.checks, &c.config, migration.Config{}.WithDefaults()
	c.registerSettings(func(operator.Setting) bool { return true })
	c.registerReplicas()
	f.Flags.StringVar(&c.socket.folder, "control-dir", "", controlDirUse)
	f.Bool(&c.socket.off, "", "no-control", "make no control socket; midstream status, pause, set and so on cannot reach the run")
	c.page.register(f, "", pageUse)
	f.Integer(&cfg.Apply.Workers, "", "apply-workers", dflt.Apply.Workers, 1, 64, "number of connections that apply changes")
	c.history.Register(f)
	c.machines.register(f)
	c.registerCapture()
	f.Integer(&cfg.BacklogLimit, "", "backlog-limit", dflt.BacklogLimit, 1000, 100_000_000, "capture waits while this many keys are in memory")
	methods := []string{"auto", string(plan.MethodInstant), string(plan.MethodInplace), string(plan.MethodCopy), string(plan.MethodShadow)}
	f.Enum("method", "auto", methods, "method of the change; auto chooses the lightest method within the limits of the --native flags",
		func(word string) { c.options.Method = plan.MethodOf(word) })
	f.Bool(
		&c.options.ZeroDates, "", "zero-dates",
		"allow zero dates ('0000-00-00', '2020-00-00') as defaults in the ALTER although the server's sql_mode refuses them",
	)
	f.Bool(
		&c.calibrate, "", "calibrate",
		"measure instead of estimating: copy rows to a scratch table, then drop it (10 s, or up to a minute next to an application: "+
			"then the plan has the time by several limits of its slowdown)",
	)
	limits := plan.Limits{}.WithDefaults()
	f.Duration(&c.options.Limits.Locked, "native-max-lock", limits.Locked, 0, time.Hour, "limit for the time that a native change of the server may block all writes")
	f.Duration(
		&c.options.Limits.Longest, "native-max-build", limits.Longest, 0, 1000*time.Hour,
		"limit for the time of a build in place by the server; if the server cannot get its final lock, the build is lost",
	)
	f.Duration(
		&c.options.Limits.Stall, "native-max-replica-stall", limits.Stall, 0, 1000*time.Hour,
		"limit for the time that replicas may stall while they repeat a native change",
	)
	registerReconnect(f, c)
	f.Enum("on-signal", string(signalKeeps), []string{string(signalKeeps), string(signalRemoves)},
		"what SIGTERM, SIGHUP and Ctrl-C do: keep the work, so that the same command resumes, or remove it. On a terminal Ctrl-C asks",
		func(word string) { c.onSignal = onSignal(word) })
	f.Duration(
		&cfg.Checkpoint, "checkpoint", dflt.Checkpoint, 10*time.Millisecond, 10*time.Minute,
		"time between two checkpoints; a killed run loses at most the work since the last one",
	)
	explains := []string{string(explain.Warns), string(explain.Holds), string(explain.Off)}
	f.Enum("explain", explains[0], explains,
		"before the swap, EXPLAIN the application's queries on the new table: a worse plan is reported, or holds the swap (docs/explain.md)",
		func(word string) { cfg.Explain = explain.Mode(word) })
	indexes, snapshots := string(dflt.Indexes), string(dflt.OldSnapshots)
	cfg.Indexes, cfg.OldSnapshots = dflt.Indexes, dflt.OldSnapshots
	f.Enum("defer-indexes", indexes, []string{string(migration.DeferAuto), string(migration.DeferYes), string(migration.DeferNever)},
		"build secondary indexes after the row copy; auto: only if no replica is attached and the table has at least 10,000 rows", func(word string) { cfg.Indexes = migration.DeferIndexes(word) })
	f.Enum("old-snapshots", snapshots, []string{string(migration.SnapshotsWait), string(migration.SnapshotsIgnore)},
		"wait: the swap waits for transactions that began before the row copy and would see only some rows after the swap; ignore: it does not",
		func(word string) { cfg.OldSnapshots = migration.OldSnapshots(word) })
	f.Bool(
		&cfg.NoPrescan, "", "no-prescan",
		"skip the search for rows that do not fit the new table (midstream check); the row copy then stops at the first such row",
	)
	f.Bool(
		&cfg.NoVerify, "", "no-verify",
		"swap without comparing every row of the two tables; saves a fourth of the time, but gives up the proof that no row was lost or changed",
	)
	f.Bool(&cfg.Repair, "", "repair", "if rows differ, copy them again and compare them instead of failing")
	f.Bool(&cfg.DropOld, "", "drop-old", "drop the old table after the swap; for DROP and TRUNCATE TABLE, whatever its size")
	f.Bool(
		&c.dropLater, "", "drop-later",
		"for DROP and TRUNCATE TABLE: keep the old table until midstream cleanup --old. With neither flag, the run drops the old table if the drop stalls no session for longer than --native-max-lock",
	)
	f.Bool(&c.options.Into.View, "", "into-view", "with --into: make the old name a view over the new table in the same step, so that it works all the time")
	if c.undo == nil {
		c.registerKeeping()
	}
	c.rehearsal.register(f)
	f.Bool(&cfg.ApplyAhead, "", "no-frontier-rule", "for measurements: also apply changes ahead of the row copy")
	f.Bool(&cfg.KeepRepeats, "", "no-merge", "for measurements: apply every change of a key separately")
	for _, name := range []string{"no-frontier-rule", "no-merge"} {
		_ = f.Flags.MarkHidden(name) // it is there: it has just been added
	}
}

// registerReconnect adds the flags for a server that is lost, and for another run on the table.
func registerReconnect(f *flags.Set, c *change) {
	f.Duration(
		&c.reconnect, "reconnect", 10*time.Minute, 0, 24*time.Hour,
		"after losing the server, try to reconnect for this long; then stop and keep the work",
	)
	f.Bool(&c.allowLoss, "", "allow-loss", "with --to: allow changes that lose values, such as a column that the file does not have")
	f.Duration(&c.waitOther, "wait-for-other", 0, 0, 24*time.Hour, "wait up to this time until no other run of midstream works on the table; without it, such a run is refused (exit code 20)")
}

// registerKeeping adds the flags about the undo of a change. An undo keeps what its change has kept, for its redo.
func (c *change) registerKeeping() {
	f, cfg := &c.checks, &c.config
	f.Duration(&cfg.Undo, "undo", 0, 0, 10_000*time.Hour, "keep for this long what midstream undo needs to take the change back: the old table and the position of the swap")
	f.Enum("undo-mode", "lazy", []string{"lazy", "warm"}, "warm: after the swap, follow the table until midstream undo or the end of --undo, so that the undo is one short lock; lazy: do nothing until then", func(word string) { cfg.Warm = word == "warm" })
	f.Enum("undo-method", string(plan.UndoRequire), []string{string(plan.UndoAuto), string(plan.UndoPrefer), string(plan.UndoRequire)},
		"with --undo, if a change by the server could not be undone: require copies the table, or refuses; prefer copies it if that takes at most --native-max-build; auto makes the change all the same",
		func(word string) { c.options.UndoWish = plan.UndoWish(word) })
	f.Bool(&c.together, "", "together", "swap several tables in one step, and with --undo take them back in one step: the statement is several ALTER TABLE, each one of another table, or all tables of --to")
	f.Flags.StringVar(&c.file, "file", "", "file of statements, each of them with a semicolon at its end: they are done in order, and the first that fails ends the command")
	c.soak.register(f)
	f.Bool(&c.endUndo, "", "end-undo", "change the table although that ends the undo of its last change")
}

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `check "ALTER TABLE database.table ..."`,
		Short: "Check that every row fits the altered table, or list the rows that do not",
		Long:  help.Text("check"),
		Args:  cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	c.output.oneStep = true
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error { return conductAny(ctx, c, args, checking) })
	return cmd
}

func (a *app) newPlan() (*change, *cobra.Command) {
	cmd := &cobra.Command{
		Use:     `plan "ALTER TABLE database.table ..."`,
		Short:   "Show what run would do, and every obstacle",
		Long:    help.Text("plan"),
		Example: "  midstream plan \"ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)\"\n  midstream plan --database=shop --to=schema/",
		Args:    cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	c.planOnly = true
	c.checks.Flags.StringVar(&c.target.Scratch, "scratch-defaults-file", "", session.ScratchUse)
	c.checks.Enum("format", string(planText), []string{string(planText), string(planMarkdown), string(planSQL), string(planJSON)},
		"text, md (for a pull request), sql (only the statements), or json (as --json)", func(word string) {
			c.output.format = planFormat(word)
			c.output.json = c.output.json || c.output.format == planJSON
		})
	c.checks.Bool(&c.tellsDifference, "", "exit-code", "with --to: exit code 0 if all tables are equal to the files, 2 if not, 11 if the plan refuses")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error { return conductAny(ctx, c, args, onlyPlan) })
	return c, cmd
}

// conductAny does what a verb does about one statement, or about several.
func conductAny(ctx context.Context, c *change, args []string, do func(*change) doing) error {
	if c.together {
		return grouped{c}.conduct(ctx, args, do)
	}
	statements, err := c.target.Several(args, c.file)
	if err = exit.UsageOf(c.help, err); err != nil {
		return err
	}
	if len(statements) > 0 {
		return ordered{c}.conduct(ctx, statements, do)
	}
	return c.conduct(ctx, args, do(c))
}

// changing changes the table.
func changing(c *change) doing { return doing{c.migrate, c.runTables} }

// checking looks for rows that do not fit.
func checking(c *change) doing {
	return doing{alter: func(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
		c.options.Method, c.options.Checks = plan.MethodShadow, true // a shadow is what rows are looked at for
		p, result, err := c.carryOut(ctx, alter, s, (*migration.Migration).Check)
		if err == nil {
			c.output.done(p.Source.Name, result, summary.OfCheck(p, result), summary.OfCheck(p, result)+"\n")
		}
		return result, err
	}}
}

// onlyPlan prints the plan of a change, and does no more.
func onlyPlan(c *change) doing {
	return doing{func(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
		if c.soak.length > 0 {
			return migration.Result{}, inTwoActs{c}.planned(ctx, alter, s)
		}
		_, err := c.plan(ctx, alter, s)
		return migration.Result{}, err
	}, func(ctx context.Context, statement *ddl.Statement, s *server) (migration.Result, error) {
		_, err := c.planTables(ctx, statement, s)
		return migration.Result{}, err
	}}
}
