package prescan

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"midstream/internal/mysql/schema"
)

// Kind names, in one word, the problem of rows. Kinds are stable.
type Kind string

// The kinds of findings.
const (
	// KindNull is NULL in a column that becomes NOT NULL.
	KindNull Kind = "null"
	// KindLong is a value that is too long for a string or BIT.
	KindLong Kind = "too_long"
	// KindRange is a value outside of the range of a number or a time.
	KindRange Kind = "out_of_range"
	// KindMember is a value that is no member of an ENUM or SET.
	KindMember Kind = "member"
	// KindCharacters is a character that is not in the new charset, or bytes that are not in the
	// old one.
	KindCharacters Kind = "characters"
	// KindInvalid is a value that can't be read as a value of the new type.
	KindInvalid Kind = "invalid"
	KindCheck   Kind = "check" // violates a CHECK
	// KindZero is 0 in a column that becomes AUTO_INCREMENT.
	KindZero Kind = "zero"
	// KindMerged is a value of the followed key that could become equal to another one.
	KindMerged Kind = "merged"
	// KindPartition is a row that no partition of the shadow takes.
	KindPartition Kind = "partition"
	// KindDuplicate is a row that has the same value of a unique key as another row.
	KindDuplicate Kind = "duplicate"
	// KindCrowd is a row of a value of the followed index that too many rows have.
	KindCrowd Kind = "crowd"
	// KindParent is a row without a parent by a foreign key that the ALTER adds.
	KindParent Kind = "foreign_key"
	KindLoss   Kind = "loss" // is changed without an error
)

// rule is a condition over the source's columns: it selects the rows that the shadow refuses, for
// people and for counting. The server has the last word: see scan.
type rule struct {
	kind      Kind
	condition string
	// What a fix must hold: expressions over the rows that meet the condition, "" if there is
	// none. The longest length, the least and greatest value, the numbers of members.
	length, value, members string
	// otherwise is the rule that goes for this one once it is disproved; nil if there is none.
	otherwise *rule

	mu    sync.Mutex // held while the rule is tried
	trust trust
}

// trust is the state of knowledge about a rule.
type trust int

// A rule is untried until it names the first row.
const (
	untried trust = iota
	believed
	disproved
)

func (r *rule) is(t trust) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trust == t
}

// numeric is the text of a number, as the server reads one.
const numeric = `'^[[:space:]]*[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?[[:space:]]*$'`

// rulesFor returns the rules of a column, expr being what a sync selects. TestRulesAsTheServerJudges
// asks the servers.
func rulesFor(c Column, expr string) []*rule {
	from, to, name := c.From, c.To, schema.Quote(c.From.Name)
	var rules []*rule
	if c.Set != "" {
		return rulesForSet(c, expr)
	}
	if from.Nullable && !to.Nullable {
		rules = append(rules, &rule{kind: KindNull, condition: name + " IS NULL"})
	}
	if to.AutoIncrement && !from.AutoIncrement {
		rules = append(rules, &rule{kind: KindZero, condition: "ROUND(" + name + ") = 0"})
	}
	if c.Apart != "" {
		rules = append(rules, &rule{kind: KindMerged, condition: "NOT (" + c.Apart + ")"})
	}
	add := func(r *rule) {
		if r != nil {
			rules = append(rules, r)
		}
	}
	switch to.Family() {
	case "integer", "bit", "decimal", "float":
		add(numberRule(from, to, name))
		if from.Family() == "string" && to.DataType != "bit" {
			rules = append(rules, &rule{kind: KindInvalid, condition: name + " NOT REGEXP " + numeric})
		}
	case "string":
		add(lengthRule(from, to, name, expr))
		add(charsetRule(from, to, name))
	case "binary", "varbinary":
		add(lengthRule(from, to, name, expr))
	case "enum", "set":
		add(memberRule(from, to, name))
	case "json":
		if from.Family() == "string" {
			rules = append(rules, &rule{kind: KindInvalid, condition: "JSON_VALID(" + name + ") = 0"})
		}
	case "date", "datetime", "timestamp", "time":
		add(timeRule(from, to, name))
	}
	return rules
}

