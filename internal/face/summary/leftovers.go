package summary

import (
	"fmt"
	"strings"

	"midstream/internal/engine/leftovers"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
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

// OfNothingLeft says that cleanup has found nothing, which old tables there are, and what the table is if it was renamed by hand; ""
// if it was not.
func OfNothingLeft(table schema.Name, olds []leftovers.Aside, moved string) string {
	text := fmt.Sprintf("Nothing is left of earlier runs on %s.\n", table)
	if len(olds) > 0 {
		var names []schema.Name
		needed := ""
		for _, old := range olds {
			if names = append(names, old.Name); old.Undo {
				needed = fmt.Sprintf(" It keeps a table that an undo needs; midstream undo  --end %s ends that.", table.Argument())
			}
		}
		text = fmt.Sprintf("Nothing unfinished is left of earlier runs on %s.\nOld tables: %s. To drop them: midstream cleanup  --old %s.%s\n",
			table, schema.List(names), table.Argument(), needed)
	}
	if moved != "" {
		text += "But " + escape.Line(moved) + ".\n"
	}
	return text
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

// OfKilled says what cleanup is about to do with what a run had begun when it was killed.
func OfKilled(k leftovers.Killed) string {
	what := escape.Line(k.What())
	if k.Made {
		return fmt.Sprintf("The run of %s was killed after the server had done it. The record of that is to be completed.\n", what)
	}
	return fmt.Sprintf("The run of %s was killed before the server had done it. It is to be given up: the table stays as it is.\n", what)
}

// GaveUp says what has become of that; "" if there was nothing.
func GaveUp(k *leftovers.Killed, table schema.Name) string {
	if k == nil {
		return ""
	}
	done := "Gave up"
	if k.Made {
		done = "Completed the record of"
	}
	return fmt.Sprintf("%s %s. To see what can be undone now: midstream undo  --list %s\n", done, escape.Line(k.What()), table.Argument())
}
