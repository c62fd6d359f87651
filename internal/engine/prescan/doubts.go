package prescan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Doubt is a kind of rows that the shadow may refuse.
type Doubt struct {
	Kind Kind
	What string // completes "rows"
	// Count is the SELECT that counts the rows; "" if no condition names them.
	Count string
	// Set means that an expression of the operator gives the column its values.
	Set bool
}

// Doubts lists the kinds of rows that the shadow may refuse, as far as the definitions show. It reads no row, and needs no key
// to follow.
func Doubts(s *Spec) (all []Doubt) {
	work, source := workOf(s), s.Source.Name.Quoted()
	for _, t := range work.trials {
		named := false
		if t.column.Set != "" && t.check == "" && t.key == "" {
			all = append(all, s.setDoubts(t)...)
			continue
		}
		for _, r := range t.rules {
			if t.column.From.Name != "" && !t.column.mayHave(r.kind) {
				continue
			}
			named = true
			all = append(all, Doubt{Kind: r.kind, What: t.findingOf(r.kind).what, Count: s.countOf(r)})
		}
		kind := KindInvalid
		if t.check != "" {
			kind = KindCheck
		}
		if !named && !t.column.Holds && !roomy(t.column.From, t.column.To) {
			all = append(all, Doubt{Kind: kind, What: t.findingOf(kind).what})
		}
	}
	for _, k := range work.keys {
		d := Doubt{Kind: KindDuplicate, What: s.twinsOf(k).what}
		if values, plain := s.valuesOf(k); plain {
			list := strings.Join(values, ", ")
			d.Count = fmt.Sprintf("SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM %s WHERE %s IS NOT NULL GROUP BY %s HAVING COUNT(*) > 1) AS twins",
				source, strings.Join(values, " IS NOT NULL AND "), list)
		}
		all = append(all, d)
	}
	if work.partitions != nil {
		all = append(all, Doubt{Kind: KindPartition, What: "that no partition takes"})
	}
	return all
}

// countOf is the statement that counts the rows of a rule.
func (s *Spec) countOf(r *rule) string {
	return fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s", s.Source.Name.Quoted(), r.condition)
}

// setDoubts are the doubts about the values that an expression gives a column. The type of the column before does not matter.
func (s *Spec) setDoubts(t *trial) (all []Doubt) {
	c := t.column
	for _, r := range t.rules {
		if n, known := longest(c.Set, s.Source); r.kind == KindLong && known && n <= c.To.Length {
			continue
		}
		all = append(all, Doubt{Kind: r.kind, What: t.findingOf(r.kind).what, Count: s.countOf(r), Set: true})
	}
	if c.To.Family() != "string" { // which has a rule for each value that it does not take
		all = append(all, Doubt{Kind: KindInvalid, What: t.findingOf(KindInvalid).what, Set: true})
	}
	return all
}

// longest is a number of characters that no value of an expression exceeds, if its form shows one.
func longest(expr string, source *schema.Table) (n int64, known bool) {
	tokens, closed := token.Split(expr)
	if !closed {
		return 0, false
	}
	return longestOf(tokens, source)
}

func longestOf(tokens []token.Token, source *schema.Table) (n int64, known bool) {
	last := len(tokens) - 1
	switch {
	case last < 0:
		return 0, false
	case last == 0 && tokens[0].Kind == token.String:
		return int64(utf8.RuneCountInString(tokens[0].Text)), true
	case last == 0 && tokens[0].Name():
		c, is := source.Column(tokens[0].Text)
		return c.Length, is && (c.DataType == "char" || c.DataType == "varchar")
	case last < 3 || tokens[0].Kind != token.Word || !tokens[1].Is("(") || !tokens[last].Is(")") || token.Unmatched(tokens[2:last]) >= 0:
		return 0, false
	}
	args := token.List(tokens[2:last])
	number := func(i int) (int64, bool) {
		if len(args) != i+1 || len(args[i]) != 1 {
			return 0, false
		}
		n, err := strconv.ParseInt(args[i][0].Text, 10, 32)
		return n, err == nil
	}
	switch strings.ToUpper(tokens[0].Text) {
	case "LOWER", "LCASE", "UPPER", "UCASE", "LTRIM", "RTRIM", "REVERSE":
		if len(args) == 1 {
			return longestOf(args[0], source)
		}
	case "LEFT", "RIGHT":
		return number(1)
	case "SUBSTRING", "SUBSTR", "MID":
		return number(2)
	case "IFNULL", "COALESCE":
		for _, arg := range args {
			one, known := longestOf(arg, source)
			if !known {
				return 0, false
			}
			n = max(n, one)
		}
		return n, true
	}
	return 0, false
}

// mayHave reports whether the column may have values of a kind: a rule may be about values that the types exclude.
func (c Column) mayHave(kind Kind) bool {
	switch kind {
	case KindNull, KindZero, KindMerged:
		return true
	case KindCharacters:
		return c.From.Charset != c.To.Charset && c.From.Charset != "ascii" && (c.From.Charset == "binary" || c.To.Charset != "utf8mb4")
	case KindRange:
		return !c.Holds && !roomy(c.From, c.To)
	}
	return !c.Holds
}

// wholeDigits is how many digits in front of the point every value of such an integer column may have.
var wholeDigits = map[string]int{"tinyint": 2, "smallint": 4, "mediumint": 6, "int": 9, "bigint": 18}

// roomy reports whether a DECIMAL has room in another number for every value, rounded: the rounding may need a digit more.
func roomy(from, to schema.Column) bool {
	whole, known := wholeDigits[to.DataType]
	if to.DataType == "decimal" {
		whole, known = to.Precision-to.Scale, true
	}
	return known && from.DataType == "decimal" && whole > from.Precision-from.Scale && (from.Unsigned || !to.Unsigned)
}