// rulesForSet returns the rules of a column that takes its values from an expression.
func rulesForSet(c Column, expr string) (rules []*rule) {
	if !c.To.Nullable {
		rules = append(rules, &rule{kind: KindNull, condition: expr + " IS NULL"})
	}
	if c.To.DataType == "char" || c.To.DataType == "varchar" {
		length := "CHAR_LENGTH(TRIM(TRAILING ' ' FROM " + expr + "))"
		rules = append(rules, &rule{kind: KindLong, condition: fmt.Sprintf("%s > %d", length, c.To.Length), length: length})
	}
	return rules
}

// intBytes are the sizes of the integer types, from the least on.
var intBytes = []struct {
	name  string
	bytes int
}{{"tinyint", 1}, {"smallint", 2}, {"mediumint", 3}, {"int", 4}, {"bigint", 8}}

// intBounds returns the least and the greatest value of an integer type.
func intBounds(dataType string, unsigned bool) (least, most string) {
	for _, t := range intBytes {
		switch {
		case t.name != dataType:
		case unsigned:
			return "0", fmt.Sprint(^uint64(0) >> (64 - 8*t.bytes))
		default:
			greatest := int64(^uint64(0) >> (65 - 8*t.bytes))
			return fmt.Sprint(-greatest - 1), fmt.Sprint(greatest)
		}
	}
	return "", ""
}

// numberRule is about numbers that a number doesn't hold.
func numberRule(from, to schema.Column, name string) *rule {
	value := name
	switch {
	case from.DataType == "bit", from.DataType == "enum", from.DataType == "set", from.Temporal():
		value = name + " + 0"
	case !from.Number():
		return nil
	}
	r := &rule{kind: KindRange}
	outside := func(value, least, most string) {
		r.value, r.condition = value, fmt.Sprintf("%s NOT BETWEEN %s AND %s", value, least, most)
	}
	switch {
	case to.DataType == "year":
		outside(value, "1901", "2155")
		r.value = ""
		r.condition += " AND " + value + " NOT BETWEEN 0 AND 99"
	case to.Family() == "integer":
		if from.Family() == "decimal" || from.Family() == "float" || from.Fraction > 0 {
			value = "ROUND(" + value + ")"
		}
		least, most := intBounds(to.DataType, to.Unsigned)
		outside(value, least, most)
	case to.DataType == "bit" && to.Precision < 64:
		outside(value, "0", fmt.Sprint(uint64(1)<<to.Precision-1))
		r.kind = KindLong
	case to.Family() == "decimal", to.Family() == "float" && to.Fixed():
		most := strings.Repeat("9", to.Precision-to.Scale)
		if to.Scale > 0 {
			most += "." + strings.Repeat("9", to.Scale)
		}
		least := "-" + most
		if to.Unsigned {
			least = "0"
		}
		outside(fmt.Sprintf("ROUND(%s, %d)", value, to.Scale), least, most)
	case to.DataType == "float":
		outside(value, "-3.402823466e38", "3.402823466e38")
	case to.Unsigned:
		r.condition = value + " < 0"
	default:
		return nil
	}
	return r
}

// textBytes are the bytes that the TEXT and BLOB types hold.
var textBytes = map[string]int64{"tiny": 1<<8 - 1, "": 1<<16 - 1, "medium": 1<<24 - 1, "long": 1<<32 - 1}

// bytesOf returns how many bytes a TEXT or BLOB holds.
func bytesOf(dataType string) (most int64, limited bool) {
	most, limited = textBytes[strings.TrimSuffix(strings.TrimSuffix(dataType, "text"), "blob")]
	return most, limited
}

