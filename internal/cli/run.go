package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/ddl"
	"midstream/internal/migration"
)

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `run "ALTER TABLE database.table ..."`,
		Short: "Change a table's schema while it is in use",
		Long: "Run changes the schema of a live table: it plans, prints the plan, copies the rows into a shadow\n" +
			"table while changes go on, and swaps the two.\n\n" +
			"It connects as MySQL's client programs do: flags, then the groups [client] and [midstream] of option\n" +
			"files (/etc/my.cnf, /etc/mysql/my.cnf, ~/.my.cnf), then MYSQL_PWD, MYSQL_HOST, MYSQL_TCP_PORT and\n" +
			"MYSQL_UNIX_PORT. As with mysql, no host and localhost mean the socket, even if a port is given;\n" +
			"where there is no socket, TCP.\n\n" +
			"The group [midstream] may have every other flag too, by its name (drop-old, lock-wait=1s); the command\n" +
			"line counts more. A name that no verb knows is an error, unless it begins with loose-.\n\n" +
			"Before the swap it waits, without limit, for sessions that are in its way: those that hold a lock on the\n" +
			"table and, unless --old-snapshots=ignore, transactions that began before the rows were copied. It names\n" +
			"them, and applies changes meanwhile. Whoever ends them (KILL) or the run (Ctrl-C) ends the waiting.\n\n" +
			"Names of CHECK constraints that somebody chose are lost on MySQL, where they are unique in a database:\n" +
			"the new table has orders_chk_1 and so on. The plan names those that will be.\n\n" +
			"Ctrl-C aborts, and so do SIGTERM and SIGHUP: the table stays as it was and what the run created is\n" +
			"removed. A second one leaves at once (midstream help exit-codes).",
		Example: `  midstream run "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40), ADD INDEX (note)"
  midstream run --host=db1 --user=admin -p --database=shop --table=orders --alter="ADD COLUMN note VARCHAR(40)"`,
		Args: cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error { return c.conduct(ctx, args, c.migrate) })
	return cmd
}

// registerTuning adds the flags that say how a run works. A plan takes them too, so that a
// command becomes a plan by its verb alone; it heeds those that change what it tells.
func (c *change) registerTuning() {
	f, cfg, dflt := &c.checks, &c.config, migration.Config{}.WithDefaults()
	f.integer(&cfg.RowCopy.Workers, "", "workers", dflt.RowCopy.Workers, 1, 64, "connections that copy rows")
	f.integer(&cfg.Apply.Workers, "", "apply-workers", dflt.Apply.Workers, 1, 64, "connections that apply changes")
	f.duration(&cfg.RowCopy.Target, "chunk-time", dflt.RowCopy.Target, 10*time.Millisecond, 10*time.Second, "time that a chunk of rows may take")
	f.duration(&cfg.Lock.Wait, "lock-wait", dflt.Lock.Wait, 10*time.Millisecond, 30*time.Second, "how long an attempt to cut over may wait for the lock, and queries for it")
	f.duration(&cfg.Lock.Work, "lock-work", dflt.Lock.Work, 10*time.Millisecond, 30*time.Second, "how long the lock may be held")
	f.integer(&cfg.BacklogLimit, "", "backlog-limit", dflt.BacklogLimit, 1000, 100_000_000, "keys in memory at which capture waits")
	f.duration(&c.reconnect, "reconnect", 10*time.Minute, 0, 24*time.Hour, "how long a run that has lost its server tries to go on, before it ends and keeps its work")
	f.duration(&cfg.Checkpoint, "checkpoint", dflt.Checkpoint, 10*time.Millisecond, 10*time.Minute, "time between two checkpoints: the work that a killed run may lose")
	indexes, snapshots := string(dflt.Indexes), string(dflt.OldSnapshots)
	cfg.Indexes, cfg.OldSnapshots = dflt.Indexes, dflt.OldSnapshots
	f.enum("defer-indexes", indexes, []string{string(migration.DeferAuto), string(migration.DeferYes), string(migration.DeferNever)},
		"build secondary indexes after the row copy", func(word string) { cfg.Indexes = migration.DeferIndexes(word) })
	f.enum("old-snapshots", snapshots, []string{string(migration.SnapshotsWait), string(migration.SnapshotsIgnore)},
		"what to do about transactions that began before the rows were copied\nand would see a part of them after the swap",
		func(word string) { cfg.OldSnapshots = migration.OldSnapshots(word) })
	f.boolean(&cfg.NoPrescan, "", "no-prescan", "do without the look for rows that the new table doesn't take (midstream check):\nthe run stops at the first of them, while it copies")
	f.boolean(&cfg.NoVerify, "", "no-verify", "swap without a comparison of the new table with what the ALTER makes of every row:\nsaves a fourth of the time, and gives up the proof that no row was lost or changed")
	f.boolean(&cfg.Repair, "", "repair", "sync rows that differ anew, and compare them again, instead of failing")
	f.boolean(&cfg.DropOld, "", "drop-old", "drop the old table after the swap")

	f.boolean(&cfg.FullSpeed, "", "full-speed", "copy rows with all workers, however busy the server is")
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
		Long: "Check looks at every row, while the table is in use, and tells which the altered table doesn't take:\n" +
			"values that are too long or out of range, NULLs, members that an ENUM or SET loses, characters that a\n" +
			"charset lacks, texts that are no number, date or JSON, rows against a new CHECK, duplicates under a\n" +
			"unique key that is new or whose columns get another collation or type. Of each it tells how many\n" +
			"there are, the first ten keys, the SELECT that lists them all and, where there is one, the clause\n" +
			"that would take them. Values that the server would round without an error are counted too, and\n" +
			"refuse nothing. Run does the same before it copies.\n\n" +
			"The server itself judges: check makes the empty shadow table as run does, has a temporary table take\n" +
			"the converted values, range by range, and drops both. It locks no row. Duplicates of a new unique key\n" +
			"are looked for in one query over the whole table; as long as it runs the server keeps old versions\n" +
			"of rows that change. Where the definitions prove that every row fits, nothing is read.\n\n" +
			"Exit code 17 says that there are such rows. Rows that become so afterwards stop a run all the same.\n\n" +
			"It takes every flag of run; those that only say how a run works have no effect.",
		Args: cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		return c.conduct(ctx, args, func(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
			_, result, err := c.carryOut(ctx, alter, s, (*migration.Migration).Check)
			return result, err
		})
	})
	return cmd
}

func (a *app) planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `plan "ALTER TABLE database.table ..."`,
		Short: "Show what run would do, and everything in its way",
		Long: "Plan connects, checks everything that can be checked, and prints what run would do. It writes nothing.\n" +
			"It takes every flag of run, so that run can be replaced by plan in a command; those that only say how a\n" +
			"run works have no effect.",
		Args: cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		return c.conduct(ctx, args, func(ctx context.Context, alter *ddl.Alter, s *server) (migration.Result, error) {
			_, err := c.plan(ctx, alter, s)
			return migration.Result{}, err
		})
	})
	return cmd
}
