package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/fleet"
	"midstream/internal/cli/help"
	"midstream/internal/cli/process"
	"midstream/internal/face/web"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/queue"
	"midstream/internal/ops/retention"
	"midstream/internal/ops/session"
	"midstream/internal/ops/socket"
	"midstream/internal/ops/undos"
)

// serving is the verb serve.
type serving struct {
	app     *app
	checks  flags.Set
	roster  fleet.Roster
	folder  string
	control string
	store   string
	limit   int
	listen  listening
	keepOld retention.Times
	ended   time.Duration   // how long changes that have ended are kept
	approve map[string]bool // servers
}

func (a *app) serveCommand() *cobra.Command {
	s := &serving{app: a, approve: map[string]bool{}}
	s.roster.Connect, s.roster.Note = s.connect, s.note
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Keep a queue of changes, and run them",
		Long:    help.Text("serve"),
		Example: "  midstream serve --server main=/etc/midstream/main.cnf --server stats=/etc/midstream/stats.cnf",
		Args:    s.noArguments,
	}
	f := &s.checks
	f.Flags = cmd.Flags()
	f.Flags.SortFlags = false
	s.roster.Register(f)
	f.Integer(&s.limit, "", "limit", 1, 1, 100, "number of changes that may run on a server at the same time")
	f.Flags.StringVar(
		&s.folder, "state-dir", "",
		"folder of the store and of the runs' output ($XDG_STATE_HOME/midstream/service,\nor ~/.local/state/midstream/service)",
	)
	f.Flags.StringVar(&s.store, "store", "", "keep the queue in a table of this --server instead of a file: name, or name/database (database midstream)")
	f.Flags.StringVar(&s.control, "control-dir", "", controlDirUse)
	f.Add("", "keep-old", "time", "0s", "drop old tables that no undo needs after this time, such as 7d, without a stall; 0s: never;\nmain=7d is for one server, and may be repeated", s.keepOld.Set)
	f.Add("", "keep-ended", "time", "0s", "drop changes from the queue that ended longer ago than this time, such as 90d, unless an undo of them is open;\n0s: never", func(text string) (err error) {
		s.ended, err = retention.ParseKeep(text)
		return err
	})
	s.listen.register(
		f, process.UsualListen,
		"address and port of the pages and the API; an address beyond this machine needs --token-file or --tokens, and\n--tls-cert or --insecure-http",
	)
	f.Flags.StringVar(&s.listen.door.Tokens, "tokens", "", "file of tokens with names and roles, which midstream token writes; without --token-file, only these open")
	s.listen.door.Note = s.note
	f.Add("", "approve", "server", "", "changes of this --server (--approve=main) wait until a person with the role approve, who is not the author,\napproves them; all, or no value: of every server; may be repeated", func(text string) error {
		s.approve[text] = true
		return nil
	})
	f.Flags.Lookup("approve").NoOptDefVal = queue.EveryServer
	cmd.RunE = a.Verb(s.run)
	return cmd
}

// alone is the app for what is done in somebody else's name: nothing of this command line or environment says where.
func (a *app) alone() *app {
	b := newApp(a.Env)
	b.flagNames, b.Entered = a.flagNames, a.Entered
	b.Getenv, b.Home = func(string) string { return "" }, ""
	return b
}

// noArguments refuses arguments, such as the value of --approve behind a blank.
func (s *serving) noArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("serve takes no arguments, got %q", args[0])
	if s.approve[queue.EveryServer] {
		err = fmt.Errorf("%w; for one server, write --approve=%s", err, args[0])
	}
	return exit.UsageOf("midstream help serve", err)
}

// connect reads the option file of a server, and refuses what serve cannot have.
func (s *serving) connect(reach []string) (cfg dbconn.Config, err error) {
	c, cmd := s.app.alone().newRun()
	if err = cmd.ParseFlags(reach); err == nil {
		cfg, _, err = c.connection.config()
	}
	err = errors.Join(err, queue.NotTwice(c.settings.When.Gone))
	if c.connection.ask {
		err = errors.Join(err, errors.New("has a password without a value, and serve has no terminal to ask for it"))
	}
	return cfg, err
}

// settled refuses what the option file may have got since serve began. The run reports other errors.
func (s *serving) settled(reach []string) error {
	c, cmd := s.app.alone().newRun()
	if err := cmd.ParseFlags(reach); err == nil {
		_, _, _ = c.connection.config()
	}
	return queue.NotTwice(c.settings.When.Gone)
}

