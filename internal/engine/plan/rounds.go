package plan

import (
	"slices"
	"strconv"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Rounds reports whether the ALTER gives a FLOAT column a default that each further ALTER of the
// table rounds. Servers write the defaults again by their texts, and the text of a FLOAT has six
// digits. 1234567 becomes 1234570, which SHOW CREATE TABLE shows from the beginning.
func Rounds(alter *ddl.Alter, altered *schema.Table) bool {
	float := func(c schema.Column) bool {
		return c.DataType == "float" && !c.Fixed() && c.Default != "" && c.Default != "NULL" && !c.Computes() && alter.Mentions(c.Name)
	}
	return slices.ContainsFunc(altered.Columns, float) && slices.ContainsFunc(defaults(alter.Clauses), inexact)
}

// Rounds reports the same for the plan's ALTER.
func (p *Plan) Rounds(altered *schema.Table) bool { return Rounds(p.Alter, altered) }

// defaults are the texts behind each DEFAULT: numbers with their sign, and the contents of strings.
func defaults(clauses string) (texts []string) {
	tokens, _ := token.Split(clauses)
	for i, t := range tokens {
		if !t.Is("DEFAULT") {
			continue
		}
		text := ""
		for j, next := range tokens[i+1:] {
			if begun := text != ""; begun && next.Start > tokens[i+j].End && !strings.HasSuffix(text, "-") || next.Is(",") || next.Is(")") {
				break
			}
			if !next.Is("(") && !next.Is("+") {
				text += next.Text
			}
		}
		texts = append(texts, text)
	}
	return texts
}

// inexact reports whether a number has another value as a FLOAT than its six digits have. A text
// that is no number counts if it begins like one.
func inexact(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return strings.IndexAny(text, "0123456789") == 0
	}
	shown, _ := strconv.ParseFloat(strconv.FormatFloat(float64(float32(v)), 'g', 6, 64), 64)
	return float32(shown) != float32(v)
}
