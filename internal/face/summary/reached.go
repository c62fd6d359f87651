package summary

import (
	"fmt"
	"strings"

	"midstream/internal/face/humanize"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// OfTables counts tables by what has become of them.
func OfTables(tables []record.Table) string {
	var parts []string
	for _, s := range []struct{ state, text string }{
		{session.StateChanged, "changed"}, {session.StateCreated, "created"}, {session.StatePlanned, "to be changed or created"},
		{session.StateChecked, "checked"}, {session.StateEqual, "with this definition already"},
	} {
		n := 0
		for _, t := range tables {
			if t.State == s.state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	return fmt.Sprintf("%s: %s", humanize.Plural(len(tables), "table"), strings.Join(parts, ", "))
}
