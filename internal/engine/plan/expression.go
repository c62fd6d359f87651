package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// expression returns what a sync selects from a source's column for the shadow's column that
// continues it. Usually it is the column itself. But if source and target are columns, the server
// may copy the bytes unchecked. MySQL 8.0.12 stores 4294967295 of an INT UNSIGNED as -1, and 70,000
// bytes of a LONGTEXT as the first 4,464, without an error in strict mode. 8.0.12 and 9.7.4 don't
// round what goes from FLOAT to FLOAT(7,2). An expression makes the servers check the value.
//
// An expression would write a FLOAT or DOUBLE with other digits than the server's own ALTER writes
// (0.10000000149011612), unless it is a text already. A number is no JSON, but its text is. A
// number with leading zeros (ZEROFILL) loses them on its way into a text; an expression keeps them,
// as the server's own ALTER does. For types that the ALTER and an INSERT read differently, see
// asNumber and asText.
//
// TestL9_ValueThatDoesNotFitStops, TestSameAsNative and TestL11_ValuesAsTheServersAlterConvertsThem
// try these cases.
func expression(from, to schema.Column, mariadb bool) string {
	column := schema.Quote(from.Name)
	switch {
	case asNumber(from, to, mariadb):
		return wholeNumber(from, to, mariadb)
	case asText(from, to, mariadb):
		return "CONCAT(" + column + ")"
	case from.DataType == "year" && to.DataType != "year" && !to.Number() && !to.Temporal() && to.Family() != "json":
		return fmt.Sprintf("LPAD(%s, %d, '0')", column, yearDigits(from)) // else the year 0000 becomes 0
	case (from.Family() == "float" || zeroFilled(from)) && isText(to) && to.Family() != "json",
		isPlainNumber(from) && to.Family() == "json",
		from.Family() == "integer" && isText(to) && to.Charset == "utf32": // all servers cut it after 16 digits
		return "CONCAT(" + column + ")"
	case !mariadb && from.DataType == "decimal" && from.Scale > 0 && to.Family() == "integer" && to.Unsigned:
		// An INSERT .. SELECT refuses -0.4, which the ALTER rounds to 0.
		return "CAST(" + column + " AS SIGNED)"
	case from.DataType == "bit" && to.DataType == "vector":
		return "CAST(" + column + " AS BINARY)" // its bytes, as the ALTER takes them; an INSERT .. SELECT refuses a number
	case byNumber(from, to):
		return "CAST(" + column + " AS UNSIGNED)"
	case unlooked(from, to):
		return "COALESCE(" + column + ")"
	}
	return column
}

// asNumber reports whether the server's ALTER converts the value as a whole number. An INSERT ..
// SELECT of the column puts the bytes of a text into a BIT, truncates decimals where the ALTER
// rounds them, and refuses dates.
func asNumber(from, to schema.Column, mariadb bool) bool {
	rounded := from.DataType == "float" || from.DataType == "double"
	text := isText(from)
	switch {
	case to.DataType == "bit" && from.DataType != "bit":
		return text || rounded || from.DataType == "decimal" && !mariadb || from.DataType == "date" || mariadb && from.Temporal()
	case to.DataType == "year":
		return !mariadb && (rounded || from.DataType == "date")
	case !mariadb: // 5.7 and 8.0 read 20200229000000
		return from.DataType == "date" && to.Family() == "integer"
	case to.HasMembers():
		return rounded || from.DataType == "decimal" || from.DataType == "year"
	case to.Family() == "integer": // it refuses 1e2 and 1.5
		return text
	}
	return to.Family() == "float" && from.DataType == "bit"
}

// wholeNumber is the number as an expression. A CAST accepts 18446744073709551615 as -1, and
// MariaDB's CAST accepts 1e20 as the greatest BIGINT. The server's ALTER refuses both, and so does
// a CAST of a text that is no number.
func wholeNumber(from, to schema.Column, mariadb bool) string {
	column := schema.Quote(from.Name)
	number, none := "CAST("+column+" AS SIGNED)", ""
	switch {
	case isText(from):
		none = number + " < 0 AND " + column + " NOT LIKE '%-%'"
	case mariadb && from.DataType == "double" && to.DataType == "bit":
		none = "ABS(" + column + ") >= 9223372036854775807"
	default:
		return number
	}
	return fmt.Sprintf("IF(%s, CAST(CONCAT('x', %s) AS SIGNED), %s)", none, column, number)
}

// asText reports whether the server's ALTER converts a number by its text: as a date, or as a
// member, which may be "1".
func asText(from, to schema.Column, mariadb bool) bool {
	if !isPlainNumber(from) {
		return false
	}
	member := to.HasMembers()
	date := to.Temporal() && to.DataType != "year"
	if mariadb {
		return date && (from.Family() == "float" || from.DataType == "year")
	}
	return date || member && from.DataType != "year"
}

// yearDigits is how many digits of a YEAR the server shows: only MariaDB has YEAR(2).
func yearDigits(year schema.Column) int {
	if year.Type == "year(2)" {
		return 2
	}
	return 4
}

// zeroFilled reports whether the server shows a column's numbers with leading zeros. It always does
// for YEAR.
func zeroFilled(c schema.Column) bool {
	return strings.Contains(c.Type, "zerofill") && c.DataType != "year"
}

// byNumber reports whether a SET is copied by its number: an INSERT reads it by its text, in which
// an empty member is lost.
func byNumber(from, to schema.Column) bool {
	return from.DataType == "set" && to.DataType == "set" && slices.Contains(from.Members, "") && changeOf(from, to) == Same
}

// isPlainNumber reports whether a column holds numbers that the server writes as digits.
func isPlainNumber(c schema.Column) bool { return c.Number() && c.DataType != "bit" }

// unlooked reports whether a server may copy a column's values into the other column without
// checking whether they fit.
func unlooked(from, to schema.Column) bool {
	switch to.Family() {
	case "integer":
		return from.DataType == to.DataType && from.Unsigned && !to.Unsigned
	case "float":
		return from.DataType == to.DataType && from.Type != to.Type && to.Fixed()
	}
	most, limited := blobBytes[strings.Replace(to.DataType, "text", "blob", 1)]
	return limited && bytes(from) > most
}

// blobBytes are the bytes that the types hold.
var blobBytes = map[string]int64{"tinyblob": 1<<8 - 1, "blob": 1<<16 - 1, "mediumblob": 1<<24 - 1, "longblob": 1<<32 - 1}

// isShort reports whether values of a type are stored in a few bytes, whatever they are: numbers, times, members, addresses and UUIDs.
func isShort(c schema.Column) bool {
	switch c.Family() {
	case "integer", "decimal", "float", "bit", "date", "datetime", "timestamp", "time", "enum", "set", "inet4", "inet6", "uuid":
		return true
	}
	return false
}

// bytes returns how many bytes a value may have, for types that store plain bytes; 0 for other
// types.
func bytes(c schema.Column) int64 {
	if isShort(c) {
		return 0 // an expression would make a text of an address or a UUID; the ALTER writes its bytes into a BLOB
	}
	if most, ok := blobBytes[strings.Replace(c.DataType, "text", "blob", 1)]; ok {
		return most
	}
	switch c.DataType {
	case "char", "varchar":
		return 4 * c.Length
	case "binary", "varbinary":
		return c.Length
	}
	return blobBytes["longblob"] // JSON, geometries
}
