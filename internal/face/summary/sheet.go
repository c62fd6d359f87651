package summary

import (
	"fmt"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/reach"
)

// Style says how a text is written.
type Style struct {
	// Width is the number of columns. Defaults to 100; texts are never wider than 120 and never
	// narrower than 60, but for statements and names.
	Width int
	// Verbose adds the details: key, indexes, tables, locks, grants and the like.
	Verbose bool
	// Markdown writes a heading, a table and a list, for a comment of a pull request.
	Markdown bool
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
	width    int
	reach    reach.Flags
	markdown bool
	listed   bool // a list has followed the table
}

func newSheet(s Style) *sheet {
	width := s.Width
	if width == 0 {
		width = defaultWidth
	}
	return &sheet{width: min(max(width, leastWidth), mostWidth), reach: s.Reach, markdown: s.Markdown}
}

// wrapped breaks a text into lines; width is that of the text without indent.
func (s *sheet) wrapped(text string, width int, indent string) string {
	return humanize.Wrapped(s.reach.In(text), width, indent)
}

// line writes a value with its label. An empty label goes on with the value before.
func (s *sheet) line(label, format string, args ...any) {
	if s.markdown {
		s.row(label, escape.Markdown(s.reach.In(fmt.Sprintf(format, args...))))
		return
	}
	text := s.wrapped(fmt.Sprintf(format, args...), s.width-labelWidth, strings.Repeat(" ", labelWidth))
	fmt.Fprintf(s, "  %-10s %s\n", label, text)
}

// heading writes a paragraph of its own.
func (s *sheet) heading(format string, args ...any) {
	if s.markdown {
		s.WriteString("### " + escape.Markdown(fmt.Sprintf(format, args...)) + "\n")
		return
	}
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
	if s.markdown {
		s.WriteString("\n**" + escape.Markdown(text) + "**\n\n| | |\n|---|---|\n")
		return
	}
	s.WriteString("\n  " + s.wrapped(text, s.width, "  ") + "\n\n")
}

// row is a line in Markdown: a row of the table, or a paragraph after the list.
func (s *sheet) row(label, text string) {
	if s.listed {
		fmt.Fprintf(s, "**%s** %s\n", label, text)
	} else {
		fmt.Fprintf(s, "| %s | %s |\n", label, text)
	}
}

// risks writes what an operator should know, each with what to do about it.
func (s *sheet) risks(risks []plan.Risk) {
	const indent = "    "
	for _, r := range risks {
		what := r.What
		if r.Why != "" {
			what += ": " + r.Why
		}
		if s.listed = true; s.markdown {
			fmt.Fprintf(s, "- %s\n", escape.Markdown(what))
			if r.Fix != "" {
				fmt.Fprintf(s, "  - fix: %s\n", escape.Markdown(s.reach.In(r.Fix)))
			}
			continue
		}
		fmt.Fprintf(s, "  - %s\n", s.wrapped(what, s.width-len(indent), indent))
		if r.Fix != "" {
			fmt.Fprintf(s, "%sfix: %s\n", indent, s.wrapped(r.Fix, s.width-len(indent)-5, indent+"     "))
		}
	}
}

// statement writes the change, in Markdown: on a terminal it is what the user has just typed.
func (s *sheet) statement(sql string) {
	if s.markdown {
		s.WriteString("\n" + strings.Replace(escape.Block(sql+";"), "\n", "sql\n", 1) + "\n")
	}
}

// found writes a statement that the user has not typed.
func (s *sheet) found(p Planned) {
	if p.Found && !s.markdown {
		s.line("Statement", "%s", escape.Line(p.Alter.Restore(p.Source.Name)))
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
