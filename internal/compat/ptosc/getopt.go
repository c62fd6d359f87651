package ptosc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// said are the options that were said, by their names: each value in the order in which they were
// said, "yes" and "no" of those that have none.
type said map[string][]string

func (s said) has(name string) bool { return len(s[name]) > 0 }

// last is the value that counts.
func (s said) last(name string) string {
	if !s.has(name) {
		return ""
	}
	return s[name][len(s[name])-1]
}

// on says whether an option without a value holds, where dflt is its default.
func (s said) on(name string, dflt bool) bool {
	if !s.has(name) {
		return dflt
	}
	return s.last(name) == yes
}

const yes, no = "yes", "no"

// spelling is a way to say an option.
type spelling struct {
	option  Option
	negated bool
}

// line is a command line that is being read, as Perl's Getopt::Long reads it there: letters in
// bundles, names that may be cut as long as they are unambiguous, options behind arguments, and --
// before what is no option.
type line struct {
	long     map[string]spelling
	short    map[string]Option
	said     said
	rest     []string
	warnings []string
}

func newLine() *line {
	l := &line{long: map[string]spelling{}, short: map[string]Option{}, said: said{}}
	for _, o := range Options() {
		if o.Name != "config" { // it is taken as the first argument only
			l.long[o.Name] = spelling{option: o}
		}
		if o.Kind == yesNo {
			l.long["no"+o.Name], l.long["no-"+o.Name] = spelling{o, true}, spelling{o, true}
		}
		if o.Short != "" {
			l.short[o.Short] = o
		}
	}
	return l
}

func (l *line) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

func (l *line) read(args []string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			l.rest = append(l.rest, args...)
			return
		case strings.HasPrefix(arg, "--"):
			args = l.readLong(arg[2:], args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			args = l.readBundle(arg[1:], args)
		default:
			l.rest = append(l.rest, arg)
		}
	}
}

// readLong reads name or name=value, and returns the arguments that follow.
func (l *line) readLong(text string, args []string) []string {
	name, value, attached := strings.Cut(text, "=")
	s, found := l.find(name)
	switch {
	case !found:
		return args
	case s.option.Kind == onOff || s.option.Kind == yesNo:
		if attached {
			l.warn("Option %s does not take an argument", name)
			return args
		}
		l.keep(s.option, map[bool]string{false: yes, true: no}[s.negated])
		return args
	case attached:
		l.keep(s.option, value)
		return args
	}
	return l.next(name, s.option, args)
}

// next reads a value that is an argument of its own, whatever it looks like.
func (l *line) next(name string, o Option, args []string) []string {
	if len(args) == 0 {
		l.warn("Option %s requires an argument", name)
		return args
	}
	l.keep(o, args[0])
	return args[1:]
}

// find looks for the one option that a name, or its beginning, means.
func (l *line) find(name string) (spelling, bool) {
	if s, exact := l.long[name]; exact {
		return s, true
	}
	var meant []string
	for long := range l.long {
		if name != "" && strings.HasPrefix(long, name) {
			meant = append(meant, long)
		}
	}
	slices.Sort(meant)
	same := func(long string) bool {
		return l.long[long].option.Name == l.long[meant[0]].option.Name && l.long[long].negated == l.long[meant[0]].negated
	}
	switch {
	case len(meant) == 0:
		l.warn("Unknown option: %s", name)
		return spelling{}, false
	case slices.ContainsFunc(meant, func(long string) bool { return !same(long) }):
		l.warn("Option %s is ambiguous (%s)", name, strings.Join(meant, ", "))
		return spelling{}, false
	}
	return l.long[meant[0]], true
}

// readBundle reads letters: -qF file, -uroot.
func (l *line) readBundle(text string, args []string) []string {
	for text != "" {
		letter := text[:1]
		text = text[1:]
		o, found := l.short[letter]
		switch {
		case !found:
			l.warn("Unknown option: %s", letter)
		case o.Kind == onOff:
			l.keep(o, yes)
		case text != "":
			l.keep(o, strings.TrimPrefix(text, "="))
			return args
		default:
			return l.next(letter, o, args)
		}
	}
	return args
}

var (
	wholeForm = regexp.MustCompile(`^[+-]?\d+$`)
	realForm  = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
)

// keep takes a value, if it is one of the option's kind as far as that program looks at once.
func (l *line) keep(o Option, value string) {
	switch {
	case o.Kind == whole && !wholeForm.MatchString(value):
		l.warn("Value %q invalid for option %s (number expected)", value, o.Name)
	case o.Kind == real && !realForm.MatchString(value):
		l.warn("Value %q invalid for option %s (real number expected)", value, o.Name)
	default:
		l.said[o.Name] = append(l.said[o.Name], value)
	}
}
