package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/engine/dump"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
)

// dumpCommand writes the tables of a database as files.
func (a *app) dumpCommand() *cobra.Command {
	reach, o := connection{app: a}, dump.Options{}
	cmd := &cobra.Command{Use: "dump", Short: "Write the tables of a database as files for --to", Long: help.Text("dump"), Args: cobra.ArbitraryArgs,
		Example: "  midstream dump --database=shop --out=schema/\n  midstream plan --database=shop --to=schema/ --exit-code"}
	checks := flags.Set{Flags: cmd.Flags()}
	checks.Flags.SortFlags = false
	checks.Flags.StringVarP(&o.Database, "database", "D", "", "the database")
	checks.Flags.StringVar(&o.Folder, "out", "", "folder of the files; it is made if it does not exist")
	checks.Bool(&o.Force, "", "force", "replace files that you have changed, or that no dump has written")
	checks.Bool(&o.Prune, "", "prune", "remove files of earlier dumps whose tables do not exist now; with --force, also if you have changed them")
	json := false
	checks.Bool(&json, "", "json", "print one JSON object: database, folder, written, unchanged, skipped, former, removed")
	reach.register(&checks)
	cmd.RunE = a.Verb(func(ctx context.Context, args []string) error {
		server, err := reach.reach(ctx, &output{app: a}, "midstream help dump", func() []error { return append(checks.Problems, o.Check(args)) })
		if err != nil {
			return err
		}
		defer server.Close()
		a.Stands("dump", escape.Line(o.Database)+" on "+server.Address)
		result, err := dump.Run(ctx, server.Pool.DB(), o)
		switch {
		case err == nil && json:
			a.Record(record.DumpOf(o.Database, o.Folder, result.Written, result.Removed, result.Former, result.Unchanged, result.Skipped))
		case err == nil:
			fmt.Fprint(a.Stdout, summary.OfDump(result, o.Folder))
		}
		return exit.Undumped(ctx, err)
	})
	return cmd
}
