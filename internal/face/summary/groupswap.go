package summary

import (
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// OfGroupSwap writes what the one swap of several tables costs; "" for nil.
func OfGroupSwap(g *plan.GroupSwap, style Style) string {
	if g == nil {
		return ""
	}
	s := newSheet(style)
	s.heading("One swap of %d tables: %s", len(g.Tables), schema.List(g.Tables))
	locked := "all of them"
	if len(g.Others) > 0 {
		locked += ", and the tables at the other ends of foreign keys: " + schema.List(g.Others)
	}
	s.line("Locked", "%s", locked)
	s.line("Work", "under the lock, %s", g.Text())
	return s.String()
}
