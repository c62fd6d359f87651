package queue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/engine/operator"
)

// Options lists the flags of midstream run that a submission may set: those that say how the table
// is changed. The others say where (connections, accounts, replicas), or name files, programs, URLs
// and queries of the machine or the server, and are for who runs the service.
func Options() []string {
	return slices.Concat([]string{"database", "key", "shadow-name", "old-name", "map", "keep", "set", "into", "into-view", "allow-loss"}, working(), []string{
		"method", "zero-dates", "calibrate", "native-max-lock", "native-max-build", "native-max-replica-stall", "defer-indexes",
		"drop-old", "drop-later", "undo", "undo-mode", "undo-method", "end-undo", "soak", "soak-check", "rehearse", "rehearse-lock", "keep-shadow",
	})
}

// RowOptions lists the flags of midstream purge and update that a submission may set.
func RowOptions() []string {
	return []string{
		"database", "key", "rest", "no-recount", "chunk-time", "copy-share", "copy-window", "max-slowdown", "full-speed", "max-replica-lag",
		"max-load", "critical-load", "max-history", "max-redo", "min-free-disk", "reconnect", "wait-for-other",
	}
}

// optionsOf are the options that a change may have which a verb carries out.
func optionsOf(verb string) []string {
	if verb == "run" {
		return Options()
	}
	return RowOptions()
}

// UndoOptions lists the flags of midstream undo that the undo of a change may set.
func UndoOptions() []string {
	return append([]string{"cold", "park", "merge", undoFill}, working()...)
}

// working are the flags that say how a run works, whatever it changes.
func working() []string {
	return []string{
		"workers", "chunk-time", "copy-share", "copy-window", "max-slowdown", "full-speed",
		"finish-within", "finish-by", "max-slowdown-at-most",
		"max-replica-lag", "max-capture-delay", "max-load", "critical-load", "max-history", "max-redo", "min-free-disk", "disk-free-now",
		"hold", "cutover-window", "lock-wait", "lock-work", "lock-backoff", "lock-backoff-max", "lock-attempts", "lock-give-up", "max-reader-lag",
		"kill-blockers-after", "kill-user", "kill-host", "kill-rows",
		"apply-workers", "capture", "backlog-limit", "reconnect", "wait-for-other", "checkpoint", "old-snapshots", "explain", "no-prescan", "no-verify", "repair",
	}
}

const undoFill = "undo-fill"

// Joins are the options that have several parts in their value, and what stands between two parts. Expressions have commas, so they
// have lines. In a group, each table may have its part.
func Joins(together bool) map[string]string {
	joins := map[string]string{undoFill: "\n", "set": "\n", "map": ",", "kill-user": ",", "kill-host": ","}
	if together {
		for _, name := range []string{"key", "keep", "old-name", "shadow-name"} {
			joins[name] = "\n"
		}
	}
	return joins
}

// Given are options as submit gets them, one by one: each is a name with a value.
type Given [][2]string

// Take adds an option as it is typed: name=value, or the name of one that is on. It returns the value.
func (g *Given) Take(text string) (value string, err error) {
	name, value, said := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	if name == "" {
		return "", errors.New("must be name=value")
	}
	if !said {
		value = "true"
	}
	*g = append(*g, [2]string{name, value})
	return value, nil
}

// Options joins the parts of each option.
func (g Given) Options(together bool) map[string]string {
	options, joins := map[string]string{}, Joins(together)
	for _, one := range g {
		name, value := one[0], one[1]
		if join := joins[name]; join != "" && options[name] != "" {
			value = options[name] + join + value
		}
		options[name] = value
	}
	return options
}

// checkOptions names every option that may not be set.
func checkOptions(options map[string]string, permitted []string) error {
	var not []string
	for name := range options {
		if !slices.Contains(permitted, operator.CurrentName(name)) {
			not = append(not, name)
		}
	}
	if len(not) == 0 {
		return nil
	}
	slices.Sort(not)
	return fmt.Errorf("a submission may not set these options: %s", strings.Join(not, ", "))
}

// Arguments are options as flags of midstream run. The error names every option that may not be set.
func Arguments(options map[string]string) ([]string, error) {
	return arguments(options, false), checkOptions(options, Options())
}

// arguments are options as flags.
func arguments(options map[string]string, together bool) []string {
	var args []string
	joins := Joins(together)
	for _, name := range slices.Sorted(maps.Keys(options)) {
		values := []string{options[name]}
		if join := joins[name]; join != "" {
			values = strings.Split(options[name], join)
		}
		for _, value := range values {
			args = append(args, "--"+name+"="+value)
		}
	}
	return args
}
