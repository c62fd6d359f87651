package desired

import (
	"regexp"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// alike is an expression in a form that MySQL and MariaDB share: each operation in parentheses, functions under one name, and strings
// without the character set of the session that wrote them. An expression with a part that is not known here stays as the server shows it.
func alike(expression string) string {
	tokens, closed := token.Split(expression)
	p := parser{text: expression, tokens: joined(expression, tokens)}
	if !closed || len(p.tokens) == 0 {
		return expression
	}
	if shared := p.expression(0); !p.failed && p.at == len(p.tokens) {
		return bare(shared)
	}
	return bare(oneBlank(expression))
}

// operators are those of two characters and more.
var operators = []string{"<=>", "->>", "<=", ">=", "<>", "!=", "<<", ">>", "&&", "||", "->", ":="}

// joined are tokens in which each operator is one.
func joined(text string, tokens []token.Token) (all []token.Token) {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		for _, o := range operators {
			if t.Kind == token.Punct && strings.HasPrefix(text[t.Start:], o) {
				i += len(o) - 1
				t.Text, t.End = o, t.Start+len(o)
				break
			}
		}
		all = append(all, t)
	}
	return all
}

// strengths are how tightly an operator of two sides binds, as MySQL and MariaDB have it.
var strengths = map[string]int{
	"or": 1, "xor": 2, "and": 3, "=": 6, "<=>": 6, ">=": 6, ">": 6, "<=": 6, "<": 6, "<>": 6, "!=": 6, "like": 6, "regexp": 6, "rlike": 6, "in": 6, "is": 6,
	"between": 6, "|": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11, "div": 11, "mod": 11, "^": 12,
}

const (
	ofNot, ofComparison, ofSign = 4, 6, 13
)

// synonyms are functions and operators with several names.
var synonyms = map[string]string{
	"lcase": "lower", "ucase": "upper", "substr": "substring", "mid": "substring", "character_length": "char_length", "pow": "power", "ceil": "ceiling",
	"day": "dayofmonth", "current_date": "curdate", "current_time": "curtime", "current_timestamp": "now", "localtime": "now", "localtimestamp": "now",
	"!=": "<>", "rlike": "regexp", "mod": "%",
}

func synonym(word string) string {
	word = strings.ToLower(word)
	if other, is := synonyms[word]; is {
		return other
	}
	return word
}

// parser reads an expression. failed means that it has a part that the parser does not know.
type parser struct {
	text   string
	tokens []token.Token
	at     int
	failed bool
}

// is reports whether the next token is a keyword (in upper case) or a sign, and take also goes past it.
func (p *parser) is(word string) bool { return p.at < len(p.tokens) && p.tokens[p.at].Is(word) }

