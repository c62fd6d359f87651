package humanize

import (
	"fmt"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
)

// Fails is how the reason of a statement begins that the new table would refuse.
const Fails = "fails: "

// widestQuery is how many letters of a query are printed in a line.
const widestQuery = 100

// Explained reports how the server would run the application's queries on the new table, with a line for each query that is worse.
func Explained(e event.Explained) string {
	if e.Why != "" {
		return escape.Line("EXPLAIN: the application's queries were not checked: " + e.Why)
	}
	text := "EXPLAIN: " + Plural(e.Checked, "statement") + " of the application checked on the new table"
	fail := 0
	for _, w := range e.Worse {
		if strings.HasPrefix(w.How, Fails) {
			fail++
		}
	}
	if e.Checked > 0 && len(e.Worse) == 0 {
		text += ", none has a worse execution plan"
	}
	if fail > 0 {
		text += fmt.Sprintf(", %d would fail", fail)
	}
	if slower := len(e.Worse) - fail; slower > 0 {
		text += fmt.Sprintf(", %d would have a worse execution plan", slower)
	}
	if not := unchecked(e); not != "" {
		text += "; not checked: " + not
	}
	for _, w := range e.Worse {
		text += fmt.Sprintf("\n          %s\n            %s (%s)", escape.Line(Query(w.Query)), escape.Line(w.How), Plural(w.Runs, "run"))
	}
	if len(e.Worse) > 0 {
		text += "\n          with --explain=hold, a run waits before its swap until such statements are changed, and midstream cutover lets it swap"
	}
	return text
}

// Query is the beginning of a query, in one line.
func Query(text string) string {
	query := strings.Join(strings.Fields(text), " ")
	if letters := []rune(query); len(letters) > widestQuery {
		query = string(letters[:widestQuery]) + " ..."
	}
	return query
}

// unchecked counts the statements that were not checked, by the reason; "" if there are none.
func unchecked(e event.Explained) string {
	var parts []string
	for _, part := range []struct {
		n   int
		why string
	}{
		{e.Cut, "cut by the server (performance_schema_max_sql_text_length)"},
		{e.Unread, "that the parser cannot read"},
		{e.Refused, "that the server does not explain"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.why))
		}
	}
	return strings.Join(parts, ", ")
}
