package plan

import "midstream/internal/schema"

// Fill is a column that the ALTER adds without a default although it may not be NULL.
// The server's own ALTER puts the type's implicit default into the rows that are there,
// while a strict INSERT that leaves the column out is refused: so an INSERT into the
// shadow must name it.
type Fill struct {
	Shadow string
	Expr   string
}

// fills finds the columns of the shadow that no column of the source continues and that
// an INSERT must name.
func fills(shadow *schema.Table, pairs []columnPair) []Fill {
	continued := map[string]bool{}
	for _, p := range pairs {
		continued[fold(p.to.Name)] = true
	}
	var all []Fill
	for _, c := range shadow.Columns {
		if continued[fold(c.Name)] || c.Nullable || c.Default != "" || c.AutoIncrement || c.Generated != schema.NotGenerated {
			continue
		}
		if expr := implicit(c); expr != "" {
			all = append(all, Fill{Shadow: c.Name, Expr: expr})
		}
	}
	return all
}

// implicit returns the implicit default of a type as ALTER gives it, or "" where ALTER
// refuses too: dates (zero dates, with the usual sql_mode) and geometries.
func implicit(c schema.Column) string {
	switch c.Family() {
	case "integer", "decimal", "float", "bit":
		return "0"
	case "string", "varbinary", "binary", "set":
		return "''"
	case "enum":
		return "1" // the number of the first member
	case "time":
		return "'00:00:00'"
	case "json":
		return "'null'"
	}
	return ""
}
