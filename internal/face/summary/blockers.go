package summary

import (
	"fmt"
	"strings"

	"midstream/internal/engine/event"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/schema"
)

// OfBlockers lists which sessions hold a lock of a table, and which wait for one.
func OfBlockers(table schema.Name, holding, waiting []event.Blocker) string {
	text := sessions(fmt.Sprintf("No session holds a lock of %s.", table), "Holding a lock of "+table.String()+":", holding)
	if len(waiting) > 0 {
		text += sessions("", "Waiting:", waiting)
	}
	return text
}

func sessions(none, title string, list []event.Blocker) string {
	if len(list) == 0 {
		return none + "\n"
	}
	var b strings.Builder
	fmt.Fprintln(&b, title)
	for _, s := range list {
		fmt.Fprintln(&b, "  "+humanize.Blocker(s))
	}
	return b.String()
}
