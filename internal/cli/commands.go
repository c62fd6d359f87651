package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/socket"
)

// commanding tells runs of this machine what to do.
type commanding struct {
	app      *app
	checks   flags.Set
	verb     string
	database string
	folder   string
	server   string
	json     bool
	yes      bool
	all      bool // without a table, also if there are several runs
	// yesNeeded says that without a table the command needs --yes.
	yesNeeded bool
	named     func(args []string) bool         // the first argument is a table
	body      func(rest []string) (any, error) // of the request, from the arguments that are no table
}

// noRuns is what is told where there is none.
const noRuns = summary.NoRuns

// controlCommands are the verbs that talk to runs.
func (a *app) controlCommands() []*cobra.Command {
	return []*cobra.Command{a.statusCommand(), a.watchCommand(), a.pauseCommand(), a.resumeCommand(), a.throttleCommand(), a.setCommand(),
		a.holdCommand(), a.cutoverCommand(), a.abortCommand()}
}

// newCommanding makes a verb's command.
func (a *app) newCommanding(use, short string) (*commanding, *cobra.Command) {
	verb, _, _ := strings.Cut(use, " ")
	c := &commanding{app: a, verb: verb, body: noBody, named: func(args []string) bool { return len(args) > 0 }}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, Long: help.Text(verb) +
		"\n\nIt talks to the runs of this user on this machine, through their control sockets.\n" + help.Text("names")}
	c.checks.Flags = cmd.Flags()
	c.checks.Flags.SortFlags = false
	c.checks.Bool(&c.json, "", "json", "print one JSON object a line (docs/openapi.yaml, docs/events.md)")
	cmd.Flags().StringVarP(&c.database, "database", "D", "", "the table's database")
	cmd.Flags().StringVar(&c.server, "server", "", "only runs on this server, as midstream status spells it (host:port)")
	cmd.Flags().StringVar(&c.folder, "control-dir", "", controlDirUse)
	if !slices.Contains([]string{"cutover", "abort", "status", "watch"}, verb) {
		c.checks.Bool(&c.all, "", "all", "without a table: act on all runs of this machine; without this flag, only if there is one")
	}
	help.InCommon(cmd.Flags())
	cmd.RunE = a.Verb(c.command)
	return c, cmd
}

func noBody(rest []string) (any, error) {
	if len(rest) > 0 {
		return nil, fmt.Errorf("expected one table, got also %q", strings.Join(rest, " "))
	}
	return struct{}{}, nil
}

func (a *app) pauseCommand() *cobra.Command {
	c, cmd := a.newCommanding("pause [database.table]", "Pause a run")
	var stop bool
	c.checks.Bool(&stop, "", "stop-capture", "stop at a checkpoint, and capture no changes either")
	c.body = func(rest []string) (any, error) {
		_, err := noBody(rest)
		return socket.PauseCommand{StopCapture: stop}, err
	}
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	_, cmd := a.newCommanding("resume [database.table]", "Continue a paused run")
	return cmd
}

func (a *app) throttleCommand() *cobra.Command {
	c, cmd := a.newCommanding("throttle [database.table] share", "Limit the share of time that the row copy works")
	cmd.Example = "  midstream throttle shop.orders 30%"
	c.named = func(args []string) bool {
		return len(args) > 1 || len(args) == 1 && (c.database != "" || !isShare(args[0]))
	}
	c.body = func(rest []string) (any, error) {
		if len(rest) != 1 {
			return nil, errors.New("name the share: midstream throttle shop.orders 30%")
		}
		return socket.ThrottleCommand{Share: rest[0]}, nil
	}
	return cmd
}

func (a *app) setCommand() *cobra.Command {
	c, cmd := a.newCommanding("set [database.table] [name=value ...]", "Read and change the settings of a run")
	cmd.Example = "  midstream set shop.orders\n  midstream set shop.orders lock-wait=1s max-load=Threads_running=50"
	c.named = func(args []string) bool { return len(args) > 0 && !isSetting(c.database, args[0]) }
	c.body = func(rest []string) (any, error) {
		values := map[string]string{}
		for _, text := range rest {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" {
				return nil, fmt.Errorf("%q is not a setting: a setting must be name=value", text)
			}
			values[name] = value
		}
		return socket.SetCommand{Settings: values}, nil
	}
	return cmd
}

