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
		{session.StateChecked, "checked"}, {session.StateRehearsed, "rehearsed"}, {session.StateEqual, "with this definition already"},
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

// DoneOf names the tables that are done when a run on several tables ends at one of them; "" for none.
func DoneOf(p *session.Partly) string { return counted(p.Done, "was altered", "were altered") }

// RestOf names those that were not begun.
func RestOf(p *session.Partly) string { return counted(p.Rest, "was not begun", "were not begun") }

func counted(names []string, one, many string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " " + one
	}
	return strings.Join(names, ", ") + " " + many
}