func (p *parser) take(word string) bool {
	if p.is(word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) need(word string) {
	if !p.take(word) {
		p.failed = true
	}
}

// operator is the next operator of two sides; "" if there is none.
func (p *parser) operator() string {
	if p.at >= len(p.tokens) || p.tokens[p.at].Kind != token.Word && p.tokens[p.at].Kind != token.Punct {
		return ""
	}
	if word := strings.ToLower(p.tokens[p.at].Text); strengths[word] > 0 {
		return word
	}
	return ""
}

// expression reads what binds at least as tightly as an operator of a strength.
func (p *parser) expression(least int) string {
	left := p.first()
	for !p.failed {
		start := p.at
		not := p.take("NOT") // NOT IN, NOT LIKE, NOT BETWEEN
		o := p.operator()
		if strengths[o] == 0 || strengths[o] < least || not && !slices.Contains([]string{"in", "like", "regexp", "rlike", "between"}, o) {
			p.at = start
			return left
		}
		p.at++
		left = p.second(left, o)
		if not {
			left = "(not " + left + ")"
		}
	}
	return left
}

// second reads the other side of an operator.
func (p *parser) second(left, o string) string {
	switch o {
	case "is":
		word := " is "
		if p.take("NOT") {
			word = " is not "
		}
		for _, state := range []string{"NULL", "TRUE", "FALSE", "UNKNOWN"} {
			if p.take(state) {
				return "(" + left + word + strings.ToLower(state) + ")"
			}
		}
		p.failed = true
	case "in":
		return "(" + left + " in (" + p.list() + "))"
	case "between":
		low := p.expression(ofComparison + 1)
		p.need("AND")
		return "(" + left + " between " + low + " and " + p.expression(ofComparison+1) + ")"
	case "like":
		text := "(" + left + " like " + p.expression(ofComparison+1)
		if p.take("ESCAPE") {
			text += " escape " + p.expression(ofComparison+1)
		}
		return text + ")"
	}
	return "(" + left + " " + synonym(o) + " " + p.expression(strengths[o]+1) + ")"
}

// list reads expressions in parentheses, which are the next.
func (p *parser) list() string {
	p.need("(")
	var all []string
	for !p.failed && !p.is(")") {
		all = append(all, bare(p.expression(0)))
		if !p.take(",") {
			break
		}
	}
	p.need(")")
	return strings.Join(all, ",")
}

// first reads an operand.
func (p *parser) first() string {
	if p.at >= len(p.tokens) || p.failed {
		p.failed = true
		return ""
	}
	t := p.tokens[p.at]
	p.at++
	switch {
	case t.Is("("):
		inner := p.expression(0)
		p.need(")")
		return inner
	case t.Is("NOT"):
		return "(not " + p.expression(ofNot) + ")"
	case t.Is("-"), t.Is("~"), t.Is("!"):
		if t.Is("!") {
			t.Text = "not "
		}
		return "(" + t.Text + p.expression(ofSign) + ")"
	case t.Kind == token.String:
		return schema.Literal(t.Text)
	case t.Kind == token.Quoted:
		return p.more(schema.Quote(t.Text))
	case t.Kind != token.Word:
		p.failed = true
		return ""
	case p.at < len(p.tokens) && p.tokens[p.at].Kind == token.String:
		if p.failed = !slices.Contains(sessions, strings.ToLower(t.Text)); p.failed { // _binary'a', x'00', DATE'2024-01-01'
			return ""
		}
		return p.first()
	case t.Is("CASE"):
		return p.cases()
	case slices.Contains([]string{"INTERVAL", "CAST", "CONVERT", "EXTRACT", "BINARY", "MATCH"}, strings.ToUpper(t.Text)):
		p.failed = true
		return ""
	case p.is("("):
		return synonym(t.Text) + "(" + p.list() + ")"
	}
	return p.more(strings.ToLower(t.Text))
}

// sessions are the character sets with which MySQL marks the strings of a session.
var sessions = []string{"_utf8mb4", "_utf8mb3", "_utf8"}

// more reads what belongs to a name or a number: the rest of a qualified name, or of a number with a point.
func (p *parser) more(text string) string {
	for p.is(".") {
		p.at++
		if p.at >= len(p.tokens) || !p.tokens[p.at].Name() {
			p.failed = true
			return ""
		}
		text += "." + p.text[p.tokens[p.at].Start:p.tokens[p.at].End]
		p.at++
	}
	return text
}

// cases reads the rest of a CASE.
func (p *parser) cases() string {
	text := "case"
	if !p.is("WHEN") {
		text += " " + p.expression(0)
	}
	for p.take("WHEN") {
		text += " when " + p.expression(0)
		p.need("THEN")
		text += " then " + p.expression(0)
	}
	if p.take("ELSE") {
		text += " else " + p.expression(0)
	}
	p.need("END")
	return text + " end"
}

// unsaid are rules of a foreign key that are the default, or mean the same: some servers show them.
var unsaid = regexp.MustCompile(`(?i) ON (?:DELETE|UPDATE) (?:RESTRICT|NO ACTION)( ON (?:DELETE|UPDATE) [A-Z ]+)?$`)

// foreignLine is the line of a foreign key.
func foreignLine(text string) string {
	text = oneBlank(text)
	for range 2 {
		text = unsaid.ReplaceAllString(text, "$1")
	}
	return text
}

// named is a CHECK with its name, unless the server made that: MySQL by the table, MariaDB by a number alone.
func named(t *schema.Table, name, clause string) string {
	for _, prefix := range []string{t.Name.Table + "_chk_", "CONSTRAINT_"} {
		if number, is := strings.CutPrefix(name, prefix); is && number != "" && strings.Trim(number, "0123456789") == "" {
			name = ""
		}
	}
	if name != "" {
		name = "CONSTRAINT " + schema.Quote(name) + " "
	}
	return name + "CHECK (" + alike(clause) + ")"
}

// defaultAt reads an expression as a default, which begins at a token: MySQL always shows it in parentheses, MariaDB not always.
// last is its last token; -1 if there is no expression.
func defaultAt(text string, t []token.Token, i int) (expression string, last int) {
	if i+1 < len(t) && t[i].Kind == token.Word && t[i+1].Is("(") && !t[i].Is("CURRENT_TIMESTAMP") {
		last = closing(t, i+1)
	} else if i < len(t) && t[i].Is("(") {
		last = closing(t, i)
	} else {
		return "", -1
	}
	if last < 0 {
		return "", -1
	}
	return "(" + alike(text[t[i].Start:t[last].End]) + ")", last
}

// closing is the place of the parenthesis that closes one; -1 if there is none.
func closing(t []token.Token, open int) int {
	for i := open + 1; i < len(t); i++ {
		if t[i].Is(")") && t[i].Depth == t[open].Depth {
			return i
		}
	}
	return -1
}

// checkAt finds the CHECK that MariaDB shows in the definition of a column. It returns the definition without it.
func checkAt(definition string) (rest, clause string) {
	text, t := plain(definition)
	i := slices.IndexFunc(t, func(w token.Token) bool { return w.Depth == 0 && w.Is("CHECK") })
	if i < 0 || i+1 >= len(t) || !t[i+1].Is("(") {
		return definition, ""
	}
	end := closing(t, i+1)
	if end < 0 {
		return definition, ""
	}
	return strings.TrimRight(text[:t[i].Start], " ") + text[t[end].End:], text[t[i+1].End:t[end].Start]
}

// isJSON reports whether a column is a JSON of MariaDB, which shows it as a text with a CHECK.
func isJSON(c schema.Column, definition, clause string) bool {
	tokens, _ := token.Split(definition)
	return len(tokens) > 0 && tokens[0].Is("LONGTEXT") && c.Collation == "utf8mb4_bin" && alike(clause) == "json_valid("+schema.Quote(c.Name)+")"
}
