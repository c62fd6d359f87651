package summary

import (
	"fmt"
	"strings"

	"midstream/internal/engine/leftovers"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
)

// OfLeftovers lists what cleanup is to drop.
func OfLeftovers(found []leftovers.Table) string {
	var b strings.Builder
	b.WriteString("To be dropped:\n")
	for _, l := range found {
		if l.Spared {
			continue
		}
		if l.Gone {
			fmt.Fprintf(&b, "  triggers that write to %s (%s)\n", l.Name, escape.Line(l.Why))
		} else {
			fmt.Fprintf(
				&b, "  %s, about %s, %s (%s)\n", l.Name, humanize.Plural(l.Rows, "row"), humanize.Size(l.Bytes),
				escape.Line(l.Why),
			)
		}
		for _, t := range l.Triggers {
			fmt.Fprintf(&b, "    trigger %s on %s\n", t.Name, t.Table)
		}
	}
	return b.String()
}

// Counted says how many tables and triggers these are.
func Counted(found []leftovers.Table) string {
	tables, triggers := 0, 0
	for _, l := range found {
		triggers += len(l.Triggers)
		if !l.Gone {
			tables++
		}
	}
	var parts []string
	if tables > 0 {
		parts = append(parts, humanize.Plural(tables, "table"))
	}
	if triggers > 0 {
		parts = append(parts, humanize.Plural(triggers, "trigger"))
	}
	return strings.Join(parts, " and ")
}
