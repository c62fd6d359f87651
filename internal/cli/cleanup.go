package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/cli/kept"
	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/wholetables"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/history"
)

// errNotAsked says that cleanup would have to ask, and can't.
var errNotAsked = errors.New("cleanup asks before it drops anything, but there is no terminal")

// cleanup removes what former runs left.
type cleanup struct {
	app        *app
	connection connection
	checks     flags.Set
	database   string
	old        bool
	yes        bool
}

func (a *app) cleanupCommand() *cobra.Command {
	c := &cleanup{app: a, connection: connection{app: a}}
	cmd := &cobra.Command{
		Use:     "cleanup database.table",
		Short:   "Remove what an earlier run left on the server",
		Long:    help.Text("cleanup") + "\n\n" + help.Text("names"),
		Example: "  midstream cleanup shop.orders\n  midstream cleanup --old --yes shop.orders",
		Args:    cobra.ArbitraryArgs,
	}
	c.checks.Flags = cmd.Flags()
	c.checks.Flags.SortFlags = false
	c.checks.Bool(&c.old, "", "old", "also drop the old table")
	c.checks.Bool(&c.yes, "", "yes", "drop without a question; required without a terminal")
	cmd.Flags().StringVarP(&c.database, "database", "D", "", "the table's database")
	c.connection.register(&c.checks)
	cmd.RunE = a.Verb(c.run)
	return cmd
}

func (c *cleanup) run(ctx context.Context, args []string) error {
	var name schema.Name
	server, err := c.connection.reach(ctx, &output{app: c.app}, "midstream help cleanup", func() []error {
		var nameErr error
		name, nameErr = oneTable(c.app, c.database, args, "midstream cleanup")
		return append(c.checks.Problems, nameErr)
	})
	if err != nil {
		return err
	}
	defer server.Close()
	// The server's own spelling is what the marks carry.
	table, err := schema.Load(ctx, server.Pool.DB(), name)
	if err == nil {
		name = table.Name
	}
	c.app.Stands("cleanup", name.String()+" on "+server.Address)
	return c.drop(ctx, server, name, errors.Is(err, schema.ErrNotFound))
}

// drop gives up what a killed run has begun, and drops what is found. missing says that the table itself is not there.
func (c *cleanup) drop(ctx context.Context, s *server, name schema.Name, missing bool) error {
	agreed, out := true, &output{app: c.app}
	var found []leftovers.Table
	ended, err := wholetables.GiveUp(ctx, s.Pool, name, func(k leftovers.Killed) bool {
		agreed = c.agree(ctx, summary.OfKilled(k), "Do that?")
		return agreed
	}, out.Event)
	if err == nil && agreed {
		fmt.Fprint(c.app.Stdout, summary.GaveUp(ended, name))
		agreed = false
		found, err = leftovers.Cleanup(ctx, s.Pool, name, c.old, func(found []leftovers.Table) bool {
			agreed = c.agree(ctx, summary.OfLeftovers(found), "Drop them?")
			return agreed
		}, out.note)
		found = slices.DeleteFunc(found, func(l leftovers.Table) bool {
			if l.Spared {
				fmt.Fprintf(c.app.Stdout, "%s is left alone: %s.\n", l.Name, escape.Line(l.Why))
			}
			return l.Spared
		})
		if err == nil && (agreed || len(found) == 0) { // midstream status does without the note
			_ = history.Cleaned((&kept.Flags{}).In(c.app.Process), s.Address, name.Dotted())
			agreed = true
		}
	}
	var denied *leftovers.Denied
	var untold *leftovers.Untold
	switch {
	case errors.As(err, &untold):
		return &exit.Error{Code: exit.Refused, Err: err, Left: "nothing was dropped", Next: untold.Next()}
	case errors.Is(err, checkpoint.ErrNewer):
		return &exit.Error{Code: exit.Refused, Err: err, Left: "nothing was dropped", Next: failure.AfterNewer}
	case errors.As(err, &denied):
		return &exit.Error{Code: exit.Refused, Err: exit.Denial(denied), Next: c.command(name)}
	case dbconn.Denied(err):
		next := "grant the account the missing privilege, and run the same command again"
		return &exit.Error{Code: exit.Refused, Err: err, Left: "nothing was dropped", Next: next}
	case errors.Is(err, leftovers.ErrClaimed):
		return &exit.Error{Code: exit.Busy, Err: fmt.Errorf("%w; nothing was dropped", err), Next: "try again when that has ended"}
	case errors.Is(err, leftovers.ErrElsewhere), errors.Is(err, leftovers.ErrInUse):
		return &exit.Error{Code: exit.Refused, Err: fmt.Errorf("%w; nothing was dropped", err), Next: "try again when that has ended"}
	case err != nil:
		if exit.InterruptedBy(ctx, err) {
			err = errInterrupted
		}
		left := "nothing was dropped"
		if agreed && len(found) > 0 {
			left = "some of the tables may have been dropped"
		}
		return &exit.Error{Code: exit.Code(err, false), Err: err, Left: left, Next: c.command(name)}
	case !agreed && c.unasked():
		return &exit.Error{Code: exit.WrongUsage, Err: errNotAsked, Left: "nothing was dropped", Next: strings.Replace(c.command(name), "cleanup  ", "cleanup  --yes ", 1) + " drops it without a question"}
	case !agreed && ctx.Err() != nil:
		return &exit.Error{Code: exit.Aborted, Err: errInterrupted, Left: "nothing was dropped"}
	case !agreed:
		fmt.Fprintln(c.app.Stdout, "Nothing was dropped.")
		return nil
	case len(found) == 0 && ended != nil:
		return nil
	case len(found) == 0 && missing:
		err = fmt.Errorf("%s: %w; cleanup found nothing of earlier runs that it may drop", name, schema.ErrNotFound)
		return &exit.Error{Code: exit.Refused, Err: err, Next: exit.CheckName}
	case len(found) == 0:
		fmt.Fprint(c.app.Stdout, summary.OfNothingLeft(name, leftovers.OldsOf(ctx, s.Pool, name), leftovers.MovedByHand(ctx, s.Pool, name)))
		return nil
	}
	fmt.Fprintf(c.app.Stdout, "Dropped %s.\n", summary.Counted(found))
	return nil
}

// command is the command that does the same again.
func (c *cleanup) command(name schema.Name) string {
	if c.old {
		return "midstream cleanup  --old " + name.Argument()
	}
	return "midstream cleanup  " + name.Argument()
}

// unasked reports whether cleanup can't ask.
func (c *cleanup) unasked() bool { return !c.yes && !onTerminal(c.app.Stdin) }

// agree shows what is to be done and asks. An end of ctx is a no.
func (c *cleanup) agree(ctx context.Context, shown, question string) bool {
	fmt.Fprint(c.app.Stdout, shown)
	if c.yes || c.unasked() {
		return c.yes
	}
	fmt.Fprint(c.app.Stdout, question+" [y/N] ")
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(c.app.Stdin).ReadString('\n') // none: no
		answers <- answer
	}()
	select {
	case <-ctx.Done(): // the read goes on until the process ends
		fmt.Fprintln(c.app.Stdout)
		return false
	case answer := <-answers:
		answer = strings.ToLower(strings.TrimSpace(answer))
		return ctx.Err() == nil && (answer == "y" || answer == "yes")
	}
}
