package plan

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// changeOf reports whether values compare in the new type as they do in the old type. In doubt it
// returns Converted.
func changeOf(from, to schema.Column) Change {
	switch f, t := from.Family(), to.Family(); {
	case f != t:
		return changeOfFamily(f, t, from.DataType)
	case to.DataType == "year" && from.DataType != "year":
		return Converted // 70 becomes 1970
	case f == "decimal":
		if to.Scale >= from.Scale {
			return Same
		}
	case f == "float":
		if !to.Fixed() && to.DataType == "double" ||
			from.DataType == to.DataType && (!to.Fixed() || from.Fixed() && to.Scale >= from.Scale) {
			return Same
		}
	case f == "string":
		return changeOfString(from, to)
	case f == "enum", f == "set":
		n := len(from.Members)
		if from.Charset == to.Charset && from.Collation == to.Collation &&
			len(to.Members) >= n && slices.Equal(to.Members[:n], from.Members) {
			return Same // a number follows the members
		}
	case f == "binary":
		if to.Length == from.Length {
			return Same // another length has other padding zeros
		}
	case f == "bit", f == "timestamp", f == "datetime", f == "time":
		if to.Fraction >= from.Fraction {
			return Same
		}
	case f == to.DataType, f == "integer", f == "varbinary":
		return Same
	}
	return Converted
}

// exact reports whether a value of the old type and the value that the ALTER makes of it compare
// equal by their numbers or bytes. In doubt it returns false.
func exact(from, to schema.Column) bool {
	switch to.Family() {
	case "integer", "decimal", "float", "bit", "timestamp", "datetime", "time", "date", "enum", "set", "binary", "varbinary":
		return changeOf(from, to) == Same
	case "string":
		return from.Family() == "string" && from.Charset == to.Charset && !cutsBlanks(from, to)
	}
	return from.Type == to.Type // JSON, spatial types, VECTOR
}

func isText(c schema.Column) bool {
	switch c.Family() {
	case "string", "varbinary", "binary", "json":
		return true
	}
	return false
}

// changeOfFamily knows the few changes of family that keep values and order.
func changeOfFamily(from, to, old string) Change {
	switch {
	case from == "integer" && to == "decimal" && old != "year":
		return Same
	case from == "date" && to == "datetime":
		return Same
	}
	return Converted
}

func changeOfString(from, to schema.Column) Change {
	switch {
	case cutsBlanks(from, to) && noPad(to.Collation):
		return Converted // the blanks count in this collation
	case from.Charset != to.Charset || from.Collation != to.Collation:
		return Reordered
	}
	return Same
}

// cutsBlanks reports whether a text may lose blanks at its end: CHAR has none, and those beyond the length of a type are cut
// off with a note, where other letters are an error.
func cutsBlanks(from, to schema.Column) bool {
	if from.DataType == "char" { // without blanks of its own
		return false
	}
	return to.DataType == "char" || !stringFits(from, to)
}

// noPad reports whether trailing blanks count when strings are compared.
func noPad(collation string) bool {
	return strings.Contains(collation, "_0900_") || strings.Contains(collation, "nopad") || collation == "binary"
}
