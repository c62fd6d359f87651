package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

// given is a password as the command line has it.
type given struct {
	password *dbconn.Secret
	ask      bool // -p or --password alone
	// follower is the argument right after such a one, if it is no flag. It may be meant as
	// the password.
	follower string
}

// errDetached says that a password was set apart from its flag.
var errDetached = errors.New("attach the password to its flag (-pSECRET, --password=SECRET), or use -p alone to be asked for it; " +
	"a word after -p and a space is another argument")

// detached says that an argument too many seems to be meant as the password.
func (g given) detached(args []string) bool {
	if g.follower == "" || !slices.Contains(args, g.follower) {
		return false
	}
	_, err := ddl.ParseStatement(g.follower)
	return err != nil && !strings.EqualFold(strings.Fields(g.follower + " .")[0], "ALTER")
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
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				g.follower = args[i+1]
			}
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
