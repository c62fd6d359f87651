package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"midstream/internal/engine/operator"
	"midstream/internal/ops/session"
)

// checks are flags whose values are checked as they are read. What is wrong is kept, so
// that all of it can be said at once.
type checks struct {
	flags    *pflag.FlagSet
	problems []error
}

// Texts are those that the command line has given (session.Given).
func (c *checked) Texts() []string { return c.texts }

// checked is a flag's value.
type checked struct {
	name  string
	kind  string
	text  string   // as given, or the default
	texts []string // as given by the command line
	parse func(string) error
	to    *checks
}

func (c *checked) String() string { return c.text }
func (c *checked) Type() string   { return c.kind }

// take reads a value.
func (c *checked) take(text string) error {
	c.text = text
	return c.parse(text)
}

// Set never fails: its problem is one of many.
func (c *checked) Set(text string) error {
	c.texts = append(c.texts, text)
	if err := c.take(text); err != nil {
		c.to.problems = append(c.to.problems, fmt.Errorf("--%s %s: %w", c.name, operator.Harmless(c.name, text), err))
	}
	return nil
}

func (c *checks) add(short, name, kind, dflt, use string, parse func(string) error) {
	c.flags.VarP(&checked{name: name, kind: kind, text: dflt, parse: parse, to: c}, name, short, use)
}

// boolean is a flag that is true where it has no value.
func (c *checks) boolean(to *bool, short, name, use string) {
	c.add(short, name, "bool", "false", use, func(text string) error {
		is, err := operator.ReadBool(text)
		return taken(to, is, err)
	})
	c.flags.Lookup(name).NoOptDefVal = "true"
}

// duration is a flag with its unit in the value.
func (c *checks) duration(to *time.Duration, name string, dflt, least, most time.Duration, use string) {
	*to = dflt
	c.add("", name, "duration", dflt.String(), use, func(text string) error {
		d, err := operator.ReadDuration(text, least, most)
		return taken(to, d, err)
	})
}

// integer is a flag with a number.
func (c *checks) integer(to *int, short, name string, dflt, least, most int, use string) {
	*to = dflt
	shown := ""
	if dflt != 0 {
		shown = strconv.Itoa(dflt)
	}
	c.add(short, name, "number", shown, use, func(text string) error {
		n, err := operator.ReadNumber(text, least, most)
		return taken(to, n, err)
	})
}

func taken[Value any](to *Value, value Value, err error) error {
	if err == nil {
		*to = value
	}
	return err
}

// enum is a flag with one of a few words.
func (c *checks) enum(name, dflt string, words []string, use string, take func(word string)) {
	c.add("", name, strings.Join(words, "|"), dflt, use, func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("must be %s", strings.Join(words, " or "))
		}
		take(text)
		return nil
	})
}

// settings is a flag that may be given several times, of a kind such as name=value. A name=value needs no value.
func (c *checks) settings(to *map[string]string, name, kind, use string) {
	c.add("", name, kind, "", use, func(text string) error {
		key, value, paired := strings.Cut(text, "=")
		if key == "" || kind != "name=value" && (!paired || value == "") {
			return errors.New("must be " + kind)
		}
		return session.Put(to, key, value)
	})
}
