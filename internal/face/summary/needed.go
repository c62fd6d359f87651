package summary

import (
	"fmt"

	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
)

// OfNeeded writes which tables the foreign keys of a group need as well, and the complete command; "" for nil.
func OfNeeded(n *record.Needed, style Style) string {
	if n == nil {
		return ""
	}
	s := newSheet(style)
	more, columns := 0, 0
	for _, t := range n.Tables {
		columns += len(t.Columns)
		if !t.Given {
			more++
		}
	}
	what := "another type needed for " + humanize.Plural(columns, "more column")
	if more > 0 {
		what = fmt.Sprintf("%s needed as well", humanize.Plural(more, "table"))
	}
	s.heading("Foreign keys: %s. The group has %s, %s", what, humanize.Plural(len(n.Tables), "table"), humanize.Size(n.Bytes))
	s.WriteString("\n")
	for _, t := range n.Tables {
		label := "given"
		if !t.Given {
			label = "needed"
		}
		s.line(label, "%s, %s", escape.Line(t.Table), humanize.Size(t.Bytes))
		for _, c := range t.Columns {
			s.line("", "%s: %s to %s, by foreign key %s of %s (the other column: %s of %s)", escape.Line(c.Column), escape.Line(c.From),
				escape.Line(c.To), escape.Line(c.Constraint), escape.Line(c.Child), escape.Line(c.OtherColumn), escape.Line(c.OtherTable))
		}
	}
	if n.Command != "" {
		s.WriteString("\n  The complete command:\n  " + s.wrapped(n.Command, s.width, "  ") + "\n\n")
	}
	return s.String()
}
