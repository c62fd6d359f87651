package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"midstream/internal/engine/operator"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/session"
)

// Set is a set of flags whose values are checked as they are read. What is wrong is kept, so
// that all of it can be said at once.
type Set struct {
	Flags    *pflag.FlagSet
	Problems []error
}

// Texts are those that the command line has given (session.Given).
func (c *Value) Texts() []string { return c.texts }

// Value is the value of a flag, as pflag wants it.
type Value struct {
	name  string
	kind  string
	text  string   // as given, or the default
	texts []string // as given by the command line
	parse func(string) error
	to    *Set
}

// String is the value as it was given, or the default.
func (c *Value) String() string { return c.text }

// Type is the kind of the value, such as duration.
func (c *Value) Type() string { return c.kind }

// Take reads a value. Its error names neither the flag nor the value.
func (c *Value) Take(text string) error {
	c.text = text
	return c.parse(text)
}

// Set never fails: its problem is one of many.
func (c *Value) Set(text string) error {
	c.texts = append(c.texts, text)
	if err := c.Take(text); err != nil {
		c.to.Problems = append(c.to.Problems, fmt.Errorf("--%s %s: %w", c.name, operator.Harmless(c.name, text), err))
	}
	return nil
}

// Served reports whether midstream serve began the process: people read what it prints on a page.
func (c *Set) Served() bool { return reach.Served(c.Flags) }

// Add adds a flag of a kind, with its default and what it is for. An error of parse is kept as a problem.
func (c *Set) Add(short, name, kind, dflt, use string, parse func(string) error) {
	c.Flags.VarP(&Value{name: name, kind: kind, text: dflt, parse: parse, to: c}, name, short, use)
}

// Bool is a flag that is true where it has no value.
func (c *Set) Bool(to *bool, short, name, use string) {
	c.Add(short, name, "bool", "false", use, func(text string) error {
		is, err := operator.ReadBool(text)
		return taken(to, is, err)
	})
	c.Flags.Lookup(name).NoOptDefVal = "true"
}

// Duration is a flag with its unit in the value.
func (c *Set) Duration(to *time.Duration, name string, dflt, least, most time.Duration, use string) {
	*to = dflt
	c.Add("", name, "duration", dflt.String(), use, func(text string) error {
		d, err := operator.ReadDuration(text, least, most)
		return taken(to, d, err)
	})
}

// Integer is a flag with a number.
func (c *Set) Integer(to *int, short, name string, dflt, least, most int, use string) {
	*to = dflt
	shown := ""
	if dflt != 0 {
		shown = strconv.Itoa(dflt)
	}
	c.Add(short, name, "number", shown, use, func(text string) error {
		n, err := operator.ReadNumber(text, least, most)
		return taken(to, n, err)
	})
}

func taken[T any](to *T, value T, err error) error {
	if err == nil {
		*to = value
	}
	return err
}

// Enum is a flag with one of a few words.
func (c *Set) Enum(name, dflt string, words []string, use string, take func(word string)) {
	c.Add("", name, strings.Join(words, "|"), dflt, use, func(text string) error {
		if !slices.Contains(words, text) {
			last := len(words) - 1
			return fmt.Errorf("must be %s or %s", strings.Join(words[:last], ", "), words[last])
		}
		take(text)
		return nil
	})
}

// Settings is a flag that may be given several times, of a kind such as name=value. A name=value needs no value.
func (c *Set) Settings(to *map[string]string, name, kind, use string) {
	c.Add("", name, kind, "", use, func(text string) error {
		key, value, paired := strings.Cut(text, "=")
		if key == "" || kind != "name=value" && (!paired || value == "") {
			return errors.New("must be " + kind)
		}
		return session.Put(to, key, value)
	})
}
