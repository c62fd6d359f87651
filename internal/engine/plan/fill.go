package plan

import (
	"slices"

	"midstream/internal/mysql/schema"
)

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
// zeroDates says that the server takes the date 0000-00-00.
func fills(shadow *schema.Table, pairs []columnPair, zeroDates bool) []Fill {
	var all []Fill
	for _, c := range undefaulted(shadow, pairs) {
		expr := implicit(c)
		if zero, is := zeroes()[c.DataType]; is && zeroDates {
			expr = zero
		}
		if expr != "" {
			all = append(all, Fill{Shadow: c.Name, Expr: expr})
		}
	}
	return all
}

// zeroes are the implicit defaults of types with a date, which a server takes unless its sql_mode has NO_ZERO_DATE.
func zeroes() map[string]string {
	return map[string]string{"date": "'0000-00-00'", "datetime": "'0000-00-00 00:00:00'", "timestamp": "'0000-00-00 00:00:00'"}
}

// unfilled are the columns that an INSERT must name and has no value for.
func unfilled(shadow *schema.Table, pairs []columnPair) []schema.Column {
	return slices.DeleteFunc(undefaulted(shadow, pairs), func(c schema.Column) bool { return implicit(c) != "" })
}

// undefaulted are the columns of the shadow that no column of the source continues and that have no default.
func undefaulted(shadow *schema.Table, pairs []columnPair) []schema.Column {
	continued := map[string]bool{}
	for _, p := range pairs {
		continued[fold(p.to.Name)] = true
	}
	var all []schema.Column
	for _, c := range shadow.Columns {
		if !continued[fold(c.Name)] && !c.Nullable && c.Default == "" && !c.AutoIncrement && c.Generated == schema.NotGenerated {
			all = append(all, c)
		}
	}
	return all
}

// implicit returns the implicit default of a type as ALTER gives it, or "" where ALTER refuses too:
// dates (zero dates, with the usual sql_mode) and geometries. A VECTOR would be empty, which no
// INSERT can make it (MySQL), or zeros (MariaDB).
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
	case "inet4":
		return "'0.0.0.0'"
	case "inet6":
		return "'::'"
	case "uuid":
		return "'00000000-0000-0000-0000-000000000000'"
	}
	return ""
}
