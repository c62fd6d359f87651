// Package verbs is the command line of midstream-fleet.
package verbs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/process"
	"midstream/temporal/activities"
)

// Program is one call of midstream-fleet.
type Program struct {
	*process.Process
	// Members makes the members of an agent.
	Members func(Agent) (activities.Members, error)
}

// Main runs the verb that the arguments name, prints what goes wrong, and returns the exit code.
func Main(ctx context.Context, env process.Env, members func(Agent) (activities.Members, error)) int {
	p := &Program{Process: process.New(env), Members: members}
	root := p.root()
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exit.Done
	}
	var u *exit.Usage
	if !p.Entered && !errors.As(err, &u) {
		err = exit.UsageOf("midstream-fleet help", err)
	}
	code := exit.Code(err, false)
	told := p.Teller().Complaint(err, code)
	_, _ = fmt.Fprint(p.Stderr, "midstream-fleet:"+strings.TrimPrefix(told, "midstream:"))
	return code
}

func (p *Program) root() *cobra.Command {
	root := &cobra.Command{
		Use: "midstream-fleet", Short: "Change sets for fleets beyond one machine, on Temporal", Version: p.Version,
		Long: "midstream-fleet drives change sets (docs/change-sets.md) with Temporal as its engine.\n" +
			"A worker decides, an agent next to each midstream serve obeys, and each of them may be killed at any moment (docs/fleet-temporal.md).",
		SilenceErrors: true, SilenceUsage: true, DisableAutoGenTag: true,
	}
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(p.submit(), p.status())
	root.AddCommand(p.requests()...)
	root.AddCommand(p.freeze(), p.unfreeze(), p.worker(), p.agent(), p.dev())
	return root
}

// verb is a verb that asks Temporal.
type verb struct {
	*Program
	checks    flags.Set
	name      string
	at        string
	namespace string
	tls       tlsFlags
}

// newVerb makes a verb with the flags that reach Temporal.
func (p *Program) newVerb(use, short, long string, arguments int) (*verb, *cobra.Command) {
	name, _, _ := strings.Cut(use, " ")
	v := &verb{Program: p, name: name}
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs}
	v.checks.Flags = cmd.Flags()
	v.checks.Flags.SortFlags = false
	v.checks.Flags.StringVar(&v.at, "temporal", "127.0.0.1:7233", "address of Temporal's frontend")
	v.checks.Flags.StringVar(&v.namespace, "namespace", "default", "namespace of Temporal")
	v.tls.register(&v.checks)
	if arguments >= 0 {
		cmd.PreRunE = func(_ *cobra.Command, args []string) error {
			if len(args) != arguments {
				return v.check(fmt.Errorf("expected %q, got %d arguments", "midstream-fleet "+use, len(args)))
			}
			return nil
		}
	}
	return v, cmd
}

// check reports all that is wrong with the command line.
func (v *verb) check(problems ...error) error {
	return exit.UsageOf("midstream-fleet help "+v.name, append(v.checks.Problems, problems...)...)
}

// connect connects to Temporal.
func (v *verb) connect(ctx context.Context) (client.Client, error) {
	return v.connectWith(ctx, quiet{})
}

// connectLogged is connect for workers: they report what goes wrong on standard error.
func (v *verb) connectLogged(ctx context.Context) (client.Client, error) {
	return v.connectWith(ctx, log.NewStructuredLogger(slog.New(slog.NewTextHandler(v.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))))
}

func (v *verb) connectWith(ctx context.Context, logger log.Logger) (client.Client, error) {
	v.Stands("asking Temporal", v.at)
	connection, err := v.tls.options()
	if err != nil {
		return nil, v.check(err)
	}
	c, err := client.DialContext(ctx, client.Options{HostPort: v.at, Namespace: v.namespace, ConnectionOptions: connection, Logger: logger})
	if err != nil {
		return nil, v.trouble(err)
	}
	return c, nil
}

// trouble is the error of a call of Temporal, with what to do.
func (v *verb) trouble(err error) error {
	var gone *serviceerror.NotFound
	var nowhere *serviceerror.NamespaceNotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &nowhere):
		return &exit.Error{Code: exit.WrongUsage, Err: err, Left: "nothing was changed", Next: "name an existing one by --namespace, or make it"}
	case errors.As(err, &gone):
		return &exit.Error{Code: exit.NoRun, Err: errors.New("there is no such set, or it has ended"), Left: "nothing was changed",
			Next: "list the sets: midstream-fleet status"}
	}
	return &exit.Error{Code: exit.Failed, Err: err, Left: "nothing was changed that Temporal has not confirmed",
		Next: "check that Temporal runs at --temporal " + v.at + ", then run the same command again: nothing happens twice"}
}

// quiet keeps the client's own log away from the terminal.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
