package specs

import (
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// Doubts are the kinds of rows of a table that another definition may refuse. Columns of that definition for which mappings has
// none keep their values if adopts is set, as in an undo.
func Doubts(source, other *schema.Table, mappings []plan.Mapping, adopts bool) []prescan.Doubt {
	if len(mappings) == 0 {
		return nil
	}
	sync, from := &rowsync.Spec{Source: source.Name, Shadow: other.Name}, map[string]string{}
	for _, m := range mappings {
		sync.Columns = append(sync.Columns, rowsync.Column{Shadow: m.Shadow, Expr: m.Expr, Apart: m.Apart})
		from[strings.ToLower(m.Shadow)] = m.Source
	}
	for _, c := range other.Columns {
		if _, mapped := from[strings.ToLower(c.Name)]; adopts && !mapped && c.Generated == schema.NotGenerated {
			sync.Kept = append(sync.Kept, c)
		}
	}
	sync.Unique, sync.Opaque = uniqueKeys(source, other, mappings, from)
	spec := prescanSpecOf(sync, source, other, mappings)
	spec.Old = true
	return prescan.Doubts(spec)
}

// DoubtsOf are Doubts of an undo whose plan is not made yet, in words; "" for none.
func DoubtsOf(source, other *schema.Table, mappings []plan.Mapping, adopts bool) string {
	var kinds []string
	for _, d := range Doubts(source, other, mappings, adopts) {
		if !slices.Contains(kinds, d.What) {
			kinds = append(kinds, d.What)
		}
	}
	return strings.Join(kinds, ", or ")
}
