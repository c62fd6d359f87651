package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/lab/sandbox"
)

// sandboxRun is a throwaway server in the foreground, for scripts.
type sandboxRun struct {
	app     *app
	checks  flags.Set
	version string
	options sandbox.Options
}

func (a *app) sandboxCommand() *cobra.Command {
	group := &cobra.Command{Use: "sandbox", Short: "Run a throwaway server, for scripts and trials", Long: help.Text("sandbox")}
	s := &sandboxRun{app: a}
	run := &cobra.Command{
		Use:   "run",
		Short: "Fetch a server, run it until SIGTERM, print one JSON line when it is ready",
		Args:  cobra.NoArgs,
	}
	s.checks.Flags = run.Flags()
	s.registerFlags()
	run.RunE = a.Verb(s.run)
	group.AddCommand(run)
	return group
}

func (s *sandboxRun) registerFlags() {
	f := &s.checks
	registerVersion(f, &s.version)
	f.Integer(&s.options.Port, "", "port", 0, 1, 65535, "port on 127.0.0.1 (a free port)")
	f.Flags.StringVar(&s.options.Dir, "dir", "", "data folder, which the server keeps (a temporary folder)")
	f.Bool(&s.options.Durable, "", "durable", "sync every commit to the disk")
	f.Settings(&s.options.Settings, "set", "name=value", "server variable; may be repeated")
}

// registerVersion adds --version.
func registerVersion(f *flags.Set, to *string) {
	*to = string(sandbox.MySQL97)
	var known []string
	for _, v := range sandbox.Versions() {
		known = append(known, string(v))
	}
	f.Add("", "version", "version", *to, "server: "+strings.Join(known, ", "), func(text string) error {
		if !slices.Contains(known, text) {
			return fmt.Errorf("must be one of %s", strings.Join(known, ", "))
		}
		*to = text
		return nil
	})
}

func (s *sandboxRun) run(ctx context.Context, _ []string) (err error) {
	if err := exit.UsageOf("midstream sandbox run --help", s.checks.Problems...); err != nil {
		return err
	}
	say := func(text string) { fmt.Fprintln(s.app.Stderr, "midstream: "+text) }
	build, err := sandbox.Fetch(ctx, sandbox.Version(s.version), say)
	if err != nil {
		return err
	}
	server, err := build.Start(ctx, s.options)
	if err != nil {
		return err
	}
	stop := s.app.stopper(server)
	defer func() { err = errors.Join(err, stop()) }()
	if err := json.NewEncoder(s.app.Stdout).Encode(server.Reach(ctx)); err != nil {
		return err
	}
	select {
	case <-ctx.Done(): // being told to stop is how it ends
	case <-server.Ended(): // of which stop tells
	}
	return nil
}

// stopper returns what stops the server and removes its folder. A second interrupt does
// it by force.
func (a *app) stopper(server *sandbox.Server) (stop func() error) {
	patience, hurry := context.WithCancel(context.Background())
	undo := a.Interrupts.OnSecond(func() {
		hurry()
		_ = server.Stop(patience) // what can't be removed is swept by the next start
	})
	return func() error {
		defer hurry()
		defer undo()
		return server.Stop(patience)
	}
}
