package summary

import (
	"fmt"
	"strings"

	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// OfStatements reports what has become of several statements that are done in order.
func OfStatements(states []record.Table, statements []string) string {
	words := map[string]string{session.StateFailed: "failed", session.StateWaiting: "not run", session.StatePlanned: "planned", session.StateChecked: "checked",
		session.StateRehearsed: "rehearsed"}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", humanize.Plural(len(states), "statement"))
	for i, s := range states {
		word := words[s.State]
		if word == "" {
			word = "done"
		}
		fmt.Fprintf(&b, "  %-9s  %s\n", word, escape.Line(humanize.OneLine(strings.TrimSpace(statements[i]), 100)))
	}
	return b.String()
}
