package humanize

import (
	"fmt"
	"strings"
	"time"

	"midstream/internal/engine/event"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// UnfitFound reports the first row that an undo cannot bring back.
func UnfitFound(e event.UnfitFound) string {
	return fmt.Sprintf("unfit: the row with key (%s) does not fit: %s", escape.Line(e.Key), escape.Line(e.Cause))
}

// Parked reports the rows that an undo has copied aside.
func Parked(e event.Parked) string {
	text := fmt.Sprintf("set aside in %s: %s", schema.NameOf(e.Table), escape.Line(Keyed(e.Rows, e.Keys)))
	if e.Values != "" {
		text += fmt.Sprintf("; %s has the values of dropped columns", schema.NameOf(e.Values))
	}
	return text
}

// Keyed counts rows, with the keys of some of them.
func Keyed(rows int, some []string) string {
	with, more := ", with the keys (", ""
	if rows == 1 {
		with = ", with the key ("
	}
	if rows > len(some) {
		more = ", ..."
	}
	return fmt.Sprint(rows) + with + strings.Join(some, "), (") + ")" + more
}

// SetAside says in the result of an undo what has become of the rows that it has set aside; "" if there are none. again is the word
// for what brings them back, "" if nothing does. values is the table with the values of their dropped columns, "" for none.
func SetAside(rows int, table, values, again string) string {
	if rows == 0 {
		return ""
	}
	text := fmt.Sprintf("Set aside: %s in %s", Plural(rows, "row"), schema.NameOf(table))
	if again != "" {
		them := "them"
		if rows == 1 {
			them = "it"
		}
		text += "; the " + again + " brings " + them + " back into the table"
	}
	if values != "" {
		return text + fmt.Sprintf(". %s has the values of dropped columns. No command drops these tables while they have rows.\n", schema.NameOf(values))
	}
	return text + ". No command drops that table while it has rows.\n"
}

// Compared says when the tables were last compared.
func Compared(at, now time.Time) string {
	if at.IsZero() {
		return "not compared yet"
	}
	return "compared " + About(max(0, now.Sub(at))) + " ago"
}

// Synced says what a lazy undo has synced: the changed rows, or, if these are not counted, the changes. With was it is a sentence.
func Synced(changed *int64, applied int64, was bool) string {
	n, what, done := applied, "change", "applied"
	if changed != nil {
		n, what, done = *changed, "changed row", "synced"
	}
	text := Plural(n, what) + " "
	if was {
		text += Was(n) + " "
	}
	return text + done
}
