package speech

import (
	"fmt"
	"slices"
	"strings"
)

// Fate is what becomes of another program's option.
type Fate string

// What can become of one.
const (
	Same    Fate = "same"    // it does what it does there
	Similar Fate = "similar" // it serves the same purpose, in another way
	Noted   Fate = "noted"   // it is taken, and a note tells why it has no meaning here
	Refused Fate = "refused" // the reason is told
)

// Row is an option in the page that lists them.
type Row struct {
	Name    string // as it is typed
	Value   string // its kind; "" for none
	Default string // there
	Fate    Fate
	Becomes string // what is done about it
}

// Table lists options, and tells what the fates mean. word is what that program calls an option,
// and code the exit code of a command line that has a refused one.
func Table(rows []Row, word string, code int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **%s**: it works as there.\n", Same)
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Fate == Similar }) {
		fmt.Fprintf(&b, "- **%s**: it serves the same purpose in another way, which the last column describes.\n", Similar)
	}
	fmt.Fprintf(&b, "- **%s**: it is accepted without effect, and a note on standard error explains why.\n", Noted)
	fmt.Fprintf(&b, "- **%s**: exit code %d, with the reason.\n\n", Refused, code)
	fmt.Fprintf(&b, "| %s | value | default there | | what it does |\n|---|---|---|---|---|\n", word)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Name, r.Value, r.Default, r.Fate, r.Becomes)
	}
	return b.String()
}

// ExitCode is one of that program's, and when it comes here.
type ExitCode struct {
	Code int
	Name string // there; "" for none
	When string // "" if it does not come
}

// ExitCodes lists them.
func ExitCodes(codes []ExitCode) string {
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| code | its name there | when it comes |\n|---|---|---|\n")
	for _, e := range codes {
		when := e.When
		if when == "" {
			when = "never"
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Code, e.Name, when)
	}
	return b.String()
}

// Help is what an option's own line of the help tells.
func (r Row) Help() string {
	text := r.Becomes
	switch r.Fate {
	case Noted:
		text = "(no effect) " + text
	case Refused:
		text = "(refused) " + text
	}
	if r.Default != "" {
		text += " Default: " + r.Default
	}
	return text
}
