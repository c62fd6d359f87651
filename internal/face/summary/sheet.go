package summary

import (
	"fmt"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/ops/reach"
)

// Style says how a text is written.
type Style struct {
	// Width is the number of columns. Defaults to 100; texts are never wider than 120 and never
	// narrower than 60, but for statements and names.
	Width int
	// Verbose adds the details: key, indexes, tables, locks, grants and the like.
	Verbose bool
	// Reach are the flags by which the commands in it reach the server.
	Reach reach.Flags
}

const (
	defaultWidth, leastWidth, mostWidth = 100, 60, 120

	// labelWidth is the width of a label with the columns on both sides of it.
	labelWidth = 13
)

// sheet is a text of labels with values.
type sheet struct {
	strings.Builder
	width int
	reach reach.Flags
}

func newSheet(s Style) *sheet {
	width := s.Width
	if width == 0 {
		width = defaultWidth
	}
	return &sheet{width: min(max(width, leastWidth), mostWidth), reach: s.Reach}
}

// wrapped breaks a text into lines; width is that of the text without indent.
func (s *sheet) wrapped(text string, width int, indent string) string {
	return humanize.Wrapped(s.reach.In(text), width, indent)
}

// line writes a value with its label. An empty label goes on with the value before.
func (s *sheet) line(label, format string, args ...any) {
	text := s.wrapped(fmt.Sprintf(format, args...), s.width-labelWidth, strings.Repeat(" ", labelWidth))
	fmt.Fprintf(s, "  %-10s %s\n", label, text)
}

// heading writes a paragraph of its own.
func (s *sheet) heading(format string, args ...any) {
	s.WriteString(s.wrapped(fmt.Sprintf(format, args...), s.width, "  ") + "\n")
}

// verdict says whether the change can run. stops is why it would stop before it changes anything; "" if nothing is known of that.
func (s *sheet) verdict(c plan.Choice, risks []plan.Risk, stops string) {
	text := "OK to run, with " + humanize.Plural(len(risks), "warning") + " (below)."
	switch {
	case stops != "":
		text = stops
	case c.Method == plan.MethodNone:
		text = "Nothing to do: " + c.Why + "."
	case len(risks) == 0:
		text = "OK to run. No problems found."
	}
	s.WriteString("\n  " + s.wrapped(text, s.width, "  ") + "\n\n")
}

// risks writes what an operator should know, each with what to do about it.
func (s *sheet) risks(risks []plan.Risk) {
	const indent = "    "
	for _, r := range risks {
		what := r.What
		if r.Why != "" {
			what += ": " + r.Why
		}
		fmt.Fprintf(s, "  - %s\n", s.wrapped(what, s.width-len(indent), indent))
		if r.Fix != "" {
			fmt.Fprintf(s, "%sfix: %s\n", indent, s.wrapped(r.Fix, s.width-len(indent)-5, indent+"     "))
		}
	}
}

// joined writes several things in a line.
func joined[T fmt.Stringer](things []T, separator string) string {
	var words []string
	for _, t := range things {
		words = append(words, t.String())
	}
	return strings.Join(words, separator)
}
