package plan

import (
	"fmt"
	"slices"

	"midstream/internal/mysql/schema"
)

// merging returns why a conversion may store two values of a column as one, and nothing if that
// cannot happen. A change that is not known to keep values apart counts as one that may not.
func merging(from, to schema.Column) []string {
	if from.DataType == "set" && slices.Contains(from.Members, "") { // even if it stays: servers join it by its text
		return append([]string{emptyMember}, merging(withoutEmpty(from), withoutEmpty(to))...)
	}
	switch changeOf(from, to) {
	case Same:
		return nil
	case Reordered:
		return mergingStrings(from, to)
	}
	if from.DataType == "binary" && to.DataType == "binary" {
		return nil // all values get the same zero bytes more
	}
	if from.Family() == "string" && to.Family() == "string" {
		return mergingStrings(from, to)
	}
	lost := losses(from, to)
	if to.DataType == "bit" && isText(from) {
		lost = append(lost, writtenInManyWays)
	}
	switch f := from.Family(); to.Family() {
	case f:
		if from.HasMembers() && (from.Charset != to.Charset || !slices.Equal(from.Members, to.Members)) {
			lost = append(lost, mergingMembers(from, to)...)
		}
	case "integer", "decimal", "float", "bit", "binary", "varbinary", "date", "datetime", "timestamp", "time":
		lost = append(lost, mergingMembers(from, to)...)
	case "string":
		lost = append(lost, mergingMembers(from, to)...)
	case "enum", "set":
		if from.HasMembers() {
			lost = append(lost, "become the members of the same text")
		}
	case "inet6":
		if f != "inet4" && f != "binary" {
			lost = append(lost, writtenInManyWays)
		}
	case "uuid":
		if f != "binary" {
			lost = append(lost, writtenInManyWays)
		}
	default:
		lost = append(lost, writtenInManyWays)
	}
	return lost
}

// apart returns a condition over the source's columns: values that meet it stay apart, although the
// conversion may merge others. ok is false if no such condition is known. A run that follows such a
// key refuses rows that do not meet it, so that no two keys of the shadow's rows are one.
func apart(from, to schema.Column) (condition string, ok bool) {
	column := schema.Quote(from.Name)
	switch {
	case from.HasMembers() && slices.Contains(from.Members, ""):
		condition := fmt.Sprintf("CAST(%s AS UNSIGNED) & %d = 0", column, emptyMembers(from))
		if from.DataType == "enum" {
			condition = "CAST(" + column + " AS UNSIGNED) <> 0"
		}
		return condition, to.DataType != "year" && len(merging(withoutEmpty(from), withoutEmpty(to))) == 0
	case from.Family() == "integer" && from.DataType != "year" && to.Family() == "float" && !to.Fixed():
		bits := 53
		if to.DataType == "float" {
			bits = 24
		}
		least := -(int64(1) << bits)
		if from.Unsigned {
			least = 0
		}
		return fmt.Sprintf("%s BETWEEN %d AND %d", column, least, int64(1)<<bits), true
	case to.DataType == "binary" && (from.Family() == "string" || from.Family() == "varbinary"):
		return "RIGHT(CAST(" + column + " AS BINARY), 1) <> X'00'", true // '' stays too
	case from.Family() == "string" && to.Family() == "string" && losesBlanks(from, to) && !manyCodes(from, to):
		if to.DataType == "char" {
			return "RIGHT(" + column + ", 1) <> ' '", true
		}
		condition := uncut(from, to)
		return condition, condition != ""
	case from.Family() == "string" && to.Family() == "string" && manyCodes(from, to) && !losesBlanks(from, to):
		return fmt.Sprintf("CAST(CONVERT(CONVERT(%s USING %s) USING %s) AS BINARY) = CAST(%[1]s AS BINARY)",
			column, to.Charset, from.Charset), true
	}
	return "", false
}

// apartOnly is the column as an expression that fails for a value that does not meet the condition.
func apartOnly(from, to schema.Column, condition string) string {
	column := schema.Quote(from.Name)
	failing := "CAST(CONCAT('x', " + column + ") AS SIGNED)"
	switch {
	case from.DataType == "set" && (to.Number() || changeOf(from, to) == Same):
		return fmt.Sprintf("IF(%s, CAST(%s AS UNSIGNED), CAST(CONCAT('x', %[2]s) AS UNSIGNED))", condition, column)
	case from.Family() != "integer":
		failing = "CONCAT(" + column + ", " + failing + ")"
	case from.Unsigned:
		failing = "CAST(CONCAT('x', " + column + ") AS UNSIGNED)"
	}
	return fmt.Sprintf("IF(%s, %s, %s)", condition, column, failing)
}

// uncut is the condition that a text keeps its trailing blanks in a shorter type; "" if all do. Servers cut them without
// an error, and then the row is not found by its key.
func uncut(from, to schema.Column) string {
	varies := func(c schema.Column) bool { return c.DataType == "varchar" || c.DataType == "char" }
	if !varies(from) || !varies(to) || to.Length >= from.Length {
		return ""
	}
	return fmt.Sprintf("CHAR_LENGTH(%s) <= %d", schema.Quote(from.Name), to.Length)
}

// withoutEmpty is a column without its empty members, if it is a SET or ENUM.
func withoutEmpty(c schema.Column) schema.Column {
	c.Members = slices.DeleteFunc(slices.Clone(c.Members), func(m string) bool { return m == "" })
	return c
}

// emptyMembers are the bits of a SET's empty members. (A server without strict mode takes several.)
func emptyMembers(set schema.Column) (bits uint64) {
	for i, m := range set.Members {
		if m == "" {
			bits |= 1 << i
		}
	}
	return bits
}

// losesBlanks reports whether blanks at the end count in the old type, and are cut off by the new one.
func losesBlanks(from, to schema.Column) bool {
	return cutsBlanks(from, to) && noPad(from.Collation)
}

// writtenInManyWays is true of numbers, UUIDs and addresses that are stored as texts.
const writtenInManyWays = "may be several ways to write one value of the new type"

// mergingMembers is merging for members that become their texts: the text of number 0 is empty, and
// a member may be empty too.
func mergingMembers(from, to schema.Column) []string {
	if !from.HasMembers() || to.Number() && to.DataType != "year" {
		return nil
	}
	if slices.Contains(from.Members, "") {
		return []string{emptyMember}
	}
	if manyCodes(from, to) {
		return []string{inManyCodes}
	}
	return nil
}

const emptyMember = "have an empty member, whose text is the same as no member"

const inManyCodes = "may have letters with several codes in the old character set, and one in the new"

// mergingStrings is merging for strings that get another character set or collation.
func mergingStrings(from, to schema.Column) []string {
	switch {
	case manyCodes(from, to):
		return []string{inManyCodes}
	case losesBlanks(from, to):
		return []string{"lose their trailing blanks"}
	}
	return nil
}

// manyCoded are the character sets that have several codes for one letter. (A test converted all
// codes of one and two bytes to utf8mb4, on MySQL 9.7.4 and MariaDB 11.8.)
var manyCoded = []string{"armscii8", "big5", "cp932", "eucjpms", "sjis", "tis620", "ujis"}

// manyCodes reports whether the conversion between the character sets may make two texts equal. In
// the other direction, only cp932 has one code for two letters.
func manyCodes(from, to schema.Column) bool {
	return to.Charset != "" && to.Charset != "binary" && from.Charset != to.Charset &&
		(slices.Contains(manyCoded, from.Charset) || to.Charset == "cp932" && from.Charset != "ascii")
}
