package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
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
		Long:  helpText("run"),
		Example: `  midstream run "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40), ADD INDEX (note)"
  midstream run "CREATE INDEX by_note ON shop.orders (note)"
  midstream run "DROP TABLE shop.orders_2019"
  midstream run --host=db1 --user=admin -p --database=shop --table=orders --alter="ADD COLUMN note VARCHAR(40)"
  midstream run --database=shop --to=schema/ --map name=customers.full_name`,
		Args: cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	c.checks.flags.StringVar(
		&c.resultFile, "result-file", "",
		"for midstream serve: a file that the result is written over; the run does not end before it is written",
	)
	_ = c.checks.flags.MarkHidden("result-file") // it has just been added
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		return c.conduct(ctx, args, doing{c.migrate, c.runTables})
	})
	return c, cmd
}

// registerTuning adds the flags that say how a run works. A plan takes them too, so that a
// command becomes a plan by its verb alone; it heeds those that change what it tells.
func (c *change) registerTuning() {
	f, cfg, dflt := &c.checks, &c.config, migration.Config{}.WithDefaults()
	c.registerSettings()
	c.registerReplicas()
	f.flags.StringVar(&c.socket.folder, "control-dir", "", controlDirUse)
	f.boolean(&c.socket.off, "", "no-control", "make no socket: midstream status, pause, set and so on don't reach the run")
	c.page.register(f, "", pageUse)
	f.integer(&cfg.Apply.Workers, "", "apply-workers", dflt.Apply.Workers, 1, 64, "connections that apply changes")
	c.history.register(f)
	c.machines.register(f)
	c.registerCapture()
	f.integer(&cfg.BacklogLimit, "", "backlog-limit", dflt.BacklogLimit, 1000, 100_000_000, "keys in memory at which capture waits")
	f.enum(
		"method",
		"auto",
		[]string{"auto", string(plan.MethodInstant), string(plan.MethodInplace), string(plan.MethodCopy), string(plan.MethodShadow)},
		"how the table is changed: the lightest way within the limits below, or the one named",
		func(word string) {
			if word != "auto" {
				c.options.Method = plan.Method(word)
			}
		},
	)
	f.boolean(
		&c.options.ZeroDates, "", "zero-dates",
		"take defaults that are zero dates ('0000-00-00', '2020-00-00') from the ALTER, though the server's sql_mode takes none",
	)
	f.boolean(
		&c.calibrate, "", "calibrate",
		"measure what the plan predicts: copy a few chunks of rows to a scratch table, which is dropped (about ten seconds)",
	)
	limits := plan.Limits{}.WithDefaults()
	f.duration(&c.options.Limits.Locked, "native-max-lock", limits.Locked, 0, time.Hour, "how long the server may block all writes")
	f.duration(
		&c.options.Limits.Longest, "native-max-build", limits.Longest, 0, 1000*time.Hour,
		"how long the server may build in place: if it cannot get its final lock, the build is lost",
	)
	f.duration(
		&c.options.Limits.Stall, "native-max-replica-stall", limits.Stall, 0, 1000*time.Hour,
		"how long replicas may stall while they repeat the server's own change",
	)
	f.duration(
		&c.reconnect, "reconnect", 10*time.Minute, 0, 24*time.Hour,
		"how long a run that has lost its server tries to go on, before it ends and keeps its work",
	)
	f.duration(
		&cfg.Checkpoint, "checkpoint", dflt.Checkpoint, 10*time.Millisecond, 10*time.Minute,
		"time between two checkpoints: the work that a killed run may lose",
	)
	indexes, snapshots := string(dflt.Indexes), string(dflt.OldSnapshots)
	cfg.Indexes, cfg.OldSnapshots = dflt.Indexes, dflt.OldSnapshots
	f.enum("defer-indexes", indexes, []string{string(migration.DeferAuto), string(migration.DeferYes), string(migration.DeferNever)},
		"build secondary indexes after the row copy", func(word string) { cfg.Indexes = migration.DeferIndexes(word) })
	f.enum("old-snapshots", snapshots, []string{string(migration.SnapshotsWait), string(migration.SnapshotsIgnore)},
		"what to do about transactions that began before the rows were copied and would see a part of them after the swap",
		func(word string) { cfg.OldSnapshots = migration.OldSnapshots(word) })
	f.boolean(
		&cfg.NoPrescan, "", "no-prescan",
		"do without the look for rows that the new table doesn't take (midstream check): the run stops at the first of them, while it copies",
	)
	f.boolean(
		&cfg.NoVerify, "", "no-verify",
		"swap without a comparison of the new table with what the ALTER makes of every row: saves a fourth of the time, and gives up the proof that no row was lost or changed",
	)
	f.boolean(&cfg.Repair, "", "repair", "copy differing rows again and compare them, instead of failing")
	f.boolean(&cfg.DropOld, "", "drop-old", "drop the old table after the swap; of DROP and TRUNCATE TABLE, however large it is")
	f.boolean(
		&c.dropLater, "", "drop-later",
		"of DROP and TRUNCATE TABLE: keep the table that was put aside, for midstream cleanup --old; with neither, it is dropped if that stalls no session for longer than --native-max-lock",
	)

	c.rehearsal.register(f)
	f.boolean(&cfg.ApplyAhead, "", "no-frontier-rule", "measuring: apply changes ahead of the row copy too")
	f.boolean(&cfg.KeepRepeats, "", "no-merge", "measuring: apply every change of a key by itself")
	for _, name := range []string{"no-frontier-rule", "no-merge"} {
		_ = f.flags.MarkHidden(name) // it is there: it has just been added
	}
}

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `check "ALTER TABLE database.table ..."`,
		Short: "Prove from the data that an ALTER loses nothing, or list the rows that don't fit",
		Long:  helpText("check"),
		Args:  cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		return c.conduct(ctx, args, doing{alter: func(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
			c.options.Method = plan.MethodShadow // a shadow is what rows are looked at for
			_, result, err := c.carryOut(ctx, alter, s, (*migration.Migration).Check)
			return result, err
		}})
	})
	return cmd
}

func (a *app) planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     `plan "ALTER TABLE database.table ..."`,
		Short:   "Show what run would do, and every obstacle",
		Long:    helpText("plan"),
		Example: "  midstream plan \"ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40)\"\n  midstream plan --database=shop --to=schema/",
		Args:    cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	c.planOnly = true
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		return c.conduct(ctx, args, doing{func(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
			_, err := c.plan(ctx, alter, s)
			return migration.Result{}, err
		}, func(ctx context.Context, statement *ddl.Statement, s *server) (migration.Result, error) {
			_, err := c.planTables(ctx, statement, s)
			return migration.Result{}, err
		}})
	})
	return cmd
}
