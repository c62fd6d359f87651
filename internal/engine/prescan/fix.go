package prescan

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"midstream/internal/mysql/schema"
)

// fixOf returns a clause that takes the rows of a finding, to replace the clause that doesn't; ""
// if the rows must be changed.
func fixOf(f *finding) string {
	from, to := f.column.From, f.column.To
	if from.Name == "" || f.column.Set != "" {
		return ""
	}
	switch f.kind {
	case KindNull:
		if rest, ok := restOf(to); ok && strings.Contains(rest, " NOT NULL") {
			return f.column.clause(to.Type + charsetOf(to) + strings.Replace(rest, " NOT NULL", " NULL", 1))
		}
	case KindLong:
		return f.column.retyped(longer(from, to, f.needs.length))
	case KindRange:
		return f.column.retyped(wider(from, to, f.needs))
	case KindMember:
		return f.column.retyped(withMembers(from, to, f.needs.members))
	case KindCharacters:
		if rest, ok := restOf(to); ok && from.Charset != "binary" && from.Charset != to.Charset {
			return f.column.clause(to.Type + " CHARACTER SET " + from.Charset + " COLLATE " + from.Collation + rest)
		}
	}
	return ""
}

// clause returns a new definition of the column.
func (c Column) clause(definition string) string {
	if strings.EqualFold(c.From.Name, c.To.Name) {
		return "MODIFY " + schema.Quote(c.To.Name) + " " + definition
	}
	return "CHANGE " + schema.Quote(c.From.Name) + " " + schema.Quote(c.To.Name) + " " + definition
}

// retyped is the clause with another type, "" for none.
func (c Column) retyped(kind string) string {
	rest, ok := restOf(c.To)
	if kind == "" || !ok {
		return ""
	}
	if c.From.Temporal() && c.From.Type == kind || c.To.Charset == "" {
		return c.clause(kind + rest)
	}
	return c.clause(kind + charsetOf(c.To) + rest)
}

// leadingCharset is what SHOW CREATE TABLE has between a type and the rest of a definition.
var leadingCharset = regexp.MustCompile(`^( CHARACTER SET \S+)?( COLLATE \S+)?`)

// restOf returns what follows the type and charset in a definition.
func restOf(c schema.Column) (string, bool) {
	rest, ok := strings.CutPrefix(c.Definition, c.Type)
	return rest[len(leadingCharset.FindString(rest)):], ok
}

func charsetOf(c schema.Column) string {
	if c.Charset == "" || c.Charset == "binary" {
		return ""
	}
	return " CHARACTER SET " + c.Charset + " COLLATE " + c.Collation
}

// longer returns a type for strings that are too long. It has the length that they were allowed to
// have, or the length of the longest.
func longer(from, to schema.Column, longest int64) string {
	if to.DataType == "bit" {
		return ""
	}
	if _, inBytes := bytesOf(to.DataType); inBytes {
		for _, size := range []string{"", "medium", "long"} {
			if textBytes[size] >= longest {
				return size + to.DataType[len(to.DataType)-len("text"):]
			}
		}
		return ""
	}
	kind, length := to.DataType, longest
	if from.DataType == "char" || from.DataType == "varchar" {
		length = max(length, from.Length)
	}
	switch {
	case length == 0:
		return ""
	case length > 255 && kind == "char":
		kind = "varchar"
	case length > 255 && kind == "binary":
		kind = "varbinary"
	}
	if length > 10_000 {
		if to.Charset == "binary" {
			return "mediumblob"
		}
		return "mediumtext"
	}
	return fmt.Sprintf("%s(%d)", kind, length)
}

// wider returns a type for numbers that are out of range.
func wider(from, to schema.Column, n needs) string {
	if from.Temporal() {
		return from.Type
	}
	if n.least == nil || n.most == nil {
		return ""
	}
	switch to.Family() {
	case "integer":
		return widerInteger(to, n)
	case "decimal":
		largest := new(big.Rat).Abs(n.most)
		if low := new(big.Rat).Abs(n.least); low.Cmp(largest) > 0 {
			largest = low
		}
		whole := max(len(new(big.Int).Quo(largest.Num(), largest.Denom()).String()), to.Precision-to.Scale)
		if whole+to.Scale > 65 {
			return ""
		}
		kind := fmt.Sprintf("decimal(%d,%d)", whole+to.Scale, to.Scale)
		if to.Unsigned && n.least.Sign() >= 0 {
			kind += " unsigned"
		}
		return kind
	}
	return ""
}

// widerInteger returns the least integer type that holds what the refused one holds, and the
// values that it refuses.
func widerInteger(to schema.Column, n needs) string {
	low, high := intBounds(to.DataType, to.Unsigned)
	least, _ := new(big.Rat).SetString(low)
	most, _ := new(big.Rat).SetString(high)
	if n.least.Cmp(least) < 0 {
		least = n.least
	}
	if n.most.Cmp(most) > 0 {
		most = n.most
	}
	for _, t := range intBytes {
		for _, unsigned := range []bool{to.Unsigned, !to.Unsigned} {
			low, high := intBounds(t.name, unsigned)
			from, _ := new(big.Rat).SetString(low)
			till, _ := new(big.Rat).SetString(high)
			if from.Cmp(least) <= 0 && till.Cmp(most) >= 0 {
				if unsigned {
					return t.name + " unsigned"
				}
				return t.name
			}
		}
	}
	return ""
}

// withMembers returns the list with the members that rows have.
func withMembers(from, to schema.Column, numbers []uint64) string {
	members := append([]string{}, to.Members...)
	for i, member := range from.Members {
		used := false
		for _, number := range numbers {
			used = used || from.DataType == "enum" && number == uint64(i+1) || from.DataType == "set" && number&(1<<i) != 0
		}
		known := false
		for _, m := range to.Members {
			known = known || strings.EqualFold(m, member)
		}
		if used && !known {
			members = append(members, member)
		}
	}
	if len(members) == len(to.Members) {
		return ""
	}
	return to.DataType + "(" + literals(members) + ")"
}
