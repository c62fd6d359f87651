package plan

import (
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
)

// InnoDBName spells a table as InnoDB's views do. That is the name of its file
// (https://dev.mysql.com/doc/refman/8.4/en/identifier-mapping.html). ok is false if the name has
// letters beyond ASCII.
func InnoDBName(table schema.Name) (name string, ok bool) {
	var parts []string
	for _, part := range []string{table.Schema, table.Table} {
		var b strings.Builder
		for _, r := range part {
			switch {
			case r > '~':
				return "", false
			case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r == '_':
				b.WriteRune(r)
			default:
				fmt.Fprintf(&b, "@%04x", r)
			}
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "/"), true
}