// lengthRule is about strings that are too long. Blanks that don't fit are left out without an
// error, but not by binary types.
func lengthRule(from, to schema.Column, name, expr string) *rule {
	text := expr
	switch {
	case from.DataType == "bit" || from.Charset == "" && from.DataType != "json" && !from.Number() && !from.Temporal():
		return nil // geometries
	case from.Charset == "":
		text = "CAST(" + expr + " AS CHAR)"
	case from.Charset == "binary" && to.Charset != "binary":
		text = "CONVERT(" + name + " USING " + to.Charset + ")"
	case from.DataType == "char" || from.DataType == "varchar" || from.Family() == "string" || from.Charset == "binary":
		text = name
	}
	most, inBytes := bytesOf(to.DataType)
	length := ""
	switch {
	case to.Charset == "binary":
		length = "LENGTH(" + text + ")"
	case inBytes:
		length = fmt.Sprintf("LENGTH(TRIM(TRAILING ' ' FROM CONVERT(%s USING %s)))", text, to.Charset)
	default:
		length = "CHAR_LENGTH(TRIM(TRAILING ' ' FROM " + text + "))"
	}
	if !inBytes {
		most = to.Length
	}
	r := &rule{kind: KindLong, condition: fmt.Sprintf("%s > %d", length, most), length: length}
	if from.DataType == "varchar" && to.DataType == "varchar" && from.Collation == to.Collation {
		// Blanks count where both lengths are stored in as many bytes.
		length = "CHAR_LENGTH(" + text + ")"
		return &rule{kind: KindLong, condition: fmt.Sprintf("%s > %d", length, most), length: length, otherwise: r}
	}
	return r
}

// charsetRule is about characters that the new charset lacks, and bytes that are no characters.
func charsetRule(from, to schema.Column, name string) *rule {
	switch from.Charset {
	case "":
		return nil
	case "binary":
		return &rule{
			kind:      KindCharacters,
			condition: fmt.Sprintf("NOT (CAST(CONVERT(%s USING %s) AS BINARY) <=> CAST(%[1]s AS BINARY))", name, to.Charset),
		}
	}
	return &rule{
		kind: KindCharacters,
		condition: fmt.Sprintf("CAST(CONVERT(CONVERT(%s USING %s) USING %s) AS BINARY) <> CAST(%[1]s AS BINARY)",
			name, to.Charset, from.Charset),
	}
}

// memberRule is about members that the new list lacks.
func memberRule(from, to schema.Column, name string) *rule {
	r := &rule{kind: KindMember}
	isIn := "IN (" + literals(to.Members) + ")"
	switch {
	case from.DataType == "enum":
		r.condition, r.members = fmt.Sprintf("%s + 0 <> 0 AND %[1]s NOT %s", name, isIn), name+" + 0"
	case from.DataType == "set" && to.DataType == "set":
		var gone []string
		for _, member := range from.Members {
			if !slices.ContainsFunc(to.Members, func(m string) bool { return strings.EqualFold(m, member) }) {
				gone = append(gone, "FIND_IN_SET("+schema.Literal(member)+", "+name+") > 0")
			}
		}
		if len(gone) == 0 {
			return nil
		}
		r.condition, r.members = strings.Join(gone, " OR "), name+" + 0"
	case from.Family() == "string" && to.DataType == "enum":
		r.condition = fmt.Sprintf(
			"%[1]s NOT %[2]s AND NOT (%[1]s REGEXP '^[0-9]+$' AND %[1]s + 0 BETWEEN 1 AND %[3]d)", name, isIn,
			len(to.Members),
		)
	case from.Number() && to.DataType == "enum":
		r.condition = fmt.Sprintf("%s NOT BETWEEN 1 AND %d", name, len(to.Members))
	default:
		return nil
	}
	return r
}

func literals(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = schema.Literal(t)
	}
	return strings.Join(quoted, ",")
}

// timeRule selects values that are no date or time, or that the type can't hold.
func timeRule(from, to schema.Column, name string) *rule {
	switch {
	case from.Family() == "string" && (to.DataType == "date" || to.DataType == "datetime"):
		return &rule{kind: KindInvalid, condition: fmt.Sprintf("%s IS NOT NULL AND CAST(%[1]s AS DATETIME(6)) IS NULL", name)}
	case to.DataType == "timestamp" && (from.DataType == "datetime" || from.DataType == "date"):
		// What a change to summer time leaves out is no moment: it doesn't come back.
		return &rule{kind: KindRange, condition: fmt.Sprintf("%s <> 0 AND (UNIX_TIMESTAMP(%[1]s) NOT BETWEEN 1 AND 2147483647.999999 OR "+
			"FROM_UNIXTIME(UNIX_TIMESTAMP(%[1]s)) <> %[1]s)", name)}
	}
	return nil
}
