package plan

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// keepsEqual reports whether values that are equal as the one column are also equal as the other, whatever column of the same foreign
// key had the second value. Then a row whose parent exists still has one after the change, without a look at the rows.
func keepsEqual(from, to schema.Column) bool {
	switch {
	case from.HasMembers() || to.HasMembers(): // the server compares their numbers
		n := len(from.Members)
		return from.DataType == to.DataType && n <= len(to.Members) && slices.Equal(from.Members, to.Members[:n])
	case from.Family() == "string" && to.Family() == "string":
		// Without PAD SPACE, a CHAR loses blanks that count.
		return asCoarse(from.Collation, to.Collation) && (to.DataType != "char" || from.DataType == "char" || pads(to.Collation))
	case to.Family() == "string": // 5 is '0000000005' if the one end has ZEROFILL, and 1.5 is '1.500'
		return from.Family() == "integer" && !strings.Contains(from.Type, "zerofill")
	case from.Family() == "string", from.Number():
		return to.Number()
	case from.Temporal():
		return to.Temporal() && (from.DataType != "time" || to.DataType == "time") // TIME gets today's date
	}
	return to.DataType == "varbinary" && from.DataType == "binary" || from.DataType == to.DataType && (to.DataType != "binary" || from.Type == to.Type)
}

// asCoarse reports whether strings that a collation finds equal are equal by another one too.
func asCoarse(from, to string) bool {
	charset, rest, _ := strings.Cut(from, "_")
	toCharset, toRest, _ := strings.Cut(to, "_")
	switch {
	case from == to, rest == "0900_bin": // only the same characters
		return true
	case rest == "bin": // and trailing blanks
		return pads(to)
	case charset == "ascii": // ascii_general_ci: and the case
		return unicode(toCharset) && slices.Contains([]string{"general_ci", "unicode_ci", "unicode_520_ci"}, toRest)
	}
	return unicode(charset) && unicode(toCharset) && rest == toRest
}

// unicode reports whether all of the charset's collations compare code points.
func unicode(charset string) bool {
	return slices.Contains([]string{"utf8", "utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"}, charset)
}

// pads reports whether trailing blanks do not count. REQUIRES: MySQL.
func pads(collation string) bool {
	return !strings.Contains(collation, "_0900_") && collation != "binary" && collation != ""
}
