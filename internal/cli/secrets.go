package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/dbconn"
)

// given is a password as the command line has it.
type given struct {
	password *dbconn.Secret
	ask      bool // -p or --password alone
}

// takePassword takes --password=X, -pX, --password and -p out of the arguments, so that
// no message can repeat it. As with MySQL's clients a value must be attached. wipe, if
// not nil, is handed each argument that holds a password, and where it begins.
func takePassword(args []string, root *cobra.Command, wipe func(arg string, from int)) (rest []string, g given) {
	take := func(arg string, from int) {
		secret := dbconn.Secret(strings.Clone(arg[from:]))
		g = given{password: &secret}
		if wipe != nil {
			wipe(arg, from)
		}
	}
	values := valueFlags(root)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(rest, args[i:]...), g
		case arg == "--password", arg == "-p":
			g = given{ask: true}
		case strings.HasPrefix(arg, "--password="):
			take(arg, len("--password="))
		case strings.HasPrefix(arg, "-p"):
			take(arg, len("-p"))
		default:
			rest = append(rest, arg)
			if values[arg] && i+1 < len(args) {
				i++
				rest = append(rest, args[i]) // a flag's value, whatever it looks like
			}
		}
	}
	return rest, g
}

// valueFlags are the flags, as they are typed, whose value may be the next argument.
func valueFlags(root *cobra.Command) map[string]bool {
	flags := map[string]bool{}
	note := func(f *pflag.Flag) {
		if f.NoOptDefVal == "" {
			flags["--"+f.Name] = true
			if f.Shorthand != "" {
				flags["-"+f.Shorthand] = true
			}
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(note)
		c.PersistentFlags().VisitAll(note)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return flags
}