// check says all that is wrong with the command line and the option files.
func (s *serving) check(ctx context.Context) []error {
	problems := append(s.checks.Problems, s.listen.door.Check())
	problems = append(problems, s.roster.Read(ctx)...)
	problems = append(problems, s.roster.Lacks(slices.Sorted(maps.Keys(s.approve)), s.keepOld.Named(), s.store)...)
	folder, err := s.app.StateFolder(s.folder, "service")
	if err == nil {
		s.folder, err = filepath.Abs(folder)
	}
	problems = append(problems, err)
	if s.control == "" {
		s.control = socket.Folder(s.app.Getenv)
	}
	s.control, err = filepath.Abs(s.control)
	return append(problems, err)
}

func (s *serving) run(ctx context.Context, _ []string) (err error) {
	if err := exit.UsageOf("midstream help serve", s.check(ctx)...); err != nil {
		return err
	}
	if s.app.Executable == "" {
		return errors.New("serve: cannot find this program's file, which serve needs to run changes as processes")
	}
	configs := s.roster.Configs()
	store, where, service, err := queue.OpenPatiently(ctx, queue.Place{Table: s.store, Configs: configs}, queue.Config{
		Executable: s.app.Executable, Folder: s.folder, ControlFolder: s.control, Servers: s.roster.Servers(), Inventory: s.roster.Found(),
		Limit: s.limit, Read: s.read, Settled: s.settled, Note: s.note, Approve: s.approve, FleetPlan: fleet.PlanOfServe(s.app.planMember),
		Undos: undos.New(configs, s.control), KeepEnded: s.ended, Page: s.listen.url,
	})
	if err != nil {
		return &exit.Error{Code: exit.Failed, Err: err, Left: "active runs continue; nothing was changed", Next: queue.Unopened(err)}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	defer func() { err = errors.Join(err, service.Close()) }()
	changeSets, err := fleet.OpenSets(ctx, service, s.app.planMember, s.note)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	api := service.Handler(changeSets.Register)
	source := web.Source{API: api, Histories: service.Histories, Stream: service.Stream(), Reach: service.Reach, Queue: true}
	stop, err := s.listen.serve(s.app, source, changeSets.Metrics(), end, "active runs continue; nothing was changed")
	if err != nil {
		return err
	}
	defer stop()
	const opened = "the queue is open at %s, for %s; the queue is kept in %s, %s"
	s.note(fmt.Sprintf(opened, s.listen.url(), s.roster.Names(), where, s.listen.server.Tokens()))
	keeper := retention.Keeper{Servers: s.keepOld.Over(service.Configs), File: filepath.Join(s.folder, "old-tables.json"), Note: s.note}
	defer keeper.Start(ctx)()
	var reading sync.WaitGroup
	defer reading.Wait()
	defer end(nil)
	reading.Go(func() { s.roster.Keep(ctx, service.SetServers) })
	reading.Go(func() { changeSets.Run(ctx) })
	if err := service.Run(ctx); err != nil {
		return &exit.Error{
			Code: exit.Failed,
			Err:  err,
			Left: service.Continuing(),
			Next: "find the other service, stop it, and start this one again",
		}
	}
	if err := context.Cause(ctx); !errors.Is(err, errInterrupted) {
		return err
	}
	s.note("the queue is closed. " + service.Continuing())
	return nil
}

// note tells whoever looks after the service.
func (s *serving) note(text string) { fmt.Fprintf(s.app.Stdout, "midstream: %s\n", escape.Line(text)) }

// read reads a statement as a run would, or the table of an undo.
func (s *serving) read(verb string, arguments []string, statement string) ([]schema.Name, error) {
	if newRows, is := map[string]func(*app) *rows{"purge": (*app).newPurge, "update": (*app).newUpdate}[verb]; is {
		return newRows(s.app.alone()).names(arguments, statement)
	}
	c, cmd := s.app.alone().newRun()
	if verb == "undo" {
		c, cmd = s.app.alone().newUndo()
	}
	if err := cmd.ParseFlags(arguments); err != nil {
		return nil, flagError(cmd, err)
	}
	_, _, _ = c.connection.config() // the option file of a member may have the database
	if c.together {
		_, _, problems := grouped{c}.asked([]string{statement})
		if c.config.Undo > 0 {
			problems = append(problems, session.ErrGroupUndo)
		}
		return c.group.Names, exit.UsageOf("", problems...)
	}
	if statement == "" { // --to
		_, problems := c.asked(nil, true)
		return c.target.Names(nil), exit.UsageOf("", problems...)
	}
	read, problems := c.asked([]string{statement}, true)
	if err := exit.UsageOf("", problems...); err != nil {
		return nil, err
	}
	return append(read.Tables(), read.Parents...), nil
}
