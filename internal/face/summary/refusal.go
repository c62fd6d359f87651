package summary

import (
	"fmt"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/escape"
)

// OfRefusal writes every reason why a run is refused, each with its fix.
func OfRefusal(r *plan.Refused, style Style) string {
	s := newSheet(style)
	if style.Markdown {
		fmt.Fprintf(s, "### %s\n\n", escape.Markdown(r.Summary()))
	} else {
		fmt.Fprintf(s, "midstream: %s\n", escape.Line(r.Summary()))
	}
	s.risks(r.Blocking)
	if len(r.Others) > 0 {
		s.WriteString(map[bool]string{true: "\nAlso:\n\n", false: "  Also:\n"}[style.Markdown])
		s.risks(r.Others)
	}
	return s.String()
}
