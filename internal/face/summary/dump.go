package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/engine/dump"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
)

// OfDump reports the files of a dump.
func OfDump(r dump.Result, folder string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Done: wrote %s to %s", humanize.Plural(len(r.Written), "file"), escape.Line(folder))
	if r.Unchanged > 0 {
		fmt.Fprintf(&b, "; %s had the same text already", humanize.Plural(r.Unchanged, "file"))
	}
	b.WriteString(".\n")
	var left []string
	for _, kind := range slices.Sorted(maps.Keys(r.Skipped)) {
		left = append(left, humanize.Plural(r.Skipped[kind], kind))
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "Left out: %s.\n", strings.Join(left, ", "))
	}
	for _, file := range r.Former {
		fmt.Fprintf(&b, "%s is of an earlier dump, and its table does not exist now: --to would create the table. Remove the file, or use --prune.\n", escape.Line(file))
	}
	for _, file := range r.Removed {
		fmt.Fprintf(&b, "Removed %s: its table does not exist now.\n", escape.Line(file))
	}
	return b.String()
}