func (a *app) holdCommand() *cobra.Command {
	_, cmd := a.newCommanding("hold [database.table]", "Make the swap wait for midstream cutover")
	return cmd
}

func (a *app) cutoverCommand() *cobra.Command {
	c, cmd := a.newCommanding("cutover [database.table]", "Release the swap of a held run")
	var now bool
	c.yesNeeded = true
	c.checks.Bool(&c.yes, "", "yes", "required without a table: release the swaps of all runs of this machine")
	c.checks.Bool(&now, "", "now", "do not wait for --cutover-window, --cutover-when-gone, a hook, or readers of the binlog")
	c.body = func(rest []string) (any, error) {
		_, err := noBody(rest)
		return socket.CutOverCommand{Now: now}, err
	}
	return cmd
}

func (a *app) abortCommand() *cobra.Command {
	c, cmd := a.newCommanding("abort [database.table]", "Stop a run; the table is unchanged")
	var keep bool
	c.yesNeeded = true
	c.checks.Bool(&keep, "", "keep", "keep the work, so that the same command resumes it")
	c.checks.Bool(&c.yes, "", "yes", "required without a table: abort all runs of this machine")
	c.body = func(rest []string) (any, error) {
		_, err := noBody(rest)
		return socket.AbortCommand{Keep: keep}, err
	}
	return cmd
}

// isShare reports whether an argument of throttle is a share, and not a table whose share is missing.
func isShare(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	return err == nil
}

// isSetting reports whether an argument of set is a setting, or meant as one: no name of a setting
// has a dot or a backtick. A table with = in its name is written with its database, or in
// backticks.
func isSetting(database, text string) bool {
	name, _, valued := strings.Cut(text, "=")
	return !strings.ContainsAny(name, ".`") && (valued || database == "")
}

// parse takes the table off the arguments, if there is one, and makes the request of the others.
func (c *commanding) parse(args []string) (table string, body any, err error) {
	rest, shown := args, "all runs of this machine"
	if c.named(args) {
		name, err := schema.ParseName(c.database, args[0])
		if err != nil {
			return "", nil, err
		}
		table, shown, rest = name.Dotted(), name.String(), args[1:]
	}
	if body, err = c.body(rest); err != nil {
		return "", nil, err
	}
	c.app.Stands(c.verb, shown)
	if table == "" && c.yesNeeded && !c.yes {
		return "", nil, fmt.Errorf("name a table, or add --yes for all runs of this machine: midstream %s database.table", c.verb)
	}
	return table, body, nil
}

// find returns the runs that are meant. The table's name is looked for as it was written.
func (c *commanding) find(ctx context.Context, table string) ([]*socket.Client, error) {
	runs, err := findRuns(ctx, c.app, c.folder)
	if err != nil {
		return nil, err
	}
	if table != "" {
		runs = socket.OfTable(runs, table)
	}
	meant := slices.DeleteFunc(runs, func(r *socket.Client) bool { return c.server != "" && r.Found.Server != c.server })
	switch {
	case len(meant) == 0 && table == "" && c.server != "":
		return nil, &exit.Error{Code: exit.NoRun, Err: fmt.Errorf("no run on the server %s is active on this machine", c.server),
			Next: "midstream status  lists the active runs, with their servers"}
	case len(meant) == 0 && table != "":
		return nil, &exit.Error{Code: exit.NoRun, Err: fmt.Errorf("no run on %s is active on this machine, or another user started it", table),
			Next: "midstream status  lists the active runs; --control-dir must be the folder that the run uses"}
	case len(meant) > 1 && table != "":
		var servers []string
		for _, r := range meant {
			servers = append(servers, r.Found.Server)
		}
		return nil, &exit.Error{
			Code: exit.WrongUsage,
			Err:  fmt.Errorf("runs change %s on several servers: %s", table, strings.Join(servers, ", ")),
			Next: "name one by --server",
		}
	}
	return meant, nil
}

