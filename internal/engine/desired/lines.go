package desired

import (
	"regexp"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Lines are the definition of a table in a form that does not depend on the server and its version: two tables have equal lines if their
// columns, indexes, constraints, options and partitions are equal. A comment that is our mark is left out, and so is the table's name.
func Lines(t *schema.Table) []string {
	var lines, keys, constraints, options []string
	for _, c := range t.Columns {
		if c.GeneratedKey() {
			continue
		}
		definition, clause := checkAt(c.Definition)
		if c.Definition = definition; clause != "" && isJSON(c, definition, clause) {
			text, t := plain(definition)
			c.Definition, c.Collation, clause = "json"+text[t[0].End:], "", ""
		}
		if lines = append(lines, columnLine(c)); clause != "" {
			constraints = append(constraints, named(t, "", clause))
		}
	}
	for _, k := range t.Keys {
		if !slices.ContainsFunc(k.Parts, func(p schema.KeyPart) bool { c, _ := t.Column(p.Column); return c.GeneratedKey() }) {
			keys = append(keys, keyLine(k))
		}
	}
	for _, text := range t.ForeignClauses {
		constraints = append(constraints, foreignLine(text))
	}
	for _, c := range t.Checks {
		line := named(t, c.Name, c.Clause)
		if !c.Enforced {
			line += enforced(c)
		}
		constraints = append(constraints, line)
	}
	for _, o := range said(t.Options) {
		if !slices.Contains(elsewhere, o.Name) {
			options = append(options, o.Name+"="+o.Value)
		}
	}
	options = append(options, "COLLATE="+long(t.Collation))
	if t.Comment != "" && !schema.Marked(t.Comment) {
		options = append(options, "COMMENT="+schema.Literal(t.Comment))
	}
	for _, part := range [][]string{keys, constraints, options} {
		slices.Sort(part)
		lines = append(lines, part...)
	}
	if t.Partitioning != "" {
		lines = append(lines, strings.ReplaceAll(oneBlank(t.Partitioning), "`", ""))
	}
	return lines
}

// numbers are defaults of numbers, which MariaDB shows without quotes.
var numbers = regexp.MustCompile(`^'-?\d+(\.\d+)?'$`)

// columnLine is the line of a column.
func columnLine(c schema.Column) string {
	text, t := plain(c.Definition)
	filled := slices.ContainsFunc(t, func(w token.Token) bool { return w.Is("ZEROFILL") })
	is := func(at int, words ...string) bool {
		return at >= 0 && at < len(t) && slices.ContainsFunc(words, func(word string) bool { return t[at].Is(word) })
	}
	p := pieces{text: text}
	for i := 0; i < len(t); i++ {
		word := text[t[i].Start:t[i].End]
		expression, expressed := defaultAt(text, t, i)
		switch {
		case c.Generated != schema.NotGenerated && is(i, "AS") && is(i+1, "("):
			for p.add(t[i], word); i+1 < len(t) && !(t[i].Depth == t[0].Depth && is(i, ")")); i++ {
			}
			p.WriteString(" (" + alike(c.Expression) + ")")
		case is(i, "CHARACTER") && is(i+1, "SET"):
			i += 2
		case is(i, "COLLATE"), is(i, "DEFAULT") && is(i+1, "NULL"):
			i++
		case is(i-1, "DEFAULT") && expressed >= 0:
			p.add(t[i], expression)
			i = expressed
		case is(i, "NULL") && !is(i-1, "NOT"):
		case is(i, "CURRENT_TIMESTAMP"): // MariaDB: current_timestamp()
			p.add(t[i], "CURRENT_TIMESTAMP")
			if is(i+1, "(") && is(i+2, ")") {
				i += 2
			}
		case is(i, "tinyint", "smallint", "mediumint", "int", "bigint", "year") && is(i+1, "(") && is(i+3, ")") && !filled &&
			!(is(i, "tinyint") && is(i+2, "1")): // a width for display, which 8.0 does not show
			p.add(t[i], word)
			i += 3
		case is(i-1, "DEFAULT") && numbers.MatchString(word) && c.Number():
			p.add(t[i], strings.Trim(word, "'"))
		default:
			p.add(t[i], word)
		}
	}
	line := schema.Quote(c.Name) + " " + p.String()
	if c.Collation != "" && c.Collation != "binary" {
		line += " COLLATE " + long(c.Collation)
	}
	return line
}

// pieces puts tokens of a text together again, with a blank where the text has blanks.
type pieces struct {
	strings.Builder
	text string
}

func (p *pieces) add(t token.Token, word string) {
	if p.Len() > 0 && t.Start > 0 && strings.TrimSpace(p.text[t.Start-1:t.Start]) == "" {
		p.WriteString(" ")
	}
	p.WriteString(word)
}

// bare is an expression without parentheses around all of it.
func bare(expression string) string {
	t, closed := token.Split(expression)
	if !closed || len(t) < 2 || !t[0].Is("(") || !t[len(t)-1].Is(")") {
		return expression
	}
	for _, w := range t[1 : len(t)-1] {
		if w.Is(")") && w.Depth <= t[0].Depth {
			return expression
		}
	}
	return expression[t[0].End:t[len(t)-1].Start]
}

// keyLine is the line of an index.
func keyLine(k schema.Key) string {
	text, t := plain(k.Definition)
	p := pieces{text: text}
	for i := 0; i < len(t); i++ {
		if t[i].Depth == 0 && t[i].Is("USING") && i+1 < len(t) && t[i+1].Is("BTREE") {
			i++
			continue
		}
		if !ofBlocks(t, i) {
			p.add(t[i], text[t[i].Start:t[i].End])
		}
	}
	return p.String()
}

// long is a collation with the name of its character set that later servers show.
func long(collation string) string {
	if rest, is := strings.CutPrefix(collation, "utf8_"); is {
		return "utf8mb3_" + rest
	}
	return collation
}

// oneBlank writes each run of blanks outside of texts and names as one.
func oneBlank(text string) string {
	t, closed := token.Split(text)
	if !closed {
		return text
	}
	p := pieces{text: text}
	for _, w := range t {
		p.add(w, text[w.Start:w.End])
	}
	return p.String()
}
