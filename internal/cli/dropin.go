package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/compat/speech"
	"midstream/internal/engine/event"
	"midstream/internal/engine/migration"
	"midstream/internal/mysql/ddl"
	"midstream/internal/ops/session"
)

// dropIns are the programs whose command lines are taken: by a verb, and by this program where it
// is called by their names.
var dropIns = []string{ptoscName, ghostName}

// dropIn says whether the arguments are another program's, and returns them with its name as the verb.
func dropIn(e Env) (args []string, is bool) {
	if slices.Contains(dropIns, e.Program) {
		return append([]string{e.Program}, e.Args...), true
	}
	return e.Args, len(e.Args) > 0 && slices.Contains(dropIns, e.Args[0])
}

// dropInCommand is the verb of such a program. body tells what becomes of it in that program's
// words, and with its exit codes.
func (a *app) dropInCommand(name, short, long string, body func(ctx context.Context, args []string) (code int)) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, DisableFlagParsing: true,
		RunE: a.Verb(func(ctx context.Context, args []string) error {
			if code := body(ctx, args); code != exit.Done {
				return &told{code}
			}
			return nil
		}),
	}
}

// told is the end of a command that has told of it, with an exit code that is another program's.
type told struct{ code int }

func (t *told) Error() string { return fmt.Sprintf("exit code %d", t.code) }

// spoken is another program's presentation.
type spoken interface {
	presentation
	// Speech is how Midstream's own words are said there.
	Speech() *speech.Speech
}

// asRun makes the change that midstream run would make of the flags in words, to be told by another
// presentation. More flags may be read until the plan is made.
func (a *app) asRun(own spoken, words []string) (c *change, more func([]string) error) {
	cmd := &cobra.Command{Use: "run"}
	c = a.newChange(cmd)
	c.registerTuning()
	c.onSignal = signalRemoves // but for what the other program says
	c.output.own, c.help = own, a.Place().Command+" --help"
	a.Speech = own.Speech()
	a.Reaches(a.Speech.Connect)
	a.Speech.Ours = func(name string) bool {
		return cmd.Flags().Lookup(name) != nil && !slices.Contains(flags.OnlyTyped, name)
	}
	more = cmd.Flags().Parse
	if err := more(words); err != nil {
		c.checks.Problems = append(c.checks.Problems, err)
	}
	return c, more
}

// look makes the plan, after the server has been asked what it makes of the ALTER, whoever is to carry it out.
func (c *change) look(ctx context.Context, alter *ddl.Alter, s *server) error {
	if method := c.options.Method; method != "" { // else the plan asks
		c.options.Method = ""
		_, err := c.make(ctx, alter, s)
		c.options.Method = method
		if err != nil {
			return err
		}
	}
	_, err := c.plan(ctx, alter, s)
	return err
}

// steps are what a change does for a run that another program's command line asks for.
func (c *change) steps(more func(flags []string) error) speech.Steps {
	return speech.Steps{
		More: func(flags []string) error {
			err := more(flags)
			return errors.Join(append(c.wishes.Read(&c.options), err)...)
		},
		Reread: func(ctx context.Context, alter *ddl.Alter, s *server) (*ddl.Alter, error) {
			statement, err := c.target.ReadAt(ctx, s, &ddl.Statement{Kind: ddl.KindAlter, Alter: alter})
			if err != nil {
				return nil, err
			}
			return statement.Alter, nil
		},
		Open:   c.connection.open,
		Look:   c.look,
		Finish: c.finish,
		Migrate: func(
			ctx context.Context, alter *ddl.Alter, s *server,
			begun func(*session.Session) (watch event.Listener, undo func(), err error),
		) (migration.Result, error) {
			if begun != nil {
				c.commanded = func(run *session.Session) (undo func(), err error) {
					c.watched, undo, err = begun(run)
					return undo, err
				}
			}
			return c.migrate(ctx, alter, s)
		},
		End:        c.app.Interrupts.End,
		MustResume: &c.mustResume,
		Replicas:   &c.followers.Replicas,
		Names:      &c.options.Names,
	}
}

// driven is a verb's work where another package drives the run.
func driven(
	alter func(context.Context, *ddl.Alter, *server) (migration.Result, error),
	tables func(context.Context, *ddl.Statement, *server) (migration.Result, error),
) doing {
	return doing{tables: tables, alter: func(ctx context.Context, a *ddl.Alter, s *server) (migration.Result, error) {
		result, err := alter(ctx, a, s)
		return result, exit.Unheld(ctx, err)
	}}
}

// hide returns the arguments, and overwrites passwords in the process's own. secrets finds them:
// the arguments' numbers, and where in each the password begins.
func (a *app) hide(args []string, secrets func(args []string) map[int]int) []string {
	safe := make([]string, len(args))
	for i, arg := range args {
		safe[i] = strings.Clone(arg)
	}
	if a.Wipe != nil {
		for i, from := range secrets(safe) {
			a.Wipe(args[i], from)
		}
	}
	return safe
}
