package summary

import (
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/leftovers"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/escape"
)

// OfUndoables lists the changes of a server that can be undone.
func OfUndoables(all []leftovers.Undoable, address string) string {
	if len(all) == 0 {
		return fmt.Sprintf("No change on %s can be undone. Keep one open with: midstream run --undo=24h \"ALTER TABLE ...\"\n", address)
	}
	var b strings.Builder
	for _, u := range all {
		what := "change"
		if u.Record.Back {
			what = "undo"
		}
		fmt.Fprintf(&b, "%s  %s", u.Table, u.State)
		if u.State == leftovers.UndoOpen || u.State == leftovers.UndoRevoked {
			fmt.Fprintf(&b, " until %s", moment(u.Record.Until))
		}
		if u.Why != "" {
			fmt.Fprintf(&b, ": %s", escape.Line(u.Why))
		}
		fmt.Fprintf(&b, "\n  %s of %s: %s\n", what, moment(u.Record.Swapped), escape.Line(ddl.Shorten(u.Alter)))
		switch {
		case u.Record.Ledger == nil:
			fmt.Fprintf(&b, "  old table %s, %s; unfit rows not checked\n", u.Old, u.Record.Mode)
		case u.Record.Old != "":
			fmt.Fprintf(&b, "  old table %s\n", u.Old)
		}
		switch u.State {
		case leftovers.UndoOpen:
			fmt.Fprintf(&b, "  undo it: midstream undo %s\n", u.Table.Argument())
		case leftovers.UndoRevoked:
			fmt.Fprintf(&b, "  undo it by all rows: midstream undo --cold %s\n", u.Table.Argument())
		case leftovers.UndoEnded:
			fmt.Fprintf(&b, "  remove what is left: midstream undo --end %s\n", u.Table.Argument())
		}
	}
	return b.String()
}

func moment(t time.Time) string { return t.Format("2006-01-02 15:04 UTC") }
