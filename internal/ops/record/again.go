package record

import (
	"regexp"
	"slices"
	"strings"

	"midstream/internal/engine/checkpoint"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/operator"
	"midstream/internal/mysql/schema"
)

const hold = "--hold"

// UndoAgain is the command of an undo with these flags. They may come from a server.
func UndoAgain(flags []string, table schema.Name) string {
	command := "midstream undo  "
	for _, flag := range flags {
		name, value, valued := strings.Cut(flag, "=")
		switch {
		case !flagName.MatchString(name): // no version writes such a flag
		case !valued:
			command += name + " "
		case schema.Shell(value) == value:
			command += name + "=" + value + " "
		default:
			command += name + " " + schema.Shell(value) + " "
		}
	}
	return command + table.Argument()
}

var flagName = regexp.MustCompile(`^--?[a-z][a-z-]*$`)

// AfterHidden is what to do before a command is given in which a value is hidden; "" if none is.
func AfterHidden(command string) string {
	if !operator.Hides(command) {
		return ""
	}
	return " (*** stands for a value that is hidden: give the value instead)"
}

// ResumeOf is the command that begins a stopped undo again; "" in other states, or if it is that of a run.
func ResumeOf(u leftovers.Undoable) string {
	if l := u.Record.Ledger; u.State != leftovers.UndoStopped || u.Halfway || l != nil && l.Step == checkpoint.Doing && !l.Redo {
		return ""
	}
	flags := u.Again
	if u.Followed && !slices.Contains(flags, hold) {
		flags = append([]string{hold}, flags...)
	}
	return UndoAgain(flags, u.Table)
}

// InsteadOf is the command that takes the change back now with the flags of an undo that followed its table.
func InsteadOf(flags []string, table schema.Name) string {
	return UndoAgain(slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return flag == hold || flag == "--lazy" }), table)
}
