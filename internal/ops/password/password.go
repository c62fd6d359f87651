// Package password takes passwords out of the command line.
package password

import (
	"errors"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
)

// Given is a password as the command line has it.
type Given struct {
	Password *dbconn.Secret
	Ask      bool // -p or --password alone
	// follower is the argument right after such a one, if it is no flag. It may be meant as
	// the password.
	follower string
}

// ErrDetached says that a password was set apart from its flag.
var ErrDetached = errors.New("attach the password to its flag (-pSECRET, --password=SECRET), or use -p alone to be asked for it; " +
	"a word after -p and a space is another argument")

// Detached says that an argument too many seems to be meant as the password.
func (g Given) Detached(args []string) bool {
	if g.follower == "" || !slices.Contains(args, g.follower) {
		return false
	}
	_, err := ddl.ParseStatement(g.follower)
	return err != nil && !strings.EqualFold(strings.Fields(g.follower + " .")[0], "ALTER")
}

// Take takes --password=X, -pX, --password and -p out of the arguments, so that
// no message can repeat it. As with MySQL's clients a value must be attached. values are the flags, as they are typed, whose value
// may be the next argument. wipe, if not nil, is handed each argument that holds a password, and where it begins.
func Take(args []string, values map[string]bool, wipe func(arg string, from int)) (rest []string, g Given) {
	take := func(arg string, from int) {
		secret := dbconn.Secret(strings.Clone(arg[from:]))
		g = Given{Password: &secret}
		if wipe != nil {
			wipe(arg, from)
		}
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(rest, args[i:]...), g
		case arg == "--password", arg == "-p":
			g = Given{Ask: true}
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
