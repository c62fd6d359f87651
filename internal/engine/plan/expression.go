package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// expression returns what a sync selects of a source's column for the one of the shadow that
// continues it. Mostly it is the column. But where source and target are columns the server
// may take the bytes as they are: MySQL 8.0.12 stores 4294967295 of an INT UNSIGNED as -1 and
// 70,000 bytes of a LONGTEXT as the first 4,464, without an error in strict mode, and 8.0.12
// and 9.7.4 don't round what goes from FLOAT to FLOAT(7,2). An expression has them look at
// the value. A FLOAT or DOUBLE is written with other digits than the server's own ALTER
// writes (0.10000000149011612), unless it is a text already, and a number is no JSON, which the
// text of one is. A number that is shown with zeros in front (ZEROFILL) loses them on its way into a text, and an
// expression keeps them as the server's own ALTER does.
// Where the two read a value in another way, see asNumber and asText.
// TestL9_ValueThatDoesNotFitStops, TestSameAsNative and TestL11_ValuesAsTheServersAlterConvertsThem try them.
func expression(from, to schema.Column, mariadb bool) string {
	column := schema.Quote(from.Name)
	switch {
	case asNumber(from, to, mariadb):
		return wholeNumber(from, to, mariadb)
	case asText(from, to, mariadb):
		return "CONCAT(" + column + ")"
	case from.DataType == "year" && to.DataType != "year" && !to.Number() && !to.Temporal() && to.Family() != "json":
		return fmt.Sprintf("LPAD(%s, %d, '0')", column, yearDigits(from)) // else the year 0000 is the text 0
	case (from.Family() == "float" || zeroFilled(from)) && isText(to) && to.Family() != "json",
		isPlainNumber(from) && to.Family() == "json":
		return "CONCAT(" + column + ")"
	case byNumber(from, to):
		return "CAST(" + column + " AS UNSIGNED)"
	case unlooked(from, to):
		return "COALESCE(" + column + ")"
	}
	return column
}

// asNumber says that the server's ALTER takes the whole number that a value is. An INSERT .. SELECT
// of the column puts the bytes of a text into a BIT, cuts decimals off in place of rounding them,
// and refuses dates.
func asNumber(from, to schema.Column, mariadb bool) bool {
	rounded := from.DataType == "float" || from.DataType == "double"
	text := isText(from)
	switch {
	case to.DataType == "bit" && from.DataType != "bit":
		return text || rounded || from.DataType == "decimal" && !mariadb || from.DataType == "date" || mariadb && from.Temporal()
	case to.DataType == "year":
		return !mariadb && (rounded || from.DataType == "date")
	case !mariadb: // 5.7 and 8.0 take the date as a moment, 20200229000000
		return from.DataType == "date" && to.Family() == "integer"
	case to.DataType == "enum" || to.DataType == "set":
		return rounded || from.DataType == "decimal" || from.DataType == "year"
	case to.Family() == "integer": // it refuses 1e2 and 1.5
		return text
	}
	return to.Family() == "float" && from.DataType == "bit"
}

// wholeNumber is the number as an expression. A CAST takes 18446744073709551615 for -1, and MariaDB's
// takes 1e20 for the greatest BIGINT; the server's ALTER refuses both, and so does a CAST of a text
// that is no number.
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

// asText says that the server's ALTER takes a number by its text: as a date, or as a member, which
// may be "1".
func asText(from, to schema.Column, mariadb bool) bool {
	if !isPlainNumber(from) {
		return false
	}
	member := to.DataType == "enum" || to.DataType == "set"
	date := to.Temporal() && to.DataType != "year"
	if mariadb {
		return date && (from.Family() == "float" || from.DataType == "year")
	}
	return date || member && from.DataType != "year"
}

// yearDigits is how many digits of a YEAR the server shows: YEAR(2) is one of MariaDB's.
func yearDigits(year schema.Column) int {
	if year.Type == "year(2)" {
		return 2
	}
	return 4
}

// zeroFilled says that the server shows a column's numbers with zeros in front. YEAR is always so.
func zeroFilled(c schema.Column) bool {
	return strings.Contains(c.Type, "zerofill") && c.DataType != "year"
}

// byNumber says that a SET is copied by its number: an INSERT takes it by its text, in which an empty member is lost.
func byNumber(from, to schema.Column) bool {
	return from.DataType == "set" && to.DataType == "set" && slices.Contains(from.Members, "") && changeOf(from, to) == Same
}

// isPlainNumber says that a column holds numbers that the server writes as digits.
func isPlainNumber(c schema.Column) bool { return c.Number() && c.DataType != "bit" }

// unlooked says that a server may copy values of a column into the other without looking
// whether they fit.
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

// bytes returns how many bytes a value of a type may have that is stored as bytes are; 0 for
// other types.
func bytes(c schema.Column) int64 {
	switch c.Family() {
	case "integer", "decimal", "float", "bit", "date", "datetime", "timestamp", "time", "enum", "set":
		return 0
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
