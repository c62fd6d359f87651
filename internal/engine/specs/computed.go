package specs

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/verify"
	"midstream/internal/mysql/schema"
)

// introduced finds a literal of a character set, as MySQL shows all literals of an expression.
var introduced = regexp.MustCompile(`\b_[a-z0-9]+\\?'`)

// respelled reports whether SHOW CREATE TABLE may show another literal than the server has: it
// shows _latin1'?' for an 'ö' (8.0.12, 9.7.4).
func respelled(expression string) bool {
	return introduced.MatchString(expression) &&
		strings.ContainsFunc(expression, func(r rune) bool { return r == '?' || r > unicode.MaxASCII })
}

// computedColumns adds the columns that the server computes to the compared columns, and names the
// columns that cannot be compared.
func computedColumns(spec *verify.Spec, sync *rowsync.Spec, shadow *schema.Table, columns *plan.Columns) {
	varies := func(c schema.Column) string {
		switch {
		case slices.Contains(columns.Kept, c.Name):
			if slices.ContainsFunc(sync.Fills, func(f rowsync.Column) bool { return f.Shadow == c.Name }) {
				return "it was dropped; its values are those from before, and new rows have the value of --undo-fill"
			}
			return "it was dropped; its values are those from before, and new rows have its default"
		case sync.Gives(c.Name):
			return ""
		case c.AutoIncrement:
			return "it is numbered by the server"
		case plan.Varies(c.Expression), c.Computes() && plan.Varies(c.Default):
			return "its expression gives another value each time"
		case respelled(c.Expression), c.Computes() && respelled(c.Default):
			return "the server does not show the letters of its expression as they are"
		case sync.Silent && c.Charset != "" && !c.Computes() && strings.Contains(c.Default, "?"):
			return "the server does not show the letters of its default as they are" // MariaDB: a ? for an emoji
		}
		return ""
	}
	for _, c := range shadow.Columns {
		if slices.Contains(columns.Kept, c.Name) {
			spec.Uncompared = append(spec.Uncompared, c.Name+" ("+varies(c)+")")
			continue
		}
		computed := c.Generated != schema.NotGenerated || c.Computes() && !sync.Gives(c.Name)
		if !computed && !c.AutoIncrement || sync.Gives(c.Name) {
			continue
		}
		why := varies(c)
		for _, source := range shadow.ComputedFrom(c.Name) {
			if w := varies(source); why == "" && w != "" {
				why = "it is computed from " + source.Name + ": " + w
			}
		}
		if why != "" {
			spec.Uncompared = append(spec.Uncompared, c.Name+" ("+why+")")
		} else if computed {
			spec.Computed = append(spec.Computed, c)
		}
	}
	if len(spec.Computed) == 0 {
		return
	}
	names := slices.Clone(sync.ShadowKey)
	for _, c := range spec.Computed {
		names = append(names, c.Name)
	}
	spec.Sources = shadow.ComputedFrom(names...)
	spec.Charset = shadow.Charset()
}
