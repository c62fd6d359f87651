package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/cli/kept"
	"midstream/internal/engine/operator"
	"midstream/internal/ops/history"
	"midstream/internal/ops/socket"
)

// completionPatience is how long a shell waits for what could be meant: a run that does not answer is left out.
const completionPatience = time.Second

// complete says for all verbs what a shell may offer: words of flags, tables of the runs of this
// machine, and runs of the history. No server is asked.
func (a *app) complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		a.completeFlags(c)
		switch {
		case c.ValidArgsFunction != nil:
		case c.Name() == "report":
			c.ValidArgsFunction = a.toldRuns
		case c.Name() == "set":
			c.ValidArgsFunction = a.runsAndSettings
		case c.Flags().Lookup("control-dir") != nil && c.Flags().Lookup("alter") == nil && c.Name() != "serve",
			c.Name() == "cleanup",
			c.Name() == "verify":
			c.ValidArgsFunction = a.tablesOfRuns
		case !c.DisableFlagParsing && c.Name() != "help" && c.Name() != "completion":
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// completeFlags has the words of a flag offered, and no files where none is meant.
func (a *app) completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		kind := f.Value.Type()
		words := []string{}
		if strings.Contains(kind, "|") {
			words = strings.Split(kind, "|")
		}
		if kind == "string" || kind == "path" || kind == "profile" { // may be files
			return
		}
		// fails where there is one: good
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	})
}

// tablesOfRuns offers the tables that runs are at work on, where none is named yet.
func (a *app) tablesOfRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	folder := ""
	if f := cmd.Flags().Lookup("control-dir"); f != nil {
		folder = f.Value.String()
	}
	if folder == "" {
		folder = socket.Folder(a.Getenv)
	}
	runs, _ := socket.Find(ctx, folder) // none can be offered then
	return socket.Tables(runs), cobra.ShellCompDirectiveNoFileComp
}

// runsAndSettings offers tables first, and then settings.
func (a *app) runsAndSettings(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		if tables, directive := a.tablesOfRuns(cmd, args, begun); len(tables) > 0 {
			return tables, directive
		}
	}
	var names []string
	for _, s := range operator.AllSettings() {
		names = append(names, s.Name+"=")
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// toldRuns offers the runs that there are histories of, and their tables.
func (a *app) toldRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	flags := kept.Flags{Folder: cmd.Flags().Lookup("history-dir").Value.String()}
	entries, _ := history.List(flags.In(a.Process)) // none can be offered then
	return history.Words(entries), cobra.ShellCompDirectiveDefault
}
