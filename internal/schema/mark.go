package schema

import (
	"regexp"
	"strconv"
	"strings"
)

// MarkFor returns the comment that an artefact of a run on the source carries.
func MarkFor(kind string, source Name) string {
	return Mark + kind + " of " + source.String()
}

// MarkedFor says whether a table's comment is the mark of a run on the source.
func MarkedFor(comment string, source Name) bool {
	return Marked(comment) && strings.HasSuffix(comment, " of "+source.String())
}

// Literal returns a text as an SQL string literal, for a session without the sql_mode
// NO_BACKSLASH_ESCAPES.
func Literal(text string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(text) + "'"
}

// autoIncrementOption is the table option in SHOW CREATE TABLE.
var autoIncrementOption = regexp.MustCompile(`(?m)^(\) ENGINE=\S+(?: .*?)?) AUTO_INCREMENT=(\d+)`)

// SplitAutoIncrement takes the counter out of a SHOW CREATE TABLE text: it changes with
// every insert, the definition does not. next is 0 where the text names none.
func SplitAutoIncrement(create string) (definition string, next uint64) {
	m := autoIncrementOption.FindStringSubmatchIndex(create)
	if m == nil {
		return create, 0
	}
	next, _ = strconv.ParseUint(create[m[4]:m[5]], 10, 64)
	return create[:m[3]] + create[m[5]:], next
}
