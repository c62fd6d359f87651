package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/help"
	"midstream/internal/engine/planning"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/ddl"
	"midstream/internal/ops/session"
	"midstream/internal/ops/socket"
	"midstream/internal/ops/undos"
)

func (a *app) undoCommand() *cobra.Command {
	_, cmd := a.newUndo()
	return cmd
}

// newUndo makes the verb undo, and what it fills.
func (a *app) newUndo() (*change, *cobra.Command) {
	cmd := &cobra.Command{
		Use:     "undo database.table",
		Short:   "Take back the last change of a table, or list what can be taken back",
		Long:    help.Text("undo"),
		Example: "  midstream undo shop.orders\n  midstream undo --list\n  midstream undo --plan shop.orders\n  midstream undo --extend=24h shop.orders\n  midstream undo --end shop.orders",
		Args:    cobra.ArbitraryArgs, SuggestFor: []string{"redo", "revert", "rollback"},
	}
	c, u := a.newChange(cmd), session.Tending{}
	c.target.Undo, c.undo, c.taking = true, &planning.Undo{}, changing
	c.registerTuning()
	c.registerResultFile()
	f := &c.checks
	f.Add("", "swapped", "time", "", "for midstream serve: undo only the change that was swapped at this time", c.target.OnlySwapped)
	for name := range session.NotForUndo {
		_ = f.Flags.MarkHidden(name) // an unknown name is found by TestHelp
	}
	_ = f.Flags.MarkHidden("swapped") // it has just been added
	f.Flags.Lookup("map").Usage = "the change has renamed old to new, or =new: it has added new; if nothing was kept of the change; may be repeated"
	f.Flags.Lookup("hold").Usage = "follow the table, and keep the old table equal to it, until another midstream undo takes the change back"
	f.Bool(&u.List, "", "list", "list the changes that can be undone, of one table or of all; change nothing")
	f.Bool(&c.planOnly, "", "plan", "print what this undo would do, and change nothing")
	f.Bool(&u.End, "", "end", "give the undo up: drop its record; the old table stays, unless the run was to drop it")
	f.Duration(&u.Extend, "extend", 0, time.Second, 10_000*time.Hour, "keep the undo open for longer by this time")
	f.Bool(&c.undo.Cold, "", "cold", "look at all rows, and not only at the rows that have changed since the swap")
	f.Bool(&c.undo.Lazy, "", "lazy", "fail if only --cold can take the change back")
	f.Bool(&c.undo.Merge, "", "merge", "for TRUNCATE: take over the rows that were written since, if their keys are free (with --park: those whose keys are free)")
	f.Bool(&c.undo.Park, "", "park", "keep the rows that do not fit in database.table_parked, and go back without them; for TRUNCATE: rows written since")
	f.Settings(&c.undo.Fills, "undo-fill", "column=expression", "expression for a column of the old table, for rows that are new since the swap; may be repeated")
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		f.Flags.Visit(func(flag *pflag.Flag) { c.undo.Given = append(c.undo.Given, flag.Name) })
		c.options.Again = session.Again(f.Flags)
		c.checks.Problems = append(c.checks.Problems, u.Check(*c.undo, c.options.Again))
		switch {
		case u.List || u.End || u.Extend > 0:
			return c.tendUndo(ctx, args, u)
		case c.planOnly:
			c.taking = onlyPlan
		}
		ctx, undo := session.Keeping(ctx, func() bool { return keepsOnSignal(c) })
		defer undo()
		return c.conduct(ctx, args, c.taking(c))
	})
	return c, cmd
}

// tendUndo lists what can be undone, or ends or extends the undo of a table.
func (c *change) tendUndo(ctx context.Context, args []string, u session.Tending) error {
	var statement *ddl.Statement
	s, err := c.connection.reach(ctx, &c.output, c.help, func() []error {
		var nameErr error
		if statement, nameErr = c.target.Parse(args); statement == nil && u.List && len(args) == 0 {
			nameErr = nil
		}
		return append(c.checks.Problems, nameErr, c.output.check())
	})
	if err != nil {
		return err
	}
	defer s.Close()
	c.app.Stands("undo", session.ObjectOf(statement, s))
	u.Sockets, u.Histories = cmp.Or(c.socket.folder, socket.Folder(c.app.Getenv)), c.history.In(c.app.Process)
	tended, err := u.Tend(ctx, s, statement)
	if err != nil {
		return exit.Unwritten(ctx, err, session.AdviceOnUndo(err, tended.Only))
	}
	if c.output.json {
		c.app.Record(undos.Records(tended.Undos, s.Address))
	} else {
		fmt.Fprint(c.app.Stdout, summary.OfTended(tended, s.Address, c.output.style(), c.output.quiet))
	}
	return nil
}
