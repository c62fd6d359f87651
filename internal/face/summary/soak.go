package summary

import (
	"time"

	"midstream/internal/engine/units"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
)

// mostNamings is how many statements of the days before are printed.
const mostNamings = 5

// OfSoak prints both acts of a drop, and what is watched between them.
func OfSoak(p *record.SoakPlan, style Style) string {
	s := newSheet(style)
	s.heading("A drop in two acts (--soak):")
	until := units.Minute(p.Until)
	switch {
	case p.Since != nil:
		s.line("First act", "made at %s: %s is hidden", units.Minute(*p.Since), escape.Line(p.What))
	default:
		s.line("First act", "now: %s", escape.Line(p.First))
	}
	s.line("Watched", "until %s, every %s: statements of the application that name %s", until, humanize.Span(time.Duration(float64(p.EveryMS)*float64(time.Millisecond))), escape.Line(p.What))
	s.line("Second act", "%s, unless a statement has named it: then the drop is held until midstream cutover  --now", escape.Line(p.Second))
	for i, n := range p.Named {
		if i == mostNamings {
			s.line("", "and %s more", humanize.Plural(len(p.Named)-i, "statement"))
			break
		}
		s.line("Warning", "in the last 7 days, a statement %s: %s (last at %s)", escape.Line(n.How), escape.Line(humanize.Query(n.Query)), units.Minute(n.Last))
	}
	if p.Replicas {
		s.line("Warning", "statements on replicas are not watched")
	}
	return s.String()
}
