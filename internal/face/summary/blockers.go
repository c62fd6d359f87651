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
	var locks, snapshots []event.Blocker
	for _, b := range holding {
		if b.Snapshot {
			snapshots = append(snapshots, b)
		} else {
			locks = append(locks, b)
		}
	}
	none := fmt.Sprintf("No session holds a lock of %s.", table)
	if len(snapshots) == 0 {
		none += fmt.Sprintf(" A run may wait for an old snapshot, which holds no lock: midstream status  %s shows it.", table.Argument())
	}
	text := sessions(none, "Holding a lock of "+table.String()+":", locks)
	if len(snapshots) > 0 {
		text += sessions("", "With an old snapshot, for which the swap waits; it holds no lock:", snapshots)
	}
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
