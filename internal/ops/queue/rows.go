package queue

import (
	"fmt"

	"midstream/internal/mysql/ddl"
	"midstream/internal/ops/record"
)

// changesRows is the verb of a change of rows: purge or update; "" for another change.
func (e *entry) changesRows() string {
	if e.Undoes != "" || e.Together || e.Member != nil || len(e.Files) > 0 || len(e.Texts) > 0 {
		return ""
	}
	switch ddl.RowVerbOf(e.Statement) {
	case ddl.Delete:
		return "purge"
	case ddl.Update:
		return "update"
	}
	return ""
}

// plans are the arguments that print the plan of a change.
func (s *Service) plans(e *entry, files string, more ...string) []string {
	if verb := e.changesRows(); verb != "" {
		return s.command(verb, e, files, append(more, "--plan")...)
	}
	return s.command("plan", e, files, more...)
}

// rowsChanged is how many rows a change of rows has changed, for people; "" for another change.
func (e *entry) rowsChanged(result *record.Result) string {
	verb := e.changesRows()
	if verb == "" {
		return ""
	}
	done := map[string]string{"purge": "deleted", "update": "updated"}[verb]
	text := fmt.Sprintf("; %s %s", plural(result.RowsChanged, "row"), done)
	if result.RowsArchived > 0 {
		text += fmt.Sprintf(", %s kept by --rest", plural(result.RowsArchived, "row"))
	}
	return text
}
