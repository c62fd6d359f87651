package ghost

import (
	"unicode/utf8"
)

// longestName is the server's.
const longestName = 64

// sibling is the name of a table of that program's: an underscore, the table's name or what
// --force-table-names says, and a suffix. It is cut before the suffix where it would be too long.
func (a *Asked) sibling(suffix string) string {
	base := a.said.text("force-table-names")
	if base == "" {
		base = a.Table.Table
	}
	if over := utf8.RuneCountInString(base) + 1 + len(suffix) - longestName; over > 0 {
		runes := []rune(base)
		base = string(runes[:len(runes)-over])
	}
	return "_" + base + suffix
}

// names sets what the new table and the old one are called.
func (a *Asked) names() {
	stamp := ""
	if a.said.on("timestamp-old-table") {
		stamp = "_" + a.Began.Format("20060102150405")
	}
	if a.Reverts() {
		a.revertNames(stamp)
		return
	}
	a.shadow, a.old = a.sibling("_gho"), a.sibling(stamp+"_del")
}
