package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/ddl"
	"midstream/internal/migration"
	"midstream/internal/plan"
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
			"With --to the tables' definitions stand in files: " + toLong + "\n\n" +
			"Before the swap it waits, without limit, for sessions that are in its way: those that hold a lock on the\n" +
			"table and, unless --old-snapshots=ignore, transactions that began before the rows were copied. It names\n" +
			"them, and applies changes meanwhile. Whoever ends them (KILL) or the run (Ctrl-C) ends the waiting.\n\n" +
			"CREATE INDEX, DROP INDEX and OPTIMIZE TABLE are taken as the ALTER TABLE that does the same. RENAME, DROP,\n" +
			"TRUNCATE and CREATE TABLE are taken too: whoever holds a lock on one of the tables is waited for, and nobody\n" +
			"waits for the statement for longer than --lock-wait. A table that is dropped is first renamed aside, and an\n" +
			"empty one takes the place of one that is truncated, so that the application never waits for the drop.\n\n" +
			"What --max-load, --critical-load, --throttle-file and their like name holds up the copying of rows. A statement that the\n" +
			"server carries out itself waits for its lock, for --cutover-window and for a hold alone.\n\n" +
			"With --rehearse it does everything but the swap, on the real table and under its real load, tells what the run\n" +
			"would have been, and drops the new table. The table itself is not changed in any way. --rehearse-lock takes the\n" +
			"lock of the cut-over too, and gives it back. --on-replica does so on a replica, and spares the primary: what it\n" +
			"writes does not come into the replica's binlog, so that there are no errant GTIDs. A rehearsal never goes on with\n" +
			"a run that was stopped; a run goes on with what a rehearsal of the same ALTER has left, and compares it.\n\n" +
			"Names of CHECK constraints that somebody chose are lost on MySQL, where they are unique in a database:\n" +
			"the new table has orders_chk_1 and so on. The plan names those that will be.\n\n" +
			"Ctrl-C aborts, and so do SIGTERM and SIGHUP: the table stays as it was and what the run created is\n" +
			"removed. A second one, half a second later at least, leaves at once (midstream help exit-codes).",
		Example: `  midstream run "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(40), ADD INDEX (note)"
  midstream run "CREATE INDEX by_note ON shop.orders (note)"
  midstream run "DROP TABLE shop.orders_2019"
  midstream run --host=db1 --user=admin -p --database=shop --table=orders --alter="ADD COLUMN note VARCHAR(40)"
  midstream run --database=shop --to=schema/ --map name=customers.full_name`,
		Args: cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		return c.conduct(ctx, args, doing{c.migrate, c.runTables})
	})
	return cmd
}

// toLong explains --to.
const toLong = "a *.sql file, or a folder of such files,\n" +
	"with nothing but CREATE TABLE statements. The server makes each as an empty, marked table beside the real\n" +
	"one, for a moment, and the two are compared as it shows them. What differs becomes one ALTER for each table,\n" +
	"with a plan of its own; one after the other is run, and the first that fails ends the run. What can be\n" +
	"refused of any is refused before the first. A table that has its definition already is left as it is, so\n" +
	"that a second run does nothing; one that is not there is created as written, after the ALTERs; tables that\n" +
	"the files don't have are listed and left alone.\n\n" +
	"Names alone never decide that a column is renamed. Where columns of a table would go and others come, each\n" +
	"that comes needs a word: --map old=new, or --map =new where it is new; with several tables --map old=table.new\n" +
	"and --map =table.new. What was renamed by an earlier run may stay on the command line. An index that is the same\n" +
	"but for its name is renamed.\n\n" +
	"Not compared: the next AUTO_INCREMENT value, the order of indexes, the names of CHECK constraints,\n" +
	"whether a column's charset is written down, triggers, the KEY_BLOCK_SIZE of an index, and\n" +
	"an index that only a foreign key needs. Foreign\n" +
	"keys, and options such as TABLESPACE and DATA DIRECTORY, are compared, and refused where they differ.\n" +
	"Partitions are a part of the definition.\n" +
	"Servers before 8.0.16 pass over CHECK; a note says so."

// registerTuning adds the flags that say how a run works. A plan takes them too, so that a
// command becomes a plan by its verb alone; it heeds those that change what it tells.
func (c *change) registerTuning() {
	f, cfg, dflt := &c.checks, &c.config, migration.Config{}.WithDefaults()
	c.registerSettings()
	c.registerReplicas()
	f.flags.StringVar(&c.socket.folder, "control-dir", "", controlDirUse)
	f.boolean(&c.socket.off, "", "no-control", "make no socket: midstream status, pause, set and so on don't reach the run")
	f.integer(&cfg.Apply.Workers, "", "apply-workers", dflt.Apply.Workers, 1, 64, "connections that apply changes")
	c.history.register(f)
	c.registerCapture()
	f.integer(&cfg.BacklogLimit, "", "backlog-limit", dflt.BacklogLimit, 1000, 100_000_000, "keys in memory at which capture waits")
	f.enum("method", "auto", []string{"auto", string(plan.MethodInstant), string(plan.MethodInplace), string(plan.MethodCopy), string(plan.MethodShadow)},
		"how the table is changed: the lightest way within the limits below, or the one named",
		func(word string) {
			if word != "auto" {
				c.options.Method = plan.Method(word)
			}
		})
	f.boolean(&c.options.ZeroDates, "", "zero-dates", "take defaults that are zero dates ('0000-00-00', '2020-00-00') from the ALTER, though the server's sql_mode takes none")
	f.boolean(&c.calibrate, "", "calibrate", "measure what the plan predicts: copy a few chunks of rows to a scratch table, which is dropped\n(about ten seconds)")
	limits := plan.Limits{}.WithDefaults()
	f.duration(&c.options.Limits.Locked, "native-locked", limits.Locked, 0, time.Hour, "how long the server may let nobody write")
	f.duration(&c.options.Limits.Longest, "native-longest", limits.Longest, 0, 1000*time.Hour, "how long the server may build in place: where somebody is in the way at the end all is lost")
	f.duration(&c.options.Limits.Stall, "native-stall", limits.Stall, 0, 1000*time.Hour, "how long replicas may stand still while they repeat what the server did")
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
	f.boolean(&cfg.DropOld, "", "drop-old", "drop the old table after the swap; of DROP and TRUNCATE TABLE, however large it is")
	f.boolean(&c.dropLater, "", "drop-later", "of DROP and TRUNCATE TABLE: keep the table that was put aside, for midstream cleanup --old;\nwith neither, it is dropped if that stalls no session for longer than --native-locked")

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
		Use:   `plan "ALTER TABLE database.table ..."`,
		Short: "Show what run would do, and everything in its way",
		Long: "Plan connects, checks everything that can be checked, and prints what run would do: the lightest method\n" +
			"that keeps within the limits, why not another, what it will cost, and the risks. It asks the server, on\n" +
			"an empty table that it makes beside the real one and drops again; it changes nothing.\n" +
			"It takes every flag of run, so that run can be replaced by plan in a command; those that only say how a\n" +
			"run works have no effect.\n\n" +
			"With --to the tables' definitions stand in files: " + toLong,
		Args: cobra.ArbitraryArgs,
	}
	c := a.newChange(cmd)
	c.registerTuning()
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