// findRuns returns all runs of this machine and user.
func findRuns(ctx context.Context, a *app, folder string) ([]*socket.Client, error) {
	if folder == "" {
		folder = socket.Folder(a.Getenv)
	}
	runs, err := socket.Find(ctx, folder)
	if err != nil {
		return nil, &exit.Error{Code: exit.WrongUsage, Err: err, Next: "name the folder of the runs by --control-dir"}
	}
	return runs, nil
}

// command is the body of a verb that changes something.
func (c *commanding) command(ctx context.Context, args []string) error {
	table, body, err := c.parse(args)
	if err := exit.UsageOf("midstream help "+c.verb, append(c.checks.Problems, err)...); err != nil {
		return err
	}
	runs, err := c.find(ctx, table)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return &exit.Error{Code: exit.NoRun, Err: errors.New("no run is active on this machine"), Next: "--control-dir must be the folder that the runs use"}
	}
	if set, is := body.(socket.SetCommand); is && len(set.Settings) == 0 {
		return c.listSettings(ctx, runs)
	}
	if slices.Contains([]string{"hold", "cutover", "abort"}, c.verb) { // all of a group obey one of them
		runs = socket.OneOfEach(runs)
	}
	if err := c.onlyOne(table, runs); err != nil {
		return err
	}
	// Without a table, a follower has no swap to release: it is reported, and left to midstream undo.
	swaps := slices.ContainsFunc(runs, func(r *socket.Client) bool { return !r.Found.Follows })
	var first error
	for _, run := range runs {
		err := c.tell(ctx, run, body)
		if err != nil && len(runs) > 1 {
			fmt.Fprintf(c.app.Stderr, "%s: %s\n", schema.NameOf(run.Found.Table), escape.Error(err))
		}
		if left := c.verb == "cutover" && swaps && run.Found.Follows; first == nil && !left {
			first = err
		}
	}
	return first
}

// onlyOne refuses a command without a table for several runs, unless that was said.
func (c *commanding) onlyOne(table string, runs []*socket.Client) error {
	if table != "" || c.all || c.yes || len(socket.OneOfEach(runs)) < 2 {
		return nil
	}
	var names []string
	for _, r := range runs {
		names = append(names, schema.NameOf(r.Found.Table).String()+" on "+r.Found.Server)
	}
	return &exit.Error{Code: exit.WrongUsage, Left: "no run was affected", Err: fmt.Errorf("%d runs are active: %s", len(runs), strings.Join(names, ", ")),
		Next: fmt.Sprintf("name one: midstream %s  database.table; or add --all", c.verb)}
}

// tell gives one run the command.
func (c *commanding) tell(ctx context.Context, run *socket.Client, body any) error {
	var answer socket.Answer
	err := run.Call(ctx, http.MethodPost, c.verb, body, &answer)
	var p *socket.Problem
	if c.json && errors.As(err, &p) {
		c.app.Record(p)
	}
	if err != nil {
		return exit.Answered(err)
	}
	if c.json {
		c.app.Record(answer)
		return nil
	}
	fmt.Fprintf(c.app.Stdout, "%s: %s\n", schema.NameOf(run.Found.Table), escape.Line(answer.Text))
	return nil
}

func (c *commanding) listSettings(ctx context.Context, runs []*socket.Client) error {
	for _, run := range runs {
		var settings []socket.Setting
		if err := run.Call(ctx, http.MethodGet, "settings", nil, &settings); err != nil {
			return exit.Answered(err)
		}
		if c.json {
			c.app.Record(map[string]any{"table": run.Found.Table, "settings": settings})
			continue
		}
		fmt.Fprint(c.app.Stdout, summary.OfSettings(run.Found, settings))
	}
	return nil
}
