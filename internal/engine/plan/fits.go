package plan

import (
	"strings"

	"midstream/internal/mysql/schema"
)

// Fits reports whether the new column accepts every value that the old column may have: the server
// refuses no NULL, length, range or charset. In doubt it returns false; TestFitsIsProved asks the
// servers.
func Fits(from, to schema.Column) bool {
	losesNull := from.Nullable && !to.Nullable
	otherText := from.Charset != to.Charset || from.Collation != to.Collation // the server then checks the bytes
	switch {
	case losesNull || otherText:
		return false
	case from.Type == to.Type:
		return !isSpatial(to) || srid(from) == srid(to)
	case from.Family() == to.Family():
		return familyFits(from, to)
	}
	switch to.Family() {
	case "decimal":
		return decimalFits(from, to)
	case "varbinary":
		return from.Family() == "binary" && bytes(to) >= bytes(from)
	}
	return false
}

// familyFits compares columns of one family and of two types.
func familyFits(from, to schema.Column) bool {
	switch to.Family() {
	case "integer":
		bothYears := (from.DataType == "year") == (to.DataType == "year")
		return bothYears && intFits(from, to)
	case "decimal":
		return decimalFits(from, to)
	case "float":
		wider := to.DataType == "double" || from.DataType == "float"
		keepsSign := from.Unsigned || !to.Unsigned
		return wider && keepsSign && !to.Fixed()
	case "string", "varbinary", "binary":
		return stringFits(from, to)
	case "bit":
		return to.Precision >= from.Precision
	case "enum", "set":
		return changeOf(from, to) == Same
	case "time":
		return to.Fraction >= from.Fraction
	}
	// Dates and times: a sql_mode may refuse 0000-00-00 and 2020-00-00, which the column may have,
	// and 9999-12-31 23:59:59.9 rounds to no date.
	return false
}

// intBits are the bits of the integer types.
var intBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64, "year": 8}

func intFits(from, to schema.Column) bool {
	switch f, t := intBits[from.DataType], intBits[to.DataType]; {
	case from.Unsigned == to.Unsigned:
		return t >= f
	case from.Unsigned:
		return t > f
	}
	return false
}

func decimalFits(from, to schema.Column) bool {
	if to.Unsigned && !from.Unsigned {
		return false
	}
	whole := to.Precision - to.Scale
	switch from.Family() {
	case "decimal":
		return to.Scale >= from.Scale && whole >= from.Precision-from.Scale
	case "integer":
		digits := map[int]int{8: 3, 16: 5, 24: 8, 32: 10, 64: 20}
		return from.DataType != "year" && whole >= digits[intBits[from.DataType]]
	}
	return false
}

// stringFits compares columns of one charset.
func stringFits(from, to schema.Column) bool {
	if limited := to.DataType == "char" || to.DataType == "varchar"; limited {
		return (from.DataType == "char" || from.DataType == "varchar") && to.Length >= from.Length
	}
	return bytes(to) >= bytes(from)
}

func isSpatial(c schema.Column) bool {
	return strings.HasPrefix(c.DataType, "geom") || strings.HasSuffix(c.DataType, "point") ||
		strings.HasSuffix(c.DataType, "linestring") || strings.HasSuffix(c.DataType, "polygon")
}

// srid is the part of a definition that names the spatial reference system.
func srid(c schema.Column) string {
	_, rest, _ := strings.Cut(c.Definition, "SRID ")
	number, _, _ := strings.Cut(rest, " ")
	return number
}
