package specs

import (
	"cmp"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// prescanSpecOf derives the prescan's columns from the synced columns.
func prescanSpecOf(sync *rowsync.Spec, source, shadow *schema.Table, mappings []plan.Mapping) *prescan.Spec {
	spec := &prescan.Spec{Sync: sync, Source: source, Shadow: shadow, Violable: sync.Silent, MostOfValue: plan.MostOfValue}
	for _, m := range mappings {
		from, _ := source.Column(cmp.Or(m.Source, m.Was))
		to, _ := shadow.Column(m.Shadow)
		alike := from
		alike.Nullable, alike.Collation = to.Nullable, to.Collation
		if to.DataType == "char" || to.DataType == "varchar" { // of as many characters
			alike.Charset = to.Charset
		}
		spec.Columns = append(spec.Columns, prescan.Column{From: from, To: to, Fits: m.Fits, Holds: m.Fits || plan.Fits(alike, to),
			Kept:      m.Change == plan.Same,
			Converted: m.Change == plan.Converted, Losses: strings.Join(m.Losses, ", and they "), Apart: m.Apart,
			Set: m.Set, Reads: m.Reads, Changed: m.Changed})
	}
	return spec
}
