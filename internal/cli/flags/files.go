package flags

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"midstream/internal/engine/operator"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/reach"
)

// OnlyTyped are the flags that an option file can't say: those of the files themselves, the
// answer to a question, which would never be asked again, the file of one run's result, and what leaves rows out or changes values.
var OnlyTyped = []string{"help", "defaults-file", "defaults-extra-file", "yes", "result-file", "keep", "set", reach.At}

// passedOver are settings that no verb has as a flag: the labels of the server in a fleet (docs/fleet.md).
var passedOver = []string{"labels"}

// FromFiles gives the flags that are not on the command line the values that option files
// have for them. A setting of another verb, among others, is left to that. Everything that
// is wrong is said at once.
func (c *Set) FromFiles(settings []dbconn.Setting, others map[string]bool) (notes []string, err error) {
	var problems []error
	for _, s := range settings {
		f := c.Flags.Lookup(s.Name)
		switch {
		case slices.Contains(passedOver, s.Name):
		case slices.Contains(OnlyTyped, s.Name):
			problems = append(problems, fmt.Errorf("%s: %s is allowed only on the command line", s.Place, s.Name))
		case f != nil && !f.Changed:
			problems = append(problems, give(f, s))
		case f != nil || others[operator.CurrentName(s.Name)]:
		case s.Loose:
			notes = append(notes, fmt.Sprintf("%s: ignored unknown option %q", s.Place, s.Name))
		default:
			problems = append(problems, fmt.Errorf("%s: unknown option %q; to ignore it, write loose-%[2]s", s.Place, s.Name))
		}
	}
	return notes, errors.Join(problems...)
}

// give gives a flag the value of a setting.
func give(f *pflag.Flag, s dbconn.Setting) error {
	value := s.Value
	if !s.Said {
		value = f.NoOptDefVal
	}
	if !s.Said && value == "" {
		return fmt.Errorf("%s: %s: %w", s.Place, s.Name, dbconn.ErrNoValue)
	}
	take := f.Value.Set
	if checked, is := f.Value.(*Value); is {
		take = checked.Take // its Set would tell of no place
	}
	if err := take(value); err != nil {
		return fmt.Errorf("%s: %s %s: %w", s.Place, s.Name, operator.Harmless(s.Name, value), err)
	}
	return nil
}
