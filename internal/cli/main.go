package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/cli/client"
	"midstream/internal/cli/exit"
	"midstream/internal/cli/fleet"
	"midstream/internal/cli/help"
	"midstream/internal/cli/kept"
	"midstream/internal/cli/process"
	"midstream/internal/compat/foreign"
	"midstream/internal/engine/operator"
	"midstream/internal/face/humanize"
	"midstream/internal/ops/password"
	"midstream/internal/ops/session"
)

// Env is what the process has around it.
type Env = process.Env

// app is one run of the program.
type app struct {
	*process.Process
	password  password.Given
	flagNames map[string]bool // of the flags of all verbs
	unhelped  error           // why --help has printed no help
}

func newApp(env Env) *app { return &app{Process: process.New(env)} }

// Main runs the verb that the arguments name, prints what goes wrong, and returns the
// exit code. ctx is the one of WatchInterrupts.
func Main(ctx context.Context, env Env) int {
	a := newApp(env)
	root := a.root()
	args, dropIn := dropIn(env)
	if !dropIn { // else they are another program's, in which -p may mean anything
		args, a.password = password.Take(args, valueFlags(root), env.Wipe)
	}
	root.SetArgs(args)
	err := cmp.Or(root.ExecuteContext(ctx), a.unhelped)
	var u *exit.Usage
	if err != nil && !a.Entered && !errors.As(err, &u) {
		err = exit.UsageOf("midstream help", err)
	}
	var told *told
	if errors.As(err, &told) {
		return told.code
	}
	code := exit.Code(err, errors.Is(context.Cause(ctx), errInterrupted))
	if err != nil {
		fmt.Fprint(a.Stderr, a.Teller().Complaint(err, code))
	}
	return code
}

// root is the command without a verb.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "midstream",
		Short:             "Midstream changes the schema of a MySQL table while it is in use",
		Long:              help.Text("midstream"),
		Version:           a.built().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetVersionTemplate("midstream {{.Version}}\nLicense " + license + ", the Midstream authors\n")
	// A flag that was renamed is found by its former name, too.
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(operator.CurrentName(name))
	})
	// Our own, for -h is the host.
	root.PersistentFlags().Bool("help", false, "print help for the verb")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 { // no verb, so its flags are unknown too
			return cmd.Args(cmd, words)
		}
		return exit.UsageOf(cmd.CommandPath()+" --help", flagError(cmd, err))
	})
	_, plan := a.newPlan()
	root.AddCommand(
		a.runCommand(), plan, a.checkCommand(), a.verifyCommand(), a.blockersCommand(), a.cleanupCommand(), a.undoCommand(),
		kept.ReportCommand(a.Process), a.newPurge().cmd, a.newUpdate().cmd, a.dumpCommand(),
	)
	root.AddCommand(a.controlCommands()...)
	root.AddCommand(a.serveCommand())
	root.AddCommand(client.Commands(a.Process)...)
	root.AddCommand(fleet.Command(a.Process, a.planMember))
	root.AddCommand(a.ptoscCommand(), a.ghostCommand(), a.demoCommand(), a.sandboxCommand(), a.versionCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.AddCommand(help.VerbsTopic(root))
	root.AddCommand(help.Topics(exitCodesTopic())...)
	root.SetHelpFunc(a.explained)
	for _, group := range append(root.Commands(), root) {
		if group.HasSubCommands() {
			a.onlyVerbs(group)
		}
	}
	a.complete(root)
	if verb, _, err := root.Find([]string{"help"}); err == nil {
		verb.Run, verb.RunE = nil, helpAsked // its own exits with 0 whatever it is asked for
	}
	a.flagNames = map[string]bool{}
	eachFlag(root, func(f *pflag.Flag) { a.flagNames[f.Name] = true })
	return root
}

// onlyVerbs makes a command that only has verbs print its help, and refuse what is no verb of it.
func (a *app) onlyVerbs(group *cobra.Command) {
	group.SuggestionsMinimumDistance = lettersWrong
	group.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case a.password.Detached(args):
			return password.ErrDetached
		case len(args) == 0:
			return nil
		}
		err := fmt.Errorf("unknown command %q", strings.Join(append(strings.Fields(cmd.CommandPath())[1:], args[0]), " "))
		var verbs []string
		for _, verb := range cmd.SuggestionsFor(args[0]) {
			verbs = append(verbs, strconv.Quote(verb))
		}
		return exit.UsageOf("midstream help"+strings.TrimPrefix(cmd.CommandPath(), "midstream"), meant(err, verbs))
	}
	group.RunE = func(cmd *cobra.Command, _ []string) error {
		a.Entered = true
		return cmd.Help()
	}
}

// lettersWrong is in how many letters a word may differ from the one that was meant.
const lettersWrong = 2

// meant adds to an error which words were meant, perhaps. Where there are many, the help lists them better.
func meant(err error, alike []string) error {
	if len(alike) == 0 || len(alike) > 3 {
		return err
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(alike, " or "))
}

// flagsLike are a verb's flags of a name like this, by the library's rule for verbs.
func flagsLike(cmd *cobra.Command, name string) (alike []string) {
	flags := &cobra.Command{SuggestionsMinimumDistance: lettersWrong}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	for _, one := range flags.SuggestionsFor(name) {
		alike = append(alike, "--"+one)
	}
	return alike
}

// flagError says in our words what is wrong with a flag. All but --help check their values
// themselves.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var needs *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.Is(err, pflag.ErrHelp), errors.As(err, &needs) && needs.GetSpecifiedName() == "h":
		return errors.New("-h is the host, as in mysql, and needs a value; for help use --help")
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := unknown.GetSpecifiedName()
		of := session.OfRun(cmd.Name(), name)
		if of == "" && cmd.Flags().Lookup("max-slowdown") != nil { // a verb that works like run
			of = foreign.Explained(name)
		}
		if of != "" {
			return fmt.Errorf("%w: %s", err, of)
		}
		return meant(err, flagsLike(cmd, name))
	case needs != nil:
		return fmt.Errorf("--%s needs a value", needs.GetFlag().Name)
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %s: must be true or false", invalid.GetFlag().Name, invalid.GetValue())
	}
	return err
}

// helpAsked is the body of the verb help.
func helpAsked(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("unknown command or topic %q", strings.Join(args, " "))
	}
	about.InitDefaultHelpFlag()
	about.InitDefaultVersionFlag()
	return about.Help()
}

// explained prints the help of cmd, or keeps why there is none.
func (a *app) explained(cmd *cobra.Command, _ []string) {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		a.unhelped = cmd.ValidateArgs(words)
		return
	}
	help.Print(cmd, help.Width(a.Env.Stdout))
}

// exitCodesTopic is a help topic: a command that can't be run.
func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes are a contract; a code that is not listed is a failure.\n" + exit.OfSeveral + "\n")
	for _, o := range exit.Outcomes {
		fmt.Fprintf(&b, "\n%5d  %s", o.Code, humanize.Wrapped(o.Meaning, 90, "       "))
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}

// valueFlags are the flags, as they are typed, whose value may be the next argument.
func valueFlags(root *cobra.Command) map[string]bool {
	flags := map[string]bool{}
	eachFlag(root, func(f *pflag.Flag) {
		if f.NoOptDefVal == "" {
			flags["--"+f.Name] = true
			if f.Shorthand != "" {
				flags["-"+f.Shorthand] = true
			}
		}
	})
	return flags
}

// eachFlag visits the flags of a command and of all below it.
func eachFlag(c *cobra.Command, visit func(*pflag.Flag)) {
	c.Flags().VisitAll(visit)
	c.PersistentFlags().VisitAll(visit)
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}
