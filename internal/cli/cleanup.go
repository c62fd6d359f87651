package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/migration"
	"midstream/internal/schema"
)

// errNotAsked says that cleanup would have to ask, and can't.
var errNotAsked = errors.New("cleanup asks before it drops tables, and there is no terminal to ask on; say --yes")

// cleanup removes what former runs left.
type cleanup struct {
	app        *app
	connection connection
	checks     checks
	database   string
	old        bool
	yes        bool
	answered   error // why nothing was dropped
}

func (a *app) cleanupCommand() *cobra.Command {
	c := &cleanup{app: a, connection: connection{app: a}}
	cmd := &cobra.Command{
		Use:   "cleanup database.table",
		Short: "Remove what a former run left on the server",
		Long: "Cleanup drops the tables that a former run on the table left behind: those that carry Midstream's mark\n" +
			"for this table in their comment, and a shadow that the marked state table speaks of. A name alone\n" +
			"proves nothing. It refuses while a run is at work, shows what it will drop, and asks.\n\n" +
			"With --old it also drops the former table that a swap left (database.table_old), if nobody uses it.",
		Example: "  midstream cleanup shop.orders\n  midstream cleanup --old --yes shop.orders",
		Args:    cobra.ArbitraryArgs,
	}
	c.checks.flags = cmd.Flags()
	c.checks.flags.SortFlags = false
	c.checks.boolean(&c.old, "", "old", "drop the former table too")
	c.checks.boolean(&c.yes, "", "yes", "don't ask")
	cmd.Flags().StringVarP(&c.database, "database", "D", "", "the table's database")
	c.connection.register(&c.checks)
	cmd.RunE = a.verb(c.run)
	return cmd
}

func (c *cleanup) run(ctx context.Context, args []string) error {
	cfg, notes, configErr := c.connection.config() // first: option files may say what the other flags didn't
	var name schema.Name
	var nameErr error
	switch {
	case len(args) == 1:
		name, nameErr = tableName(c.database, args[0])
	case c.app.password.detached(args):
		nameErr = errDetached
	default:
		nameErr = errors.New("say one table: midstream cleanup database.table")
	}
	if err := usageOf("midstream help cleanup", append(c.checks.problems, nameErr, configErr)...); err != nil {
		return err
	}
	out := output{app: c.app}
	for _, note := range notes {
		out.note(note)
	}
	server, err := c.connection.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer server.close()
	// The server's own spelling is what the marks carry.
	if table, err := schema.Load(ctx, server.pool.DB(), name); err == nil {
		name = table.Name
	}
	return c.drop(ctx, server, name)
}

func (c *cleanup) drop(ctx context.Context, s *server, name schema.Name) error {
	agreed := false
	found, err := migration.Cleanup(ctx, s.pool, name, c.old, func(found []migration.Leftover) bool {
		agreed = c.agree(found)
		return agreed
	})
	switch {
	case errors.Is(err, migration.ErrClaimed), errors.Is(err, migration.ErrInUse):
		return &coded{code: exitRefused, err: fmt.Errorf("%w; nothing was dropped", err), next: "try again when it is not"}
	case err != nil:
		return err
	case len(found) == 0:
		fmt.Fprintf(c.app.Stdout, "Nothing is left of former runs on %s.\n", name)
		return nil
	case c.answered != nil:
		return usageOf("midstream help cleanup", c.answered)
	case !agreed:
		fmt.Fprintln(c.app.Stdout, "Nothing was dropped.")
		return nil
	}
	fmt.Fprintf(c.app.Stdout, "Dropped %s.\n", plural(len(found), "table"))
	return nil
}

// agree shows what is to be dropped and asks.
func (c *cleanup) agree(found []migration.Leftover) bool {
	fmt.Fprintln(c.app.Stdout, "To be dropped:")
	for _, l := range found {
		fmt.Fprintf(c.app.Stdout, "  %s, about %s, %s (%s)\n", l.Name, plural(l.Rows, "row"), size(l.Bytes), l.Why)
	}
	if c.yes {
		return true
	}
	if !onTerminal(c.app.Stdin) {
		c.answered = errNotAsked
		return false
	}
	fmt.Fprint(c.app.Stdout, "Drop them? [y/N] ")
	answer, _ := bufio.NewReader(c.app.Stdin).ReadString('\n') // none: no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
