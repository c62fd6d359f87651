package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/help"
	"midstream/internal/compat/speech"
	"midstream/internal/engine/operator"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/password"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/session"
)

// Env is what the process has around it.
type Env struct {
	Program    string   // the name by which this one was called: that of a program in whose place it stands has its command line taken
	Args       []string // without the program's name
	Stdin      *os.File
	Stdout     *os.File
	Stderr     io.Writer
	Getenv     func(string) string
	Home       string // the user's folder, "" if there is none
	Executable string // this program, to run as a child
	Version    string // "" where the build doesn't say it
	Commit     string // likewise
	Interrupts *Interrupts
	// Wipe overwrites an argument in this process's own argument memory; nil where Args
	// are not that.
	Wipe func(arg string, from int)
}

// app is one run of the program.
type app struct {
	Env
	// Stdout and Stderr are those of Env for text: what a terminal would obey is escaped, and commands reach the server. Only
	// a screen draws on Env.Stdout itself.
	Stdout, Stderr io.Writer

	password  password.Given
	flagNames map[string]bool // of the flags of all verbs
	entered   bool            // a verb has begun: errors are its own, not the command line's
	unhelped  error           // why --help has printed no help
	at        atomic.Pointer[exit.Place]
	typed     atomic.Pointer[reach.Flags] // those of this command line that reach its server
	speech    *speech.Speech              // of the program whose command line it is; nil for midstream's own
}

func newApp(env Env) *app {
	a := &app{Env: env}
	a.Stdout, a.Stderr = reach.Writer(escape.Writer(env.Stdout), a.reach), reach.Writer(escape.Writer(env.Stderr), a.reach)
	return a
}

// reach is how a command reaches the server of this one.
func (a *app) reach() reach.Flags {
	if typed := a.typed.Load(); typed != nil {
		return *typed
	}
	return ""
}

// teller puts the ends of the verb into words.
func (a *app) teller() exit.Teller {
	return exit.Teller{At: a.place(), Speech: a.speech, Reach: a.reach()}
}

// stands says where the verb is now. An object that is "" stays.
func (a *app) stands(stage, object string) {
	now := a.place()
	now.Stage, now.Object = stage, cmp.Or(object, now.Object)
	a.at.Store(&now)
}

func (a *app) place() exit.Place {
	if now := a.at.Load(); now != nil {
		return *now
	}
	return exit.Place{Verb: "midstream", Command: "midstream", Stage: "command line", Object: "midstream"}
}

// Main runs the verb that the arguments name, prints what goes wrong, and returns the
// exit code. ctx is the one of WatchInterrupts.
func Main(ctx context.Context, env Env) int {
	a := newApp(env)
	root := a.root()
	args, dropIn := env.dropIn()
	if !dropIn { // else they are another program's, in which -p may mean anything
		args, a.password = password.Take(args, valueFlags(root), env.Wipe)
	}
	root.SetArgs(args)
	err := cmp.Or(root.ExecuteContext(ctx), a.unhelped)
	var u *exit.Usage
	if err != nil && !a.entered && !errors.As(err, &u) {
		err = exit.UsageOf("midstream help", err)
	}
	var told *told
	if errors.As(err, &told) {
		return told.code
	}
	code := exit.Code(err, errors.Is(context.Cause(ctx), errInterrupted))
	if err != nil {
		fmt.Fprint(a.Stderr, a.teller().Complaint(err, code))
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
	root.AddCommand(
		a.runCommand(), a.planCommand(), a.checkCommand(), a.verifyCommand(), a.blockersCommand(), a.cleanupCommand(), a.undoCommand(),
		a.reportCommand(), a.purgeCommand(), a.updateCommand(), a.dumpCommand(),
	)
	root.AddCommand(a.controlCommands()...)
	root.AddCommand(a.serveCommand(), a.submitCommand(), a.queueCommand(), a.withdrawCommand())
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
		a.entered = true
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
		if of := session.OfRun(cmd.Name(), name); of != "" {
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

// verb wraps the body of a verb.
func (a *app) verb(body func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.entered = true
		a.at.Store(&exit.Place{Verb: cmd.Name(), Command: cmd.CommandPath(), Stage: cmd.Name(), Object: cmd.CommandPath()})
		typed := reach.Of(cmd.Flags(), false)
		a.typed.Store(&typed)
		return body(cmd.Context(), args)
	}
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
