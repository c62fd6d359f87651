package summary

import (
	"fmt"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/record"
	"midstream/internal/ops/session"
)

// OfStatements reports what has become of several statements that are done in order.
func OfStatements(states []record.Table, statements []string) string {
	words := map[string]string{session.StateFailed: "failed", session.StateWaiting: "not run", session.StatePlanned: "planned", session.StateChecked: "checked",
		session.StateRehearsed: "rehearsed", session.StateLater: "later"}
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

// OfLater describes a statement that waits for an earlier one. answer is what the server did with it on an empty copy of the table, after
// the statements before it; nil if it was not asked. verb is plan or check.
func OfLater(l *session.Later, answer *plan.Answer, verb string) string {
	text := fmt.Sprintf("Later: statement %d changes %s first. ", l.After, escape.Line(l.Table.Dotted()))
	if answer != nil {
		text += fmt.Sprintf("After it, the server takes this one by %s: an empty copy shows that. ", strings.ToUpper(string(answer.Method)))
	}
	if verb == "check" {
		return text + "The run checks the rows when that is done.\n"
	}
	return text + "The run makes its plan when that is done.\n"
}
