package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/engine/event"
	"midstream/internal/engine/lock"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
	"midstream/internal/ops/socket"
)

// blockers lists who holds a table, or waits for it.
type blockers struct {
	app        *app
	connection connection
	checks     flags.Set
	database   string
	folder     string
	json       bool
}

func (a *app) blockersCommand() *cobra.Command {
	b := &blockers{app: a, connection: connection{app: a}}
	cmd := &cobra.Command{
		Use:     "blockers [database.table]",
		Short:   "List the sessions that hold the locks of a table, or wait for them",
		Long:    help.Text("blockers") + "\n\n" + help.Text("names"),
		Example: "  midstream blockers shop.orders",
		Args:    cobra.ArbitraryArgs,
	}
	b.checks.Flags = cmd.Flags()
	b.checks.Flags.SortFlags = false
	b.checks.Bool(&b.json, "", "json", "one JSON object")
	cmd.Flags().StringVarP(&b.database, "database", "D", "", "the table's database")
	cmd.Flags().StringVar(&b.folder, "control-dir", "", controlDirUse)
	b.connection.register(&b.checks)
	cmd.RunE = a.Verb(b.run)
	return cmd
}

// errUnshown says that a server tells nobody who holds a lock.
var errUnshown = errors.New("the server does not record metadata locks")

func (b *blockers) run(ctx context.Context, args []string) error {
	cfg, notes, configErr := b.connection.config() // first: option files may say what the other flags didn't
	if len(args) == 0 {
		if err := exit.UsageOf("midstream help blockers", append(b.checks.Problems, configErr)...); err != nil {
			return err
		}
		return b.ofRuns(ctx)
	}
	name, nameErr := oneTable(b.app, b.database, args, "midstream blockers")
	if err := exit.UsageOf("midstream help blockers", append(b.checks.Problems, nameErr, configErr)...); err != nil {
		return err
	}
	if told, err := b.ofRun(ctx, name); told || err != nil {
		return err
	}
	out := output{app: b.app, json: b.json}
	for _, note := range notes {
		out.note(note)
	}
	server, err := b.connection.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer server.Close()
	b.app.Stands("blockers", name.String()+" on "+server.Address)
	table, err := schema.Load(ctx, server.Pool.DB(), name)
	switch {
	case errors.Is(err, schema.ErrNotFound):
		return exit.Unwritten(ctx, schema.Missing(ctx, server.Pool.DB(), name, err), exit.CheckName)
	case err == nil:
		name = table.Name
	}
	watcher := lock.Watcher{DB: server.Pool.DB(), Tables: []schema.Name{name}}
	recorded, err := watcher.Recorded(ctx)
	if err != nil {
		return exit.Unwritten(ctx, err, "")
	}
	if !recorded {
		return exit.Unwritten(
			ctx, errUnshown,
			"UPDATE performance_schema.setup_instruments SET enabled = 'YES' WHERE name = 'wait/lock/metadata/sql/mdl'",
		)
	}
	holding, waiting, err := watcher.All(ctx)
	if err != nil {
		return exit.Unwritten(ctx, err, "")
	}
	b.tell(name.Dotted(), holding, waiting)
	return nil
}

// ofRun asks the run of a table, if there is one on this machine and no server was named.
func (b *blockers) ofRun(ctx context.Context, name schema.Name) (told bool, err error) {
	if slices.ContainsFunc([]string{"host", "port", "socket"}, b.checks.Flags.Changed) {
		return false, nil
	}
	runs, err := findRuns(ctx, b.app, b.folder)
	if err != nil {
		return false, err
	}
	of := socket.OfTable(runs, name.Dotted())
	if len(of) != 1 {
		return false, nil
	}
	return true, b.ask(ctx, of[0])
}

// ask tells what a run answers.
func (b *blockers) ask(ctx context.Context, run *socket.Client) error {
	var found struct {
		Holding []record.Blocker `json:"holding"`
		Waiting []record.Blocker `json:"waiting"`
	}
	if err := run.Call(ctx, http.MethodGet, "blockers", nil, &found); err != nil {
		return exit.Answered(err)
	}
	b.tell(run.Found.Table, record.EventsOf(found.Holding), record.EventsOf(found.Waiting))
	return nil
}

// ofRuns asks the runs of this machine.
func (b *blockers) ofRuns(ctx context.Context) error {
	runs, err := findRuns(ctx, b.app, b.folder)
	if err != nil {
		return err
	}
	if len(runs) == 0 && !b.json {
		fmt.Fprintln(b.app.Stdout, noRuns)
	}
	for _, run := range runs {
		if err := b.ask(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (b *blockers) tell(table string, holding, waiting []event.Blocker) {
	if b.json {
		b.app.Record(
			record.Lockers{
				Head:    record.HeadOf("blockers", time.Now()),
				Table:   table,
				Holding: record.Blockers(holding),
				Waiting: record.Blockers(waiting),
			},
		)
		return
	}
	fmt.Fprint(b.app.Stdout, summary.OfBlockers(schema.NameOf(table), holding, waiting))
}
